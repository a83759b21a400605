package runs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/notebooks/codec"
)

// growing is a mask that appends to a file when it is first asked about what was read of it.
type growing struct {
	path string
	done bool
}

func (g *growing) In([]byte) bool {
	if g.done {
		return false
	}
	g.done = true
	f, err := os.OpenFile(g.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_, err = f.WriteString("more")
	return err != nil
}

func (*growing) Bytes(b []byte) []byte                       { return b }
func (*growing) JSON(r codec.Raw, _ bool) (codec.Raw, error) { return r, nil }

// TestDigestOfChangingData wants an error for a file that is written while it is read, small or large.
func TestDigestOfChangingData(t *testing.T) {
	for _, size := range []int{0, 10, 3 << 20} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		still, err := (&Record{}).DigestData(path)
		if err != nil || still.Bytes != int64(size) || still.Digest != DigestOf(make([]byte, size)) {
			t.Errorf("%d bytes: %v, %v", size, still, err)
		}
		if size == 0 {
			continue // nothing is read of it
		}
		record := &Record{writer: Writer{&growing{path: path}}}
		if _, err = record.DigestData(path); err == nil || !strings.Contains(err.Error(), "changes while it is read") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestPruneData removes the data of the oldest runs until the rest is small enough, never that of the newest run or of
// one that is alive, here or in a worker. The record of a job need not be here.
func TestPruneData(t *testing.T) {
	store := newStore(t)
	var ids []RunID
	keep := func(id RunID, bytes int) {
		t.Helper()
		from := filepath.Join(t.TempDir(), "from")
		if err := os.WriteFile(from, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := At(store.Path(id)).KeepData(from, "data/x"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		r := newRecord(t, store, aTime.Add(time.Duration(i)*time.Hour), byte(i))
		ids = append(ids, r.id)
		keep(r.id, 100*(i+1))
	}
	job := newRecord(t, store.Worker(3), aTime.Add(-time.Hour), 9).id
	keep(job, 10)
	end, ended := lockElsewhere(t, store.Path(ids[0])), lockElsewhere(t, store.Worker(3).Path(job))
	prune := func(most int64, want ...RunID) {
		t.Helper()
		gone, err := store.PruneData(most)
		if slices.Sort(gone); err != nil || !slices.Equal(gone, want) {
			t.Errorf("at most %d: gone are %v, %v; want %v", most, gone, err, want)
		}
	}
	prune(2000)
	if entries, err := os.ReadDir(filepath.Join(store.Dir, DataFolder)); err != nil || len(entries) != 6 {
		t.Errorf("%v, %v", entries, err)
	}
	prune(1399, ids[1]) // 500, 400 and 300 bytes stay, and the 100 and 10 of those that are alive
	if n := store.DataBytes(ids[2]); n != 300 {
		t.Errorf("%d bytes are kept of the third run", n)
	}
	end()
	ended()
	if err := store.Worker(3).Remove(job); err != nil || store.DataBytes(job) != 10 {
		t.Errorf("%d bytes are kept of the job, %v", store.DataBytes(job), err)
	}
	// It began in the second of the newest, and its data was kept before.
	same := newRecord(t, store, aTime.Add(4*time.Hour), 255).id
	keep(same, 600)
	if err := os.Chtimes(store.dataDir(same), aTime, aTime); err != nil {
		t.Fatal(err)
	}
	prune(600, job, ids[0], ids[2], ids[3], same)
	if n := store.DataBytes(ids[4]); n != 500 {
		t.Errorf("%d bytes are kept of the newest run", n)
	}
}
