// Package commands has the table of all commands, and the start of both programs: it reads a command line, builds the
// command that it names, completes words for shells, and returns the exit code. A command is one line in root.
//
// Of markmill-server it imports only the options and texts of its commands; what they do is handed in as a
// program.Server, so that markmill links no NATS and no html/template. No other package but the programs themselves
// imports it.
package commands
