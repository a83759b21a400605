package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPruneSometimes: a store of many runs is listed again after a thousandth of the age, or at once with other bounds
// or another clock; a store of few is listed each time.
func TestPruneSometimes(t *testing.T) {
	store := newStore(t)
	const day = 24 * time.Hour
	old := func(i int) {
		t.Helper()
		newRecord(t, store, aTime.Add(time.Duration(i)*time.Second), byte(i))
	}
	prune := func(age time.Duration, after time.Duration, want int) {
		t.Helper()
		if gone, err := store.PruneSometimes(0, age, aTime.Add(10*day+after)); err != nil || len(gone) != want {
			t.Errorf("after %v: gone are %v, %v; want %d", after, gone, err, want)
		}
	}
	for i := range 2 {
		old(i)
		prune(day, 0, 1)
	}
	young := aTime.Add(10 * day).UTC().Format(runStamp)
	for i := range manyRuns + 1 {
		if err := os.MkdirAll(filepath.Join(store.runs(), fmt.Sprintf("%s-n-%d", young, i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old(2)
	prune(day, 0, 1)
	old(3)
	prune(day, time.Minute, 0)
	prune(2*day, time.Minute, 1)
	old(4)
	prune(2*day, 2*time.Minute, 0)
	prune(2*day, 4*time.Minute, 1)
	old(5)
	prune(2*day, -time.Minute, 1)
}

// TestPruneReadsFew: the journals are read of the newest runs, and of those that may go with what was made in their
// steps, not of what is young.
func TestPruneReadsFew(t *testing.T) {
	store := newStore(t)
	const runs, keep = 20, 3
	for i := range runs {
		newRecord(t, store, aTime.Add(time.Duration(i)*time.Hour), byte(i))
	}
	ids, err := store.IDs()
	if err != nil {
		t.Fatal(err)
	}
	end := lockElsewhere(t, store.Path(ids[0]))
	now := aTime.Add(runs * time.Hour)
	p := store.pruning()
	if err := p.prune(keep, runs*time.Hour-time.Minute, now); err != nil || len(p.gone) > 0 ||
		len(p.entries) != keep+1 {
		t.Errorf("%d journals were read, %v; gone are %v", len(p.entries), err, p.gone)
	}
	end()
	newRecordOf(t, store, aTime.Add(3*time.Hour), 99, RunStartedData{Parent: &ParentData{Run: ids[0]}})
	if gone, err := store.Prune(keep, runs*time.Hour-time.Minute, now); err != nil || len(gone) != 2 ||
		gone[0] != ids[0] {
		t.Errorf("gone are %v, %v", gone, err)
	}
}

// TestPruneBounded: a run removes so many runs at its end, the newest of those that are due, and the next one goes on.
func TestPruneBounded(t *testing.T) {
	store := newStore(t)
	for i := range 2*manyRuns + 10 {
		name := fmt.Sprintf("%s-n-%d", aTime.Add(time.Duration(i)*time.Second).UTC().Format(runStamp), i)
		if err := os.MkdirAll(filepath.Join(store.runs(), name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	newRecord(t, store, aTime.Add(time.Hour), 1)
	for i, want := range []int{manyRuns, manyRuns, 10, 0} {
		gone, err := store.PruneSometimes(1, time.Hour, aTime.Add(10*time.Hour))
		if err != nil || len(gone) != want {
			t.Errorf("%d: %d runs are gone, %v; want %d", i, len(gone), err, want)
		}
	}
}

// TestPruneInner: a run that has ended goes with the runs that were made in its steps, and with no other.
func TestPruneInner(t *testing.T) {
	store := newStore(t)
	outer := newRecord(t, store, aTime, 1)
	inner := newRecordOf(t, store, aTime.Add(time.Second), 2, RunStartedData{Parent: &ParentData{Run: outer.id}})
	mustAppend(t, outer.Journal, RunCompleted, "", CompletedData{Status: Pass})
	for _, r := range []*record{outer, inner} {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	newRecord(t, store, aTime.Add(time.Hour), 3)
	newRecord(t, store, aTime.Add(-time.Hour), 4)
	const day = 24 * time.Hour
	gone, err := store.Prune(1, day, aTime.Add(2*day))
	if err != nil || len(gone) != 3 || gone[0] != outer.id || gone[1] != inner.id {
		t.Errorf("gone are %v, %v", gone, err)
	}
}
