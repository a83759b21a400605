// Package api runs notebooks for a program: Run runs one, keeps its record, and returns what its steps left.
//
// It owns what a caller of package engine would have to put together: an Engine with the settings of the repository
// (NewEngine), the files of a run for readers (Views), and work on whole notebooks and runs (Convert, Page, Apply,
// Reconcile, Verify). Its sub-packages do what the commands of their names do: files, lookup (diff, scraps), retest
// (test), sweep (run --matrix), branchreview (review), gitsetup (git) and doctor. Everything else a program needs is
// in the packages below:
// notebooks and its sub-packages read, write, compare and check documents; engine plans and runs; runs reads records
// and verifies them. docs/go-api.md shows each with an example.
//
// What always holds: a run of a program is like a run of the command line, with the same worktree, sandbox, gates and
// record.
//
// It may import everything but cmd/cmdtest. It is in cmd because neither engine nor render may import the other.
package api
