// Command markmill runs Markdown notebooks against a Git worktree and keeps the proof.
package main

import (
	"os"

	"markmill/cmd/internal/commands"
)

func main() { os.Exit(commands.Main(nil)) }
