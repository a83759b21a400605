package resume

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/remote"
	"markmill/cmd/markmill-server/queue/submit"
	"markmill/engine"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/runs"
)

// resumeOptions are the options of resume.
type resumeOptions struct {
	*launch.Options
	at, notebook string
}

func Command(a *program.App) *cobra.Command {
	o := &resumeOptions{Options: launch.Defaults()}
	c := &cobra.Command{
		Use: "resume [RUN [OUTPUT]]", Short: "Continue an interrupted or failed run or sweep; --at and -p make a fork",
		Long: `Makes a new run that continues RUN (default: the last one): an id, a part of one, last, a notebook (its last
run), a sweep, or last-sweep.

A run that was interrupted (killed, ended by a signal, or stopped by a full disk) continues at its first unfinished
step, in the worktree as it was then, with its recorded notebook. A run that failed continues at the first step that did
not pass, with the notebook as it is now. A sweep runs the rows that are missing or failed; of attempts those that are
missing.

--at STEP makes a fork of a run with any status: it carries over the steps before STEP, and runs STEP and the steps
after it. So does -p, which gives a parameter another value. A fork has the recorded notebook, unless --notebook names another, and
writes OUTPUT only where one is given.

Parameters, options and base commit are those of RUN. Secrets are in no record and must be given again with -p. Steps
that passed are carried over with their results and proof. The run begins earlier, and says so, if an earlier step
differs from that of RUN, did not pass, or uses a parameter whose value has changed. Carried steps whose interpreter a
later step needs run again, only to rebuild its state.

Exit codes: as of run; 2 also when there is nothing to continue: a run that passed needs --at, -p or --notebook.`,
		Example: "  markmill resume\n  markmill resume last -p token=SECRET\n  markmill resume task.md\n" +
			"  markmill resume last --at train -p rate=0.1\n  markmill resume last-sweep",
		Args: program.Args(0, 2),
		RunE: func(c *cobra.Command, words []string) error {
			for _, name := range []string{"at", "notebook", "branch"} {
				if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return program.Usagef("--%s names nothing; give a value, or leave the option out", name)
				}
			}
			return resume(a, c, program.WordOr(words, "last"), words[min(1, len(words)):], o)
		},
	}
	f := c.Flags()
	a.ParamFlags(f, &o.Req.Given, &o.StdinParams)
	f.StringVar(&o.at, "at", "", "make a fork: the first step that runs, by its `STEP` id")
	f.StringVar(&o.notebook, "notebook", "", "make a fork that runs `EDITED`, the notebook as it is now")
	f.StringVar(&o.Req.Branch, "branch", "",
		"commit the change on a new branch `NAME` when the run passes (default: that of RUN, if RUN did not pass)")
	a.RepoFlag(f)
	o.Sweep.WorkFlags(f)
	o.Sweep.QueueFlags(f)
	a.ForceFlag(f)
	o.ViewFlags(f)
	return c
}

// sweepOnly are the options of resume that only a sweep has, and runOnly those that a sweep has not.
var (
	sweepOnly = []string{"jobs", "max-failures", "fail-fast", "queue", "label", "priority", "retries"}
	runOnly   = []string{"at", "notebook", "branch", "events", "stdout-file", "stderr-file", "log-output",
		"keep-worktree"}
)

