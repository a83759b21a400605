package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// workspace is where the steps of a run work: the worktree, their environment and what confines them.
type workspace struct {
	eng  *Engine
	plan *Plan
	rec  *recorder

	root      string // of work
	work      *workdir
	tree      *worktree.Tree
	env       []string
	granted   []string // see grants
	caches    *sandbox.Shared
	layers    []sandbox.Layer // the caches of the user that are mounted
	mark      process.Mark
	ready     runs.RunID      // the interpreter was started ahead, as of a run of this id
	place     *process.Place  // nil: the worktree is not mounted at the checkout's path
	at        string          // where it is mounted, or is to be; "" is nowhere
	covered   []process.Mount // see objectFolders
	opened    *runs.TreeData  // nil: nothing is to be said of it
	warden    *process.Warden // nil: nothing ends the run's processes if Markmill is killed; see place.go
	others    []runs.RunID    // that went on when the run began; see look
	before    worktree.Fingerprint
	untracked []string // see readable
	owned     []string // see ownFolders; determined once, because every path of the checkout is compared
	opaques   []string // repositories inside the checkout of a run in place
	missed    []string // what captures may have missed
	data      *dataset // nil: data: names nothing
	keeps     bool     // the worktree holds files that could not be moved beside the record
	left      unkept   // at the end of the last step
}

// Author is the author of a run's commits: not the user, who did not make them.
var Author = worktree.Identity{Name: "Markmill", Email: "markmill@localhost"}

// open makes the run's private folder and the worktree of the base commit, and starts the warden meanwhile. processes
// lists the live processes of the run.
func (w *workspace) open(ctx context.Context, processes func() []int) (err error) {
	arranged, listed := w.arrange(), w.servers()
	guarded := func() error { return nil }
	if w.at == "" {
		guarded = w.guard()
	}
	defer func() {
		if gerr := guarded(); err == nil {
			err = gerr
		}
		if w.place == nil { // what failed before it was mounted leaves none
			place, _ := arranged()
			place.Close()
		}
	}()
	p := w.plan
	if p.source != nil {
		w.owned = w.ownFolders()
	}
	if p.mountable() {
		if err = w.look(ctx); err != nil {
			return err
		}
	}
	place, refused := arranged()
	if refused == nil && place != nil {
		if err = w.make(ctx, processes, place); err == nil {
			refused, err = w.mount(place)
		}
	}
	if err == nil && w.place == nil {
		if w.at != "" {
			guarded = w.guard()
		}
		if err = w.separate(refused); err == nil {
			err = w.make(ctx, processes, nil)
		}
	}
	if err == nil {
		if err = w.data.look(); err == nil {
			w.data.watch()
		}
	}
	if servers := listed(); w.opened != nil {
		w.opened.Servers = servers
	}
	if err == nil && w.apart() {
		err = artifact(w.makeLead())
	}
	if err == nil {
		w.env = w.environment(w.work, w.seen())
		w.dependOn()
	}
	return err
}

// make makes the private folder and the worktree in it. place mounts them; nil if none does.
func (w *workspace) make(ctx context.Context, processes func() []int, place *process.Place) (err error) {
	p := w.plan
	if w.apart() && w.root == w.eng.workRoot(w.rec.id) {
		w.work, err = w.eng.makeApart(p.root(), w.rec.record.Path())
		if err == nil {
			w.root, w.opened.Root = w.work.Root, w.work.Root
		}
	} else {
		w.work, err = w.eng.makeWorkdir(w.root, w.at, w.rec.record.Path())
	}
	if err != nil {
		return artifact(err)
	}
	if w.data, err = w.newDataset(); err != nil {
		return err
	}
	copied, err := w.data.plan(place)
	if err != nil {
		return err
	}
	o := worktree.Options{RunID: string(w.rec.id), Dir: w.work.Tree, Base: p.base, Author: Author, Now: w.eng.Now,
		IndexTimes: w.builds(), ReadsOff: w.readsOff(), Own: p.ownOutput(), Lister: p.listers(), Judges: p.judges,
		IncludeDirty: p.request.Dirty == DirtyInclude, Reverse: p.request.Reverse, Copy: append(p.copies(), copied...),
		Artifacts: p.notebook.Front.Artifacts, MaxBytes: unreadAbove(p.notebook.Front.Limits.Bytes),
		Processes: processes}
	if w.covered, err = w.objectFolders(); err != nil {
		return err
	}
	for _, m := range w.covered {
		o.Objects = append(o.Objects, m.To)
	}
	switch {
	case p.inFolder():
		w.tree, err = worktree.InFolder(ctx, p.request.Folder, w.folderOptions(o))
	case p.source == nil:
		w.tree, err = worktree.Create(ctx, nil, o)
	case p.mode() == runs.MutationInPlace:
		if w.tree, err = worktree.InPlace(ctx, p.source, o); err == nil {
			w.opaques = w.tree.Opaque()
			err = w.look(ctx)
		}
	default:
		if w.eng.Config.Pool != "off" {
			o.Pool = w.eng.Pool()
		}
		w.tree, err = worktree.Create(ctx, p.source, o)
	}
	return err
}

