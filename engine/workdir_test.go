package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/engine/worktree"
	"markmill/runs"
)

// TestShortTMPDIR: a program of a step can make a socket below TMPDIR, whatever the notebook is called, for a user with
// a long name. What follows TMPDIR is the path that Python's multiprocessing makes.
func TestShortTMPDIR(t *testing.T) {
	e := &Engine{Cache: "/home/" + strings.Repeat("u", 24) + "/.cache/markmill"}
	id := runs.NewRunID(time.Unix(0, 0), strings.Repeat("name", 20)+".md", make([]byte, 8))
	socket := e.workRoot(id) + "/tmp/pymp-xxxxxxxx/listener-xxxxxxxx"
	if len(socket) > 107 {
		t.Errorf("%s has %d bytes; a socket's path has at most 107", socket, len(socket))
	}
}

// TestTidyWorkdir: the private folders of a run that was cut go, one half made or half removed included; those of a run
// that lives stay.
func TestTidyWorkdir(t *testing.T) {
	l := newLab(t)
	store := l.Store("")
	var left []string
	for _, run := range []string{"cut", "alive"} {
		id := runs.NewRunID(noon, "n.md", []byte(run+"-----"))
		record, release, err := store.Create(id)
		if err == nil {
			err = record.Write(runs.JournalFile, []byte("{}\n"))
		}
		if run == "cut" && err == nil {
			release()
			err = errors.Join(record.Write(runs.LockFile, nil), store.Survey())
		} else {
			defer release()
			left = append(left, l.workRoot(id), unfinished(l.workRoot(id)))
		}
		if err = errors.Join(err, os.MkdirAll(l.workRoot(id), 0o700),
			os.Mkdir(unfinished(l.workRoot(id)), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Tidy(""); err != nil {
		t.Log(err) // the journal has no event
	}
	got, _ := filepath.Glob(filepath.Join(l.Cache, "work", "*"))
	slices.Sort(left)
	if !slices.Equal(got, left) {
		t.Errorf("left are %q, not %q", got, left)
	}
}

// TestWhereARunWorks: in a worktree with the user's changes, in the checkout, in a folder, on a branch.
func TestWhereARunWorks(t *testing.T) {
	t.Run("with the user's changes", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n", ".gitignore": ".env\n"})
		l.write("a.txt", "mine\n")
		l.write(".env", "K=1\n")
		req := l.request(step("#a", "same a.txt mine\nsame .env K=1\nwrite b.txt x"))
		req.Dirty, req.Copy, req.KeepTree = DirtyInclude, []string{".env"}, true
		result := l.run(req)
		l.want(result, runs.Pass)
		if _, err := os.Stat(filepath.Join(result.Worktree, "b.txt")); err != nil {
			t.Error(err)
		}
		if patch := l.read(result, runs.PatchFile); strings.Contains(patch, "mine") {
			t.Errorf("the user's change is in the patch:\n%s", patch)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n"})
		l.write("a.txt", "mine\n")
		l.write("task.md", "x\n")
		req := l.request(step("#a", "same a.txt old"))
		req.Dirty, req.Path = DirtyIgnore, filepath.Join(l.root, "task.md")
		plan, err := l.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if left := plan.LeftBehind(); len(left) != 1 || left[0] != "a.txt" {
			t.Errorf("left behind: %v", left)
		}
		l.want(l.run(req), runs.Pass)
	})
	t.Run("in place", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n"})
		req := l.request(step("#a", "write a.txt new\nenv MARKMILL_DIR"))
		req.InPlace = true
		result := l.run(req)
		l.want(result, runs.Pass)
		if got, _ := os.ReadFile(filepath.Join(l.root, "a.txt")); string(got) != "new\n" {
			t.Errorf("the checkout has %q", got)
		}
		if got := l.stdout(result, "a"); !strings.Contains(got, innerStore) {
			t.Errorf("inner runs would keep their records in %q", got)
		}
	})
	t.Run("branch", func(t *testing.T) {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n"})
		req := l.request("---\ntitle: A change\n---\n" + step("#a", "write a.txt new"))
		req.Branch, req.Base = "topic", "HEAD"
		l.want(l.run(req), runs.Pass)
		if got := l.git("show", "topic:a.txt"); got != "new" {
			t.Errorf("the branch has %q", got)
		}
		if got := l.git("log", "-1", "--format=%B", "topic"); !strings.HasPrefix(got,
			"A change\n\n"+worktree.RunTrailer) {
			t.Errorf("the message is %q", got)
		}
		req.Branch = "empty"
		req.Source = []byte(step("#a", "print x"))
		l.want(l.run(req), runs.Fail, "--branch empty: nothing changed")
	})
	t.Run("folder", func(t *testing.T) {
		l := newLab(t)
		folder := filepath.Join(l.dir, "job")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		req := l.request(step("#a", "write x.txt y\ncall log"))
		log, err := os.Create(filepath.Join(folder, "events.log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		l.fake.hooks["log"] = func() { _, _ = log.WriteString("grows\n") }
		info, err := log.Stat()
		if err != nil {
			t.Fatal(err)
		}
		req.Repository, req.Folder, req.Output = "", folder, filepath.Join(folder, "out.md")
		result := l.run(req, Sinks{Observers: []Observer{{Files: []os.FileInfo{info}}}})
		l.want(result, runs.Pass)
		if files := result.Run.Diff.Files; len(files) != 1 || files[0].Path != "x.txt" {
			t.Errorf("changed: %+v", files)
		}
		req.Folder = l.env["HOME"]
		if err := os.Mkdir(req.Folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Plan(t.Context(), req); err == nil || !strings.Contains(err.Error(),
			"is not one to let steps write in") {
			t.Errorf("%v", err)
		}
	})
	t.Run("own folder", func(t *testing.T) {
		l := newLab(t)
		l.want(l.run(l.request(step("#a", "write x.txt y"))), runs.Pass)
	})
}
