// Package web is the workbench: the journals of a repository's runs in a browser, and the commands of Markmill as
// buttons (cmd/markmill-server, started by markmill serve).
//
// Begin at routes (server.go). endpoint.go says how it is reached, auth.go who may ask, and sign.go who it is: a person
// of the tokens file (tokens.go), or the user. The name goes with the context of the request (child.As) to every
// command. answer.go turns errors into answers and sends streams, events.go is the stream of all runs, hooks.go
// receives pushes, and package mcp answers agents. Each page has a file with the data that its template in pages/
// shows, and action.go turns a form into a call of the program (package child). Only what changes
// something is a program: the rest is read through the packages. queue.go holds the connection to the queue, so that an
// embedded server ends when no page needs it.
//
// What always holds: the workbench stores nothing. Every page is read from the records, the index and the repository
// when it is asked for. Nothing is answered before the Host is known to be this server's; nothing but the sign-in page
// without a session; nothing is done without the session's role, its own origin and its form token. Results of a step
// become markup only in package render/html, from the elements, attributes and styles of a list; html/template escapes
// all other text, and the pages' script writes text nodes only. The policy of each answer forbids other scripts and
// styles; a run's page adds the hash of its results' styles. A slow reader never slows a run.
package web
