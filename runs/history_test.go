package runs

import (
	"slices"
	"testing"
	"time"
)

// TestHistory: the runs of a notebook with objectives outlive the retention for as long as these need, and no other
// runs do; who names a number of days gets that.
func TestHistory(t *testing.T) {
	store := newStore(t)
	const day = 24 * time.Hour
	var ids []RunID
	for i := range 3 {
		ids = append(ids, newRecord(t, store, aTime.Add(time.Duration(i)*20*day), byte(i)).id)
	}
	now := aTime.Add(45 * day)                                // they are 45, 25 and 5 days old
	for _, age := range []time.Duration{30 * day, 10 * day} { // a shorter one does not replace the longer
		if err := store.KeepHistory(ids[0], age); err != nil {
			t.Fatal(err)
		}
	}
	told, err := store.Prunable(0, 7*day, now, false)
	if err != nil || !slices.Equal(told.Runs, ids[:1]) || !told.Next.Truncate(time.Second).Equal(aTime.Add(50*day)) {
		t.Errorf("%+v, %v", told, err)
	}
	if gone, err := store.PruneSometimes(0, 7*day, now); err != nil || !slices.Equal(gone, ids[:1]) {
		t.Errorf("%v, %v", gone, err)
	}
	if gone, err := store.PruneAll(0, 7*day, now); err != nil || !slices.Equal(gone, ids[1:2]) {
		t.Errorf("%v, %v", gone, err)
	}
	if name := RunID("20261125T092647Z-a-b-6627cfaf27f4c523").notebook(); name != "a-b" {
		t.Error(name)
	}
	if name := RunID("odd-name").notebook(); name != "" {
		t.Error(name)
	}
}
