package index_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"markmill/runs"
	"markmill/runs/index"
)

// change runs SQL in the index as another program would.
func change(t *testing.T, store runs.Store, sql string) {
	t.Helper()
	conn, err := sqlite.OpenConn(store.IndexFile(), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteScript(conn, sql, nil), conn.Close()); err != nil {
		t.Fatal(err)
	}
}

// Whatever became of the index, the answer is that of the records, and a note says what happened.
func TestBrokenIndexes(t *testing.T) {
	write := func(text string) func(*testing.T, runs.Store) {
		return func(t *testing.T, store runs.Store) {
			if err := os.WriteFile(store.IndexFile(), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	sql := func(text string) func(*testing.T, runs.Store) {
		return func(t *testing.T, store runs.Store) { change(t, store, text) }
	}
	for name, one := range map[string]struct {
		do   func(*testing.T, runs.Store)
		note string // "" is none
	}{
		"missing": {func(t *testing.T, store runs.Store) {
			if err := os.Remove(store.IndexFile()); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"empty":         {write(""), "made again"},
		"no database":   {write(strings.Repeat("no database\n", 1000)), "made again"},
		"older":         {sql("UPDATE meta SET version=0"), "another version"},
		"newer":         {sql("UPDATE meta SET version=99; DROP VIEW steps"), "another version"},
		"without rows":  {sql("DELETE FROM run; UPDATE meta SET settled=0"), "made again"},
		"without table": {sql("DROP TABLE run"), "made again"},
		"cut": {func(t *testing.T, store runs.Store) {
			if err := os.Truncate(store.IndexFile(), 6000); err != nil {
				t.Fatal(err)
			}
		}, "made again"},
		"a folder": {func(t *testing.T, store runs.Store) {
			if err := errors.Join(os.Remove(store.IndexFile()),
				os.MkdirAll(filepath.Join(store.IndexFile(), "x"), 0o755)); err != nil {
				t.Fatal(err)
			}
		}, "not used"},
		"a journal of before": {func(t *testing.T, store runs.Store) {
			if err := os.WriteFile(store.IndexFile()+"-journal", []byte("no journal"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			store := aStore(t, 20)
			same(t, store)
			one.do(t, store)
			said := strings.Join(same(t, store), "\n")
			if (one.note == "") != (said == "") || !strings.Contains(said, one.note) {
				t.Errorf("notes: %q, want %q", said, one.note)
			}
			if one.note != "not used" {
				if said := same(t, store); len(said) > 0 {
					t.Errorf("it is not mended: %q", said)
				}
			}
			if err := index.Update(t.Context(), store, "none"); err != nil && one.note != "not used" {
				t.Error(err)
			}
		})
	}
}

// A store that cannot be written is read.
func TestReadOnlyStore(t *testing.T) {
	if os.Getuid() == 0 && os.Getenv("MARKMILL_INDEX_STORE") == "" {
		t.Skip("root writes everywhere")
	}
	store := aStore(t, 20)
	same(t, store)
	readOnly := func(mode os.FileMode) {
		for _, file := range []string{store.IndexFile(), filepath.Join(store.Dir, "index.lock")} {
			_ = os.Chmod(file, mode&0o666)
		}
		if err := os.Chmod(store.Dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	readOnly(0o555)
	t.Cleanup(func() { readOnly(0o755) })
	same(t, store)
	make1(t, store, 20)
	if said := strings.Join(same(t, store), ""); !strings.Contains(said, "not used") {
		t.Errorf("notes: %q", said)
	}
}

// Another process that writes keeps nobody from an answer.
func TestLockedIndex(t *testing.T) {
	store := aStore(t, 10)
	same(t, store)
	release, err := store.LockIndex(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Update(t.Context(), store, make1(t, store, 10)); !errors.Is(err, runs.ErrLive) {
		t.Errorf("Update waited: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, err := index.Rebuild(ctx, store, index.Options{Wait: time.Millisecond}); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("Rebuild: %v", err)
	}
	if said := strings.Join(same(t, store), ""); !strings.Contains(said, "another process is writing it") {
		t.Errorf("notes: %q", said)
	}
	release()
	if said := same(t, store); len(said) > 0 {
		t.Error(said)
	}
}

// Runs end, questions are asked and the index is made again, all at once, in several processes.
func TestManyAtOnce(t *testing.T) {
	if dir := os.Getenv("MARKMILL_INDEX_STORE"); dir != "" {
		store := runs.Store{Dir: dir}
		for range 4 {
			if _, err := index.Rebuild(t.Context(), store, index.Options{Wait: time.Minute}); err != nil {
				t.Fatal(err)
			}
			x, _ := open(t, store)
			list(t, x, index.Filter{})
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	store := aStore(t, 30)
	same(t, store)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestManyAtOnce$")
			cmd.Env = append(os.Environ(), "MARKMILL_INDEX_STORE="+store.Dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for i := range 20 {
		id := make1(t, store, 30+i)
		if err := index.Update(t.Context(), store, id); err != nil && !errors.Is(err, runs.ErrLive) {
			t.Error(err)
		}
	}
	all.Wait()
	if said := same(t, store); len(said) > 0 {
		t.Error(said)
	}
	left, err := filepath.Glob(filepath.Join(store.Dir, runs.TempPrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// A writer that is killed leaves an index that answers as the records do.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("MARKMILL_INDEX_STORE"); dir != "" {
		store := runs.Store{Dir: dir}
		for i := 0; ; i++ {
			if i%5 == 0 {
				_, _ = index.Rebuild(t.Context(), store, index.Options{})
			}
			_ = index.Update(t.Context(), store, ids(t, store)...)
		}
	}
	store := aStore(t, 30)
	same(t, store)
	for i := range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), "MARKMILL_INDEX_STORE="+store.Dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+17*i) * time.Millisecond) // wherever it is by then
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		same(t, store)
	}
}

func ids(t *testing.T, store runs.Store) []runs.RunID {
	all, err := store.IDs()
	if err != nil {
		t.Fatal(err)
	}
	return all
}
