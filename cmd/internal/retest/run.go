package retest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/kernel"
	"markmill/engine/kernel/jupyter"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/compare"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// notebook tests one notebook.
func (t *tester) notebook(ctx context.Context, j *job) *Notebook {
	n := &Notebook{Notebook: slashed(j.file.Path), Stored: slashed(j.stored), Status: Same, Steps: []Step{}, job: j,
		started: t.Now()}
	switch err := t.run(ctx, j, n); {
	case err != nil && ctx.Err() != nil: // interrupted before the run began
		n.Status, n.Words = Interrupted, []string{"it was not started"}
	case err != nil:
		n.Status, n.err, n.Words = Error, err, lines(err)
	}
	n.Seconds = seconds(t.Now().Sub(n.started))
	return n
}

func seconds(d time.Duration) float64 { return float64(max(d, 0).Milliseconds()) / 1000 }

func (t *tester) run(ctx context.Context, j *job, n *Notebook) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !j.hasOutput() && !t.Marked && !t.Update {
		words := "no output is stored: run it to " + slashed(j.updateTo) + ", or test it with --update"
		n.Status, n.Words = Missing, []string{words}
		if !j.file.Named {
			n.Status, n.Words = Skipped, []string{"no output is stored"}
		}
		return nil
	}
	eng, repo, err := t.Engine(j.path)
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
	n.Stored = slashed(j.stored)
	if t.Request.Dirty == engine.DirtyIgnore {
		n.dirty = plan.DirtyPaths()
	}
	n.Reversed, n.Words = j.reversed, append(n.Words, j.words...)
	result, err := eng.Run(ctx, plan, engine.Sinks{Views: views.Views()})
	if err != nil {
		return err
	}
	keep, age := eng.Config.Retention.Bounds()
	store := eng.Store(engines.RootOf(repo))
	_, err = store.PruneSometimes(keep, age, t.Now())
	words, derr := records.PruneData(store, eng.Config.Retention)
	if words != "" {
		t.Warn(words)
	}
	if err = errors.Join(err, derr); err != nil {
		t.Warn("old runs were not removed: " + err.Error())
	}
	return t.compare(j, n, plan, result, rules)
}

// plan plans a run that makes the stored output again: the same notebook with the same values.
func (t *tester) plan(ctx context.Context, eng *engine.Engine, repo *worktree.Source, j *job) (*engine.Plan, error) {
	req := t.Request
	req.Path, req.Source, req.Repository, req.Markers = slashed(j.path), j.source, engines.RootOf(repo), true
	req.Aside = true
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
		runLikeJupyter(&req, j, eng, repo)
	}
	if j.hasOutput() {
		again, err := givenAgain(slashed(j.stored), j.output, nb, t.Request.Given, machinePaths(eng, repo))
		if err != nil {
			return nil, err
		}
		req.Given = append(again, t.Request.Given...)
		if err := reverseChange(ctx, j, repo, &req); err != nil {
			return nil, err
		}
	}
	target := j.target()
	req.Assets = views.AssetsFolder(target)
	req.Output, req.Frozen = files.Absolute(target), true // it is no input of the run that gives it
	if nb.Form == ipynb.Form {                            // it holds its pictures
		req.Assets = ""
		req.Frozen = !t.Update // it holds its path
	}
	plan, err := eng.Plan(ctx, req)
	if err != nil {
		return nil, err
	}
	return plan, safe.CheckNormalize(plan.Notebook())
}

// runLikeJupyter makes a run like that of the program that saved the outputs: on the notebook's own kernel, where that
// is installed, and in the folder of the notebook. As with nbval, the cells after one that failed are tested, too.
func runLikeJupyter(req *engine.Request, j *job, eng *engine.Engine, repo *worktree.Source) {
	req.KeepGoing = true
	if req.Kernel == "" {
		getenv := func(name string) string { v, _ := eng.Getenv(name); return v }
		if spec, err := jupyter.Find(j.output.jupyter.Kernel(), getenv); err == nil {
			req.Kernel = kernel.JupyterPrefix + spec.Name
		}
	}
	if req.Cwd != "" {
		return
	}
	file := files.Absolute(j.path)
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if repo == nil {
		req.Folder = filepath.Dir(file)
		return
	}
	path, err := filepath.Rel(repo.Root(), file)
	if err != nil || !filepath.IsLocal(path) || filepath.Dir(path) == "." {
		return
	}
	if req.Dirty != engine.DirtyInclude { // a folder that is not committed is not in the worktree
		commit, err := repo.Resolve(base(req))
		if err != nil {
			return
		}
		if _, err := repo.File(commit, filepath.ToSlash(path)); err != nil {
			return
		}
	}
	req.Cwd = filepath.Dir(path)
}

