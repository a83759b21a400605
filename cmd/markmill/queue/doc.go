// Package queue is the program that markmill submit, worker and jobs start (cmd/markmill-queue).
//
// Begin at Main (main.go), and for a job at worker.do (job.go). The package owns what a worker does with a job: which
// repository it runs in, from which run it goes on, what of the run it publishes and when (publish.go), and what its
// end means for the job (end.go), or its need for an approval (approve.go); where larger files are (place.go); how a
// record comes back (fetch.go); and what the commands print.
//
// What always holds: a run of a worker is a run of the command line, with the same worktree, sandbox, gates and record.
// The next step begins when the end of the one before it is published. No value of a secret is published.
package queue
