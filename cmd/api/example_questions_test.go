package api_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"markmill/cmd/api"
	"markmill/notebooks/diff"
)

// A repository with a notebook that ran, on a branch that changes its source: what differs, what was recorded, what
// still holds, and what a reviewer is told.
func ExampleReview() {
	dir, err := os.MkdirTemp("", "review")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			log.Fatal(err, string(out))
		}
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
		return path
	}
	git("init", "-q", "-b", "main")
	source := write("n.md", "```bash {#a}\necho one\n```\n")
	git("add", "n.md")
	git("commit", "-qm", "a notebook")
	run, err := api.Run(context.Background(), source, api.Options{Store: filepath.Join(dir, ".markmill")})
	if err != nil {
		log.Fatal(err)
	}
	output := write("n.out.md", string(run.Notebook))
	git("add", "n.out.md")
	git("commit", "-qm", "its output")
	git("switch", "-qc", "fix")
	write("n.md", "```bash {#a}\necho two\n```\n")
	git("commit", "-qam", "two")

	d, err := api.Diff(source, output, diff.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("same:", d.Same)
	recorded, unread, err := api.Scraps(output)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("outputs:", len(recorded), "unread:", len(unread))
	held, err := api.StatusOf(context.Background(), dir, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, out := range held.Outputs {
		fmt.Println(out.Path, out.State)
	}
	r, err := api.Review(context.Background(), dir, "main...fix")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("notebooks that differ:", len(r.Notebooks))
	// Output:
	// same: false
	// outputs: 1 unread: 0
	// n.out.md outdated
	// notebooks that differ: 1
}
