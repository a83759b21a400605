// Package engine plans a run, makes its worktree, drives its kernels step by step, checks what the steps did, and
// records it.
//
// A Request is data. Engine.Plan makes a Plan of it, which does not change afterwards, and Engine.Run carries it out.
// The state of a run has four parts: the recorder (journal and files of the record), the workspace (worktree,
// environment, confinement), the sessions (live interpreters) and the verdict. None of it is shared, so one Engine
// serves many runs at once. Events go to the journal and to all observers alike. The files that people read are views:
// the caller passes them in Sinks, and the engine imports none.
//
// What always holds: planning starts no process of the notebook's and writes nothing; the streams, scraps and change of
// a step are on disk and in the journal before the step is reported as finished; a gate that cannot be decided blocks.
//
// The package may import notebooks and runs, and its own sub-packages, but never render or cmd.
package engine
