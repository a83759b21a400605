package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/render"
	"markmill/render/compare"
	"markmill/render/plain"
	"markmill/runs"
)

// What came of a notebook. They are the status of test --json.
const (
	testSame        = "same"
	testDifferent   = "different"
	testFailed      = "failed"      // the run did not pass
	testBlocked     = "blocked"     // a gate was not met: nothing ran
	testInterrupted = "interrupted" // by a signal
	testMissing     = "missing"     // there is no stored output, and there should be
	testSkipped     = "skipped"     // there is no stored output, and nobody asked for this file by its name
	testUpdated     = "updated"     // it was different, and the stored output is the new one now
	testError       = "error"       // it could not be tested
)

// testedNotebook is what test --json says of one notebook.
type testedNotebook struct {
	Notebook string       `json:"notebook"` // as it was named or found
	Stored   string       `json:"stored,omitzero"`
	Status   string       `json:"status"`
	Stale    bool         `json:"stale"`              // stored is the output of another source: told, and no difference by itself
	Words    []string     `json:"words,omitempty"`    // what is off besides the steps
	Reversed []string     `json:"reversed,omitempty"` // files of a change that is applied already, without which the run began
	Run      string       `json:"run,omitzero"`       // the run directory
	Seconds  float64      `json:"seconds"`
	Steps    []testedStep `json:"steps"`

	job     *testJob
	results []compare.Result
	err     error
	dirty   []string
	signal  int
	started time.Time
	fresh   []byte           // the new output notebook, where it may take the place of the stored one
	view    engine.ViewInput // of the run, for its pictures
}

type testedStep struct {
	Step    string  `json:"step"`
	Line    int     `json:"line,omitzero"` // in notebook
	Verdict string  `json:"verdict"`
	Words   string  `json:"words,omitzero"`
	Diff    string  `json:"diff,omitzero"`
	Seconds float64 `json:"seconds"`
	// Normalize are the built-in rules that would mask the whole difference.
	Normalize []string `json:"normalize,omitempty"`
}

// tester is what the tests of one command share.
type tester struct {
	*app
	o     *testOptions
	rules []notebooks.Normalize // of --sanitize-with
}

// notebook tests one notebook.
func (t *tester) notebook(ctx context.Context, j *testJob) *testedNotebook {
	n := &testedNotebook{Notebook: name(j.file.path), Stored: name(j.stored), Status: testSame, Steps: []testedStep{}, job: j, started: t.now()}
	switch err := t.fill(ctx, j, n); {
	case err != nil && ctx.Err() != nil: // the interruption came before the run began
		n.Status, n.Words = testInterrupted, []string{"it was not begun"}
	case err != nil:
		n.Status, n.err = testError, err
		n.Words = strings.Split(err.Error(), "\n")
	}
	n.Seconds = round(t.now().Sub(n.started))
	return n
}

func round(d time.Duration) float64 { return float64(max(d, 0).Milliseconds()) / 1000 }

func (t *tester) fill(ctx context.Context, j *testJob, n *testedNotebook) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !j.hasOutput() && !t.o.marked && !t.o.update {
		n.Status, n.Words = testMissing, []string{"no output is stored: run it to " + name(j.updateTo) + ", or test it with --update"}
		if !j.file.named {
			n.Status, n.Words = testSkipped, []string{"no output is stored"}
		}
		return nil
	}
	eng, repo, err := t.engineFor(j.path, t.o.repo)
	if err != nil {
		return err
	}
	rules, err := t.allRules(eng.Config)
	if err != nil {
		return err
	}
	plan, err := t.plan(ctx, eng, repo, j)
	if err != nil {
		return err
	}
	n.Stored, n.dirty = name(j.stored), plan.DirtyPaths()
	n.Reversed, n.Words = j.reversed, append(n.Words, j.words...)
	result, err := eng.Run(ctx, plan, engine.Sinks{Views: t.views("")})
	if err != nil {
		return err
	}
	if err := t.retain(eng, repo); err != nil {
		fmt.Fprintln(t.stderr, "markmill: old runs were not removed: "+err.Error())
	}
	return t.judge(j, n, plan, result, rules)
}

