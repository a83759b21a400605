package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/cmd/api/bisect"
	"markmill/engine"
	"markmill/engine/process"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// bisectOptions are the options of bisect that are not those of each run.
type bisectOptions struct {
	runOptions
	good, bad, scrap, step string
	asCommitted, anew      bool
}

func (a *app) bisectCommand() *cobra.Command {
	o := &bisectOptions{runOptions: *defaultRunOptions()}
	c := &cobra.Command{
		Use: "bisect NOTEBOOK --good REV", Short: "Find the commit, and the step, with which the answer of a " +
			"notebook changed",
		Long: `Runs a notebook on commits between a good one and a bad one, halving as git bisect does, and names the first
bad commit and the step. A run that passes is good. With --scrap, a run is good if the condition on the scrap
holds, and with --step, if that step passes. The notebook is the one in the checkout, on every commit.

Existing runs of the same notebook with the same inputs are used first, if their records verify. An interrupted search
therefore continues when it is started again. The checkout, HEAD and .git/bisect are not touched.

A commit is skipped if it cannot be tested: the notebook cannot be planned on it or is blocked, an interpreter does not
start, a step tagged setup fails, a step exits with 125 (as for git bisect run), or the scrap or the step is not
reached. Every other failure is an answer.

Exit codes: 0 found; 1 Markmill failed; 2 usage, also when good is bad or bad is good; 3 the commits that are left, or
one of the two ends, cannot be tested; 128+n ended by signal n.`,
		Example: "  markmill notebook bisect report.md --good v1.4\n" +
			"  markmill notebook bisect train.md --good v1.4 --bad main --scrap 'loss<0.2' -p seed=7\n" +
			"  markmill notebook bisect report.md --good HEAD~40 --step check --json | jq .first_bad.id",
		Args: args(1, 1),
		RunE: func(c *cobra.Command, words []string) error { return a.bisect(c.Context(), words[0], o) },
	}
	f := c.Flags()
	a.paramFlags(f, &o.req.Given, &o.stdinParams)
	f.StringVar(&o.good, "good", "", "a commit `REV` whose answer is good: a tag, a branch, HEAD~20, …")
	f.StringVar(&o.bad, "bad", "HEAD", "a later commit `REV` whose answer is bad")
	f.StringVar(&o.scrap, "scrap", "", "a run is good if its scrap meets this `CONDITION`, as in 'loss<0.2'")
	f.StringVar(&o.step, "step", "", "a run is good if the step with this `ID` passes, or records such a scrap")
	f.BoolVar(&o.asCommitted, "as-committed", false, "run the notebook as each commit has it, at the same path")
	f.BoolVar(&o.anew, "anew", false, "ignore existing runs; run all commits again")
	f.StringVarP(&o.req.Kernel, "kernel", "k", "", "`KERNEL` for the steps whose language it runs")
	f.StringVar(&o.stepTimeout, "execution-timeout", "",
		"limit of a step that sets none, a `TIME` in seconds, or 90s, 10m, 1h; 0 gives none")
	f.StringSliceVar(&o.req.Copy, "copy", nil, "ignored files to take into the worktree, by a `PATTERN` such as .env")
	f.StringVar(&o.repo, "repo", "",
		"`FOLDER` of the Git repository (default: the one around the working directory, or else around the notebook)")
	jsonFlag(c, &o.json, "bisect")
	return c
}

// bisect searches, shows each commit as it is tested, and prints what was found.
func (a *app) bisect(ctx context.Context, path string, o *bisectOptions) error {
	search, err := a.bisection(path, o)
	if err != nil {
		return err
	}
	process.SealDescriptors()
	ctx, stop := a.interruptible(ctx)
	defer stop()
	found, err := bisect.Find(ctx, search)
	if found != nil {
		var ran []runs.RunID
		for _, t := range found.Tested {
			if t.Run != "" && !t.Kept {
				ran = append(ran, t.Run)
			}
		}
		a.retain(search.Engine, search.Engine.Source, ran...)
	}
	if caught, ok := errors.AsType[engine.Interrupt](err); ok {
		a.tell("markmill: the same command goes on: the runs that are kept answer first\n")
		return exit(128 + caught.Signal)
	}
	if err != nil {
		return err
	}
	if o.json {
		err = a.printJSON("bisect", found)
	} else {
		err = a.printFound(found)
	}
	if err == nil && found.First == nil {
		return exit(exitBlocked)
	}
	return err
}

