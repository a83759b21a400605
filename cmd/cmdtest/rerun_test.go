//go:build unix

package cmdtest

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"markmill/cmd/api"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/rerun"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree/gittest"
	"markmill/runs"
)

// committed makes a repository with one commit, which holds a notebook.
func committed(notebook string) (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "rerun")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "task.md"), []byte(notebook), 0o600)
	}
	for _, words := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "base"}} {
		if err == nil {
			_, err = gittest.TryGit(dir, []string{"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A",
				"GIT_COMMITTER_EMAIL=a@b"}, nil, words...)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// A comparison finds what differs, and says it of the step and of the run.
func TestRerunCompare(t *testing.T) {
	dir, remove := committed("```sh {#a}\ncat /proc/sys/kernel/random/uuid > id\n```\n\n```sh {#b}\necho fine\n```\n")
	defer remove()
	ctx := context.Background()
	first, err := api.Run(ctx, filepath.Join(dir, "task.md"), api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	eng, src, err := engines.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := rerun.Run(ctx, eng, src, runs.At(first.Dir), rerun.Options{
		Sinks: func(*engine.Plan) (engine.Sinks, error) { return engine.Sinks{Views: views.Views()}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range again.Differences {
		found = append(found, d.Step+":"+d.What)
	}
	if got := fmt.Sprint(found); got != "[:tree a:change a:output]" || again.Agrees {
		t.Errorf("it differs in %s", got)
	}
	same, err := rerun.Compare(runs.At(first.Dir), runs.At(first.Dir), nil)
	if err != nil || !same.Agrees {
		t.Errorf("a run differs from itself: %v, %+v", err, same)
	}
	v, err := api.Verify(again.Dir)
	if err == nil {
		err = rerun.Check(eng.Store(src.Root()), v)
	}
	if err != nil || !v.OK() {
		t.Errorf("%v, %v", err, v.Findings)
	}
}
