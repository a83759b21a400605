package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/engine/worktree/disk"
	"markmill/notebooks"
	"markmill/runs"
)

// Words of tree: and of --tree.
var treeScale = []string{runs.TreeSeparate, runs.TreeMounted}

// treeVariable is the variable of the environment that chooses where --tree does not.
const treeVariable = "MARKMILL_TREE"

// treeWish is what --tree, the environment or the notebook with its policies ask for; "" leaves it to the system.
func (p *Plan) treeWish(e *Engine) string {
	set, _ := e.Getenv(treeVariable)
	return cmp.Or(p.request.Tree, set, p.notebook.Front.Tree)
}

// mountable reports whether the run has a worktree that could be mounted at the checkout's path.
func (p *Plan) mountable() bool {
	return p.source != nil && !p.inFolder() && p.mode() != runs.MutationInPlace
}

// checkTree returns why the run may not start for want of a mounted worktree; "" when it may.
func (p *Plan) checkTree(e *Engine) string {
	wish := p.treeWish(e)
	switch {
	case !slices.Contains(append(treeScale, ""), wish):
		return fmt.Sprintf("%s=%s is not known; known: %s", treeVariable, wish, strings.Join(treeScale, ", "))
	case p.notebook.Front.Tree == runs.TreeMounted && wish != runs.TreeMounted:
		return "tree: mounted is required, and --tree or " + treeVariable + " asks for " + wish
	case wish != runs.TreeMounted:
		return ""
	case !p.mountable():
		return "tree: mounted cannot be had: the run has no worktree of its own"
	}
	why := e.noPlace(p, e.workRoot("x"))
	if why == "" {
		place, err := process.NewPlace(e.Tools, "probe", process.NewMark())
		if err == nil {
			place.Close()
			return ""
		}
		why = err.Error()
	}
	return "tree: mounted cannot be had here: " + why
}

// noPlace says why no worktree in the private folder root can be mounted at the checkout's path; "" if nothing is known
// against it.
func (e *Engine) noPlace(p *Plan, root string) string {
	if !e.hasWarden() {
		return "it takes Linux"
	}
	if dir := p.source.CommonDir(); dir != p.source.GitDir() && filepath.Base(dir) == ".git" {
		return "the checkout is a linked worktree, and what is installed in the main one leads there"
	}
	at, err := filepath.EvalSymlinks(p.root())
	if err != nil {
		return err.Error()
	}
	for _, dir := range []string{e.Cache, filepath.Dir(root)} {
		if dir = disk.RealFolder(dir); sandbox.Within(dir, []string{at}) {
			return "Markmill's cache, " + dir + ", lies in the checkout"
		}
	}
	return ""
}

// arrange starts the run's place in the background, if the worktree is to be mounted. The function that it returns
// waits for that.
func (w *workspace) arrange() (wait func() (*process.Place, error)) {
	none := func() (*process.Place, error) { return nil, nil }
	p := w.plan
	if !p.mountable() || p.treeWish(w.eng) == runs.TreeSeparate || w.eng.noPlace(p, w.root) != "" {
		return none
	}
	at, err := filepath.EvalSymlinks(p.root())
	if err != nil {
		return none
	}
	w.at = at
	var place *process.Place
	started := make(chan struct{})
	go func() {
		place, err = process.NewPlace(w.eng.Tools, string(w.rec.id), w.mark)
		close(started)
	}()
	return func() (*process.Place, error) { <-started; return place, err }
}

// objectFolders are the source's folders of objects that the mounted worktree covers. They are seen in the private
// folder instead.
func (w *workspace) objectFolders() (covered []process.Mount, err error) {
	if w.at == "" {
		return nil, nil
	}
	modules, err := w.plan.source.ModuleObjects(w.plan.base)
	if err != nil {
		return nil, artifact(err)
	}
	for i, dir := range append(w.plan.source.ObjectDirs(), modules...) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && sandbox.Within(real, []string{w.at}) {
			to := filepath.Join(w.work.Objects, strconv.Itoa(i))
			if err := os.Mkdir(to, 0o700); err != nil {
				return nil, artifact(err)
			}
			covered = append(covered, process.Mount{From: real, To: to, ReadOnly: true})
		}
	}
	return covered, nil
}

