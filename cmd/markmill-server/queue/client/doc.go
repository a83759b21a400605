// Package queue is what markmill queue submit, worker, jobs, scheduler and alerts do with the queue.
//
// Begin at Client (main.go), and for a job at worker.do (job.go). The package owns what a worker does with a job: which
// repository it runs in, which run it resumes, what it publishes and when (publish.go), and what the end of the run
// (end.go) or a missing approval (approve.go) means for the job; where larger files are kept (filestore.go); how a
// record is fetched (fetch.go); and what the commands print.
//
// What always holds: a run of a worker is a run of the command line, with the same worktree, sandbox, gates and record.
// A step begins only when the end of the previous one is published. No value of a secret is published.
package client
