// Package api runs notebooks from a program: Run runs one, keeps its record, and returns what its steps left.
//
// It owns what every caller of package engine needs: an Engine with the settings of the repository (NewEngine), and
// the files that every run leaves for readers (Views), which the engine is given because it imports no view. The
// packages below have everything else: notebooks and its sub-packages read, write, compare and check documents;
// engine plans and runs; runs reads and verifies records. docs/go-api.md has examples.
//
// What always holds: a run from a program is a run of the command line, with the same worktree, sandbox, gates and
// record.
//
// It may import everything but cmd/markmill. It is in cmd because neither engine nor render may import the other.
package api
