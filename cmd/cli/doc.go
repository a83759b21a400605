// Package cli is the command line: the commands with their options, flags and texts, exit codes, and the wiring of what
// they do.
//
// Begin at Main (program.go) and the table of commands (app.root). Both programs are made of it. cmd/markmill has all
// commands, and starts markmill-server for those that a team runs (server.go); cmd/markmill-server has only these, and
// gives Main what does them. So each flag is declared once, markmill has the help, the completion and the manual of
// every command, and it links neither NATS nor a web server with pages.
package cli
