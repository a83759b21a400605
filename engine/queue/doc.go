// Package queue is what the queue of jobs is made of: the job that a request becomes (Spec), what happens to it
// (Entry), and its state, which is a fold of its entries (Fold).
//
// What always holds: the entries of a job are the truth, and each follows the one that its writer saw last. A job ends
// once. A step whose end is among the entries is finished, and no later attempt runs it again, except to rebuild the
// state of an interpreter.
//
// The package imports no messaging library: engine/queue/jetstream keeps the entries.
package queue
