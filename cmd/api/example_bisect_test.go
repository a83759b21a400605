//go:build unix

package api_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"markmill/cmd/internal/engines"
	"markmill/cmd/markmill/notebook/bisect"
	"markmill/engine"
	"markmill/runs"
)

// Find the commit with which a test began to fail.
func Example_bisect() {
	dir, err := os.MkdirTemp("", "markmill-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	history := `git init -q; git config user.name Ann; git config user.email ann@localhost
		for n in 1 2 3 4 5 6; do echo $((n * n)) >size; git add size; git commit -qm "size of $n"; done`
	if out, err := exec.Command("sh", "-c", "cd "+dir+"; "+history).CombinedOutput(); err != nil {
		log.Fatal(err, string(out))
	}
	eng, repo, err := engines.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	eng.Store = func(string) runs.Store { return runs.Store{Dir: filepath.Join(dir, ".records")} }

	source := "```bash {#small .test}\ntest $(cat size) -lt 20\n```\n"
	found, err := bisect.Find(context.Background(), bisect.Options{
		Engine: eng, Good: "HEAD~5", Bad: "HEAD",
		Request: engine.Request{Path: "small.md", Source: []byte(source), Repository: repo.Root()},
		Tested:  func(t bisect.Tested, _ int) { fmt.Println(t.Subject, "is", t.Verdict) },
	})
	if err != nil {
		log.Fatal(err) // wrong input, or one of the two ends cannot be tested
	}
	if found.First == nil {
		log.Fatal("it is one of ", found.Candidates) // the others cannot be tested
	}
	fmt.Println("first bad:", found.First.Subject, "in step", found.Step)
	// Output:
	// size of 1 is good
	// size of 6 is bad
	// size of 3 is good
	// size of 4 is good
	// size of 5 is bad
	// first bad: size of 5 in step small
}