// bisection reads the options and the notebook.
func (a *app) bisection(path string, o *bisectOptions) (search bisect.Options, err error) {
	if o.good == "" || o.bad == "" {
		return search, usagef("give a good commit and a bad one: --good REV --bad REV")
	}
	search = bisect.Options{Good: o.good, Bad: o.bad, Anew: o.anew}
	search.Step = notebooks.StepID(o.step)
	if o.scrap != "" {
		if search.Scrap, err = index.ParseCondition(o.scrap); err != nil {
			return search, usagef("--scrap: %v", err)
		}
	}
	if path == "-" && (o.stdinParams || o.asCommitted) {
		return search, usagef("NOTEBOOK - is standard input, and so cannot be had again; give a path")
	}
	o.logLevel = "INFO"
	if err := o.check(a.world, ""); err != nil {
		return search, err
	}
	values := len(o.req.Given) > 0
	src, madeOf, err := a.readRunnable(path, false, values)
	if err != nil {
		return search, err
	}
	eng, repo, err := a.engineFor(path, o.repo)
	if err != nil {
		return search, err
	}
	o.req.Path, o.req.Source, o.req.MadeOf, o.req.Repository = name(path), src, madeOf, api.RootOf(repo)
	search.Engine = eng
	if o.asCommitted && repo != nil {
		rel, ok := repo.Relative(path)
		if !ok {
			return search, usagef("--as-committed: %s is not in the repository %s", path, repo.Root())
		}
		search.Source = func(commit worktree.OID) ([]byte, error) {
			text, err := repo.File(commit, rel)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, badInput(rel, "is not in the commit %.12s", commit)
			}
			if err != nil {
				return nil, err
			}
			src, _, err := sourceOf(path, text, false, values)
			if err != nil {
				return nil, err
			}
			return a.runnable(path, src, values)
		}
	}
	if err := o.setOutput(""); err != nil {
		return search, err
	}
	search.Request = o.req
	return search, a.bisectTelling(&search)
}

// bisectTelling sets what is shown meanwhile, and how records are signed.
func (a *app) bisectTelling(search *bisect.Options) error {
	key, err := a.signKey(search.Engine.Config)
	if err != nil {
		return err
	}
	search.Sinks = func() engine.Sinks {
		return a.sinks("", nil, nil, key, engine.Observer{Files: a.written(&follower{})})
	}
	search.Sealed = func(dir string) error { return a.signRecord(dir, key) }
	search.Note = func(words string) { a.tell("markmill: %s\n", plain.OneLine(words)) }
	live := a.terminal(a.stderr)
	search.Testing = func(c worktree.Commit) {
		if live {
			a.tell("  testing %s %s", short(c.ID), plain.Cut(plain.OneLine(c.Subject), 60))
		}
	}
	search.Tested = func(t bisect.Tested, left int) {
		if live {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
		mark := map[bisect.Verdict]string{bisect.Good: "✓", bisect.Bad: "✗"}[t.Verdict]
		if mark == "" {
			mark = "?"
		}
		how := fmt.Sprintf("%.2f s", t.Seconds)
		switch {
		case t.Kept:
			how = "kept"
		case t.Run == "":
			how = "no run"
		}
		a.tell("%s %s %s · %s · %s %s · %d left\n", mark, short(t.ID), t.Verdict, plain.Cut(plain.OneLine(t.Value),
			100), how, t.Run, left-1)
	}
	return nil
}

func short(id worktree.OID) string { return string(id)[:min(12, len(id))] }

// printFound prints what was found for people.
func (a *app) printFound(r *bisect.Result) error {
	if r.First == nil {
		err := say(a.stdout, "The first bad commit is one of these %d; all of them but the last cannot be tested:\n",
			len(r.Candidates))
		for _, c := range r.Candidates {
			if err == nil {
				err = say(a.stdout, "  %s  %s  %s  %s\n", short(c.ID), c.Date.Format(time.DateOnly),
					plain.OneLine(c.Author), plain.OneLine(c.Subject))
			}
		}
		return err
	}
	c, before := r.First, r.Before
	err := say(a.stdout, "%s is the first bad commit\n", c.ID)
	line := func(label, format string, args ...any) {
		if err == nil {
			err = say(a.stdout, "  "+label+"  "+format+"\n", args...)
		}
	}
	line("subject", "%s", plain.OneLine(c.Subject))
	line("author ", "%s <%s>", plain.OneLine(c.Author), plain.OneLine(c.Email))
	line("date   ", "%s", c.Date.Format(time.RFC3339))
	line("good is", "%s", plain.OneLine(r.Question))
	if r.Step != "" {
		line("step   ", "%s", r.Step)
	}
	line("good   ", "%s · %s · run %s", plain.OneLine(before.Value), short(before.ID), before.Run)
	line("bad    ", "%s · %s · run %s", plain.OneLine(c.Value), short(c.ID), c.Run)
	if r.Differs != "" {
		line("earlier", "step %s differs already: %s", r.Differs, plain.OneLine(r.Difference))
	}
	line("compare", "markmill diff %s %s", before.Run, c.Run)
	return err
}
