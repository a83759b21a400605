package runs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// manyRuns is how many runs a store has before their names alone cost a run something.
const manyRuns = 1000

// PruneSometimes is Prune for the end of every run. If many runs are left it lists them again only after a
// thousandth of age: ten minutes for a week.
func (s Store) PruneSometimes(keep int, age time.Duration, now time.Time) ([]RunID, error) {
	stamp := filepath.Join(s.Dir, "pruned")
	var wasKeep int
	var wasAge time.Duration
	var unix int64
	text, _ := os.ReadFile(stamp) // without it the runs are listed
	n, _ := fmt.Sscan(string(text), &wasKeep, &wasAge, &unix)
	since := now.Sub(time.Unix(unix, 0))
	if n == 3 && wasKeep == keep && wasAge == age && since >= 0 && since < age/manyRuns {
		return nil, s.EmptyTrash()
	}
	p, err := s.prune(keep, age, now)
	if err == nil && len(p.ids)-len(p.gone) > manyRuns {
		err = WriteFile(stamp, fmt.Appendf(nil, "%d %d %d\n", keep, age, now.Unix()))
	}
	return p.gone, err
}

// Prune removes the runs that started more than age before now and are not among the newest keep, and returns their
// ids. A run that is alive stays. An inner run is not counted, and is removed after the run around it. The record of a
// sweep is removed when none of its runs is left. It opens the journals of the newest runs, to count them, and of those
// that may go.
func (s Store) Prune(keep int, age time.Duration, now time.Time) ([]RunID, error) {
	if err := s.Survey(); err != nil {
		return nil, err
	}
	p, err := s.prune(keep, age, now)
	return p.gone, err
}

func (s Store) prune(keep int, age time.Duration, now time.Time) (*pruning, error) {
	p := &pruning{store: s, entries: map[RunID]*Entry{}}
	if err := s.EmptyTrash(); err != nil {
		return p, err
	}
	ids, err := s.ids()
	if err != nil {
		return p, err
	}
	p.ids = ids
	old := func(at time.Time) bool { return !at.IsZero() && now.Sub(at) > age }
	if len(ids) <= keep || !slices.ContainsFunc(ids, func(id RunID) bool { return old(p.start(id)) }) {
		return p, nil // after every run: the names alone must say it
	}
	slices.SortFunc(ids, func(a, b RunID) int { return p.start(b).Compare(p.start(a)) })
	counted := 0
	for len(ids) > 0 {
		second := p.start(ids[0])
		n := slices.IndexFunc(ids, func(id RunID) bool { return !p.start(id).Equal(second) })
		if n < 0 {
			n = len(ids)
		}
		together := ids[:n]
		ids = ids[n:]
		if counted >= keep && !old(second) {
			continue
		}
		p.newestFirst(together)
		for _, id := range together {
			entry := p.entry(id)
			if entry == nil || inStore(entry.Parent, p.ids) {
				continue
			}
			counted++
			if counted <= keep || entry.Status == Running || !old(entry.StartedAt) {
				continue
			}
			if err := p.removeWithInner(entry); err != nil {
				return p, err
			}
		}
	}
	if len(p.gone) > 0 {
		err = s.pruneSweeps()
	}
	return p, err
}

// pruning is a Prune that goes on.
type pruning struct {
	store   Store
	ids     []RunID
	entries map[RunID]*Entry // those that were read; nil is a run that is gone
	gone    []RunID
}

// start is when a run started: by its name, if that is a RunID.
func (p *pruning) start(id RunID) time.Time {
	if at, named := startOf(id); named {
		return at
	}
	if entry := p.entry(id); entry != nil {
		return entry.StartedAt
	}
	return time.Time{}
}

// newestFirst sorts runs whose names say the same second, by their journals.
func (p *pruning) newestFirst(ids []RunID) {
	started := func(id RunID) time.Time {
		if entry := p.entry(id); entry != nil {
			return entry.StartedAt
		}
		return time.Time{}
	}
	slices.SortFunc(ids, func(a, b RunID) int {
		return cmp.Or(started(b).Compare(started(a)), cmp.Compare(b, a))
	})
}

// entry reads the entry of a run once; nil if it was removed meanwhile.
func (p *pruning) entry(id RunID) *Entry {
	entry, read := p.entries[id]
	if !read {
		e := readEntry(id, p.store.Path(id))
		if entry = &e; e.Status == Damaged && !exists(e.Dir) {
			entry = nil
		}
		p.entries[id] = entry
	}
	return entry
}

// removeWithInner removes a run, and then the runs that were made in its steps: they began while it went on.
func (p *pruning) removeWithInner(around *Entry) error {
	removed, err := p.store.remove(around.ID, nil)
	if err != nil || !removed {
		return err
	}
	p.gone = append(p.gone, around.ID)
	const second = time.Second // of which names tell no part
	for _, id := range p.ids {
		if at := p.start(id); at.Before(around.StartedAt.Add(-second)) ||
			!around.FinishedAt.IsZero() && at.After(around.FinishedAt.Add(second)) {
			continue
		}
		inner := p.entry(id)
		if inner != nil && inner.Parent == around.ID && !slices.Contains(p.gone, id) {
			if err := p.removeWithInner(inner); err != nil {
				return err
			}
		}
	}
	return nil
}
