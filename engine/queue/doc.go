// Package queue holds the types of the queue: a submitted job (Spec), its events (Entry), and its state, which is a
// fold of the entries (Fold).
//
// What always holds: the entries of a job are the truth, and each names the one that its writer saw last. A job ends
// once. A step whose end is among the entries is finished, and no later attempt runs it again, except to rebuild the
// state of an interpreter.
//
// The package imports no messaging library: engine/queue/jetstream keeps the entries.
package queue
