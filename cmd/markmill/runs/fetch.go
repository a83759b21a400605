package runs

import (
	"fmt"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/engine/worktree"
	"markmill/runs"
)

func runsFetch(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "fetch RUN", Short: "Write the commits of a run to the repository, to look at them with Git",
		Args: program.Args(1, 1),
		Long: `Writes the commits of a run, which its record keeps in commits.bundle, to the repository of the working
directory: one pack, and the ref refs/markmill/runs/RUN. Besides run --branch, no other command adds anything
to .git. The branches, the index and the checkout stay as they are. git fetch FILE does the same with the
bundle itself.

Exit codes: 0 the ref is there, 1 the bundle cannot be read, 2 there is no such run, or it has no commits.`,
		Example: "  markmill runs fetch last\n  git log --stat refs/markmill/runs/RUN",
		RunE: func(c *cobra.Command, words []string) error {
			_, src, err := a.Here()
			if err != nil {
				return err
			}
			if src == nil {
				return program.Usagef("fetch needs a Git repository, and the working directory is in none")
			}
			run, dir, err := a.Find(words[0])
			if err != nil {
				return err
			}
			switch done := run.Completed; {
			case done == nil:
				return program.Usagef("run %s has not ended; its commits are written at its end", run.ID)
			case done.Bundle == nil:
				return program.Usagef("run %s has no commits: it %s", run.ID, withoutCommits(run))
			}
			release, err := runs.LockOwn(dir) // what a killed fetch leaves is removed with the run
			if err != nil {
				return err
			}
			defer release()
			bundle, err := worktree.OpenBundle(runs.At(dir).File(runs.BundleFile))
			if err != nil {
				return err
			}
			defer bundle.Close()
			ref, err := src.Fetch(c.Context(), bundle, string(run.ID))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, ref)
			return err
		},
	}
}

// withoutCommits says why a run that has ended has no bundle.
func withoutCommits(run *runs.Run) string {
	switch {
	case run.Started.Repository == "":
		return "worked in no repository"
	case run.Diff == nil:
		return fmt.Sprintf("ended, %s, before its change was looked at", run.Status())
	case len(run.Diff.Files) == 0:
		return "changed nothing"
	}
	return "was cut, or showed a secret"
}
