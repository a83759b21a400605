//go:build unix

package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// addition is a fence of docs/adding.md: a new file, lines for a table as a diff, or commands that check the result.
type addition struct{ section, language, file, text string }

func additions(t *testing.T) []addition {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "adding.md"))
	if err != nil {
		t.Fatal(err)
	}
	open := regexp.MustCompile("^(`{3,})([a-z]+) \\{(?:file=(.*)|check)\\}$")
	var all []addition
	var fence, section string
	for line := range strings.Lines(string(page)) {
		bare := strings.TrimSuffix(line, "\n")
		switch m := open.FindStringSubmatch(bare); {
		case fence != "" && bare == fence:
			fence = ""
		case fence != "":
			all[len(all)-1].text += line
		case m != nil:
			fence = m[1]
			all = append(all, addition{section: section, language: m[2], file: m[3]})
		case strings.HasPrefix(bare, "## "):
			section = bare[3:]
		}
	}
	return all
}

// TestAdding adds what docs/adding.md adds to a copy of the module, and runs the checks that it names.
func TestAdding(t *testing.T) {
	if os.Getenv("MARKMILL_ADDING") == "" {
		t.Skip("set MARKMILL_ADDING to build a copy of the module; CI does")
	}
	root := t.TempDir()
	copyModule(t, filepath.Join("..", ".."), root)
	checks := map[string]int{}
	for _, a := range additions(t) {
		switch {
		case a.file == "":
			checks[a.section]++
			for line := range strings.Lines(a.text) {
				t.Run(a.section+"/"+strings.TrimSpace(line), func(t *testing.T) { runCheck(t, root, line) })
			}
		case a.language == "diff":
			insertLines(t, filepath.Join(root, a.file), a.text)
		default:
			path := filepath.Join(root, a.file)
			if _, err := os.Stat(path); err == nil {
				t.Fatalf("%s is not a new file", a.file)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(a.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, section := range []string{"A kernel", "A command", "A view", "A form"} {
		if checks[section] == 0 {
			t.Errorf("section %q checks nothing", section)
		}
	}
}

// runCheck runs a command of the page. A check that tests nothing fails.
func runCheck(t *testing.T, root, line string) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ok") || strings.Contains(string(out), "no tests to run") {
		t.Errorf("%v\n%s", err, out)
	}
}

// insertLines applies a diff that only adds: the added lines go behind the line before them, which must be there once.
func insertLines(t *testing.T, path, diff string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	context, added, ok := strings.Cut(diff, "\n+")
	if context = strings.TrimPrefix(context, " ") + "\n"; !ok || strings.Count(string(b), context) != 1 {
		t.Fatalf("%s has this line %d times, not once: %s", path, strings.Count(string(b), context), context)
	}
	text := strings.Replace(string(b), context, context+strings.ReplaceAll(added, "\n+", "\n"), 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
