// Package mcp offers notebooks and runs to coding agents over the Model Context Protocol.
//
// Begin at Serve (server.go), for one client, at HTTP (http.go), for several people in the workbench, and at the table
// of tools (tools.go). The package owns what a client may ask for, which paths it may name (paths.go), how much it is
// told at once (document.go), and the changes of notebooks (edit.go). Everything else is done by the program markmill,
// which each tool calls with --json and which also writes the notebooks, where outputs may go: a run of a client is a
// run of the command line, with the same worktree, sandbox, gates and record, and the server outlives what goes wrong
// in it.
//
// What always holds: a run has the floor of the server (engine.Floor), whatever its notebook says. No tool approves,
// accepts, signs, applies a change, makes a branch, or writes anything but notebooks and their outputs, all of them
// below the root. Text that steps printed is marked as text of others. A call
// that is canceled, and every call when the client goes away, interrupts its run and waits for its record.
//
// Nothing of it is made when markmill starts for another command (docs/performance.md). It imports of this module what
// reads notebooks, and not the engine.
package mcp
