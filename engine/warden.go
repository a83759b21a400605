package engine

import (
	"runtime"

	"markmill/engine/process"
	"markmill/notebooks"
)

// noWarden says what does not hold of a run without a warden.
const noWarden = "the end of a step's processes when Markmill itself is killed"

// wardened says whether runs have a warden here: a system on which processes are found, and a program
// that answers under the warden's name.
func (e *Engine) wardened() bool { return runtime.GOOS == "linux" && e.Tools != "" }

// guard starts the run's warden beside what the caller does; the returned function waits until it has
// been started.
func (r *run) guard() (wait func() error) {
	if !r.eng.wardened() {
		return func() error { return nil }
	}
	started := make(chan error, 1)
	go func() {
		w, err := process.StartWarden(r.eng.Tools, string(r.id), r.mark)
		if err == nil {
			r.warden = w
		}
		started <- err
	}()
	return func() error { return unguarded(<-started) }
}

// guarded makes sure, before a step, that the warden still stands.
func (r *run) guarded() error {
	if r.warden == nil {
		return nil
	}
	return unguarded(r.warden.Stand())
}

// unguarded is the error of a warden that cannot be had: no step runs without.
func unguarded(err error) error {
	if err == nil {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindProvider, Msg: "nothing would end the steps' processes if Markmill were killed: " + err.Error(),
		Hint: "Engine.Tools must be a program that is process.WardenMain under the name " + process.WardenName, Err: err}
}
