package runs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestOpenMarks: what a crash leaves is found by its mark, also in a store that an earlier version made, and a store at
// rest has none.
func TestOpenMarks(t *testing.T) {
	store := newStore(t)
	marks := func(want int) {
		t.Helper()
		if names, err := store.marks(); err != nil || len(names) != want {
			t.Errorf("marked are %v, %v; want %d", names, err, want)
		}
	}
	write := func(name string) {
		t.Helper()
		path := filepath.Join(store.runs(), name, "file")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	marks(0)
	for i := range 3 {
		release, err := Lock(store.Path(newRecord(t, store, aTime.Add(time.Duration(i)*time.Hour), byte(i)).id))
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	cut := newRecord(t, store, aTime.Add(9*time.Hour), 9).id
	lockElsewhere(t, store.Path(cut))()
	for _, earlier := range []bool{false, true} {
		write(trashPrefix + "gone")
		write(adoptPrefix + "copied")
		at := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(store.runs(), adoptPrefix+"copied"), at, at); err != nil {
			t.Fatal(err)
		}
		if earlier {
			if err := os.RemoveAll(store.open()); err != nil {
				t.Fatal(err)
			}
		} else if store.mark("gone") != nil || store.mark(adoptPrefix+"copied") != nil ||
			store.mark("never-made") != nil {
			t.Fatal("no marks")
		}
		for range 2 {
			ids, err := store.Unfinished()
			if err != nil || len(ids) != 1 || ids[0] != cut {
				t.Fatalf("cut are %v, %v", ids, err)
			}
		}
		marks(1)
		if folders, err := os.ReadDir(store.runs()); err != nil || len(folders) != 4 {
			t.Errorf("left are %v, %v", folders, err)
		}
	}
	release, err := Lock(store.Path(cut))
	if err != nil {
		t.Fatal(err)
	}
	marks(1)
	release()
	marks(0)
	if gone, err := store.Prune(1, 0, aTime.Add(99*time.Hour)); err != nil || len(gone) != 3 {
		t.Errorf("gone are %v, %v", gone, err)
	}
	marks(0)
}
