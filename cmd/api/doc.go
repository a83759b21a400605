// Package api runs notebooks for a program: Run runs one, keeps its record, and returns what its steps left.
//
// It is what a program calls that does not start markmill: run a notebook (Run), show what it takes (NewInspected),
// convert it (Convert, Sync), compare (Diff), read what was recorded (Scraps), say which outputs still hold (StatusOf),
// review a branch (Review), and verify a record (Verify). NewEngine makes an engine for those who plan and run closely.
// The work is done by the packages below cmd/internal; documents, records and engine are for programs, too: notebooks
// and its packages, runs and engine. docs/go-api.md has an example of each.
//
// What always holds: a run of a program is like a run of the command line, with the same worktree, sandbox, gates and
// record.
//
// It may import everything but cmd/cmdtest. It is in cmd because neither engine nor render may import the other.
package api
