// Command markmill runs Markdown notebooks against a Git worktree and keeps the proof.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/sandbox"
)

func main() { os.Exit(Main()) }

// Main is the whole program; it returns the exit code. Under the names glue and scrap it is the
// command of that name that steps find on their PATH; under the sandbox helper's, that helper; under the warden's, a
// run's warden.
func Main() int {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case "glue":
		return kernel.GlueMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	case "scrap":
		return kernel.ScrapMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	case sandbox.HelperName:
		return sandbox.Main(os.Args[1:], os.Stderr)
	case process.WardenName:
		return process.WardenMain(os.Args[1:])
	}
	tuneGC()
	return newApp().run(os.Args[1:])
}
