// Package serve is the workbench: the journals of a repository's runs in a browser, and the commands of Markmill as
// buttons (cmd/markmill-server, started by markmill serve).
//
// Begin at routes (server.go). endpoint.go says how it is reached, auth.go who may ask, and sign.go who it is: a person
// of the tokens file (tokens.go), or the user. The name goes with the context of the request (child.As) to every
// command. answer.go turns errors into answers and sends streams, events.go is the stream of all runs, hooks.go
// receives pushes, and package mcp answers agents. Each page has a file with the data that its template in pages/
// shows, and action.go turns a form into a call of the program (package child). What a page or an answer says is read
// through the packages; only what changes something is a program. queue.go holds the connection to the queue, so that
// an embedded server ends when no page needs it.
//
// What always holds: the workbench stores nothing. Every page is read from the records, the index and the repository
// when it is asked for. Nothing is answered before the Host is known to be this server's; nothing but the sign-in page
// without a session; nothing is done without the session's role, its own origin and its form token. Nothing from a
// notebook becomes markup: html/template escapes every text, the script of the pages writes text nodes only, and the
// policy of each answer forbids scripts and styles from anywhere else. A slow reader is served from the record's files
// and never slows a run down.
package web
