// Package mcp serves Markmill to agents by the Model Context Protocol. What reads, reads through the packages, in this
// process: the documents are those of the commands with --json. What makes a run starts markmill (package child). The
// server itself makes no run and writes no file, but for its own notebooks.
//
// What always holds: what reads is bounded. So many calls read at a time, a notebook has at most files.MaxNotebook
// bytes, a call whose client has gone ends between two notebooks, and a fault in one call is the error of that call. A
// query of an agent's own is a program of its own, because SQLite may take all memory while it sorts: the system then
// ends that program, and not the server.
package mcp