// plan is the run that gives the output anew: the same notebook with the same values.
func (t *tester) plan(ctx context.Context, eng *engine.Engine, repo *worktree.Source, j *testJob) (*engine.Plan, error) {
	req := t.o.req
	req.Path, req.Source, req.Repository, req.Markers = name(j.path), j.source, rootOf(repo), true
	var err error
	if repo == nil {
		if req.Folder, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	if req.ID, err = eng.NewID(req.Path); err != nil {
		return nil, err
	}
	nb, err := eng.Parse(req)
	if err != nil {
		return nil, err
	}
	if j.hasOutput() && j.output.jupyter != nil && j.output.foreign() {
		t.asJupyter(&req, j, repo)
	}
	if j.hasOutput() {
		again, err := paramsAgain(name(j.stored), j.output, nb, t.o.req.Given, machinePaths(eng, repo))
		if err != nil {
			return nil, err
		}
		req.Given = append(again, t.o.req.Given...)
		if err := t.takeBack(ctx, j, repo, &req); err != nil {
			return nil, err
		}
	}
	if req.Assets = assetsFolder(j.target()); nb.Form == ipynb.Form { // the pictures are in the file itself
		req.Assets = ""
		if t.o.update { // the file names its own path
			req.Output = absolute(j.target())
		}
	}
	plan, err := eng.Plan(ctx, req)
	if err != nil {
		return nil, err
	}
	return plan, render.CheckNormalize(plan.Notebook())
}

// machinePaths are the paths that an output notebook has by name and that are the same in every run.
func machinePaths(eng *engine.Engine, repo *worktree.Source) map[string]string {
	paths := map[string]string{}
	if repo != nil {
		paths["<source>"] = repo.Root()
	}
	if home, ok := eng.Getenv("HOME"); ok && len(home) > 1 {
		paths["<home>"] = home
	}
	return paths
}

// allRules are the rules of the repository and those of --sanitize-with.
func (t *tester) allRules(cfg engine.Config) (render.Rules, error) {
	own, err := render.NewRules(cfg.Normalize)
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, File: cfg.File, Msg: err.Error(), Err: err}
	}
	more, err := render.NewRules(t.rules)
	return append(own, more...), err
}

// judge compares what a run left with what was stored.
func (t *tester) judge(j *testJob, n *testedNotebook, plan *engine.Plan, result *engine.Result, rules render.Rules) error {
	n.Run = result.Dir
	raw, err := os.ReadFile(filepath.Join(result.Dir, result.Run.OutputFile()))
	if err != nil {
		return err
	}
	now, stored, err := t.sides(j, raw, plan, result)
	if err != nil {
		return err
	}
	from := name(j.stored)
	if from == "" {
		from = "nothing"
	}
	n.results, err = compare.Compare(plan.Notebook(), result.Run, stored, now, compare.Options{Marked: t.o.marked, Rules: rules, From: from, To: "this run"})
	if err != nil {
		return err
	}
	times := map[string]float64{}
	for _, s := range result.Run.Steps {
		if !s.FinishedAt.IsZero() && !s.StartedAt.IsZero() {
			times[string(s.Planned.ID)] = round(s.FinishedAt.Sub(s.StartedAt))
		}
	}
	for _, r := range n.results {
		n.Steps = append(n.Steps, testedStep{Step: r.Step, Line: j.line(r.Line), Verdict: string(r.Verdict), Words: r.Words, Diff: r.Diff, Seconds: times[r.Step],
			Normalize: r.Normalize})
		if r.Verdict == compare.Different {
			n.Status = testDifferent
		}
	}
	n.Stale = j.hasOutput() && (!j.output.of(j.path, j.source) || j.output.merged())
	t.verdict(n, result)
	if result.Run.Status() == runs.Pass && (n.Status == testDifferent || n.Stale || !j.hasOutput()) {
		n.view = engine.ViewInput{Dir: result.Dir, Run: result.Run, Notebook: plan.Notebook()}
		n.fresh, err = j.fresh(raw, n.view, n.results)
	}
	return err
}