// resume continues a run or a sweep.
func resume(a *program.App, c *cobra.Command, word string, output []string, o *resumeOptions) error {
	around := "-"
	if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
		around = word
	}
	_, repo, err := a.EngineFor(around, a.Repo)
	if err != nil {
		return err
	}
	store, err := a.Store(repo)
	if err != nil {
		return err
	}
	dir, err := store.FindSweep(word)
	if err != nil {
		return err
	}
	refused, what := sweepOnly, "a sweep"
	if dir != "" {
		refused, what = runOnly, "a run"
	}
	for _, name := range refused {
		if c.Flags().Changed(name) {
			return program.Usagef("--%s is for %s; leave it out", name, what)
		}
	}
	if o.Sweep.Queue.Name != "" {
		if err := submit.CheckJobsAtOnce(c); err != nil {
			return err
		}
		if a.Server == nil {
			return a.BecomeServer(os.Args[1:])
		}
	}
	if dir != "" {
		if len(output) > 0 {
			return program.Usagef("a resumed sweep has the OUTPUT of its record; leave %s out", output[0])
		}
		return launch.ResumeSweep(c.Context(), a, dir, o.Options)
	}
	if around != "-" {
		id, err := lastOf(store, engines.RootOf(repo), word)
		if err != nil && notebooks.FormOfName(word) != "" {
			return err
		}
		word = cmp.Or(id, word) // of an archive, runBefore says what it is to be
	}
	return resumeRun(c.Context(), a, word, around, output, o)
}

// resumeRun continues a run, or makes a fork of one.
func resumeRun(ctx context.Context, a *program.App, word, around string, output []string, o *resumeOptions) error {
	b, dir, err := runBefore(a, word, around, a.Repo)
	if err != nil {
		return err
	}
	was, _, err := runs.At(dir).Load()
	if err != nil {
		return err
	}
	status := was.Status()
	given, asked := o.Req.Given, o.Req
	forks := o.at != "" || o.notebook != "" || !onlySecrets(was, given) ||
		asked.Branch != "" && status == runs.Interrupted // which continues with its options alone
	if status.Passed() && !forks {
		return program.Usagef("run %s passed, and there is nothing left of it to do: give --at STEP, -p NAME=VALUE or "+
			"--notebook FILE to make another run of it", was.ID)
	}
	if !forks { // it may have been stopped by a full disk
		b.InterruptedRun, err = b.eng.Interrupted(dir)
	}
	interrupted := !forks && err == nil
	if forks || err != nil && status != runs.Interrupted {
		b.InterruptedRun, err = b.eng.Forked(dir)
	}
	if err != nil {
		return err
	}
	out := was.Started.Output
	if forks { // the output of RUN stays as it is
		out = ""
	}
	if len(output) > 0 {
		out = output[0]
	}
	if err := o.Check(a.World, out); err != nil {
		return err
	}
	if o.Req, err = b.Request(given); err != nil {
		return err
	}
	o.Req.Repository, o.Req.KeepTree, o.Req.At = b.root, asked.KeepTree, notebooks.StepID(o.at)
	if asked.Branch != "" {
		o.Req.Branch = asked.Branch
	}
	notebook := o.notebook
	if !forks && !interrupted {
		notebook = notebookNow(a, was, b.root)
	}
	if notebook != "" {
		src, madeOf, err := a.ReadRunnable(notebook, false, len(o.Req.Given) > 0)
		if err != nil {
			return err
		}
		o.Req.Path, o.Req.Source, o.Req.MadeOf = program.Name(notebook), src, madeOf
	}
	return goOnFrom(ctx, a, b, out, o.Options)
}

// onlySecrets reports whether all values that are given are of parameters which no record holds.
func onlySecrets(run *runs.Run, given []params.Given) bool {
	for _, g := range given {
		if !slices.ContainsFunc(run.Contract.Parameters, func(p runs.ParamData) bool {
			return p.Name == g.Name && p.Type == string(notebooks.TypeSecret)
		}) {
			return false
		}
	}
	return true
}

// notebookNow is the path of the notebook of a run, as it is now; "" where there is none any more, and the record is
// all that is left of it.
func notebookNow(a *program.App, was *runs.Run, root string) string {
	path := was.Started.SourcePath
	if path == "" || remote.Is(path) {
		return ""
	}
	if root != "" {
		path = filepath.Join(root, filepath.FromSlash(path))
	}
	if _, err := os.Stat(path); err != nil {
		a.Tell("markmill: %s is not there any more; the run continues with its recorded notebook\n", path)
		return ""
	}
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// before is a run that another is to go on from, and where it was found.
type before struct {
	*engine.InterruptedRun
	eng  *engine.Engine
	root string
}
