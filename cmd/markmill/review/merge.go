package review

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/review/mergereview"
)

// reviewMerge is review --merge.
func reviewMerge(a *program.App, c *cobra.Command, o reviewOptions, words []string) error {
	if len(words) != 2 {
		return program.Usagef("--merge takes BASE and HEAD, and got %d words; see markmill review --help", len(words))
	}
	for _, name := range []string{"fail-on", "require", "all", "tolerance", "judge", "judge-limit", "explain"} {
		if c.Flags().Changed(name) {
			return program.Usagef("--merge runs notebooks and compares nothing that --%s is about; leave it out", name)
		}
	}
	_, repo, err := a.Repository("")
	if err != nil {
		return err
	}
	eng, err := a.Engine(repo.Root())
	if err != nil {
		return err
	}
	eng.Source = repo
	sinks, err := launch.Aside(a, eng)
	if err != nil {
		return err
	}
	ctx, stop := a.Interruptible(c.Context())
	defer stop()
	r, err := mergereview.Make(ctx, eng, repo, words[0], words[1], mergereview.Options{Given: o.Given,
		Sinks: sinks, Running: func(notebook, on string) { a.Tell("running %s on %s\n", notebook, on) }})
	switch {
	case ctx.Err() != nil:
		a.Tell("markmill: interrupted: %s\n", errors.Join(err, context.Cause(ctx)))
		return program.Exit(128 + program.InterruptedBy(ctx))
	case err != nil:
		return err
	}
	if err := showReview(a, o, r.View(), func(int) error { return a.PrintJSON("review-merge", r) }); err != nil {
		return err
	}
	return program.PassIf(r.Verdict == "pass")
}
