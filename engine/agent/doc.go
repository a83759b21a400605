// Package agent calls coding agents: programs that get a prompt, change files and run commands until they are done.
//
// It owns the Backend contract, the table of backends, and the reading of what their programs print into one set of
// events (runs.AgentData). A backend is one file and one line of the table. The formats of the programs change from
// version to version: a reader passes on what it does not know as an event of runs.AgentRaw, and never fails.
//
// The package is bytes in, bytes out: it starts no process, reads no clock and touches no file. engine/kernel starts
// the programs; engine decides which may run, and records what they did.
package agent
