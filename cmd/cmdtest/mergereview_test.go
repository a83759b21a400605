//go:build unix

package cmdtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/cmd/api"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/views"
	"markmill/cmd/markmill/review/mergereview"
	"markmill/engine"
	"markmill/engine/worktree/gittest"
)

// callers is a notebook that calls what lib/*.sh define.
const callers = "```sh {#test .test}\nset -e; for f in call/*; do . lib/greet.sh; . $f; done\n```\n"

// sides makes a repository whose main renames a function with its callers, and whose branch adds a caller. Each has
// run task.md with its own files.
func sides(dir string) error {
	git := func(words ...string) error {
		_, err := gittest.TryGit(dir, []string{"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A",
			"GIT_COMMITTER_EMAIL=a@b"}, nil, words...)
		return err
	}
	write := func(name, text string) error {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(text), 0o644)
	}
	run := func() error {
		_, err := api.Run(context.Background(), filepath.Join(dir, "task.md"), api.Options{})
		return err
	}
	for _, do := range []func() error{
		func() error { return git("init", "-q", "-b", "main") },
		func() error { return write("task.md", callers) },
		func() error { return write("lib/greet.sh", "greet() { echo hello; }\n") },
		func() error { return write("call/one", "greet\n") },
		func() error { return write("notes/a.txt", "nobody reads this\n") },
		func() error { return write(".gitignore", ".markmill/\n") },
		func() error { return git("add", ".") },
		func() error { return git("commit", "-qm", "base") },
		func() error { return git("checkout", "-qb", "feature") },
		func() error { return write("call/two", "greet\n") },
		func() error { return git("add", ".") },
		func() error { return git("commit", "-qm", "another caller") },
		run,
		func() error { return git("checkout", "-qb", "notes", "main") },
		func() error { return write("notes/a.txt", "nobody reads this, either\n") },
		func() error { return git("commit", "-qam", "notes") },
		func() error { return git("checkout", "-qb", "clash", "main") },
		func() error { return write("lib/greet.sh", "greet() { echo bye; }\n") },
		func() error { return git("commit", "-qam", "another text") },
		func() error { return git("checkout", "-q", "main") },
		func() error { return write("lib/greet.sh", "hail() { echo hello; }\n") },
		func() error { return write("call/one", "hail\n") },
		func() error { return git("commit", "-qam", "renamed") },
		run,
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// What a merge does not touch is not run, a conflict is reported, and the repository is as it was.
func TestMerges(t *testing.T) {
	dir := t.TempDir()
	gittest.Must(t, sides(dir))
	eng, src, err := engines.New(dir)
	gittest.Must(t, err)
	before, err := src.Fingerprint(t.Context(), nil)
	gittest.Must(t, err)
	for _, c := range []struct {
		base, head string
		verdict    string
		words      string // the conflicts, and the states
		runs       int
	}{
		{"main", "notes", "pass", "green outdated green", 0},
		{"main", "main", "pass", "green green green", 0},
		{"main", "main~1", "pass", "green outdated green", 0},
		{"feature", "notes", "pass", "green outdated green", 0},
		{"feature", "main", "fail", "green green red", 1},
		{"clash", "notes", "pass", "outdated outdated outdated", 0}, // as on the one side, which is not green
		{"notes", "clash", "pass", "outdated outdated outdated", 0},
		{"main", "clash", "conflict", "lib/greet.sh", 0},
	} {
		made := 0
		r, err := mergereview.Make(t.Context(), eng, src, c.base, c.head, mergereview.Options{
			Sinks: engine.Sinks{Views: views.Views()}, Running: func(_, _ string) { made++ }})
		gittest.Must(t, err)
		words := strings.Join(r.Conflicts, " ")
		for _, n := range r.Notebooks {
			words += fmt.Sprint(n.Base.State, " ", n.Head.State, " ", n.Merged.State)
		}
		if r.Verdict != c.verdict || words != c.words || made != c.runs {
			t.Errorf("%s and %s: %s, %s, %d runs; want %s, %s, %d", c.base, c.head, r.Verdict, words, made, c.verdict,
				c.words, c.runs)
		}
	}
	after, err := src.Fingerprint(t.Context(), nil)
	gittest.Must(t, err)
	if d := before.Diff(after); len(d) > 0 {
		t.Errorf("the repository has changed: %q", d)
	}
}

func TestWithoutGit(t *testing.T) {
	dir := t.TempDir()
	gittest.Must(t, sides(dir))
	eng, src, err := engines.New(dir)
	gittest.Must(t, err)
	for want, script := range map[string]string{"none is on PATH": "",
		"needs Git 2.38 or newer": "#!/bin/sh\nexit 129\n"} {
		bin := t.TempDir()
		if script != "" {
			gittest.Must(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
		}
		t.Setenv("PATH", bin)
		_, err = mergereview.Make(t.Context(), eng, src, "main", "feature", mergereview.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want: %s", err, want)
		}
	}
}
