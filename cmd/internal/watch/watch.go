package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/cmd/internal/files"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/fresh"
	"markmill/render/plain"
	"markmill/runs"
)

// Options say what is watched and how it is run.
type Options struct {
	Notebook string           // the path of the file
	Source   *worktree.Source // its checkout is watched
	// Own reports whether the runs themselves write a file, by its absolute path: OUTPUT.
	Own func(path string) bool
	// Run makes one run, in the way that b says; see Plan. ctx ends when something is saved meanwhile. An error says
	// that nothing ran, as with a mistake in the notebook.
	Run func(ctx context.Context, b Beginning) (*engine.Result, error)
	// Tell gets each change of state, on the goroutine of Notebook.
	Tell func(State)
	User string // is named in the records of runs that a save ends
}

// Beginning says why a run is made, and where it begins.
type Beginning struct {
	Saved []string // the paths that were saved; nil for the first run
	// From is the run of which this is a fork; nil runs all steps. At is the first step that depends on what was saved;
	// "" leaves that to the fork, which compares the notebooks.
	From *engine.Result
	At   notebooks.StepID
	// Whole says why all steps run; "" if they need not be, or if that is plain.
	Whole string
}

// State is what became of the last run. Result is nil while a run begins, and where Err says why nothing ran.
type State struct {
	Beginning
	Result *engine.Result
	Err    error
	Ended  bool
	Cut    bool          // something was saved meanwhile: the next run follows
	Took   time.Duration // of the run
}

// loop is the state of Notebook.
type loop struct {
	Options
	saves   *saves
	last    *judged // of the last run that came to its end; nil: none did
	whole   *judged // of the last of these that is no fork
	source  []byte  // of the notebook, when the last run began
	started time.Time
	cancel  context.CancelCauseFunc // of the run in progress; nil: none is
	ended   chan State
	again   []string // what was saved during the run in progress, which has been ended for it; nil: nothing was
	touched bool     // the last run failed only because the checkout changed meanwhile, and is repeated
}

// Notebook runs a notebook, and runs it again whenever something is saved that it depends on, until ctx ends. A run
// that is in progress then has the cause of ctx for its end. The error says that the checkout cannot be watched.
func Notebook(ctx context.Context, o Options) (err error) {
	o.Notebook = files.Absolute(o.Notebook)
	if real, err := filepath.EvalSymlinks(filepath.Dir(o.Notebook)); err == nil {
		o.Notebook = filepath.Join(real, filepath.Base(o.Notebook))
	}
	l := &loop{Options: o, ended: make(chan State)}
	if l.saves, err = newSaves(o.Source, o.Own); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.saves.Close()) }()
	if err := l.saves.besides(o.Notebook); err != nil {
		return err
	}
	l.start(ctx, Beginning{})
	defer func() {
		if l.cancel != nil {
			l.cancel(context.Cause(ctx))
			l.Tell(<-l.ended)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-l.saves.Events:
			if err = l.saves.event(e); err == nil && l.saves.late() {
				err = l.saved(ctx)
			}
		case lost := <-l.saves.Errors:
			err = l.saves.lost(lost)
		case <-l.saves.timer.C:
			if l.saves.over() {
				err = l.saved(ctx)
			}
		case s := <-l.ended:
			err = l.end(ctx, s)
		}
		if err != nil {
			return err
		}
	}
}

// start begins a run.
func (l *loop) start(ctx context.Context, b Beginning) {
	l.started, l.again = time.Now(), nil
	if text, err := os.ReadFile(l.Options.Notebook); err == nil { // before the run reads it
		l.source = text
	}
	l.Tell(State{Beginning: b})
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	l.cancel = cancel
	go func() {
		result, err := l.Run(ctx, b)
		l.ended <- State{Beginning: b, Result: result, Err: err, Ended: true, Took: time.Since(l.started)}
	}()
}

// saved decides what follows from what is pending.
func (l *loop) saved(ctx context.Context) error {
	names, all := l.saves.take()
	if l.cancel != nil {
		if names = slices.DeleteFunc(names, l.harmless); len(names) == 0 && !all {
			return nil
		}
		if l.again == nil {
			l.again = []string{}
			l.cancel(engine.Interrupt{Abort: &runs.AbortData{Reason: savedWords(names), Actor: l.User,
				Time: time.Now().UTC()}})
		}
		l.again = append(l.again, names...)
		slices.Sort(l.again)
		l.again = slices.Compact(l.again)
		return nil
	}
	b, affected, err := l.begin(ctx, names, all)
	if err == nil && affected {
		l.touched = false
		l.start(ctx, b)
	}
	return err
}

// savedWords name what was saved.
func savedWords(names []string) string {
	if len(names) == 0 {
		return "many files were saved"
	}
	return plain.Some(names, 3) + was(len(names)) + " saved"
}

// harmless reports whether a path, during a run, is nothing that the run may read or that its end would find changed:
// one that Git ignores and no run has read, or a temporary one that is gone again.
func (l *loop) harmless(name string) bool {
	switch {
	case strings.HasPrefix(name, gitPrefix), l.isNotebook(name), l.last.reads(name):
		return false
	case !l.saves.visible.Has(name, false):
		return true
	}
	return l.passed(name)
}

