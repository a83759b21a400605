// Package queue is the group of the commands of the queue: submit and worker have folders of their own, and the
// commands for jobs are here. It links no NATS, since markmill has the same words: what they do is in client.
package queue
