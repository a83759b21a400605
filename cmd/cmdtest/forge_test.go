package cmdtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"markmill/notebooks/region"
)

// TestForge renders the output notebooks of the examples, and of a notebook with every kind of result, as a forge does:
// with the program that MARKMILL_FORGE names, cmark-gfm. The verdict comes first, results are visible, and what is
// folded is closed.
func TestForge(t *testing.T) {
	forge := os.Getenv("MARKMILL_FORGE")
	if forge == "" {
		t.Skip("MARKMILL_FORGE does not name cmark-gfm")
	}
	for _, program := range []string{"git", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": filepath.Join(dir, "home"),
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "XDG_STATE_HOME": filepath.Join(dir, "state"),
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@localhost", "GIT_COMMITTER_NAME": "A",
		"GIT_COMMITTER_EMAIL": "a@localhost"} {
		t.Setenv(name, value)
	}
	do := func(want int, words ...string) {
		t.Helper()
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		code := 0
		if failed, ok := err.(*exec.ExitError); ok {
			code = failed.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Fatalf("%s: exit %d\n%s", strings.Join(words, " "), code, out)
		}
	}
	project := filepath.Join(dir, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	rich, err := os.ReadFile(filepath.Join(examples, "../cmd/cmdtest/testdata/rich.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("rich.md", rich, 0o644); err != nil {
		t.Fatal(err)
	}
	do(0, "git", "init", "-q", "-b", "main")
	do(0, "git", "add", ".")
	do(0, "git", "commit", "-qm", "base")
	do(0, filepath.Join(examples, "make-buggy-repo.sh"), "../buggy")
	do(0, "markmill", "run", filepath.Join(examples, "fix-a-bug.md"), "../fixed.md", "--repo", "../buggy")
	do(0, "markmill", "run", filepath.Join(examples, "release-notes.md"), "../notes.md")
	do(1, "markmill", "run", "rich.md", "../rich.md", "-p", "city=Chur")
	outputs := map[string]string{"../fixed.md": "✓ passed", "../notes.md": "✓ passed", "../rich.md": "✗ failed"}
	if _, err := os.Stat("/proc/loadavg"); err == nil {
		do(0, "markmill", "run", filepath.Join(examples, "system-health.md"), "../health.md", "-p", "threshold=1000")
		outputs["../health.md"] = "✓ passed"
	}
	for output, verdict := range outputs {
		src, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		src = src[region.VerdictAt(src):] // a forge shows front matter apart
		cmd := exec.Command(forge, "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink")
		cmd.Stdin = bytes.NewReader(src)
		page, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		root, err := html.Parse(bytes.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		first, visible, folded := "", map[atom.Atom]int{}, map[atom.Atom]int{}
		var walk func(n *html.Node, closed bool)
		walk = func(n *html.Node, closed bool) {
			if n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" && first == "" {
				first = strings.TrimSpace(n.Data)
			}
			if n.DataAtom == atom.Details {
				closed = true
				for _, a := range n.Attr {
					if a.Key == "open" {
						closed = false
					}
				}
			}
			if closed {
				folded[n.DataAtom]++
			} else {
				visible[n.DataAtom]++
			}
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				walk(c, closed)
			}
		}
		walk(root, false)
		if first != verdict {
			t.Errorf("%s: the first words are %q, want %q", output, first, verdict)
		}
		if output == "../rich.md" {
			if visible[atom.Table] != 2 || folded[atom.Table] != 0 || visible[atom.Img] != 1 || folded[atom.Img] != 0 {
				t.Errorf("%s: tables %d visible, %d folded; pictures %d visible, %d folded\n%s", output,
					visible[atom.Table],
					folded[atom.Table], visible[atom.Img], folded[atom.Img], page)
			}
			for _, want := range []string{
				"<code>forbid: data.csv</code> does not allow <code>data.csv</code>, which step <code>a</code> changed",
				"<strong>broke forbid: data.csv: data.csv</strong>"} {
				if !bytes.Contains(page, []byte(want)) {
					t.Errorf("%s: no %q in\n%s", output, want, page)
				}
			}
		}
		if folded[atom.Details] == 0 {
			t.Errorf("%s: nothing is folded", output)
		}
	}
}
