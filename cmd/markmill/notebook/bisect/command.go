package bisect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// bisectOptions are the options of bisect that are not those of each run.
type bisectOptions struct {
	launch.Options
	good, bad, scrap, step string
	asCommitted, anew      bool
}

func Command(a *program.App) *cobra.Command {
	o := &bisectOptions{Options: *launch.Defaults()}
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
		Args: program.Args(1, 1),
		RunE: func(c *cobra.Command, words []string) error { return bisect(c.Context(), a, words[0], o) },
	}
	f := c.Flags()
	a.ParamFlags(f, &o.Req.Given, &o.StdinParams)
	f.StringVar(&o.good, "good", "", "a commit `REV` whose answer is good: a tag, a branch, HEAD~20, …")
	f.StringVar(&o.bad, "bad", "HEAD", "a later commit `REV` whose answer is bad")
	f.StringVar(&o.scrap, "scrap", "", "a run is good if its scrap meets this `CONDITION`, as in 'loss<0.2'")
	f.StringVar(&o.step, "step", "", "a run is good if the step with this `ID` passes, or records such a scrap")
	f.BoolVar(&o.asCommitted, "as-committed", false, "run the notebook as each commit has it, at the same path")
	f.BoolVar(&o.anew, "anew", false, "ignore existing runs; run all commits again")
	f.StringVarP(&o.Req.Kernel, "kernel", "k", "", "`KERNEL` for the steps whose language it runs")
	f.StringVar(&o.StepTimeout, "execution-timeout", "",
		"limit of a step that sets none, a `TIME` in seconds, or 90s, 10m, 1h; 0 gives none")
	f.StringSliceVar(&o.Req.Copy, "copy", nil, "ignored files to take into the worktree, by a `PATTERN` such as .env")
	f.StringVar(&o.Repo, "repo", "",
		"`FOLDER` of the Git repository (default: the one around the working directory, or else around the notebook)")
	program.JSONFlag(c, &o.JSON, "bisect")
	return c
}

// bisect searches, shows each commit as it is tested, and prints what was found.
func bisect(ctx context.Context, a *program.App, path string, o *bisectOptions) error {
	search, err := bisection(a, path, o)
	if err != nil {
		return err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	found, err := Find(ctx, search)
	if found != nil {
		var ran []runs.RunID
		for _, t := range found.Tested {
			if t.Run != "" && !t.Kept {
				ran = append(ran, t.Run)
			}
		}
		launch.Retain(a, search.Engine, search.Engine.Source, ran...)
	}
	if caught, ok := errors.AsType[engine.Interrupt](err); ok {
		a.Tell("markmill: the same command goes on: the runs that are kept answer first\n")
		return program.Exit(128 + caught.Signal)
	}
	if err != nil {
		return err
	}
	if o.JSON {
		err = a.PrintJSON("bisect", found)
	} else {
		err = printFound(a, found)
	}
	if err == nil && found.First == nil {
		return program.Exit(program.ExitBlocked)
	}
	return err
}

// bisection reads the options and the notebook.
func bisection(a *program.App, path string, o *bisectOptions) (search Options, err error) {
	if o.good == "" || o.bad == "" {
		return search, program.Usagef("give a good commit and a bad one: --good REV --bad REV")
	}
	search = Options{Good: o.good, Bad: o.bad, Anew: o.anew}
	search.Step = notebooks.StepID(o.step)
	if o.scrap != "" {
		if search.Scrap, err = index.ParseCondition(o.scrap); err != nil {
			return search, program.Usagef("--scrap: %v", err)
		}
	}
	if path == "-" && (o.StdinParams || o.asCommitted) {
		return search, program.Usagef("NOTEBOOK - is standard input, and so cannot be had again; give a path")
	}
	o.LogLevel = "INFO"
	if err := o.Check(a.World, ""); err != nil {
		return search, err
	}
	values := len(o.Req.Given) > 0
	src, madeOf, err := a.ReadRunnable(path, false, values)
	if err != nil {
		return search, err
	}
	eng, repo, err := a.EngineFor(path, o.Repo)
	if err != nil {
		return search, err
	}
	o.Req.Path, o.Req.Source, o.Req.MadeOf, o.Req.Repository = program.Name(path), src, madeOf, engines.RootOf(repo)
	search.Engine = eng
	if o.asCommitted && repo != nil {
		rel, ok := repo.Relative(path)
		if !ok {
			return search, program.Usagef("--as-committed: %s is not in the repository %s", path, repo.Root())
		}
		search.Source = func(commit worktree.OID) ([]byte, error) {
			text, err := repo.File(commit, rel)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, program.BadInput(rel, "is not in the commit %.12s", commit)
			}
			if err != nil {
				return nil, err
			}
			src, _, err := program.SourceOf(path, text, false, values)
			if err != nil {
				return nil, err
			}
			return a.Runnable(path, src, values)
		}
	}
	if err := o.SetOutput(""); err != nil {
		return search, err
	}
	search.Request = o.Req
	return search, bisectTelling(a, &search)
}

// bisectTelling sets what is shown meanwhile, and how records are signed.
func bisectTelling(a *program.App, search *Options) error {
	var err error
	if search.Sinks, err = launch.Aside(a, search.Engine); err != nil {
		return err
	}
	search.Note = func(words string) { a.Tell("markmill: %s\n", plain.OneLine(words)) }
	live := a.Terminal(a.Stderr)
	search.Testing = func(c worktree.Commit) {
		if live {
			a.Tell("  testing %s %s", short(c.ID), plain.Cut(plain.OneLine(c.Subject), 60))
		}
	}
	search.Tested = func(t Tested, left int) {
		if live {
			fmt.Fprint(a.Stderr, "\r\x1b[K")
		}
		mark := map[Verdict]string{Good: "✓", Bad: "✗"}[t.Verdict]
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
		a.Tell("%s %s %s · %s · %s %s · %d left\n", mark, short(t.ID), t.Verdict, plain.Cut(plain.OneLine(t.Value),
			100), how, t.Run, left-1)
	}
	return nil
}

func short(id worktree.OID) string { return string(id)[:min(12, len(id))] }

// printFound prints what was found for people.
func printFound(a *program.App, r *Result) error {
	if r.First == nil {
		err := program.Say(a.Stdout, "The first bad commit is one of these %d; all of them but the last cannot be "+
			"tested:\n",
			len(r.Candidates))
		for _, c := range r.Candidates {
			if err == nil {
				err = program.Say(a.Stdout, "  %s  %s  %s  %s\n", short(c.ID), c.Date.Format(time.DateOnly),
					plain.OneLine(c.Author), plain.OneLine(c.Subject))
			}
		}
		return err
	}
	c, before := r.First, r.Before
	err := program.Say(a.Stdout, "%s is the first bad commit\n", c.ID)
	line := func(label, format string, args ...any) {
		if err == nil {
			err = program.Say(a.Stdout, "  "+label+"  "+format+"\n", args...)
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
