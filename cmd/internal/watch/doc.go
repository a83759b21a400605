// Package watch runs a notebook again whenever something that it depends on is saved.
//
// It owns which saves count (those of inputs of the last run, by package render/fresh; while a run goes on, every one
// that Git does not ignore), when a save is over, and at which step the next run begins: at the first whose inputs
// changed, as a fork of the last run, or with the first step where that is not possible.
//
// What always holds: one run at a time. A run whose inputs are saved meanwhile is ended as by an abort, and its record
// is complete before the next run begins. The checkout is only read.
//
// It may import everything but cmd/cmdtest.
package watch