// sides are what a run left and what was stored, as they are compared.
func (t *tester) sides(j *testJob, raw []byte, plan *engine.Plan, result *engine.Result) (now, stored compare.Output, err error) {
	if plan.Notebook().Form == ipynb.Form {
		fresh := storedOutput{manifest: &notebooks.Manifest{}}
		if j.hasOutput() {
			fresh.manifest = j.output.manifest // pictures count on both sides, or on none
			stored = j.output.compared(result.Run.Started.Paths)
		}
		if fresh.jupyter, err = ipynb.Parse(runs.OutputFile, raw); err != nil {
			return now, stored, err
		}
		fresh.cells, err = fresh.jupyter.StepCells(false)
		return fresh.compared(result.Run.Started.Paths), stored, err
	}
	now = compare.Markdown(notebooks.Strip(runs.OutputFile, raw), render.ParametersRegion)
	now.Pictures(pictureDigest(result.Dir, plan.Request().Assets))
	if j.hasOutput() {
		stored = j.output.compared(nil)
		stored.Pictures(pictureDigest(filepath.Dir(j.stored), plan.Request().Assets))
	}
	return now, stored, nil
}

// verdict is that of the run, where it did not pass.
func (t *tester) verdict(n *testedNotebook, result *engine.Result) {
	switch result.Run.Status() {
	case runs.Pass:
		return
	case runs.Blocked:
		n.Status = testBlocked
	case runs.Interrupted:
		n.Status, n.signal = testInterrupted, result.Run.ExitCode()-128
		n.Words = append(n.Words, fmt.Sprintf("interrupted by signal %d", n.signal))
	default:
		n.Status = testFailed
	}
	for _, b := range result.Run.Blockers() {
		n.Words = append(n.Words, plain.Line([]byte(blockerLine(b))))
	}
}

// pictureDigest says which bytes a picture has that an output notebook in a folder shows. Only what lies in the
// folder of its pictures is read.
func pictureDigest(folder, assets string) func(link string) string {
	return func(link string) string {
		path, err := url.PathUnescape(link)
		if err != nil || !strings.HasPrefix(path, assets+"/") {
			return ""
		}
		root, err := os.OpenRoot(folder)
		if err != nil {
			return "missing"
		}
		defer root.Close()
		data, err := root.ReadFile(filepath.FromSlash(path))
		if err != nil {
			return "missing"
		}
		return string(runs.DigestOf(data))
	}
}

// promote puts the new output in the place of the stored one. The steps that only a test leaves out, or lets fail,
// would make it another than run gives: then nothing is written.
func (t *tester) promote(n *testedNotebook) error {
	for _, s := range n.view.Notebook.Steps {
		if n.job.own() && n.job.output.foreign() {
			break // only what a test compares is written
		}
		if m := s.Markers(); m.Skip || m.Raises {
			return fmt.Errorf("%s: step %q has a marker of nbval's (NBVAL_SKIP, NBVAL_RAISES_EXCEPTION), which only a test obeys; write the output with markmill run, or use the tags skip and raises-exception",
				n.job.place(s.Line), s.ID)
		}
	}
	to := n.job.target()
	if before, err := os.ReadFile(to); err == nil && (!n.job.hasOutput() || !bytes.Equal(before, n.job.output.raw)) {
		return fmt.Errorf("%s: changed while the test ran; it is left as it is", name(to))
	}
	if err := writeOutput(to, n.fresh, n.view); err != nil {
		return err
	}
	n.Status, n.Stored = testUpdated, name(to)
	return nil
}
