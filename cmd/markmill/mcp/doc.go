// Package mcp serves Markmill to agents by the Model Context Protocol. Each tool calls markmill --json: the server
// itself makes no run and writes no file, but for its own notebooks.
package mcp
