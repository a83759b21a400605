// Package engine does the work: it plans a run, makes its worktree, drives its kernels step by
// step, checks what they did, and records it.
//
// It owns the plan, the gates, the step loop and the checks. Everything that changes lives in the
// run that Run starts, so one Engine serves many runs at once. What happens is told as runs.Event
// values, to the journal and to every observer alike. The files that people read are views: the
// engine is handed them (View) and imports none.
//
// What always holds: a plan starts no process of the notebook's and writes nothing; a step's
// streams, scraps and change are on disk and in the journal before the step is reported finished;
// a gate that cannot be decided blocks.
//
// It may import notebooks and runs, and its own sub-packages; never render or cmd.
package engine
