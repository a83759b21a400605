package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks/region"
)

// oldRecords unpacks what commit 1db085a left (before 0.1: manifests without a format, records without a version of
// their views): a repository with notebooks, their output notebooks in out/, and the records of the runs.
func oldRecords(t *testing.T) string {
	t.Helper()
	file, err := os.Open("testdata/old/1db085a.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for files := tar.NewReader(packed); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		if !filepath.IsLocal(head.Name) {
			t.Fatal(head.Name)
		}
		if head.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(files); err == nil {
				if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
					err = os.WriteFile(path, data, 0o644)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOldRecords: what an older version left can still be verified, stripped, compared, reviewed, shown and made a page
// of.
func TestOldRecords(t *testing.T) {
	dir, program := oldRecords(t), builtProgram(t)
	t.Chdir(dir)
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, words := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"},
		{"config", "user.email", "a@localhost"}, {"add", "-f", "notebooks", "src", "data.csv"},
		{"commit", "-qm", "sources"}, {"add", "-f", "out"}, {"commit", "-qm", "outputs"}} {
		if out, err := exec.Command("git", words...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	do := func(want int, words ...string) string {
		t.Helper()
		out, err := exec.Command(program, words...).CombinedOutput()
		code := 0
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			code = failed.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Fatalf("markmill %s: exit %d, want %d\n%s", strings.Join(words, " "), code, want, out)
		}
		return string(out)
	}
	entries, err := os.ReadDir(".markmill/runs")
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		run := filepath.Join(".markmill", "runs", e.Name())
		if out := do(0, "runs", "verify", run); !strings.Contains(out, "what was looked at holds") ||
			!strings.Contains(out, "not looked at: output.") {
			t.Errorf("verify %s:\n%s", e.Name(), out)
		}
		do(0, "runs", "show", e.Name())
		if strings.Contains(e.Name(), "-two-") { // --only: an old record keeps the status that it has recorded
			if out := do(0, "runs", "show", e.Name()); !strings.Contains(out, "pass") ||
				strings.Contains(out, "partial") {
				t.Errorf("show:\n%s", out)
			}
		}
	}
	// A file of an old record that was changed is still found.
	changed := filepath.Join(".markmill", "runs", entries[0].Name(), "output.md")
	text, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(string(text) + "more\n")
	do(1, "runs", "verify", filepath.Dir(changed))
	write(string(text))

	outputs, err := filepath.Glob("out/*.out.*")
	if err != nil || len(outputs) < 8 {
		t.Fatal(outputs, err)
	}
	for _, output := range outputs {
		if strings.HasSuffix(output, "_files") {
			continue
		}
		name := strings.Split(filepath.Base(output), ".")[0]
		for from, to := range map[string]string{"partial": "two"} {
			if name == from {
				name = to
			}
		}
		if filepath.Ext(output) == ".md" && name != "book" {
			source, err := os.ReadFile("notebooks/" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if got := region.Strip(output, text); string(got.Source) != string(source) || len(got.Problems) > 0 ||
				got.Manifest.Format != 0 {
				t.Errorf("%s: stripped %q, %v", output, got.Source, got.Problems)
			}
		}
		do(0, "strip", "--stdout", output)
		do(0, "convert", output, filepath.Join(home, "page.html"))
		if out := do(0, "runs", "verify", output); !strings.Contains(out, "holds (") {
			t.Errorf("verify %s:\n%s", output, out)
		}
		do(0, "diff", output, output)
	}
	page, err := os.ReadFile(filepath.Join(home, "page.html"))
	if err != nil || !strings.Contains(string(page), "Passed") {
		t.Errorf("page: %v", err)
	}
	do(1, "diff", "out/pass.out.md", "out/fail.out.md")
	// It objects to what failed, and to the test that --only left out.
	if out := do(1, "review", "HEAD~1..HEAD"); !strings.Contains(out, "outputs: 5 failed, 1 blocked, 5 unknown") {
		t.Errorf("review:\n%s", out)
	}
}
