package engine

import (
	"runtime"

	"markmill/engine/kernel"
	"markmill/notebooks"
)

// noWarden says what does not hold of a run without a warden.
const noWarden = "the end of a step's processes when Markmill itself is killed"

// wardened says whether runs have a warden here: a system on which processes are found, and a program
// that answers under the warden's name.
func (e *Engine) wardened() bool { return runtime.GOOS == "linux" && e.Tools != "" }

// guard starts the run's warden beside what the caller does; the returned function waits until it has
// been started.
func (w *workspace) guard() (wait func() error) {
	if !w.eng.wardened() {
		return func() error { return nil }
	}
	started := make(chan error, 1)
	go func() {
		warden, err := kernel.StartWarden(w.eng.Tools, string(w.rec.id), w.mark)
		if err == nil {
			w.warden = warden
		}
		started <- err
	}()
	return func() error { return unguarded(<-started) }
}

// guarded makes sure, before a step, that the warden still stands.
func (w *workspace) guarded() error {
	if w.warden == nil {
		return nil
	}
	return unguarded(w.warden.Stand())
}

// unguarded is the error of a warden that cannot be had: no step runs without.
func unguarded(err error) error {
	if err == nil {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindProvider,
		Msg:  "nothing would end the steps' processes if Markmill were killed: " + err.Error(),
		Hint: "Engine.Tools must be a program that is kernel.WardenMain under the name " + kernel.WardenName, Err: err}
}
