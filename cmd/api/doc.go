// Package api runs notebooks for a program: Run executes one, keeps its record, and gives what its steps left.
//
// It owns what a caller of package engine would have to put together: an Engine with the settings of the repository
// (NewEngine), and the files that people read of a run (Views), which the engine is handed because it imports no view.
// Everything else a program needs stands in the packages below: notebooks and its sub-packages read, write, compare and
// check documents; engine plans and runs; runs reads records and verifies them. docs/go-api.md shows each with an
// example.
//
// What always holds: a run of a program is a run of the command line. It has the same worktree, sandbox, gates and
// record.
//
// It may import everything but cmd/markmill: it stands in cmd because neither engine nor render may import the other.
package api
