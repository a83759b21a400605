package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/notebooks/codec"
)

func TestCreate(t *testing.T) {
	store := newStore(t)
	id := NewRunID(aTime, "a.md", []byte{1})
	record, release, err := store.Create(id)
	path := store.Path(id)
	if err != nil || record.Path() != path || path != filepath.Join(store.Dir, "runs", string(id)) {
		t.Fatalf("got %s, %v", path, err)
	}
	if text, err := os.ReadFile(filepath.Join(store.Dir, ".gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf(".gitignore is %q, %v", text, err)
	}
	if !Alive(path) {
		t.Error("the new folder is not locked")
	}
	if _, _, err := store.Create(id); err == nil {
		t.Error("a run was made over another")
	}
	release()
}

func statuses(t *testing.T, store Store) map[RunID]Status {
	t.Helper()
	entries, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	got := map[RunID]Status{}
	for _, entry := range entries {
		got[entry.ID] = entry.Status
	}
	return got
}

func TestList(t *testing.T) {
	store := newStore(t)
	if entries, err := store.List(); err != nil || len(entries) > 0 {
		t.Fatalf("no store: %v, %v", entries, err)
	}
	pass := aPass(t, store, aTime, 1)
	cut := newRecord(t, store, aTime.Add(time.Minute), 2)
	cut.steps()
	appendTo(t, filepath.Join(cut.dir, JournalFile), `{"torn`)
	alive := newRecord(t, store, aTime.Add(2*time.Minute), 3)
	kill := lockElsewhere(t, alive.dir)
	big := newRecord(t, store, aTime.Add(3*time.Minute), 4)
	big.steps()
	mustAppend(t, big.Journal, ScrapRecorded, "check",
		ScrapData{Name: "big", Type: ScrapText, Value: codec.Raw(`"` + strings.Repeat("x", 3*tailMax) + `"`)})
	empty := created(t, store, NewRunID(aTime.Add(4*time.Minute), "empty.md", nil))
	changed := aPass(t, store, aTime.Add(5*time.Minute), 6)
	text, err := os.ReadFile(filepath.Join(changed.dir, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(string(text), `"pass"`)
	changed.write(JournalFile, string(text[:last])+`"fail"`+string(text[last+len(`"pass"`):]))
	for _, stray := range []string{".hidden", "odd"} {
		if err := os.Mkdir(filepath.Join(store.Dir, "runs", stray), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store.Dir, "runs", "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	entries, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, fmt.Sprintf("%s %s", entry.ID, entry.Status))
		if (entry.Reason == "") != (entry.Status == Pass || entry.Status == Running) {
			t.Errorf("%s: reason is %q", entry.ID, entry.Reason)
		}
	}
	want := []string{
		string(changed.id) + " damaged", filepath.Base(empty) + " damaged", string(big.id) + " interrupted",
		string(alive.id) + " running", string(cut.id) + " interrupted", string(pass.id) + " pass", "odd damaged",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	passed := entries[5]
	if passed.Notebook != "tasks/fix.md" || !passed.StartedAt.Equal(aTime.Add(1e6)) ||
		!passed.FinishedAt.Equal(aTime.Add(14e6)) || passed.Dir != pass.dir {
		t.Errorf("got %+v", passed)
	}
	kill()
	if got := statuses(t, store)[alive.id]; got != Interrupted {
		t.Errorf("after it was killed it is %s", got)
	}
}

func TestFind(t *testing.T) {
	store := newStore(t)
	if _, _, err := store.Find("last"); err == nil || !strings.Contains(err.Error(), "there are no runs in ") {
		t.Errorf("got %v", err)
	}
	first := newRecord(t, store, aTime, 0xa1).id
	second := newRecord(t, store, aTime.Add(500*time.Millisecond), 0x02).id // in the same second
	longer := created(t, store, first+"b")
	for word, want := range map[string]RunID{
		"last": second, "latest": second, string(first): first, "02": second, string(second[:len(second)-1]): second,
		"a1": first, "-a1b": first + "b", "fix-02": second, "0000Z-fix-0": second, "-fix-a1b": first + "b",
	} {
		id, path, err := store.Find(word)
		if err != nil || id != want || path != store.Path(want) {
			t.Errorf("%q: got %s, %s, %v; want %s", word, id, path, err, want)
		}
	}
	if _, _, err := store.Find("2020"); err == nil || !strings.Contains(err.Error(), "3 runs") ||
		!strings.Contains(err.Error(), string(first)) || !strings.Contains(err.Error(), filepath.Base(longer)) {
		t.Errorf("got %v", err)
	}
	for _, word := range []string{"zz", ""} {
		if _, _, err := store.Find(word); err == nil || !strings.Contains(err.Error(), "in its id") {
			t.Errorf("%q: got %v", word, err)
		}
	}
	for i := range 20 {
		newRecord(t, store, aTime.Add(time.Hour), byte(i))
	}
	if _, _, err := store.Find("2020"); err == nil || !strings.Contains(err.Error(), "and 13 more") {
		t.Errorf("got %v", err)
	}
}

func TestPrune(t *testing.T) {
	store := newStore(t)
	const day = 24 * time.Hour
	var ids []RunID
	for i := range 6 { // the first is the oldest
		ids = append(ids, newRecord(t, store, aTime.Add(time.Duration(i)*day), byte(i)).id)
	}
	lockElsewhere(t, store.Path(ids[1]))
	odd := filepath.Join(store.Dir, "runs", "odd")
	trash := filepath.Join(store.Dir, "runs", trashPrefix+"x")
	for _, dir := range []string{odd, filepath.Join(trash, "steps")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	now := aTime.Add(5*day + time.Hour)
	for _, c := range []struct {
		name string
		keep int
		age  time.Duration
		want []RunID
	}{
		{"all are among the newest", 6, 0, nil},
		{"all are young", 0, 30 * day, nil},
		{"old, but not those to keep", 3, 2 * day, []RunID{ids[2], ids[0]}},
		{"old only", 0, 2 * day, []RunID{ids[3]}},
	} {
		told, err := store.Prunable(c.keep, c.age, now, false)
		if err != nil || !slices.Equal(told.Runs, c.want) {
			t.Errorf("%s: Prunable says %v, %v; want %v", c.name, told.Runs, err, c.want)
		}
		got, err := store.Prune(c.keep, c.age, now)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v; want %v", c.name, got, err, c.want)
		}
		for _, id := range got {
			if _, err := os.Stat(store.Path(id)); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", id, err)
			}
		}
	}
	if _, err := os.Stat(odd); err != nil {
		t.Errorf("a folder that no run made is gone: %v", err)
	}
	if _, err := os.Stat(trash); !os.IsNotExist(err) {
		t.Errorf("what a crash left in the trash is still there: %v", err)
	}
	if _, err := os.Stat(store.Path(ids[1])); err != nil {
		t.Errorf("a live run is gone: %v", err)
	}
}

// thousands makes a store of n finished runs, quicker than by appending each.
func thousands(t testing.TB, n int) Store {
	t.Helper()
	store := newStore(t)
	for i := range n {
		start := aTime.Add(time.Duration(i) * time.Minute)
		id := NewRunID(start, "many.md", []byte{byte(i >> 8), byte(i)})
		dir := created(t, store, id)
		var text []byte
		prev := aSource
		for seq, data := range []any{RunStartedData{RunID: id, Notebook: "many.md"}, PlanData{},
			CompletedData{Status: Pass}} {
			raw, err := codec.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			event := Event{Seq: seq, Time: start, Type: []EventType{RunStarted, PlanUpdated, RunCompleted}[seq],
				Data: raw,
				Prev: prev}
			line, hash, err := event.line()
			if err != nil {
				t.Fatal(err)
			}
			text, prev = append(text, line...), hash
		}
		if err := os.WriteFile(filepath.Join(dir, JournalFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// Prunable names what Prune removes: runs in the steps of others, and sweeps whose runs go.
func TestPrunable(t *testing.T) {
	store := newStore(t)
	now := aTime.Add(30 * 24 * time.Hour)
	outer := newRecord(t, store, aTime, 1).id
	inner := newRecordOf(t, store, aTime.Add(time.Second), 2, RunStartedData{Parent: &ParentData{Run: outer}}).id
	young := newRecord(t, store, now.Add(-time.Hour), 3).id
	var sweeps []SweepID
	for i, id := range []RunID{outer, young} {
		sweep, err := store.CreateSweep(SweepStartedData{SweepID: SweepID(fmt.Sprintf("sweep-20260101T00000%dZ-x-1",
			i)),
			SourceFile: "notebook.md", Rows: []SweepRow{{}}}, nil, ticking(aTime))
		if err == nil {
			err = errors.Join(sweep.Append(SweepRunStarted, SweepRunStartedData{Row: 1, Run: id}), sweep.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		sweeps = append(sweeps, SweepID(filepath.Base(sweep.Dir)))
	}
	told, err := store.Prunable(0, 24*time.Hour, now, false)
	if err != nil || !slices.Equal(told.Runs, []RunID{outer, inner}) || !slices.Equal(told.Sweeps, sweeps[:1]) {
		t.Fatalf("%+v, %v", told, err)
	}
	if want := now.Add(23 * time.Hour); told.Next.Sub(want).Abs() > time.Minute {
		t.Errorf("the next is due at %s, want %s", told.Next, want)
	}
	if told, err := store.Prunable(1, 24*time.Hour, now, false); err != nil || !told.Next.IsZero() {
		t.Errorf("one of those to be kept is due: %+v, %v", told, err)
	}
	gone, err := store.Prune(0, 24*time.Hour, now)
	if err != nil || !slices.Equal(gone, told.Runs) {
		t.Errorf("pruned %v, %v", gone, err)
	}
	if left, err := store.Sweeps(); err != nil || !slices.Equal(left, sweeps[1:]) {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestStoreOfMany has hundreds of runs; with MARKMILL_ALL set, thousands.
func TestStoreOfMany(t *testing.T) {
	n := 300
	if os.Getenv("MARKMILL_ALL") != "" {
		n = 2000
	}
	store := thousands(t, n)
	entries, err := store.List()
	if err != nil || len(entries) != n {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, entry := range entries {
		if want := aTime.Add(time.Duration(n-1-i) * time.Minute); entry.Status != Pass || !entry.StartedAt.Equal(want) {
			t.Fatalf("entry %d is %+v", i, entry)
		}
	}
	if id, _, err := store.Find("last"); err != nil || id != entries[0].ID {
		t.Errorf("last is %s, %v", id, err)
	}
	gone, err := store.Prune(n-3, 0, aTime.Add(time.Hour*24*365))
	if err != nil || len(gone) != 3 || gone[2] != entries[n-1].ID {
		t.Errorf("pruned %v, %v", gone, err)
	}
}

func BenchmarkList(b *testing.B) {
	store := thousands(b, 2000)
	for b.Loop() {
		if _, err := store.List(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFindWhole: a run is found by its whole id without a list of all: many may ask for one at the same time.
func TestFindWhole(t *testing.T) {
	store := newStore(t)
	r := newRecord(t, store, aTime, 1)
	for i := range 2000 {
		if err := os.Mkdir(filepath.Join(store.runs(), fmt.Sprint("other-", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	took := testing.AllocsPerRun(3, func() {
		if id, dir, err := store.Find(string(r.id)); id != r.id || dir != r.dir || err != nil {
			t.Errorf("%s, %s, %v", id, dir, err)
		}
	})
	if took > 100 {
		t.Errorf("%.0f allocations in a store of 2,001 runs", took)
	}
}
