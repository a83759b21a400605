// Command markmill runs Markdown notebooks against a Git worktree and keeps the proof.
package main

import (
	"os"

	"markmill/cmd/cli"
)

func main() { os.Exit(cli.Main(nil)) }