func base(req *engine.Request) string { return cmp.Or(req.Base, "HEAD") }

// machinePaths are the paths that output notebooks replace by names, of those that are the same in every run.
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

// allRules are the rules of the repository and those of the caller.
func (t *tester) allRules(cfg engine.Config) (safe.Rules, error) {
	own, err := safe.NewRules(cfg.Normalize)
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, File: cfg.File, Msg: err.Error(), Err: err}
	}
	more, err := safe.NewRules(t.Rules)
	return append(own, more...), err
}

// compare compares what a run left with the stored output.
func (t *tester) compare(j *job, n *Notebook, plan *engine.Plan, result *engine.Result, rules safe.Rules) error {
	n.Run = result.Dir
	raw, err := runs.At(result.Dir).ReadFile(result.Run.OutputFile())
	if err != nil {
		return err
	}
	now, before, err := sides(j, raw, plan, result)
	if err != nil {
		return err
	}
	from := slashed(j.stored)
	if from == "" {
		from = "nothing"
	}
	n.results, err = compare.Compare(plan.Notebook(), result.Run, before, now,
		compare.Options{Marked: t.Marked, Rules: rules, From: from, To: "this run"})
	if err != nil {
		return err
	}
	times := map[string]float64{}
	for _, s := range result.Run.Steps {
		if !s.FinishedAt.IsZero() && !s.StartedAt.IsZero() {
			times[string(s.Planned.ID)] = seconds(s.FinishedAt.Sub(s.StartedAt))
		}
	}
	for _, r := range n.results {
		n.Steps = append(n.Steps, Step{Step: r.Step, Line: j.line(r.Line), Verdict: r.Verdict, Words: r.Words,
			Diff:    r.Diff,
			Seconds: times[r.Step], Normalize: r.Normalize})
		if r.Verdict == compare.Different {
			n.Status = Different
		}
	}
	n.Stale = j.hasOutput() && (!j.output.isOf(j.path, j.source) || j.output.merged())
	n.setVerdict(result.Run)
	if result.Run.Status() == runs.Pass && (n.Status == Different || n.Stale || !j.hasOutput()) {
		n.view = engine.ViewInput{Dir: result.Dir, Run: result.Run, Notebook: plan.Notebook()}
		n.fresh, err = j.fresh(raw, n.view, n.results)
	}
	return err
}

// sides are the output of the run and the stored one, in the form that is compared.
func sides(j *job, raw []byte, plan *engine.Plan, result *engine.Result) (now, before compare.Output, err error) {
	if plan.Notebook().Form == ipynb.Form {
		fresh := stored{manifest: &notebooks.Manifest{}}
		if j.hasOutput() {
			fresh.manifest = j.output.manifest // pictures count on both sides, or on none
			before = j.output.compared(result.Run.Started.Paths)
		}
		if fresh.jupyter, err = ipynb.Parse(runs.OutputFile, raw); err != nil {
			return now, before, err
		}
		fresh.cells, err = fresh.jupyter.StepCells(false)
		return fresh.compared(result.Run.Started.Paths), before, err
	}
	now = compare.Markdown(region.Strip(runs.OutputFile, raw), render.ParametersRegion)
	now.Pictures(pictureDigest(result.Dir, plan.Request().Assets))
	if j.hasOutput() {
		before = j.output.compared(nil)
		before.Pictures(pictureDigest(filepath.Dir(j.stored), plan.Request().Assets))
	}
	return now, before, nil
}

// setVerdict sets the status and words of a run that did not pass.
func (n *Notebook) setVerdict(run *runs.Run) {
	switch run.Status() {
	case runs.Pass:
		return
	case runs.Blocked:
		n.Status = Blocked
	case runs.Interrupted:
		n.Status, n.signal = Interrupted, run.ExitCode()-128
		n.Words = append(n.Words, fmt.Sprintf("interrupted by signal %d", n.signal))
	default:
		n.Status = Failed
	}
	for _, b := range run.Blockers() {
		n.Words = append(n.Words, plain.Line([]byte(b.Line())))
	}
}

// pictureDigest returns a function that gives the digest of a picture that an output notebook in a folder shows. It
// reads only the folder of its pictures.
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