// mount mounts the worktree and the folders of dependencies at the checkout's path. refused is why the system does not
// do that.
func (w *workspace) mount(place *process.Place) (refused, err error) {
	deps, lacks, err := w.dependencies()
	if err != nil {
		return nil, err
	}
	mounts := w.covered
	for i, d := range deps {
		upper := filepath.Join(w.work.Deps, strconv.Itoa(i))
		to := filepath.Join(w.tree.Dir(), filepath.FromSlash(d.Path))
		if err := errors.Join(os.Mkdir(upper, 0o700), os.MkdirAll(to, 0o777)); err != nil {
			return nil, artifact(err)
		}
		mounts = append(mounts, process.Mount{From: filepath.Join(w.at, filepath.FromSlash(d.Path)), To: to,
			Upper: upper})
	}
	data, err := w.data.mounts()
	if err != nil {
		return nil, err
	}
	mounts = append(mounts, data...)
	if w.work.Tool != "" {
		mounts = append(mounts, process.Mount{From: w.eng.Tools, To: w.work.Tool})
	}
	layers, more, err := w.layersOfCaches()
	if err != nil {
		return nil, err
	}
	mounts = append(mounts, process.Mount{From: w.tree.Dir(), To: w.at})
	without, refused := place.Mount(append(mounts, more...))
	if refused == nil {
		w.place = place
		w.opened = &runs.TreeData{Tree: runs.TreeMounted, Path: w.at, Dependencies: deps, Lacks: lacks}
		w.layerCaches(layers, without)
		return nil, nil
	}
	place.Close() // and its mounts with it
	err = errors.Join(w.tree.Close(false), w.work.close(false))
	w.tree, w.work = nil, nil
	return refused, artifact(err)
}

// separate prepares a worktree that steps find where it is, unless a mounted one is required. refused is why it cannot
// be mounted; nil where that was not tried.
func (w *workspace) separate(refused error) error {
	w.at = ""
	if !w.plan.mountable() {
		return nil
	}
	if refused != nil && w.plan.treeWish(w.eng) == runs.TreeMounted {
		return &notebooks.Error{Kind: notebooks.KindProvider, Err: refused,
			Msg: "tree: mounted cannot be had here: " + refused.Error(), Hint: "see markmill doctor"}
	}
	w.opened = &runs.TreeData{Tree: runs.TreeSeparate, Unchecked: w.plan.sandbox.Writes == ""}
	if refused != nil && w.plan.depth == 0 { // the sandbox around a run inside a run permits no mounts
		w.opened.Why = refused.Error()
	}
	return nil
}

// servers looks in the background for the servers of the checkout that steps reach.
func (w *workspace) servers() (wait func() []string) {
	if !w.plan.mountable() || w.plan.sandbox.Network != sandbox.NetworkOpen {
		return func() []string { return nil }
	}
	found := make(chan []string, 1)
	go func() { found <- process.Listeners(disk.RealPath(w.plan.root())) }()
	return func() []string { return <-found }
}

// seen is the folder in which steps find the worktree: the checkout's own path where it is mounted there.
func (w *workspace) seen() string { return cmp.Or(w.at, w.tree.Dir()) }

// real is a path that a step names, as the engine finds it.
func (w *workspace) real(path string) string {
	if w.at == "" {
		return path
	}
	if rel, err := filepath.Rel(w.at, path); err == nil && filepath.IsLocal(rel) {
		return filepath.Join(w.tree.Dir(), rel)
	}
	return path
}

// open makes the workspace, or takes the one that is ready, and records where steps find the worktree.
func (r *run) open(ctx context.Context) error {
	if err := r.openWorkspace(ctx); err != nil || r.ws.opened == nil {
		return err
	}
	return r.rec.emit(runs.TreeOpened, "", r.ws.opened)
}

// noWarden is what is not held in a run without a warden.
const noWarden = "the end of a step's processes when Markmill itself is killed"

// hasWarden reports whether runs have a warden: on a system where processes can be found, with a program that is the
// warden under its name.
func (e *Engine) hasWarden() bool { return runtime.GOOS == "linux" && e.Tools != "" }

// ShareWarden gives the runs of all these engines one warden, whose start costs more than a small run, and returns a
// function that ends it. name is shown in lists of processes.
func ShareWarden(name string, engines ...*Engine) (end func()) {
	shared := process.NewWarden(engines[0].Tools, name)
	for _, e := range engines {
		e.warden = shared
	}
	return shared.Close
}

// guard starts the run's warden in the background, or tells the shared one of the run. The function that it returns
// waits for that. A run that has a place needs none: the place's first process is its warden.
func (w *workspace) guard() (wait func() error) {
	if !w.eng.hasWarden() {
		return func() error { return nil }
	}
	started := make(chan error, 1)
	go func() {
		warden := w.eng.warden
		if warden == nil {
			warden = process.NewWarden(w.eng.Tools, string(w.rec.id))
		}
		err := warden.Guard(w.mark)
		if err == nil {
			w.warden = warden
		}
		started <- err
	}()
	return func() error { return wardenError(<-started) }
}

// unguard ends the run's warden. A shared one only forgets the run.
func (w *workspace) unguard() error {
	switch w.warden {
	case nil:
		return nil
	case w.eng.warden:
		return wardenError(w.warden.Release(w.mark))
	}
	w.warden.Close()
	return nil
}

// guarded checks before a step that the warden is alive.
func (w *workspace) guarded() error {
	if w.warden == nil {
		return wardenError(w.place.Guarded())
	}
	return wardenError(w.warden.Stand())
}

// wardenError is the error for a missing warden: no step runs without it.
func wardenError(err error) error {
	if err == nil {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindProvider,
		Msg:  "nothing would end the steps' processes if Markmill were killed: " + err.Error(),
		Hint: "Engine.Tools must be a program that is process.WardenMain under the name " + process.WardenName,
		Err:  err}
}
