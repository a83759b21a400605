package engine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDigestOfAgent: of a script of a Node package the digest covers the package and what it depends on, as Node finds
// it, and nothing else; of another script its own file.
func TestDigestOfAgent(t *testing.T) {
	e := &Engine{Cache: t.TempDir()}
	top := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const script = "#!/usr/bin/env node\n"
	write("node_modules/@a/cli/package.json",
		`{"dependencies":{"b":"1"},"optionalDependencies":{"@a/linux":"1","absent":"1"}}`)
	write("node_modules/@a/cli/bin/cli.js", script)
	write("node_modules/@a/cli/lib/more.js", "1")
	write("node_modules/@a/cli/node_modules/b/package.json", `{}`)
	write("node_modules/@a/cli/node_modules/b/index.js", "1")
	write("node_modules/@a/linux/package.json", `{"dependencies":{"@a/cli":"1"}}`)
	write("node_modules/@a/linux/program", "1")
	write("node_modules/b/package.json", `{}`)
	write("node_modules/b/index.js", "1")
	write("alone/cli.js", script)
	write("alone/more.js", "1")
	for _, c := range []struct {
		program, change string
		files           int
		covered         bool
	}{
		{"node_modules/@a/cli/bin/cli.js", "node_modules/@a/cli/bin/cli.js", 7, true},
		{"node_modules/@a/cli/bin/cli.js", "node_modules/@a/cli/lib/more.js", 7, true},
		{"node_modules/@a/cli/bin/cli.js", "node_modules/@a/cli/node_modules/b/index.js", 7, true},
		{"node_modules/@a/cli/bin/cli.js", "node_modules/@a/linux/program", 7, true},
		{"node_modules/@a/cli/bin/cli.js", "node_modules/b/index.js", 7, false}, // the nearer one is what Node loads
		{"node_modules/@a/linux/program", "node_modules/@a/cli/lib/more.js", 1, false},
		{"alone/cli.js", "alone/more.js", 1, false},
		{"alone/cli.js", "alone/cli.js", 1, true},
	} {
		digest := func() string {
			t.Helper()
			d, files, err := e.DigestOfAgent(filepath.Join(top, filepath.FromSlash(c.program)))
			if err != nil || files != c.files {
				t.Fatalf("%s: %d files, want %d, %v", c.program, files, c.files, err)
			}
			return string(d)
		}
		was := digest()
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(c.change)))
		if err != nil {
			t.Fatal(err)
		}
		write(c.change, string(text)+"// changed\n")
		if got := digest() != was; got != c.covered {
			t.Errorf("%s: a change of %s shows: %v, want %v", c.program, c.change, got, c.covered)
		}
		write(c.change, string(text))
	}
	link := filepath.Join(top, "cli")
	if os.Symlink(filepath.Join(top, "node_modules/@a/cli/bin/cli.js"), link) == nil {
		if _, files, err := e.DigestOfAgent(link); files != 7 || err != nil {
			t.Errorf("by a link it has %d files, %v", files, err)
		}
	}
}
