package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/render/compare"
)

// testOptions are the options of test. req holds those that are the run's.
type testOptions struct {
	req             engine.Request
	repo, dirty     string
	stepTimeout     string
	sanitize, junit string
	marked, update  bool
	annotate, json  bool
	jobs            int
	stdinParams     bool
	annotateIsSet   bool
}

func (a *app) testCommand() *cobra.Command {
	o := &testOptions{}
	c := &cobra.Command{
		Use: "test PATH…", Short: "Run notebooks again and compare with the outputs that are stored",
		Long: `Runs notebooks again, with the parameters of the stored output, and shows as a diff what every step
left otherwise than it left before. PATH is an output notebook, a Jupyter notebook that was saved with outputs, a
notebook whose output stands beside it (as NAME.out.md, or where output: in markmill.yaml says), a folder of
them, or a pattern. What varies from run to run is masked on both sides by the notebook's normalize rules, and
those of markmill.yaml.

Exit codes: 0 the same, 1 different, or a run did not pass, 2 a notebook cannot be read, or nothing was
compared, 3 blocked, 128+n ended by signal n.`,
		Example: "  markmill test reports/health.out.md\n  markmill test notebooks -j 4 --junit results.xml\n  markmill test --update notebooks/*.md",
		Args:    args(1, -1),
		RunE: func(c *cobra.Command, paths []string) error {
			o.annotateIsSet = c.Flags().Lookup("annotate").Changed
			return a.test(c.Context(), paths, o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.marked, "marked", false, "compare only marked steps: tag check-output, or # NBVAL_CHECK_OUTPUT; the others must run")
	f.BoolVar(&o.update, "update", false, "put the new output in the place of the stored one, where the run passed")
	f.StringVar(&o.sanitize, "sanitize-with", "", "mask with the expressions of a file of nbval's, too")
	f.StringVar(&o.sanitize, "nbval-sanitize-with", "", "as --sanitize-with")
	f.Lookup("nbval-sanitize-with").Hidden = true
	f.StringVar(&o.junit, "junit", "", "write the results to a file as JUnit XML")
	f.BoolVar(&o.annotate, "annotate", false, "print annotations for GitHub Actions (default: where GITHUB_ACTIONS is true)")
	jsonFlag(c, &o.json, "test")
	f.IntVarP(&o.jobs, "jobs", "j", 1, "how many notebooks run at once")
	a.paramFlags(f, &o.req.Given, &o.stdinParams)
	f.StringVarP(&o.req.Kernel, "kernel", "k", "", "kernel that runs the steps of its language, and those without a language")
	f.StringVar(&o.req.Cwd, "cwd", "", "folder of the worktree where steps start")
	f.StringVar(&o.stepTimeout, "execution-timeout", "", "limit of a step that sets none: seconds, or 90s, 10m, 1h")
	f.StringVar(&o.repo, "repo", "", "folder of the Git repository to work on (default: the one around the working directory, or else around the notebook)")
	f.StringVar(&o.req.Base, "base", "", "revision that the worktree is made of (default HEAD)")
	f.StringVar(&o.dirty, "dirty", "ignore", "uncommitted changes: ignore, include (take them along), block")
	return c
}

// test does what test is asked.
func (a *app) test(ctx context.Context, paths []string, o *testOptions) error {
	t := &tester{app: a, o: o}
	if err := t.check(); err != nil {
		return err
	}
	files, err := findTests(paths)
	if err != nil {
		return err
	}
	jobs, broken := t.jobs(files)
	ctx, stop := a.interruptible(ctx)
	defer stop()
	all := t.runAll(ctx, jobs)
	if o.update {
		t.promoteAll(all)
	}
	all = append(broken, all...)
	return t.report(paths, all)
}

// check reads the options that nothing else reads.
func (t *tester) check() error {
	var err error
	if t.o.req.StepTimeout, err = limit("--execution-timeout", t.o.stepTimeout); err != nil {
		return err
	}
	switch t.o.req.Dirty = engine.Dirty(t.o.dirty); t.o.req.Dirty {
	case engine.DirtyIgnore, engine.DirtyInclude, engine.DirtyBlock:
	default:
		return usagef("--dirty %s is not known; known: ignore, include, block", t.o.dirty)
	}
	if t.o.req.Cwd != "" && !filepath.IsLocal(t.o.req.Cwd) {
		return usagef("--cwd %s is outside the worktree; give a folder relative to its root", t.o.req.Cwd)
	}
	if t.o.json && t.o.junit == "-" {
		return usagef("--json and --junit - both want standard output; leave one of them out, or give it a path")
	}
	if t.o.jobs < 1 {
		return usagef("-j %d runs nothing; give how many notebooks may run at once", t.o.jobs)
	}
	if !t.o.annotateIsSet {
		v, _ := t.getenv("GITHUB_ACTIONS")
		t.o.annotate = v == "true"
	}
	if t.o.sanitize == "" {
		return nil
	}
	text, err := t.readInput(t.o.sanitize, "a file of rules", maxParams)
	if err != nil {
		return usagef("--sanitize-with: %w", badRead(t.o.sanitize, err))
	}
	t.rules, err = compare.Sanitize(name(t.o.sanitize), text)
	return err
}

// jobs reads the files. Those that cannot be read, or whose output cannot be found, are results already.
func (t *tester) jobs(files []testFile) (jobs []*testJob, broken []*testedNotebook) {
	for _, file := range files {
		j, err := t.newJob(file)
		if err == nil && j != nil && !j.hasOutput() {
			err = t.lookBeside(j)
		}
		switch {
		case err != nil:
			broken = append(broken, &testedNotebook{Notebook: name(file.path), Status: testError, Words: strings.Split(err.Error(), "\n"),
				Steps: []testedStep{}, err: err, job: &testJob{file: file, path: file.path}, started: t.now()})
		case j == nil && file.named:
			fmt.Fprintf(t.stderr, "markmill: %s has no steps: there is nothing to test\n", name(file.path))
		case j != nil:
			jobs = append(jobs, j)
		}
	}
	return pairJobs(jobs), broken
}

// lookBeside finds the stored output of a source. Its path may have the values of parameters in it.
func (t *tester) lookBeside(j *testJob) error {
	eng, repo, err := t.engineFor(j.path, t.o.repo)
	if err != nil {
		return err
	}
	req := t.o.req
	req.Path, req.Source, req.Repository = name(j.path), j.source, rootOf(repo)
	return t.findStored(j, eng, req)
}

// runAll tests all notebooks, several at once, and returns what came of them in their order. After an interruption no
// other begins its run.
func (t *tester) runAll(ctx context.Context, jobs []*testJob) []*testedNotebook {
	out := make([]*testedNotebook, len(jobs))
	next := make(chan int)
	var group sync.WaitGroup
	for range min(t.o.jobs, len(jobs)) {
		group.Go(func() {
			for i := range next {
				out[i] = t.notebook(ctx, jobs[i])
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	group.Wait()
	return out
}

// promoteAll writes the new outputs when no run goes on any more: a change of the checkout during a run fails that run.
func (t *tester) promoteAll(all []*testedNotebook) {
	for _, n := range all {
		if n.fresh == nil {
			continue
		}
		if err := t.promote(n); err != nil {
			n.Words = append(n.Words, "not updated: "+err.Error())
			if n.Status == testSame {
				n.Status = testDifferent
			}
		}
	}
}
