package engine

import (
	"runtime"

	"markmill/engine/process"
	"markmill/notebooks"
)

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
