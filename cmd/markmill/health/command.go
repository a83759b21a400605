package health

import (
	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill-server/alerts"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("health", "how checks and notebooks do: status, digest, objectives, alerts",
		`Shows how the notebooks that run again and again do, and their checks. docs/alerts.md describes checks, objectives
and alerts.`, healthStatus(a), digestCommand(a), sloCommand(a), alerts.Command(a))
}
