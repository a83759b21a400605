//go:build unix

package api_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"markmill/cmd/api"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/notebooks/forms"
)

// TestViews is the conformance suite of views: each leaves a file of its name, its file is the same to the byte when it
// is written again from the record, and the record verifies.
func TestViews(t *testing.T) {
	dir := t.TempDir()
	source := task + "\n```sh {#fails}\necho no >&2; exit 3\n```\n"
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	result, err := api.Run(context.Background(), notebook, api.Options{Store: filepath.Join(dir, "runs")})
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if v, err := api.Verify(result.Dir); err != nil || !v.OK() {
			t.Fatalf("%+v %v", v, err)
		}
	}
	check()
	nb, err := forms.Parse("task.md", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views.Views() {
		t.Run(v.Name, func(t *testing.T) {
			path := filepath.Join(result.Dir, v.Name)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Write(engine.ViewInput{Dir: result.Dir, Notebook: nb, Run: result.Run}); err != nil {
				t.Fatal(err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("%v; written again it is\n%s\nand was\n%s", err, after, before)
			}
		})
	}
	check()
}
