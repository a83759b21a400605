package reads

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// watched is a watched folder with some files.
func watched(t *testing.T, files int) (dir string, w *Watcher) {
	t.Helper()
	dir = t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Watch(dir, slices.Values([]string{""}))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir, w
}

func open(t *testing.T, dir string, i int) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, fmt.Sprint(i)))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestTake: whatever was opened before is taken, also what is opened while events are collected, and only once.
func TestTake(t *testing.T) {
	const files = 300
	dir, w := watched(t, files)
	for round := range 20 {
		for i := range files {
			open(t, dir, i)
		}
		if opened, lost := w.Take(); len(opened) != files || lost {
			t.Fatalf("round %d: %d files of %d, lost: %v", round, len(opened), files, lost)
		}
	}
}

// TestLost: when the queue of the kernel overflows, Take says so.
func TestLost(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || most > 1<<18 {
		t.Skip(most, err)
	}
	dir, w := watched(t, 2)
	w.mu.Lock() // nothing is collected
	for i := range most + 10 {
		open(t, dir, i%2) // the kernel joins events of one file that follow each other
	}
	w.mu.Unlock()
	if _, lost := w.Take(); !lost {
		t.Error("events were lost, and Take does not say so")
	}
}
