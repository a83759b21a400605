package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// processesStep is the value of processes: that ends a step's processes with the step.
const processesStep = "step"

// sessions are a run's live interpreters.
type sessions struct {
	eng   *Engine
	plan  *Plan
	ws    *workspace
	trace *trace

	live    map[string]kernel.Session
	endings map[string]*stream              // of the live, what they print as they are closed
	waits   bool                            // those that start get parameters later
	started int                             // sessions so far; numbers their private folders
	lost    map[string]lostState            // by session
	running map[processKey]notebooks.StepID // processes that steps left, and the step each was first seen at
}

// lostState records that an interpreter ended and lost what earlier steps had set.
type lostState struct {
	in       notebooks.StepID // the step in which it ended
	reported bool             // the first step of the new interpreter has it in its record
}

// processKey distinguishes a process from later ones with the same number.
type processKey struct {
	pid     int
	started uint64
}

// sessionKey identifies the session of a step. Steps of different kernels may name their sessions alike.
func (s *PlannedStep) sessionKey() string { return s.Kernel.Name() + "/" + s.Session }

// of returns the live interpreter of a step and starts it if necessary.
func (l *sessions) of(ctx context.Context, s *PlannedStep) (kernel.Session, error) {
	if live := l.get(s); live != nil {
		return live, kernel.Ready(ctx, live, l.plan.values())
	}
	cwd := l.plan.request.Cwd
	if info, err := os.Stat(l.ws.real(l.ws.startDir())); cwd != "" && (err != nil || !info.IsDir()) {
		return nil, &notebooks.Error{Kind: notebooks.KindProvider,
			Msg:  fmt.Sprintf("--cwd %s: the worktree has no such folder", cwd),
			Hint: "name a folder of the base commit, relative to its root", Err: err}
	}
	options, err := l.options(s)
	if err != nil {
		return nil, err
	}
	start := cmp.Or(time.Duration(l.plan.request.StartNS), time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, start, fmt.Errorf("it did not start within %s", start))
	defer cancel()
	var live kernel.Session
	err = l.trace.span("start "+s.Kernel.Name(), func() (err error) {
		live, err = s.Kernel.Start(ctx, options)
		return err
	})
	if err != nil {
		if !errors.As(err, new(*notebooks.Error)) {
			err = &notebooks.Error{Kind: notebooks.KindProvider,
				Msg: fmt.Sprintf("kernel %s did not start: %v", s.Kernel.Name(), err), Err: err}
		}
		return nil, err
	}
	l.live[s.sessionKey()] = live
	return live, nil
}

// options makes the private folder of a new session and says how to start it.
func (l *sessions) options(s *PlannedStep) (kernel.Options, error) {
	l.started++
	private := filepath.Join(l.ws.work.Kernels, fmt.Sprintf("%d-%s", l.started, safeName(s.Session)))
	if err := os.Mkdir(private, 0o700); err != nil {
		return kernel.Options{}, artifact(err)
	}
	front := l.plan.notebook.Front
	o := kernel.Options{
		Program: l.ws.program(l.eng.Config.Kernels[s.Kernel.Name()].Program), Dir: l.ws.startDir(),
		Env:     l.ws.sessionEnv(s),
		Params:  l.plan.values(),
		Private: private, Strict: front.Strict == nil || *front.Strict, Scraps: l.ws.work.Scraps, Grace: grace,
		Waits: l.waits, Mark: l.ws.mark, Place: l.ws.place, EndWithStep: front.Processes == processesStep,
	}
	if l.waits {
		o.Params = nil
	} else if name := s.Kernel.Name(); !s.byAgent() && !strings.Contains(name, ":") {
		o.Ending = l.ending(s)
	}
	if s.byAgent() {
		l.confineAgent(&o)
		if err := os.MkdirAll(l.ws.work.Agents, 0o700); err != nil {
			return kernel.Options{}, artifact(err)
		}
	}
	return o, l.ws.confine(&o, s)
}

// ending takes what the interpreter that starts with a step prints when it is closed, beside the step's output.
func (l *sessions) ending(s *PlannedStep) *stream {
	dir, name, rec := stepDir(s), fmt.Sprintf("%s%d", runs.EndingPrefix, l.started), l.ws.rec
	l.endings[s.sessionKey()] = &stream{dir: rec.record.File(filepath.FromSlash(dir)), name: name,
		rel: path.Join(dir, name), step: s.ID, mask: l.plan.mask.Stream(), keys: rec.hidden.shown.Stream()}
	return l.endings[s.sessionKey()]
}

// end closes the interpreter of a session, and records what it still printed.
func (l *sessions) end(key string) error {
	err := l.live[key].Close()
	if e := l.endings[key]; e != nil {
		data, ferr := e.finish()
		if data.File != "" {
			l.ws.rec.loose = append(l.ws.rec.loose, path.Dir(data.File))
		}
		err = errors.Join(err, artifact(ferr))
	}
	delete(l.live, key)
	delete(l.endings, key)
	return err
}

