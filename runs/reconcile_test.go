package runs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func reconcile(t *testing.T, dir string) bool {
	t.Helper()
	did, err := At(dir).Reconcile(ticking(aTime.Add(time.Hour)),
		func(_ *Record, run *Run) error { return writeFolds(dir, run) })
	if err != nil {
		t.Fatal(err)
	}
	return did
}

// TestReconcileACutRun cuts the journal of a run everywhere: each time the record becomes whole, and
// says that it was interrupted.
func TestReconcileACutRun(t *testing.T) {
	r := newRecord(t, newStore(t), aTime, 1)
	r.steps()
	path := filepath.Join(r.dir, JournalFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(whole, '\n') + 1
	for at := first; at <= len(whole); at += 97 {
		if err := os.WriteFile(path, whole[:at], 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir, StepsDir, TempPrefix+"123"), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(r.dir, SumsFile)); err != nil {
			t.Fatal(err)
		}
		if !reconcile(t, r.dir) {
			t.Fatalf("cut at %d: it did nothing", at)
		}
		v := verify(t, r.dir)
		if !v.OK() || v.Status != Interrupted {
			t.Fatalf("cut at %d: %s, %v", at, v.Status, v.Findings)
		}
		if _, err := os.Stat(filepath.Join(r.dir, StepsDir, TempPrefix+"123")); !os.IsNotExist(err) {
			t.Fatalf("a half-written file is still there: %v", err)
		}
		if reconcile(t, r.dir) {
			t.Fatalf("cut at %d: the second time it did something again", at)
		}
	}
}

func TestReconcileLeavesAWholeRun(t *testing.T) {
	r := aPass(t, newStore(t), aTime, 1)
	if reconcile(t, r.dir) {
		t.Error("it did something")
	}
	if v := verify(t, r.dir); !v.OK() {
		t.Errorf("got %v", v.Findings)
	}
}

// TestReconcileKeepsNoForgedPass: a run that passed wrote SHA256SUMS before its verdict. Without it, with a file that
// the journal gives another digest of, or with other events, somebody has changed the record, and it is not completed.
func TestReconcileKeepsNoForgedPass(t *testing.T) {
	var name string
	never := func(*Record, *Run) error { t.Errorf("%s: files were written", name); return nil }
	journal := func(change func(lines [][]byte) [][]byte) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, JournalFile)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			lines := change(bytes.SplitAfter(bytes.TrimSpace(text), []byte("\n")))
			return os.WriteFile(path, append(bytes.TrimSpace(bytes.Join(lines, nil)), '\n'), 0o644)
		}
	}
	other := func(file string) func(dir string) error {
		return func(dir string) error {
			appendTo(t, filepath.Join(dir, JournalFile), `{"torn`)
			return os.WriteFile(filepath.Join(dir, file), []byte("another"), 0o644)
		}
	}
	changes := map[string]func(dir string) error{
		"no sums":          func(dir string) error { return os.Remove(filepath.Join(dir, SumsFile)) },
		"another patch":    other(PatchFile),
		"another notebook": other("notebook.md"),
		"another output":   other("steps/00-change/stdout"),
		"a file is gone": func(dir string) error {
			return errors.Join(other(PatchFile)(dir), os.Remove(filepath.Join(dir, PatchFile)))
		},
		"an event is changed": journal(func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte(`:"`), []byte(`:"x`), 1)
			return l
		}),
		"an event is gone":             journal(func(l [][]byte) [][]byte { return slices.Delete(l, 3, 4) }),
		"an event comes twice":         journal(func(l [][]byte) [][]byte { return slices.Insert(l, 3, l[3]) }),
		"events are swapped":           journal(func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l }),
		"an event comes after the end": journal(func(l [][]byte) [][]byte { return append(l, l[3]) }),
	}
	for name = range changes {
		r := aPass(t, newStore(t), aTime, 1)
		if err := changes[name](r.dir); err != nil {
			t.Fatal(err)
		}
		if did, err := At(r.dir).Reconcile(time.Now, never); err == nil || did {
			t.Errorf("%s: did %v, %v", name, did, err)
		}
	}
	t.Logf("%d attempts", len(changes))
}

// TestReconcileFilesOnly: a run that fails because a file could not be written may have no SHA256SUMS; its verdict is
// kept.
func TestReconcileFilesOnly(t *testing.T) {
	r := newRecord(t, newStore(t), aTime, 1)
	r.steps()
	r.finishWith(CompletedData{Status: Fail, ResultCommit: "c1", Blockers: []Blocker{{Code: CodeSecretLeaked}}})
	for _, path := range []string{SumsFile, ReportFile, OutputFile} {
		if err := os.Remove(filepath.Join(r.dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	if !reconcile(t, r.dir) {
		t.Error("it did nothing")
	}
	if v := verify(t, r.dir); !v.OK() || v.Status != Fail {
		t.Errorf("%s, %v", v.Status, v.Findings)
	}
}

func TestReconcileNeverTouchesALiveRun(t *testing.T) {
	r := newRecord(t, newStore(t), aTime, 1)
	r.steps()
	path := filepath.Join(r.dir, JournalFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kill := lockElsewhere(t, r.dir)
	if reconcile(t, r.dir) {
		t.Error("it did something")
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the journal changed: %v", err)
	}
	kill()
	if !reconcile(t, r.dir) {
		t.Error("after a crash it did nothing")
	}
}

func TestReconcileRefuses(t *testing.T) {
	store := newStore(t)
	never := func(*Record, *Run) error { t.Error("files were written"); return nil }
	broken := newRecord(t, store, aTime, 1)
	appendTo(t, filepath.Join(broken.dir, JournalFile), "{}\n")
	empty := created(t, store, "20200101T000000Z-x-00")
	for _, dir := range []string{broken.dir, empty, filepath.Join(store.Dir, "none")} {
		if did, err := At(dir).Reconcile(time.Now, never); err == nil || did {
			t.Errorf("%s: did %v, %v", dir, did, err)
		}
	}
	failing := newRecord(t, store, aTime, 2)
	no := errors.New("no")
	if _, err := At(failing.dir).Reconcile(time.Now, func(*Record, *Run) error { return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
}

// TestReconcileIsCut: reconciling that fails between its last event and the views is done again, also where the
// run itself had written SHA256SUMS before it was cut.
func TestReconcileIsCut(t *testing.T) {
	r := newRecord(t, Store{Dir: t.TempDir()}, aTime, 2)
	if err := At(r.dir).Seal(nil); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if _, err := At(r.dir).Reconcile(time.Now, func(*Record, *Run) error { return no }); !errors.Is(err, no) {
		t.Fatalf("got %v", err)
	}
	if !reconcile(t, r.dir) {
		t.Error("a record without its views was taken for a whole one")
	}
	if reconcile(t, r.dir) {
		t.Error("a whole record was reconciled again")
	}
}

// TestDiscardLeavesTheMark: a run that has events is left as it is, its mark too. Were that taken away for a moment, a
// crash then would leave a run that nobody looks after.
func TestDiscardLeavesTheMark(t *testing.T) {
	store := newStore(t)
	cut := newRecord(t, store, aTime, 1)
	cut.steps()
	lockElsewhere(t, cut.dir)()
	if gone, err := store.Discard(cut.id); gone || err != nil {
		t.Fatal(gone, err)
	}
	if _, err := os.Stat(filepath.Join(cut.dir, LockFile)); err != nil {
		t.Error(err)
	}
	if ids, err := store.Unfinished(); err != nil || len(ids) != 1 {
		t.Errorf("%v, %v", ids, err)
	}
}
