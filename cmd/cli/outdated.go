package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/cmd/api/retest"
	"markmill/cmd/api/status"
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
			err = usagef("--outdated runs each notebook as it was run before; leave --%s out", f.Name)
		}
	})
	return err
}

// outdatedOf lists the outputs below paths that are not current, compared with what their runs would begin with: the
// checkout, unless the user says which uncommitted changes count. A notebook that was never run, and has nowhere to
// write to, is listed only where it is named; never counts the others. Paths are from the working directory.
func (a *app) outdatedOf(ctx context.Context, paths []string, work *workOptions, req *engine.Request, dirtyIsSet bool) (
	out []status.Output, never int, err error) {
	if !dirtyIsSet && req.Base == "" {
		work.dirty = string(engine.DirtyInclude)
	}
	at := ""
	if work.dirty != string(engine.DirtyInclude) || req.Base != "" {
		at = cmp.Or(req.Base, "HEAD")
	}
	repo, st, err := a.statusOf(ctx, work.repo, paths, at)
	if err != nil {
		return nil, 0, err
	}
	here := fromHere(repo)
	for _, o := range st.Outputs {
		named := slices.ContainsFunc(paths, func(p string) bool { return files.Same(p, here(o.Source)) })
		switch {
		case o.State == review.Current:
			continue
		case neverRun(&o) && !named:
			never++
			continue
		case o.Lost():
			a.tell("markmill: %s is left out: its source was removed\n", plain.Escape(here(o.Path)))
			continue
		case o.Path == "":
			o.Path = o.Target()
		}
		if o.Path = here(o.Path); o.Source != "" {
			o.Source = here(o.Source)
		}
		out = append(out, o)
	}
	return out, never, nil
}

// runOutdated runs the notebooks below paths whose outputs are not current, one after the other.
func (a *app) runOutdated(ctx context.Context, c *cobra.Command, paths []string, o *runOptions) error {
	list, never, err := a.outdatedOf(ctx, paths, &o.workOptions, &o.req, c.Flags().Changed("dirty"))
	if err != nil {
		return err
	}
	for _, out := range list {
		if err := a.holdOutput(out.Path); err != nil {
			return err
		}
	}
	code, passed, wrote, done := exitPass, 0, false, map[string]bool{}
	for left := list; len(left) > 0 && code <= 128; { // above it was ended by a signal
		out := next(left)
		a.tell("markmill: %s → %s: %s: %s\n", plain.Escape(out.Subject()), plain.Escape(out.Path), out.State,
			plain.Escape(out.Why))
		got := a.report(a.runAgain(ctx, &out, *o))
		if got == exitPass {
			passed++
		}
		code, done[out.Path] = max(code, got), true
		left = slices.DeleteFunc(left, func(o status.Output) bool { return done[o.Path] })
		if wrote = wrote || len(out.Wrote) > 0; !wrote || len(left) > 0 {
			continue
		}
		// Those that read what was written may be outdated now.
		if left, _, err = a.outdatedOf(ctx, paths, &o.workOptions, &o.req, c.Flags().Changed("dirty")); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(o status.Output) bool { return done[o.Path] })
		for _, out := range left {
			if err := a.holdOutput(out.Path); err != nil {
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
	a.tell("markmill: %s\n", words)
	return endWith(code)
}

// next is the first of outputs that reads no data which another of them writes.
func next(list []status.Output) status.Output {
	for i := range list {
		waits := slices.ContainsFunc(list, func(o status.Output) bool {
			return o.Path != list[i].Path && slices.ContainsFunc(o.Wrote, func(p string) bool {
				return slices.Contains(list[i].Read, p)
			})
		})
		if !waits {
			return list[i]
		}
	}
	return list[0] // they wait for each other
}

// runAgain runs a notebook to the output that it has, with the parameters that the last run was given.
func (a *app) runAgain(ctx context.Context, out *status.Output, o runOptions) error {
	path := out.Subject()
	eng, repo, err := a.engineFor(path, o.repo)
	if err != nil {
		return err
	}
	o.dropDamaged = out.Source == "" && (out.Has(review.Altered) || out.Has(review.Damaged))
	if out.Has(review.Damaged) || out.Has(review.Altered) { // its parameters are what the manifest lists
		if len(out.Given) > 0 || out.Has(review.Damaged) {
			return &notebooks.Error{Kind: notebooks.KindInput, File: out.Path, Msg: "is " + string(out.State) +
				", so the parameters that it names prove nothing",
				Hint: "run it yourself: " + commandLine(out.Command(func(p string) string { return p }))}
		}
	} else if _, err := os.Stat(out.Path); err == nil {
		req := o.req
		req.Path, req.Repository, req.Dirty = name(path), api.RootOf(repo), engine.Dirty(o.dirty)
		if req.Source, err = api.Source(path, true); err != nil {
			return err
		}
		words, err := retest.Again(ctx, eng, repo, out.Path, &req)
		if err != nil {
			return err
		}
		for _, w := range words {
			a.tell("markmill: %s\n", plain.Escape(w))
		}
		o.req.Given, o.req.Reverse = req.Given, req.Reverse
	}
	return a.runNotebook(ctx, path, out.Path, &o)
}

// testOutdated lists the outputs that test --outdated runs again.
func (a *app) testOutdated(ctx context.Context, paths []string, o *testOptions) ([]files.File, error) {
	list, _, err := a.outdatedOf(ctx, paths, &o.workOptions, &o.Request, o.dirtyIsSet)
	if err != nil {
		return nil, err
	}
	var found []files.File
	for _, out := range list {
		if _, err := os.Stat(out.Path); err == nil {
			found = append(found, files.File{Path: out.Path, Named: true})
		}
	}
	return found, nil
}
