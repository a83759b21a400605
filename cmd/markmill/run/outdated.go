package run

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/outdated"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/retest"
	"markmill/cmd/internal/status"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/review"
)

// outdatedFlags are the options of run that go with --outdated. Everything else is as it was at the earlier run.
var outdatedFlags = []string{"outdated", "repo", "dirty", "base", "kernel", "execution-timeout", "run-timeout",
	"start-timeout", "floor", "events", "log-level", "log-output", "no-log-output", "progress-bar", "no-progress-bar"}

// checkOutdated returns an error for an option that --outdated does not take.
func checkOutdated(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(outdatedFlags, f.Name) {
			err = program.Usagef("--outdated runs each notebook as it was run before; leave --%s out", f.Name)
		}
	})
	return err
}

// runOutdated runs the notebooks below paths whose outputs are not current, one after the other.
func runOutdated(ctx context.Context, a *program.App, c *cobra.Command, paths []string, o *launch.Options) error {
	list, never, err := outdated.OutdatedOf(ctx, a, paths, &o.WorkOptions, &o.Req, c.Flags().Changed("dirty"))
	if err != nil {
		return err
	}
	for _, out := range list {
		if err := a.HoldOutput(out.Path); err != nil {
			return err
		}
	}
	code, passed, wrote, done := program.ExitPass, 0, false, map[string]bool{}
	for left := list; len(left) > 0 && code <= 128; { // above it was ended by a signal
		out := outdated.Next(left)
		a.Tell("markmill: %s → %s: %s: %s\n", plain.Escape(out.Subject()), plain.Escape(out.Path), out.State,
			plain.Escape(out.Why))
		got := a.Report(runAgain(ctx, a, &out, *o))
		if got == program.ExitPass {
			passed++
		}
		code, done[out.Path] = max(code, got), true
		left = slices.DeleteFunc(left, func(o status.Output) bool { return done[o.Path] })
		if wrote = wrote || len(out.Wrote) > 0; !wrote || len(left) > 0 {
			continue
		}
		// Those that read what was written may be outdated now.
		if left, _, err = outdated.OutdatedOf(ctx, a, paths, &o.WorkOptions, &o.Req,
			c.Flags().Changed("dirty")); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(o status.Output) bool { return done[o.Path] })
		for _, out := range left {
			if err := a.HoldOutput(out.Path); err != nil {
				return err
			}
		}
		list = append(list, left...)
	}
	words := "everything is current: nothing ran"
	switch {
	case len(list) > 0:
		words = fmt.Sprintf("%d of %d passed", passed, len(list))
	case never > 0:
		words = "nothing that was run is outdated: nothing ran"
	}
	if never > 0 {
		words += fmt.Sprintf("; never run, and so left out: %s; name one to run it", plain.Counted(never, "notebook"))
	}
	a.Tell("markmill: %s\n", words)
	return program.EndWith(code)
}

// runAgain runs a notebook to the output that it has, with the parameters that the last run was given.
func runAgain(ctx context.Context, a *program.App, out *status.Output, o launch.Options) error {
	path := out.Subject()
	eng, repo, err := a.EngineFor(path, o.Repo)
	if err != nil {
		return err
	}
	o.DropDamaged = out.Source == "" && (out.Has(review.Altered) || out.Has(review.Damaged))
	if out.Has(review.Damaged) || out.Has(review.Altered) { // its parameters are what the manifest lists
		if len(out.Given) > 0 || out.Has(review.Damaged) {
			return &notebooks.Error{Kind: notebooks.KindInput, File: out.Path, Msg: "is " + string(out.State) +
				", so the parameters that it names prove nothing",
				Hint: "run it yourself: " + program.CommandLine(out.Command(func(p string) string { return p }))}
		}
	} else if _, err := os.Stat(out.Path); err == nil {
		req := o.Req
		req.Path, req.Repository, req.Dirty = program.Name(path), engines.RootOf(repo), engine.Dirty(o.Dirty)
		if req.Source, err = files.Source(path, true); err != nil {
			return err
		}
		words, err := retest.Again(ctx, eng, repo, out.Path, &req)
		if err != nil {
			return err
		}
		for _, w := range words {
			a.Tell("markmill: %s\n", plain.Escape(w))
		}
		o.Req.Given, o.Req.Reverse = req.Given, req.Reverse
	}
	return RunNotebook(ctx, a, path, out.Path, &o)
}
