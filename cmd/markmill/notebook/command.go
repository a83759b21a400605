package notebook

import (
	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/notebook/bisect"
	"markmill/cmd/markmill/notebook/merge"
	"markmill/cmd/markmill/notebook/scraps"
	"markmill/cmd/markmill/notebook/strip"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("notebook", "strip, merge and bisect notebooks; their scraps as a table",
		"Works on notebooks and output notebooks as files.",
		strip.Command(a), scraps.Command(a), bisect.Command(a), merge.Command(a))
}
