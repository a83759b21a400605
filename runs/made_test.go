package runs

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// cutRecord is a record of a run that this user began, cut after one step.
func cutRecord(t *testing.T, store Store) *record {
	t.Helper()
	r := newRecord(t, store, aTime, 2)
	r.steps()
	if err := At(r.dir).MarkBegun(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMade is which records count as made here: those that this user began and that have not changed since.
func TestMade(t *testing.T) {
	damage := func(path func(*record) string) func(*testing.T, *record) {
		return func(t *testing.T, r *record) {
			text, err := os.ReadFile(path(r))
			if err == nil {
				err = os.WriteFile(path(r), []byte(strings.Replace(string(text), "a", "b", 1)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	mark := func(r *record) string { return storeAround(r).madeFile(string(r.id)) }
	in := func(name string) func(*record) string {
		return func(r *record) string { return filepath.Join(r.dir, name) }
	}
	key := func(*record) string { return KeyFile() }
	for name, change := range map[string]func(*testing.T, *record){
		"the mark is damaged": damage(mark), "SHA256SUMS has changed": damage(in(SumsFile)),
		"the journal has changed": damage(in(JournalFile)),
		"the mark is gone":        func(_ *testing.T, r *record) { os.Remove(mark(r)) },
		"the user has another key": func(t *testing.T, _ *record) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			if err := MakeKey(); err != nil {
				t.Error(err)
			}
		},
		"others could read the key": func(t *testing.T, r *record) {
			keys.Delete(key(r))
			os.Chmod(key(r), 0o644)
		},
		"the key is damaged": func(t *testing.T, r *record) {
			keys.Delete(key(r))
			os.Truncate(key(r), 3)
		},
		"the user has no home": func(t *testing.T, _ *record) {
			t.Setenv("XDG_STATE_HOME", "")
			t.Setenv("HOME", "")
			t.Setenv("USERPROFILE", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "others could read the key" && runtime.GOOS == "windows" {
				t.Skip("Windows has no such modes")
			}
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			r := cutRecord(t, newStore(t))
			if reconcile(t, r.dir); !At(r.dir).Made() {
				t.Fatal("a killed run of this user, completed, does not count as made here")
			}
			if change(t, r); At(r.dir).Made() {
				t.Error("the record counts as made here")
			}
		})
	}
}

func storeAround(r *record) Store { store, _, _ := storeOf(r.dir); return store }

// TestMadeIsCut: a run that was killed before or after its mark, also one that had its SHA256SUMS, has the mark when it
// is completed. One that was put here, and that this user did not begin, has none.
func TestMadeIsCut(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, cut := range map[string]func(r *record) error{
		"before SHA256SUMS":               func(*record) error { return nil },
		"between SHA256SUMS and the mark": func(r *record) error { return At(r.dir).Write(SumsFile, nil) },
		"after the mark":                  func(r *record) error { return At(r.dir).Seal(nil) },
		"after it was tidied up":          func(r *record) error { lockElsewhere(t, r.dir)(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := cutRecord(t, newStore(t))
			if err := cut(r); err != nil {
				t.Fatal(err)
			}
			if reconcile(t, r.dir); !At(r.dir).Made() {
				t.Error("it does not count as made here")
			}
		})
	}
	put := newRecord(t, newStore(t), aTime, 2)
	put.steps()
	if reconcile(t, put.dir); At(put.dir).Made() {
		t.Error("a record that was put here counts as made here after it was completed")
	}
}

// TestMakeKey: of runs that begin at the same moment, all use one key.
func TestMakeKey(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var all sync.WaitGroup
	marks := make([]string, 8)
	for i := range marks {
		all.Go(func() {
			keys.Delete(KeyFile())
			if err := MakeKey(); err != nil {
				t.Error(err)
			}
			marks[i] = madeMark(string(NewRunID(time.Time{}, "n.md", nil)), "")
		})
	}
	all.Wait()
	for _, mark := range marks {
		if mark == "" || mark != marks[0] {
			t.Errorf("got the marks %q", marks)
		}
	}
}
