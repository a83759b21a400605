package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// manyRuns is the number of runs from which listing their names slows down a run.
const manyRuns = 1000

// PruneSometimes is Prune for the end of every run. If many runs are left it lists them again only after a
// thousandth of age: ten minutes for a week. It removes about a thousand runs at most, so that nobody waits for it; the
// next run removes more.
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
	p := s.pruning()
	p.most = manyRuns
	err := p.prune(keep, age, now)
	if err == nil && len(p.gone) < p.most && len(p.ids)-len(p.gone) > manyRuns {
		_, err = s.Writer.WriteFile(stamp, fmt.Appendf(nil, "%d %d %d\n", keep, age, now.Unix()))
	}
	return p.gone, err
}

// Prune removes the runs that started more than age before now and are not among the newest keep, and returns their
// ids. A run that is alive stays, and so does one whose alerts are not in the outbox yet (AwaitAlerts), or that is kept
// for the objectives of its notebook (KeepHistory). An inner run is not counted, and is removed after the run
// around it. The record of a
// sweep is removed when none of its runs is left. It opens the journals of the newest runs, to count them, and of those
// that may go.
func (s Store) Prune(keep int, age time.Duration, now time.Time) ([]RunID, error) {
	return s.prune(keep, age, now, false)
}

// PruneAll is Prune without regard to KeepHistory.
func (s Store) PruneAll(keep int, age time.Duration, now time.Time) ([]RunID, error) {
	return s.prune(keep, age, now, true)
}

func (s Store) prune(keep int, age time.Duration, now time.Time, all bool) ([]RunID, error) {
	if err := s.Survey(); err != nil {
		return nil, err
	}
	p := s.pruning()
	p.all = all
	err := p.prune(keep, age, now)
	return p.gone, err
}

// Prunable is what Prune would remove.
type Prunable struct {
	Runs   []RunID   `json:"runs"`
	Sweeps []SweepID `json:"sweeps"`
	// Next is when another run becomes old enough, if it is not among the newest ones anyway.
	Next time.Time `json:"next,omitzero"`
}

// Prunable says what Prune would remove now, or PruneAll, and removes nothing.
func (s Store) Prunable(keep int, age time.Duration, now time.Time, all bool) (told Prunable, err error) {
	p := s.pruning()
	p.dry, p.all = true, all
	if p.ids, err = s.IDs(); err != nil {
		return told, err
	}
	if err := p.walk(keep, age, now); err != nil || len(p.gone) == 0 {
		return Prunable{Next: p.next}, err
	}
	gone := map[RunID]bool{}
	for _, id := range p.gone {
		gone[id] = true
	}
	sweeps, err := s.emptySweeps(gone)
	return Prunable{Runs: p.gone, Sweeps: sweeps, Next: p.next}, err
}

func (s Store) pruning() *pruning { return &pruning{store: s, entries: map[RunID]*Entry{}} }

func (p *pruning) prune(keep int, age time.Duration, now time.Time) error {
	err := p.store.EmptyTrash()
	if err == nil {
		p.ids, err = p.store.IDs()
	}
	if err == nil {
		err = p.walk(keep, age, now)
	}
	if err == nil && len(p.gone) > 0 {
		err = p.store.pruneSweeps()
	}
	return err
}