// passed reports whether a path came and went: it is not there, and was not before.
func (l *loop) passed(name string) bool {
	_, err := os.Lstat(l.absolute(name))
	return err != nil && !l.isNotebook(name) && !l.last.knows(l.Source, name)
}

// end takes the end of a run, and begins the next one where that is due.
func (l *loop) end(ctx context.Context, s State) error {
	l.cancel(nil)
	l.cancel = nil
	if s.Cut = l.again != nil; s.Cut {
		s.Err = nil // it was ended while it was planned
	}
	only := func(ok func(runs.Blocker) bool) bool {
		if s.Cut || s.Result == nil || s.Result.Run.Completed == nil {
			return false
		}
		list := s.Result.Run.Completed.Blockers
		return len(list) > 0 && !slices.ContainsFunc(list, func(b runs.Blocker) bool { return !ok(b) })
	}
	notCarried := s.From != nil && only(func(b runs.Blocker) bool { return b.Code == runs.CodeStateNotRebuilt })
	if s.Result != nil && s.Result.Run.Status() != runs.Interrupted && !notCarried {
		last, err := newJudged(ctx, l.Source, s.Result, l.source)
		if err != nil {
			return err
		}
		if s.Result.Run.Started.ResumedFrom == nil || l.whole == nil {
			l.whole = last
		} else if last.forks = 1; s.From != l.whole.result {
			last.forks += l.last.forks
		}
		l.last = last
		for _, name := range last.elsewhere() {
			if err := l.saves.besides(l.absolute(name)); err != nil {
				return err
			}
		}
	}
	touched := !l.touched && only(func(b runs.Blocker) bool { return b.Rule == runs.RuleSourceAsItWas })
	l.touched = touched
	l.Tell(s)
	switch {
	case s.Cut:
		b, _, err := l.begin(ctx, l.again, true)
		if err == nil {
			l.start(ctx, b)
		}
		return err
	case notCarried:
		l.start(ctx, Beginning{Saved: s.Saved, Whole: "its first steps cannot be carried"})
	case touched:
		l.start(ctx, Beginning{Saved: s.Saved, Whole: "the checkout changed meanwhile"})
	}
	return nil
}

// begin decides whether a run is due, and where it begins. all says that one is due in any case.
func (l *loop) begin(ctx context.Context, names []string, all bool) (b Beginning, due bool, err error) {
	names = slices.DeleteFunc(names, l.passed)
	b.Saved = names
	text, err := os.ReadFile(l.Options.Notebook)
	edited := err == nil && string(text) != string(l.source)
	if l.last == nil {
		due = all || edited || slices.ContainsFunc(names, func(name string) bool { return !l.harmless(name) })
		return b, due && err == nil, nil
	}
	if err != nil { // it is gone, and may come back
		return b, false, nil
	}
	came := slices.ContainsFunc(names, func(name string) bool { return l.last.came(l, name) })
	reasons, err := l.last.changed(ctx, l.Source, names)
	var sinceWhole []fresh.Reason
	if err == nil && l.whole != l.last {
		sinceWhole, err = l.whole.changed(ctx, l.Source, names)
	}
	switch {
	case err != nil:
		return b, false, err
	case l.last.unknown != "":
		due = all || edited || slices.ContainsFunc(names, func(name string) bool {
			return !strings.HasPrefix(name, gitPrefix) && !l.harmless(name)
		})
		b.Whole = "what it reads is not known: " + l.last.unknown
		return b, due, nil
	case len(reasons) == 0 && !edited && !came: // a run that was ended, for something that is as it was
		return b, all, nil
	}
	from := l.last
	at, words := from.first(reasons)
	// The record of a fork has the journals of all runs before it: rather one of the last whole run, if that carries as
	// much.
	if w := l.whole; w != from && !came && words == "" && w.unknown == "" && w.result.Run.Status().Passed() &&
		string(w.source) == string(text) {
		if i, elsewhere := w.first(sinceWhole); elsewhere == "" && i >= at {
			from, at = w, i
		}
	}
	switch {
	case words != "":
		b.Whole = words
	case at == 0: // nothing is before it
	case from.forks == maxForks:
		b.Whole = fmt.Sprintf("the last %d runs are forks of one another", maxForks)
	default:
		b.From = from.result
		if at < len(from.result.Run.Steps) {
			b.At = from.result.Run.Steps[at].Planned.ID
		}
	}
	return b, true, nil
}

// maxForks is how long a chain of forks becomes.
const maxForks = 10

func (l *loop) isNotebook(name string) bool { return l.absolute(name) == l.Options.Notebook }

// Plan plans the run that b asks for: req, or a fork of it. Where that cannot be, it is whole, and the words say why.
func Plan(ctx context.Context, eng *engine.Engine, req engine.Request, b Beginning) (*engine.Plan, string, error) {
	if b.From == nil {
		plan, err := eng.Plan(ctx, req)
		return plan, b.Whole, err
	}
	fork := req
	fork.Resume, fork.Fork, fork.At = b.From.Run.ID, true, b.At
	plan, err := eng.Plan(ctx, fork)
	words := ""
	if err != nil {
		words = fmt.Sprintf("it is no fork of the last: %v", err)
	} else if carried, _, _ := plan.Reused(); len(carried) > 0 {
		return plan, "", nil
	}
	plan, err = eng.Plan(ctx, req)
	return plan, words, err
}

func was(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}
