// Package worker has the options of a worker, and starts workers on machines that Slurm or Kubernetes allocate. What a
// worker does is in cmd/markmill-server/queue/client/client. It links no NATS, since markmill has the same words.
package worker
