// Package maintenance tells what a store of runs keeps and what pruning would remove (Look), and has the system prune
// it every day (Schedule).
//
// What always holds: Look changes nothing. Install and Remove write only what belongs to the one store: two units with
// its name, or one line of the user's crontab. It may import everything but cmd/cmdtest.
package maintenance

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine"
	"markmill/engine/worktree/pool"
	"markmill/runs"
)

// Kept is what is kept of one kind.
type Kept struct {
	Kind  string `json:"kind"` // records, data, sweeps, index, other; of all repositories: worktrees, work, caches
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"` // sizes of the files
	Path  string `json:"path"`
}

// Report is what is kept, and what pruning would remove of it.
type Report struct {
	Store string `json:"store"` // the folder of the records
	Kept  []Kept `json:"kept"`
	// Runs and Days are the retention: at least so many of the newest runs are kept, and whatever is younger.
	Runs int `json:"keep_runs"`
	Days int `json:"keep_days"`
	// Due is what markmill runs prune would remove now.
	Due runs.Prunable `json:"due"`
	// DueWorktrees counts the worktrees that it would remove, and DueBytes is the size of all that it would.
	DueWorktrees int   `json:"due_worktrees"`
	DueBytes     int64 `json:"due_bytes"`
	// Daily says who prunes every day: systemd, crontab; "" nobody.
	Daily string `json:"daily"`
}

// Look looks at a store and at the cache folder of an engine. It reads every file's size, and ends with ctx.
func Look(ctx context.Context, store runs.Store, cache string, keep engine.Retention, now time.Time) (*Report, error) {
	least, age := keep.Bounds()
	r := &Report{Store: store.Dir, Runs: least, Days: int(age / (24 * time.Hour))}
	ids, err := store.IDs()
	if err != nil {
		return nil, err
	}
	size := func(path string) (bytes int64) {
		_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil { // else it was removed meanwhile
					bytes += info.Size()
				}
			}
			return ctx.Err()
		})
		return bytes
	}
	records := Kept{Kind: "records", Count: len(ids), Path: filepath.Dir(store.Path("x"))}
	records.Bytes = size(records.Path)
	kept := map[string]*Kept{}
	entries, err := os.ReadDir(store.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		path, kind := filepath.Join(store.Dir, e.Name()), "other"
		switch {
		case path == records.Path:
			continue
		case e.Name() == "sweeps", e.Name() == runs.DataFolder:
			kind = e.Name()
		case strings.HasPrefix(path, strings.TrimSuffix(store.IndexFile(), ".db")):
			kind = "index"
		}
		if kept[kind] == nil {
			named := map[string]string{"other": store.Dir, "index": store.IndexFile()}
			kept[kind] = &Kept{Kind: kind, Path: cmp.Or(named[kind], path)}
		}
		kept[kind].Count++
		kept[kind].Bytes += size(path)
	}
	if kept["sweeps"] != nil {
		sweeps, err := store.Sweeps()
		if err != nil {
			return nil, err
		}
		kept["sweeps"].Count = len(sweeps)
	}
	r.Kept = append(r.Kept, records)
	for _, kind := range []string{runs.DataFolder, "sweeps", "index", "other"} {
		if kept[kind] != nil {
			r.Kept = append(r.Kept, *kept[kind])
		}
	}
	if err := r.lookAtCache(cache, size, now.Add(-age)); err != nil {
		return nil, err
	}
	if r.Due, err = store.Prunable(least, age, now, false); err != nil {
		return nil, err
	}
	for _, id := range r.Due.Runs {
		r.DueBytes += store.DiskUse(id)
	}
	for _, id := range r.Due.Sweeps {
		r.DueBytes += size(filepath.Join(store.Dir, "sweeps", string(id)))
	}
	r.Due.Runs, r.Due.Sweeps = slices.Concat([]runs.RunID{}, r.Due.Runs), slices.Concat([]runs.SweepID{}, r.Due.Sweeps)
	return r, ctx.Err()
}

// lookAtCache adds what runs of all repositories share.
func (r *Report) lookAtCache(cache string, size func(string) int64, before time.Time) error {
	trees := Kept{Kind: "worktrees", Path: filepath.Join(cache, "pool")}
	list, err := pool.New(trees.Path).List()
	for _, tree := range list {
		if tree.Old {
			tree.Bytes = size(tree.Path)
		}
		trees.Count++
		trees.Bytes += tree.Bytes
		if tree.Due(before) {
			r.DueWorktrees++
			r.DueBytes += tree.Bytes
		}
	}
	r.Kept = append(r.Kept, trees)
	for _, kind := range []string{"work", "caches"} {
		one := Kept{Kind: kind, Path: filepath.Join(cache, kind)}
		if entries, err := os.ReadDir(one.Path); err == nil {
			one.Count, one.Bytes = len(entries), size(one.Path)
			r.Kept = append(r.Kept, one)
		}
	}
	return err
}
