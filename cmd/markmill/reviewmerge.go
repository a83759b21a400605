package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
	"markmill/cmd/api/mergereview"
	"markmill/engine"
	"markmill/engine/process"
	"markmill/render/plain"
)

// reviewMerge is review --merge.
func (a *app) reviewMerge(c *cobra.Command, o reviewOptions, words []string) error {
	if len(words) != 2 {
		return usagef("--merge takes BASE and HEAD, and got %d words; see markmill review --help", len(words))
	}
	for _, name := range []string{"markdown", "html", "max-bytes", "limit", "fail-on", "require", "all", "tolerance",
		"judge", "judge-limit"} {
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
	case o.json:
		err = a.printJSON("review-merge", r)
	default:
		err = a.printMerge(r)
	}
	if err != nil {
		return err
	}
	return passIf(r.Verdict == "pass")
}

// printMerge prints what a merge does to the notebooks, the worst first.
func (a *app) printMerge(r *mergereview.Review) error {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(plain.Escape(fmt.Sprintf(format, args...)) + "\n") }
	if r.Verdict == "conflict" {
		line("%s and %s conflict in %s:", r.Base.Name, r.Head.Name, plain.Counted(len(r.Conflicts), "file"))
		for _, name := range r.Conflicts {
			line("  %s", name)
		}
		_, err := a.stdout.WriteString(b.String())
		return err
	}
	untouched, told := 0, 0
	for _, together := range []bool{true, false} {
		for _, n := range r.Notebooks {
			switch {
			case n.Together != together:
				continue
			case n.Touched == nil && n.Merged.State != mergereview.Red:
				untouched++
				continue
			}
			told++
			switch {
			case n.Together:
				line("✗ %s: green on %s and on %s, and red together", n.Notebook, r.Base.Name, r.Head.Name)
			default:
				mark := map[mergereview.State]string{mergereview.Green: "✓", mergereview.Red: "✗"}[n.Merged.State]
				if mark == "" {
					mark = "?"
				}
				line("%s %s: %s together (%s on %s, %s on %s)", mark, n.Notebook, n.Merged.State, n.Base.State,
					r.Base.Name, n.Head.State, r.Head.Name)
			}
			if n.Merged.Words != "" {
				line("  %s", n.Merged.Words)
			}
			if n.Touched != nil {
				line("  as on neither side: %s", plain.Some(n.Touched, 3))
			}
			if n.Merged.Run != "" {
				line("  evidence: %s", files.Short(n.Merged.Run))
			}
		}
	}
	line("%s: %s touched, %s not", map[bool]string{true: "no objection", false: "objection"}[r.Verdict == "pass"],
		plain.Counted(told, "notebook"), plain.Counted(untouched, "notebook"))
	_, err := a.stdout.WriteString(b.String())
	return err
}
