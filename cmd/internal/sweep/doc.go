// Package sweep runs one notebook with many values of its parameters, or with several attempts of coding agents.
//
// It owns what a sweep is made of (axes whose product is run, a table, rows that are added or left out; attempts), how
// it is checked before anything runs, how its runs share the processors, and how attempts are judged a second time. The
// record of a sweep is package runs'.
//
// What always holds: a sweep of which one row is wrong runs nothing. A run of a sweep is a run like any other. The
// journal of the sweep names a run before it begins, so a sweep that was killed can be resumed: no row that came to its
// end runs again, and none is forgotten.
//
// It may import everything but cmd/cmdtest.
package sweep
