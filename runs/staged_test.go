package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestCut: the mark of a run that was cut stays until somebody holds its lock, and asking does not take it away.
func TestCut(t *testing.T) {
	store := Store{Dir: filepath.Join(t.TempDir(), ".markmill")}
	if cut, err := store.Unfinished(); err != nil || len(cut) > 0 {
		t.Fatal(cut, err)
	}
	dirs := map[string]string{}
	for _, name := range []string{"cut", "live", "done"} {
		dir := created(t, store, RunID("20260101T000000Z-"+name))
		if err := os.WriteFile(filepath.Join(dir, JournalFile), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		dirs[name] = dir
	}
	mine := created(t, store, "mine") // a folder of somebody's own
	defer lockElsewhere(t, mine)()
	kill := lockElsewhere(t, dirs["cut"])
	kill()
	release, err := Lock(dirs["live"])
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for range 2 {
		if cut, err := store.Unfinished(); err != nil || len(cut) != 1 || cut[0] != "20260101T000000Z-cut" {
			t.Fatalf("got %v, %v", cut, err)
		}
		if _, err := store.List(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := Lock(dirs["cut"])
	if err != nil {
		t.Fatal(err)
	}
	after()
	if cut, err := store.Unfinished(); err != nil || len(cut) > 0 {
		t.Errorf("got %v, %v", cut, err)
	}
	if err := os.Remove(filepath.Join(dirs["done"], JournalFile)); err != nil {
		t.Fatal(err)
	}
	if cut, err := store.Unfinished(); err != nil || len(cut) != 1 || cut[0] != "20260101T000000Z-done" {
		t.Errorf("a run without an event: got %v, %v", cut, err)
	}
	// A store whose making was cut is finished.
	if err := os.WriteFile(filepath.Join(store.Dir, ".gitignore"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Unfinished(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(store.Dir, ".gitignore")); string(b) != "*\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestDiscardWhileOthersBegin takes unborn runs away as fast as it can, while others make theirs: it takes the former
// only.
func TestDiscardWhileOthersBegin(t *testing.T) {
	store := Store{Dir: filepath.Join(t.TempDir(), ".markmill")}
	const n = 50
	id := func(what string, i int) RunID { return RunID(fmt.Sprintf("20260101T000000Z-%s-%d", what, i)) }
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		for i := range n {
			created(t, store, id("cut", i))
			record, release, err := store.Create(id("new", i))
			if err != nil {
				t.Error(err)
				return
			}
			if err := os.WriteFile(record.File(JournalFile), []byte("{}\n"), 0o644); err != nil {
				t.Errorf("the folder of a run that has just begun: %v", err)
			}
			release()
		}
	}()
	discard := func() {
		cut, err := store.Unfinished()
		if err != nil {
			t.Error(err)
		}
		for _, id := range cut {
			if _, err := store.Discard(id); err != nil {
				t.Error(err)
			}
		}
	}
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			for {
				discard()
				select {
				case <-begun:
					return
				default:
				}
			}
		})
	}
	others.Wait()
	discard()
	left, err := store.IDs()
	if err != nil || len(left) != n {
		t.Errorf("%d runs are left of %d, %v: %v", len(left), n, err, left)
	}
}
