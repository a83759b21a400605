// Package schedule decides what of a scheduled notebook runs: which due time, whether it waits for the run before it,
// and what becomes of due times that passed while nobody looked.
//
// What always holds: State.Look decides from the state and the time alone, so that a daemon with a queue and a command
// that cron starts come to the same. A due time is noted before its run begins (State.Run), so that no other process
// begins it, and one that is noted and never began is begun again.
package schedule