// get returns the live interpreter of a step; nil without one.
func (l *sessions) get(s *PlannedStep) kernel.Session { return l.live[s.sessionKey()] }

// ended forgets the interpreter of a step, which has ended during the step.
func (l *sessions) ended(s *PlannedStep) error {
	key := s.sessionKey()
	l.lost[key] = lostState{in: s.ID}
	return l.end(key)
}

// lostIn returns the step in which the interpreter of a step's session ended, if this is the first step of the new one.
func (l *sessions) lostIn(s *PlannedStep) notebooks.StepID {
	lost := l.lost[s.sessionKey()]
	if lost.reported || lost.in == "" {
		return ""
	}
	l.lost[s.sessionKey()] = lostState{lost.in, true}
	return lost.in
}

// close ends all interpreters.
func (l *sessions) close() error {
	var errs []error
	for name := range l.live {
		errs = append(errs, l.end(name))
	}
	return errors.Join(errs...)
}

// apart runs f with new interpreters, which end with it; the live ones wait.
func (l *sessions) apart(f func() error) error {
	waiting, endings := l.live, l.endings
	l.live, l.endings = map[string]kernel.Session{}, map[string]*stream{}
	err := f()
	if cerr := l.close(); err == nil {
		err = cerr
	}
	l.live, l.endings = waiting, endings
	return err
}

// processes lists all live processes of the run, interpreters included.
func (l *sessions) processes() []int {
	var pids []int
	for _, s := range l.live {
		own, left := s.Running()
		pids = append(pids, own...)
		for _, p := range left {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// leftRunning lists the processes that are alive when a step ends, of every session, with the step at which each was
// first seen. left are those of the step's own session.
func (l *sessions) leftRunning(s *PlannedStep, left []process.Info) []runs.ProcessData {
	var list []runs.ProcessData
	seen := map[processKey]notebooks.StepID{}
	add := func(left []process.Info) {
		since := map[int]notebooks.StepID{}
		for _, p := range left { // a parent comes before its children
			key := processKey{p.PID, p.Started}
			step, known := l.running[key]
			switch {
			case known:
			case since[p.Parent] != "": // a server's worker belongs to the step of the server
				step = since[p.Parent]
			default:
				step = s.ID
			}
			seen[key], since[p.PID] = step, step
			list = append(list, runs.ProcessData{PID: p.PID, Program: p.Program, Parent: p.Parent, Since: step})
		}
	}
	own := l.get(s)
	if own != nil {
		add(left)
	}
	for _, key := range slices.Sorted(maps.Keys(l.live)) {
		if other := l.live[key]; other != own {
			_, left := other.Running()
			add(left)
		}
	}
	l.running = seen
	return list
}

// retries lets each further attempt of a step begin with the worktree before the step.
type retries struct {
	run  *run
	step *PlannedStep
	mark *worktree.Mark // nil: the step is not repeated, or the worktree is the user's own
	at   string         // where the interpreter was before the step; "" is not known

	dir  string          // where the attempt runs (kernel.Request.Dir)
	data *runs.RetryData // of the attempt; nil for the first one
}

// retries prepares for the attempts of a step.
func (r *run) retries(s *PlannedStep) (*retries, error) {
	a := &retries{run: r, step: s, dir: r.ws.stepDir(s)}
	if s.Retries == 0 {
		return a, nil
	}
	if live := r.sessions.get(s); live != nil {
		if own, _ := live.Running(); len(own) > 0 {
			a.at, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", own[0])) // Linux alone says it
		}
	}
	if !r.ws.tree.CanRewind() {
		return a, nil
	}
	var err error
	a.mark, err = r.ws.tree.Mark()
	return a, err
}

// rewind prepares for the next attempt. ended is how the failed one ended, in words.
func (a *retries) rewind(ctx context.Context, ended string) error {
	a.data = &runs.RetryData{Worktree: runs.RetryKept, Interpreter: runs.RetryNew, Ended: ended}
	if live := a.run.sessions.get(a.step); live != nil {
		live.EndStarted() // a server that it started would hinder the next attempt
		a.data.Interpreter = runs.RetryKept
	}
	if a.mark == nil {
		return nil
	}
	left, err := a.run.ws.tree.Rewind(ctx, a.mark)
	if err != nil {
		return fmt.Errorf("step %s cannot be tried again: %w", a.step.ID, err)
	}
	a.data.Worktree = runs.RetryRestored
	for _, path := range left {
		a.data.Left = append(a.data.Left, a.run.rec.conceal(path))
	}
	// The attempt may have entered a folder that is gone now.
	if a.dir == "" && a.data.Interpreter == runs.RetryKept && a.at != "" {
		if info, err := os.Stat(a.at); err == nil && info.IsDir() {
			a.dir = a.at
		}
	}
	return nil
}
