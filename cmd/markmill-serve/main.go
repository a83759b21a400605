// Command markmill-serve is what markmill serve starts: the workbench. It is a program of its own, so that
// html/template and a web server cost the other commands nothing when they start.
package main

import (
	"os"

	"markmill/cmd/markmill/serve"
)

func main() { os.Exit(serve.Main(os.Args[1:])) }
