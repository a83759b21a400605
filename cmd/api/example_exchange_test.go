//go:build unix

package api_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"markmill/cmd/api"
	"markmill/cmd/markmill/runs/exchange"
	"markmill/runs"
)

// Example_exchange sends a run to a remote, and takes it from there into another store.
func Example_exchange() {
	dir, err := os.MkdirTemp("", "exchange")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	notebook, remote := filepath.Join(dir, "task.md"), filepath.Join(dir, "shared.git")
	if err := os.WriteFile(notebook, []byte("```bash {#one}\necho 1\n```\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	for _, folder := range []string{"objects", "refs"} { // as git init --bare makes it
		if err := os.MkdirAll(filepath.Join(remote, folder), 0o755); err != nil {
			log.Fatal(err)
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tbare = true\n"} {
		if err := os.WriteFile(filepath.Join(remote, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	mine, theirs := runs.Store{Dir: filepath.Join(dir, "mine")}, runs.Store{Dir: filepath.Join(dir, "theirs")}
	if _, err := api.Run(context.Background(), notebook, api.Options{Store: mine.Dir}); err != nil {
		log.Fatal(err)
	}
	sent, err := exchange.Exchange{Store: mine, Remote: remote, Max: 1 << 20}.Push(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	taken, err := exchange.Exchange{Store: theirs, Remote: remote, Max: 1 << 20}.Pull(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(sent.Runs), len(taken.Runs), theirs.Record(taken.Runs[0]).Has(runs.ReportFile))
	// Output: 1 1 true
}
