package runs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/runs"
	"markmill/runs/outfile"
)

func open(t *testing.T, path string) *outfile.File {
	t.Helper()
	file, err := outfile.Open(path, outfile.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestStage: a staged file is not at its place until it is placed, keeps the mode of the one that it takes the
// place of, and only its run's leftovers go.
func TestStage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("n", 250)+".md") // as long as a name can be
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	const id, other = runs.RunID("20261122T014327Z-task-1"), runs.RunID("20261122T014327Z-task-2")
	file := open(t, path)
	content := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("there is %q (%v), not %q", b, err, want)
		}
	}
	for _, text := range []string{"a longer first try", "new"} {
		if err := file.Stage(id, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Stage(other, []byte("other")); err != nil {
		t.Fatal(err)
	}
	content("old")
	if err := file.Commit(id); err != nil {
		t.Fatal(err)
	}
	content("new")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if err := file.Commit(id); err != nil {
		t.Errorf("placed twice: %v", err)
	}
	if err := file.Discard(id); err != nil {
		t.Fatal(err)
	}
	if found, _ := os.ReadDir(dir); len(found) != 2 {
		t.Errorf("the other run's file should stand beside it: %v", found)
	}
	if err := file.Discard(other); err != nil {
		t.Fatal(err)
	}
	if found, _ := os.ReadDir(dir); len(found) != 1 {
		t.Errorf("left: %v", found)
	}
}