// walk visits the runs, the newest first, and removes those that are due.
func (p *pruning) walk(keep int, age time.Duration, now time.Time) error {
	var histories map[string]time.Duration
	if !p.all {
		var err error
		if histories, err = p.store.histories(); err != nil {
			return err
		}
	}
	old := func(at time.Time) bool { return !at.IsZero() && now.Sub(at) > age }
	older := func(id RunID, at time.Time) bool { return old(at) && now.Sub(at) > histories[id.notebook()] }
	ids := p.ids
	if len(ids) <= keep || !p.dry && !slices.ContainsFunc(ids, func(id RunID) bool { return older(id, p.start(id)) }) {
		return nil // called after every run, so the names alone decide
	}
	slices.SortFunc(ids, func(a, b RunID) int { return p.start(b).Compare(p.start(a)) })
	counted := 0
	for len(ids) > 0 && (p.most == 0 || len(p.gone) < p.most) {
		second := p.start(ids[0])
		n := slices.IndexFunc(ids, func(id RunID) bool { return !p.start(id).Equal(second) })
		if n < 0 {
			n = len(ids)
		}
		together := ids[:n]
		ids = ids[n:]
		if counted >= keep && !old(second) && !p.dry {
			continue
		}
		p.newestFirst(together)
		for _, id := range together {
			entry := p.entry(id)
			if entry == nil || inStore(entry.Parent, p.ids) {
				continue
			}
			counted++
			switch {
			case counted <= keep || entry.Status == Running || entry.StartedAt.IsZero() || p.store.awaits(entry.ID):
			case !older(entry.ID, entry.StartedAt):
				if next := entry.StartedAt.Add(max(age, histories[entry.ID.notebook()])); p.next.IsZero() ||
					next.Before(p.next) {
					p.next = next
				}
			default:
				if err := p.removeWithInner(entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pruning is the state of a Prune.
type pruning struct {
	store   Store
	dry     bool             // nothing is removed: Prunable
	all     bool             // whatever history is to be kept
	most    int              // about how many runs are removed; 0 is all that are due
	ids     []RunID          // the newest first, in walk
	entries map[RunID]*Entry // those that were read; nil is a run that is gone
	gone    []RunID
	next    time.Time // see Prunable
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
	if p.dry {
		if around.Status == Running {
			return nil
		}
	} else if removed, err := p.store.remove(around.ID, nil); err != nil || !removed {
		return err
	}
	p.gone = append(p.gone, around.ID)
	const second = time.Second // names have no fractions of it
	from := 0
	if end := around.FinishedAt.Add(second); !around.FinishedAt.IsZero() {
		newer := func(id RunID, at time.Time) int { return at.Compare(p.start(id)) }
		from, _ = slices.BinarySearchFunc(p.ids, end, newer)
	}
	for _, id := range p.ids[from:] {
		if p.start(id).Before(around.StartedAt.Add(-second)) {
			break
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

// The folder "alerts" of a store has an empty file for each run whose alerts are not in the outbox yet. A run makes it
// before its first event, so that one that is killed is not forgotten, and who has put the alerts into the outbox
// removes it. Prune keeps these runs.

func (s Store) alerts(name ...string) string {
	return filepath.Join(append([]string{s.Dir, "alerts"}, name...)...)
}

// AwaitAlerts marks a run whose alerts are to be sent. The mark survives a power cut.
func (s Store) AwaitAlerts(id RunID) error {
	err := os.MkdirAll(s.alerts(), 0o755)
	if err == nil {
		err = touch(s.alerts(string(id)))
	}
	if err != nil {
		return cannotWrite(s.alerts(string(id)), err)
	}
	if folder, err := os.Open(s.alerts()); err == nil { // not every system can
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}

// AwaitingAlerts returns the runs that are marked, sorted by their names.
func (s Store) AwaitingAlerts() ([]RunID, error) {
	entries, err := os.ReadDir(s.alerts())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ids := make([]RunID, len(entries))
	for i, entry := range entries {
		ids[i] = RunID(entry.Name())
	}
	return ids, err
}

// AlertsKept removes the mark of a run: its alerts are in the outbox.
func (s Store) AlertsKept(id RunID) error {
	err := os.Remove(s.alerts(string(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s Store) awaits(id RunID) bool { return exists(s.alerts(string(id))) }

// The folder "history" of a store has a file for each notebook whose runs are kept for longer than the retention says,
// since objectives are computed from them. Its name is the notebook's part of a RunID, its text the time. So pruning
// need not open the records.

func (s Store) history() string { return filepath.Join(s.Dir, "history") }

// KeepHistory keeps the runs that have the name of this one for a time at least.
func (s Store) KeepHistory(id RunID, age time.Duration) error {
	name := id.notebook()
	if name == "" || s.keptFor(name) >= age {
		return nil
	}
	if err := os.MkdirAll(s.history(), 0o755); err != nil {
		return cannotWrite(s.history(), err)
	}
	_, err := s.Writer.WriteFile(filepath.Join(s.history(), name), []byte(age.String()+"\n"))
	return err
}

// keptFor is how long the runs of a notebook are kept at least.
func (s Store) keptFor(name string) time.Duration {
	text, err := os.ReadFile(filepath.Join(s.history(), name))
	if err != nil {
		return 0
	}
	age, _ := time.ParseDuration(strings.TrimSpace(string(text))) // else it is written again
	return age
}

// histories are the times of all notebooks.
func (s Store) histories() (map[string]time.Duration, error) {
	entries, err := os.ReadDir(s.history())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ages := map[string]time.Duration{}
	for _, entry := range entries {
		ages[entry.Name()] = s.keptFor(entry.Name())
	}
	return ages, err
}

// notebook is the part of the id that the path of the notebook gave; "" if the id is none of NewRunID.
func (id RunID) notebook() string {
	short := id.Short()
	if at := strings.LastIndexByte(short, '-'); at > 0 && short != string(id) {
		return short[:at]
	}
	return ""
}
