// Package approve answers a run or a job that waits for an approval: approve and deny. A job is answered by
// markmill-server, which knows the queue.
package approve
