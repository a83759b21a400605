package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"markmill/cmd/api/mergereview"
	"markmill/engine"
	"markmill/engine/process"
)

// reviewMerge is review --merge.
func (a *app) reviewMerge(c *cobra.Command, o reviewOptions, words []string) error {
	if len(words) != 2 {
		return usagef("--merge takes BASE and HEAD, and got %d words; see markmill review --help", len(words))
	}
	for _, name := range []string{"fail-on", "require", "all", "tolerance", "judge", "judge-limit", "explain"} {
		if c.Flags().Changed(name) {
			return usagef("--merge runs notebooks and compares nothing that --%s is about; leave it out", name)
		}
	}
	_, repo, err := a.repository("")
	if err != nil {
		return err
	}
	eng, err := a.engine(repo.Root())
	if err != nil {
		return err
	}
	eng.Source = repo
	key, err := a.signKey(eng.Config)
	if err != nil {
		return err
	}
	process.SealDescriptors()
	ctx, stop := a.interruptible(c.Context())
	defer stop()
	r, err := mergereview.Make(ctx, eng, repo, words[0], words[1], mergereview.Options{Given: o.given,
		Sealed: func(dir string) error { return a.signRecord(dir, key) },
		Sinks: func(plan *engine.Plan, on mergereview.Revision) (engine.Sinks, error) {
			a.tell("running %s on %s\n", plan.Request().Path, on.Name)
			return engine.Sinks{Views: a.views("", nil), Sign: a.signWith(key),
				Observers: []engine.Observer{{Files: a.written(&follower{})}}}, nil
		}})
	switch {
	case ctx.Err() != nil:
		a.tell("markmill: interrupted: %s\n", errors.Join(err, context.Cause(ctx)))
		return exit(128 + interruptedBy(ctx))
	case err != nil:
		return err
	}
	if err := a.showReview(o, r.View(), func(int) error { return a.printJSON("review-merge", r) }); err != nil {
		return err
	}
	return passIf(r.Verdict == "pass")
}
