// Package jobqueue is how commands reach the queue: the options that name it and a job, calls of markmill-server, and
// the process that delivers alerts. It links no NATS: what a call does is in cmd/markmill-server/queue/client/client.
package jobqueue
