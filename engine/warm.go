package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"markmill/engine/kernel"
	"markmill/runs"
)

// Warm is what a later run can begin with: its private folder, a worktree of the base commit, and an interpreter in its
// sandbox that has started and got neither parameters nor code. At most one run gets it.
type Warm struct {
	*workspace // of a run that never begins
	sessions   *sessions
	first      *PlannedStep // whose interpreter it is
	made       time.Time
	stamps     map[string]string // of the files that the interpreter was started from, and may have read
	once       sync.Once
}

// warmAge is how long an interpreter waits: what it has read meanwhile may have changed in ways that nobody looks for.
const warmAge = 10 * time.Minute

// warmStep is the step whose interpreter is started ahead; nil: the plan's must be started cold. A kernel of Jupyter in
// Python can wait: all that differs between two runs (parameters, and the variables of a step) reaches it later. A run
// that takes files of the checkout along, or goes on with another one, is never like the next.
func (p *Plan) warmStep() *PlannedStep {
	switch {
	case p.source == nil, p.inFolder(), p.mode() != runs.MutationWorktree, p.interrupted != nil, p.fork != nil,
		len(p.copies()) > 0, p.hasData, p.request.Dirty == DirtyInclude, len(p.request.Reverse) > 0, len(p.gates) > 0,
		p.needsApproval():
		return nil
	}
	for i := range p.steps {
		if s := &p.steps[i]; s.Skip == "" {
			if kernel.JupyterPython(s.Kernel) {
				return s
			}
			return nil
		}
	}
	return nil
}

// NewWarm makes ready what a run of the plan, or of one like it, can begin with. It returns nil for a plan whose
// interpreter cannot wait. Close frees it; so does the run that Engine.Warm gives it to.
func (e *Engine) NewWarm(ctx context.Context, p *Plan) (_ *Warm, err error) {
	first := p.warmStep()
	if first == nil {
		return nil, nil
	}
	r, err := e.newRun(p, Sinks{})
	if err != nil {
		return nil, err
	}
	r.rec.record = p.Store(e).Record(r.id)
	w := &Warm{workspace: r.ws, sessions: r.sessions, first: first, made: e.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(p.concealError(err), w.Close())
		}
	}()
	if err = w.open(ctx, r.sessions.processes); err != nil {
		return nil, err
	}
	r.sessions.waits = true
	live, err := r.sessions.of(ctx, first)
	if err != nil {
		return nil, err
	}
	w.stamps = stamps(live.Info().Program)
	return w, nil
}

// Close ends the interpreter and removes the folder, unless a run has them.
func (w *Warm) Close() (err error) {
	w.once.Do(func() { err = w.free() })
	return err
}

func (w *Warm) free() error { return errors.Join(w.sessions.close(), w.cleanUp()) }

// Fits reports whether a run of a plan can begin with it: everything that a started interpreter has fixed is the same
// for that run as if it started its own.
func (w *Warm) Fits(p *Plan, e *Engine) bool {
	if e.Now().Sub(w.made) > warmAge || w.plan.base != p.base || w.plan.source.Root() != p.source.Root() {
		return false
	}
	first := p.warmStep()
	if first == nil || first.sessionKey() != w.first.sessionKey() || !reflect.DeepEqual(first.Kernel, w.first.Kernel) {
		return false
	}
	live := w.sessions.get(w.first)
	if live == nil || !live.Alive() || !reflect.DeepEqual(stamps(live.Info().Program), w.stamps) {
		return false
	}
	next := &workspace{eng: e, plan: p, rec: w.rec, root: w.root, work: w.work, tree: w.tree, mark: w.mark,
		place: w.place, at: w.at, opened: w.opened, layers: w.layers}
	return reflect.DeepEqual(w.plan.notebook.Front, p.notebook.Front) && reflect.DeepEqual(w.plan.sandbox, p.sandbox) &&
		reflect.DeepEqual(w.eng.Config, e.Config) && w.plan.request.Cwd == p.request.Cwd &&
		w.plan.depth == p.depth && e.Cache == w.eng.Cache && e.Tools == w.eng.Tools &&
		slices.Equal(next.environment(w.work, next.seen()), w.env) && reflect.DeepEqual(next.grants(), w.granted) &&
		next.sameDependencies()
}

// stamps identify an interpreter, the folder of its packages, and how each was when.
func stamps(program string) map[string]string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil
	}
	list := map[string]string{}
	for _, program := range []string{program, real} {
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(program)), "lib*", "python*", "*-packages"))
		for _, name := range append(found, program) {
			if info, err := os.Stat(name); err == nil {
				list[name] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
			}
		}
	}
	return list
}

// useWarm lets the run begin with what is ready, if that fits, and frees it else.
func (r *run) useWarm() error {
	w := r.eng.Warm
	if r.eng.Warm = nil; w == nil {
		return nil
	}
	if !w.Fits(r.plan, r.eng) {
		return artifact(w.Close())
	}
	w.once.Do(func() { r.warm, r.ws.root, r.ws.mark = w, w.root, w.mark })
	return nil
}

// openWorkspace makes the workspace, or takes the one that is ready.
func (r *run) openWorkspace(ctx context.Context) error {
	if r.warm == nil {
		return r.ws.open(ctx, r.sessions.processes)
	}
	maps.Copy(r.sessions.live, r.warm.sessions.live)
	r.sessions.started = r.warm.sessions.started
	return r.ws.take(ctx, r.warm, r.sessions.processes)
}

// dropWarm frees what was ready for a run that ended before it took it.
func (r *run) dropWarm() {
	if r.warm != nil && r.ws.tree == nil {
		_ = r.warm.free() // the next run removes what is left
	}
}

// take is open for a workspace that is there.
func (w *workspace) take(ctx context.Context, from *Warm, processes func() []int) (err error) {
	w.work, w.tree, w.warden, w.granted = from.work, from.tree, from.warden, from.granted
	w.place, w.at, w.opened, w.layers = from.place, from.at, from.opened, from.layers
	w.opened.Servers = w.servers()()
	w.ready = from.rec.id
	w.owned = w.ownFolders()
	if err = w.work.name(w.rec.record.Path()); err != nil {
		return artifact(err)
	}
	w.tree.Rename(string(w.rec.id), w.plan.ownOutput(), processes)
	if err = w.look(ctx); err != nil {
		return err
	}
	w.env = w.environment(w.work, w.seen())
	return w.guarded()
}

// runVariable has the id of the run. A started interpreter has that of the run that it was started for, and gets the
// right one with each step.
const runVariable = "MARKMILL_RUN_ID"