// copies are the patterns of ignored files that are copied into the worktree.
func (p *Plan) copies() []string {
	return slices.Concat(p.included, p.notebook.Front.Copy, p.request.Copy)
}

// capture commits what changed in the worktree since the last capture.
func (w *workspace) capture(ctx context.Context, step notebooks.StepID, message string) (*worktree.Change, error) {
	defer w.rec.trace.start("changes")()
	w.data.take(step)
	ignored, err := w.data.bring()
	if err != nil {
		return nil, artifact(err)
	}
	change, err := w.tree.Capture(ctx, string(step), message)
	if err == nil {
		change.IgnoredWritten += ignored
	}
	if err == nil && change.MayMiss != "" && !slices.Contains(w.missed, change.MayMiss) {
		w.missed = append(w.missed, change.MayMiss)
	}
	return change, err
}

// cleanUp removes what the run made outside its record.
func (w *workspace) cleanUp() error {
	var errs []error
	keep := (w.plan.request.KeepTree || w.keeps) && w.tree != nil
	turn := w.work != nil && w.tree != nil && readTurn(w.work.Root) != nil
	w.data.stop()
	errs = append(errs, w.unguard())
	w.place.Close()
	if w.tree != nil {
		errs = append(errs, w.tree.Close(keep || turn))
	}
	if w.work != nil {
		if turn && !keep {
			w.work.release() // it waits for the run that goes on with the turn: see keptTurn
		} else {
			errs = append(errs, w.work.close(keep))
		}
	}
	return errors.Join(errs...)
}

// look notes the state of the checkout, and which other runs go on, before the first step. It notes nothing where no
// step can write the checkout, which is then no concern of the run.
func (w *workspace) look(ctx context.Context) (err error) {
	if w.plan.holdsSource() {
		return nil
	}
	if w.others, err = w.eng.Store(w.plan.root()).Marked(); err != nil {
		return artifact(err)
	}
	w.before, err = w.plan.source.Fingerprint(ctx, w.ownPath)
	return err
}

// holdsSource reports whether the sandbox keeps steps from writing the checkout and its Git directory.
func (p *Plan) holdsSource() bool {
	return p.mode() != runs.MutationInPlace && sandbox.HoldsWrites(p.sandbox)
}

// paths are the paths of this run and this user that an output notebook shows by a name.
func (w *workspace) paths() []runs.PathName {
	p, work := w.plan, w.root
	list := []runs.PathName{
		{Path: worktree.Path(p.source, filepath.Join(work, "tree")), Name: "<worktree>"},
		{Path: filepath.Join(work, "tmp"), Name: "<tmp>"},
		{Path: filepath.Join(work, "home"), Name: "<home>"},
		{Path: work, Name: "<work>"},
	}
	switch {
	case p.inFolder():
		list = append(list, runs.PathName{Path: p.request.Folder, Name: "<worktree>"})
	case p.source == nil:
	case p.mode() == runs.MutationInPlace:
		list = append(list, runs.PathName{Path: p.source.Root(), Name: "<worktree>"})
	default:
		list = append(list, runs.PathName{Path: p.source.Root(), Name: "<source>"})
	}
	if home, ok := w.eng.Getenv("HOME"); ok && len(home) > 1 {
		list = append(list, runs.PathName{Path: home, Name: "<home>"})
	}
	if p.interrupted != nil {
		list = append(list, p.interrupted.Run.Started.Paths...) // reused outputs show the paths of the interrupted run
	}
	slices.SortStableFunc(list, func(a, b runs.PathName) int { return len(b.Path) - len(a.Path) })
	return list
}

// startDir is where sessions start: the worktree's root, or --cwd in it.
func (w *workspace) startDir() string {
	return filepath.Join(w.seen(), filepath.FromSlash(w.plan.request.Cwd))
}

