package version

import (
	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
)

func Command(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print which build this is", Args: program.Args(0, 0),
		Long: `Prints the version, the commit that the program was built from and whether it had uncommitted changes, the Go
release and the platform. Go records the commit when it builds in a clone with Git; not in a linked worktree
or from an archive.`,
		Example: "  markmill version --json",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.PrintJSON("version", program.Version())
			}
			return a.PrintVersion()
		},
	}
	program.JSONFlag(c, &asJSON, "version")
	return c
}
