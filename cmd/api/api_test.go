//go:build unix

package api_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheExamplesAreDocumented: what docs/go-api.md shows stands in the examples, which the tests run.
func TestTheExamplesAreDocumented(t *testing.T) {
	examples, page := read(t, "example_test.go"), read(t, filepath.Join("..", "..", "docs", "go-api.md"))
	shown := 0
	for rest := page; ; {
		_, after, found := strings.Cut(rest, "```go\n")
		if !found {
			break
		}
		code, after, found := strings.Cut(after, "```\n")
		if !found {
			t.Fatal("a fence is not closed")
		}
		if shown++; !strings.Contains(examples, code) {
			t.Errorf("example_test.go does not have:\n%s", code)
		}
		rest = after
	}
	if shown < 5 {
		t.Errorf("%d examples are shown", shown)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAProgramOutsideTheModule builds one with a replace directive, as docs/go-api.md says, and runs it.
func TestAProgramOutsideTheModule(t *testing.T) {
	if os.Getenv("MARKMILL_ALL") == "" {
		t.Skip("it links a program: MARKMILL_ALL does so")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// The versions are those of this module, so that nothing is fetched.
	_, requires, _ := strings.Cut(read(t, filepath.Join(root, "go.mod")), "\n\n")
	mod := "module example\n\n" + requires + "\nrequire markmill v0.0.0\n\nreplace markmill => " + root + "\n"
	for name, text := range map[string]string{"go.mod": mod, "go.sum": read(t, filepath.Join(root, "go.sum")),
		"main.go": read(t, filepath.Join("testdata", "program", "main.go")),
		"task.md": read(t, filepath.Join("testdata", "program", "task.md"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-ldflags=-s -w", ".", "task.md")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off",
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GOCACHE="+goEnv(t, "GOCACHE"),
		"GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "pass\nhello you\n") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
