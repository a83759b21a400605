// Package process starts the processes of a run, finds them again wherever they went, and ends them.
//
// A Family is one session's processes: its interpreter and everything that the interpreter started. On Linux a process
// stays findable however it detaches itself. As long as its parent lives it is below the interpreter. When the parent
// is gone it becomes a child of Markmill, which makes itself the "child subreaper", and is recognized by the session's
// mark (an inherited resource limit) or by MARKMILL_SESSION in its environment. On other Unix systems only process
// groups are known.
//
// A Place is a mount namespace of a run, whose first process starts the others as children of Markmill.
//
// In case Markmill itself is killed, a process ends everything with a run's Mark: the first one of the run's Place, and
// for a run without a place a Warden, which the runs of a sweep share. A Warden also follows a Place that a step ended.
//
// What always holds: no signal goes to a process that merely reuses a number; other sessions and other children of
// this process are left alone.
//
// It imports nothing else of this module.
package process
