package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
		if err = errors.Join(err, os.MkdirAll(l.workRoot(id), 0o700), os.Mkdir(unfinished(l.workRoot(id)), 0o700)); err != nil {
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
