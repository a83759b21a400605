// Command markmill-mcp is the server that markmill mcp starts: it offers notebooks and runs to a coding agent over the
// Model Context Protocol, on standard input and output. It is a program of its own, so that its libraries cost the
// other commands nothing when they start.
package main

import (
	"os"

	"markmill/cmd/markmill/mcp"
)

func main() { os.Exit(mcp.Main(os.Args[1:])) }
