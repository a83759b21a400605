// Package agent calls coding agents: programs that get a prompt, change files and run commands until they are done.
//
// It owns the Backend contract, the table of backends, and the one set of events that all of them are read as. A
// backend is one file and one line of the table. Its program's formats change from version to version: a reader passes
// on what it does not know as an event of KindRaw, and never fails.
//
// The package is bytes in, bytes out: it starts no process, reads no clock and touches no file. engine/kernel starts the
// programs; engine decides which may run, and records what they did.
package agent
