// Package rerun runs a recorded run again, in a clean clone of its repository, and compares what came of it: the level
// of proof "repeated".
//
// It owns what is compared: how the run and its steps ended, the trees, what each step changed, its scraps, tests and
// results, and the output, after the notebook's normalize rules. Never compared are times, process ids and paths.
//
// What always holds: the checkout of the user is only read; the comparison follows from the two records alone, so that
// Check can make it again; an interrupted repetition leaves nothing.
package rerun
