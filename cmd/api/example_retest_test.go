package api_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"markmill/cmd/api"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/retest"
)

// Example_retest stores the output of a notebook, edits the notebook, and tests it against the stored output.
func Example_retest() {
	dir, err := os.MkdirTemp("", "retest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	notebook := filepath.Join(dir, "greet.md")
	defer os.Setenv("XDG_CACHE_HOME", os.Getenv("XDG_CACHE_HOME"))
	os.Setenv("XDG_CACHE_HOME", dir) // the records of runs outside a repository are there
	write := func(path string, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
	source := "```sh {#greet}\necho hello\n```\n"
	write(notebook, []byte(source))
	ctx := context.Background()
	run, err := api.Run(ctx, notebook, api.Options{Store: filepath.Join(dir, "runs")})
	if err != nil {
		log.Fatal(err)
	}
	write(filepath.Join(dir, "greet.out.md"), run.Notebook)
	write(notebook, []byte(source+"\n```sh {#more}\necho more\n```\n"))

	found, err := files.Find([]string{notebook})
	if err != nil {
		log.Fatal(err)
	}
	report := retest.Run(ctx, found, retest.Options{})
	for _, n := range report.Notebooks {
		for _, s := range n.Steps {
			fmt.Println(s.Step, s.Verdict)
		}
		fmt.Println("stale:", n.Stale)
	}
	fmt.Println(report.Status)
	// Output:
	// greet same
	// more different
	// stale: true
	// different
}