// stepDir is where a step with cwd= runs; "" leaves the session where it is.
func (w *workspace) stepDir(s *PlannedStep) string {
	if s.Cwd == "" {
		return ""
	}
	return filepath.Join(w.seen(), filepath.FromSlash(s.Cwd))
}

func (w *workspace) stepEnv(s *PlannedStep, display string) map[string]string {
	env := map[string]string{"MARKMILL_STEP": string(s.ID), "MARKMILL_STEP_DIR": display}
	if w.ready != "" {
		env[runVariable] = string(w.rec.id)
	}
	for name, v := range s.Env {
		env[name] = w.expandEnv(v)
	}
	return env
}

// storeDir is the folder that keeps the records: the run directory is <store>/runs/<run id>.
func (w *workspace) storeDir() string { return filepath.Dir(filepath.Dir(w.rec.record.Path())) }

// ownFile reports whether a path of the checkout is a file that an observer writes during the run.
func (w *workspace) ownFile(path string) bool {
	info, err := os.Stat(filepath.Join(w.plan.source.Root(), filepath.FromSlash(path)))
	return err == nil && w.rec.sinks.writes(info)
}

// ownPath reports whether the run may touch a path of the checkout: its records and its private folder if they are kept
// there, what runs beside it write, and in place the checkout itself.
func (w *workspace) ownPath(path string) bool {
	for _, own := range w.owned {
		if strings.HasPrefix(path, own) && (len(path) == len(own) || path[len(own)] == '/') {
			return true
		}
	}
	if w.eng.Beside != nil && w.eng.Beside(path) {
		return true
	}
	return w.plan.mode() == runs.MutationInPlace && path != ".git" && !strings.HasPrefix(path, ".git/") &&
		!w.opaque(path)
}

// leadsToOwn reports whether a folder of the checkout holds one that Markmill itself writes, and may have been made for
// it since the checkout was looked at.
func (w *workspace) leadsToOwn(path string) bool {
	return slices.ContainsFunc(w.owned, func(own string) bool { return strings.HasPrefix(own, path+"/") })
}

// ownFolders are the folders of the checkout that Markmill itself writes.
func (w *workspace) ownFolders() (list []string) {
	root := w.plan.source.Root()
	for _, own := range []string{filepath.Join(root, ".markmill"), w.storeDir(), w.eng.Cache, w.eng.apartFolder(),
		runs.KeyFile()} {
		if rel, err := filepath.Rel(root, own); err == nil && filepath.IsLocal(rel) && rel != "." {
			list = append(list, filepath.ToSlash(rel))
		}
	}
	return list
}

// opaque reports whether a path lies in a repository inside the checkout, which no capture reads.
func (w *workspace) opaque(path string) bool {
	return slices.ContainsFunc(w.opaques, func(dir string) bool {
		return strings.HasPrefix(path+"/", dir) || strings.HasPrefix(dir, path+"/")
	})
}

// folderOptions excludes from the worktree what Markmill itself writes.
func (w *workspace) folderOptions(o worktree.Options) worktree.Options {
	folder := w.plan.request.Folder
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	own := map[string]bool{}
	for _, path := range w.ownPaths() {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(folder, filepath.Join(dir, filepath.Base(path))); err == nil &&
			filepath.IsLocal(rel) {
			own[filepath.ToSlash(rel)] = true
		}
	}
	watched := slices.ContainsFunc(w.rec.sinks.Observers, func(o Observer) bool { return len(o.Files) > 0 })
	o.Exclude = func(path string) bool {
		if own[path] || strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], runs.TempPrefix) {
			return true
		}
		if !watched { // saves a system call for each file
			return false
		}
		info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(path)))
		return err == nil && w.rec.sinks.writes(info)
	}
	return o
}

// ownPaths are the files and folders that Markmill itself writes during the run: the store, the cache, OUTPUT and its
// pictures.
func (w *workspace) ownPaths() []string {
	req := w.plan.request
	paths := []string{w.storeDir(), w.eng.Cache}
	if output := req.output(); output != "" && !strings.Contains(output, "://") {
		paths = append(paths, output)
		if req.Assets != "" {
			paths = append(paths, filepath.Join(filepath.Dir(output), req.Assets))
		}
	}
	return paths
}

// unreadAbove is the size above which a capture leaves files out that break a limit of bytes by their size alone. Below
// it they are read, so that the record has what was changed; 0 is no limit.
func unreadAbove(limit int64) int64 {
	const cheap = 1 << 20
	if limit == 0 {
		return 0
	}
	return max(limit, cheap)
}
