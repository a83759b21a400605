package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
)

// Store is the folder that keeps runs: <repository>/.markmill, or one under the XDG state directory.
type Store struct{ Dir string }

// trashPrefix begins the name of a run directory that is being removed.
const trashPrefix = ".trash-"

func (s Store) runs() string { return filepath.Join(s.Dir, "runs") }

// Record is the record of the run id, which need not be there.
func (s Store) Record(id RunID) *Record { return At(s.Path(id)) }

// Path is where the run directory of id is, or would be.
func (s Store) Path(id RunID) string { return filepath.Join(s.runs(), string(id)) }

// Create makes the run directory of id, locked until release is called (see Lock), and the store around it, which
// ignores itself in Git. A run directory that is there already is an error.
func (s Store) Create(id RunID) (path string, release func(), err error) {
	if err := os.MkdirAll(s.runs(), 0o755); err != nil {
		return "", nil, cannotWrite(s.runs(), err)
	}
	if err := s.hide(); err != nil {
		return "", nil, err
	}
	done, err := exclusive(s.runs())
	if err != nil {
		return "", nil, cannotWrite(s.runs(), err)
	}
	defer done()
	path = s.Path(id)
	if err := os.Mkdir(path, 0o755); err != nil {
		return "", nil, cannotWrite(path, err)
	}
	if release, err = lockNew(path); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(path))
	}
	return path, release, nil
}

// hide makes the store ignore itself in Git. It is two bytes and needs no temporary file: what a crash leaves is
// an empty one, which counts as none.
func (s Store) hide() error {
	path := filepath.Join(s.Dir, ".gitignore")
	if info, err := os.Lstat(path); err == nil && info.Size() > 0 {
		return nil
	}
	if err := os.WriteFile(path, []byte("*\n"), 0o644); err != nil {
		return cannotWrite(path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// Damaged is the status of an Entry whose journal cannot be read.
const Damaged Status = "damaged"

// Entry is one run of the list.
type Entry struct {
	ID         RunID     `json:"run_id"`
	Dir        string    `json:"dir"`
	Notebook   string    `json:"notebook"`
	Status     Status    `json:"status"`
	Reason     string    `json:"reason,omitzero"` // why it did not pass: the first of its causes; or why it is damaged, or taken to be interrupted
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	// Parent is the run that this one was made in, in one of its steps.
	Parent RunID `json:"parent,omitzero"`
	// ResumedFrom is the run that this one goes on from, ResumedBy those that go on from this one.
	ResumedFrom RunID   `json:"resumed_from,omitzero"`
	ResumedBy   []RunID `json:"resumed_by,omitempty"`
	// Sums is the digest of SHA256SUMS (SumsDigest). List leaves it empty.
	Sums Digest `json:"sums,omitzero"`
}

// List is every run, the newest first. It reads only the first and the last event of each journal,
// so that it shows what a run says of itself; Verify is what checks it. A run that is cut and not
// alive is listed as interrupted, one that cannot be read as damaged.
func (s Store) List() ([]Entry, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(ids))
	for _, id := range ids {
		entry := readEntry(id, s.Path(id))
		if entry.Status == Damaged {
			if _, err := os.Stat(entry.Dir); errors.Is(err, fs.ErrNotExist) {
				continue // removed meanwhile
			}
		}
		entries = append(entries, entry)
	}
	sortNewest(entries)
	for _, by := range slices.Backward(entries) {
		if i := slices.IndexFunc(entries, func(e Entry) bool { return by.ResumedFrom != "" && e.ID == by.ResumedFrom }); i >= 0 {
			entries[i].ResumedBy = append(entries[i].ResumedBy, by.ID)
		}
	}
	return entries, nil
}

func sortNewest(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		if byTime := b.StartedAt.Compare(a.StartedAt); byTime != 0 {
			return byTime
		}
		return strings.Compare(string(b.ID), string(a.ID))
	})
}

// ids is the names of the run directories, in order of name.
func (s Store) ids() ([]RunID, error) {
	folders, err := os.ReadDir(s.runs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []RunID
	for _, folder := range folders {
		if id := RunID(folder.Name()); folder.IsDir() && !strings.HasPrefix(folder.Name(), ".") {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Cut is the runs that are not alive and have the mark of a live one, or no event: what they were doing when they
// were cut nobody has looked after yet. It opens no journal, so that every run can afford to ask. A run that has just
// made its folder may be among them, see Create; a folder that no run named is not. A store whose making was cut, and a
// removal of runs that was cut, are finished.
func (s Store) Cut() ([]RunID, error) {
	if _, err := os.Lstat(s.Dir); err == nil {
		if err := s.hide(); err != nil {
			return nil, err
		}
	}
	if err := s.EmptyTrash(); err != nil {
		return nil, err
	}
	ids, err := s.ids()
	return slices.DeleteFunc(ids, func(id RunID) bool {
		if _, named := startOf(id); !named {
			return true
		}
		dir := s.Path(id)
		lock := filepath.Join(dir, LockFile)
		_, marked := os.Lstat(lock) // few are, and only of those it costs more
		if marked == nil {
			if Alive(dir) {
				return true
			}
			_, marked = os.Lstat(lock) // it may have ended between the two
		}
		_, begun := os.Lstat(filepath.Join(dir, JournalFile))
		return marked != nil && !errors.Is(begun, fs.ErrNotExist)
	}), err
}

func readEntry(id RunID, dir string) Entry {
	record, entry := At(dir), Entry{ID: id, Dir: dir, Status: Damaged}
	entry.StartedAt, _ = startOf(id) // the zero time for a folder that no run named
	first, last, err := record.ends()
	if err == nil && last.Type != RunCompleted && !Alive(dir) {
		first, last, err = record.ends() // it may have ended between the two
		entry.Reason = "it was cut and is not completed"
	}
	if err != nil && beingMade(id, dir) {
		entry.Status, entry.Reason = Running, ""
		return entry
	}
	if err != nil {
		first, last, err = record.ends() // its first event may have come between the two
	}
	if err != nil {
		entry.Reason = err.Error()
		return entry
	}
	started, err := decode[RunStartedData](first)
	if err != nil {
		entry.Reason = err.Error()
		return entry
	}
	entry.StartedAt, entry.Notebook = first.Time, started.Notebook
	if started.Parent != nil {
		entry.Parent = started.Parent.Run
	}
	if started.ResumedFrom != nil {
		entry.ResumedFrom = started.ResumedFrom.Run
	}
	if last.Type != RunCompleted {
		entry.Status = Running
		if entry.Reason != "" {
			entry.Status = Interrupted
		}
		return entry
	}
	completed, err := decode[CompletedData](last)
	if err != nil {
		entry.Reason = err.Error()
		return entry
	}
	entry.Status, entry.FinishedAt = completed.Status, last.Time
	entry.Reason = reasonOf(&completed)
	return entry
}

// reasonOf is the first cause why a run did not pass, in words; "" for one with nothing against it.
func reasonOf(completed *CompletedData) string {
	causes := (&Run{Completed: completed}).Causes()
	if len(causes) == 0 {
		return ""
	}
	words := causes[0].Code
	if step := causes[0].Step; step != "" {
		words += " in " + string(step)
	}
	return words + ": " + causes[0].Words
}

// making is how long a run may take from making its folder to its first event: some thousand times what it takes.
const making = 10 * time.Second

// beingMade says whether a folder without a journal is that of a run which has only begun.
func beingMade(id RunID, dir string) bool {
	if journal, err := os.Stat(filepath.Join(dir, JournalFile)); err == nil && journal.Size() > 0 {
		return false
	}
	start, named := startOf(id)
	return named && time.Since(start) < making || Alive(dir)
}

// Find finds a run by its id or a part of it, or the newest as "last" or "latest". A word that ids begin or end with is
// not looked for inside others: "02" is the run that ends so, not every one of February. A word that fits none or
// several is an error; the latter lists them, the newest first.
func (s Store) Find(word string) (RunID, string, error) {
	ids, err := s.ids()
	if err != nil {
		return "", "", err
	}
	if word == "last" || word == "latest" {
		return s.latest(ids)
	}
	var found, inside []RunID
	for _, id := range ids {
		switch {
		case string(id) == word:
			return id, s.Path(id), nil
		case word == "":
		case strings.HasPrefix(string(id), word) || strings.HasSuffix(string(id), word):
			found = append(found, id)
		case strings.Contains(string(id), word):
			inside = append(inside, id)
		}
	}
	if len(found) == 0 {
		found = inside
	}
	switch len(found) {
	case 1:
		return found[0], s.Path(found[0]), nil
	case 0:
		return "", "", noRun(fmt.Sprintf("no run has %q in its id", word), len(ids))
	}
	const most = 10
	slices.Reverse(found) // ids begin with their time
	lines := make([]string, 0, most+1)
	for _, id := range found[:min(most, len(found))] {
		lines = append(lines, "\n  "+string(id))
	}
	if more := len(found) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("\n  and %d more", more))
	}
	return "", "", &notebooks.Error{
		Kind: notebooks.KindOption,
		Msg:  fmt.Sprintf("%d runs have %q in their id:%s", len(found), word, strings.Join(lines, "")),
	}
}

func noRun(msg string, runs int) error {
	hint := "markmill runs list shows the runs there are"
	if runs == 0 {
		hint = "there are no runs here"
	}
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: msg, Hint: hint}
}

// latest reads the journals of those runs only that started in the last second there is. A run that was made in another
// of the store is not meant.
func (s Store) latest(ids []RunID) (RunID, string, error) {
	at := func(id RunID) time.Time { start, _ := startOf(id); return start }
	left := slices.SortedFunc(slices.Values(ids), func(a, b RunID) int { return at(b).Compare(at(a)) })
	for len(left) > 0 {
		var entries []Entry
		for newest := at(left[0]); len(left) > 0 && at(left[0]).Equal(newest); left = left[1:] {
			if e := readEntry(left[0], s.Path(left[0])); !inStore(e.Parent, ids) {
				entries = append(entries, e)
			}
		}
		if len(entries) > 0 {
			sortNewest(entries)
			return entries[0].ID, entries[0].Dir, nil
		}
	}
	return "", "", noRun("there is no last run", 0)
}

// Newest is the newest runs, at most so many, by the time in their ids: it opens the journals of no others.
func (s Store) Newest(most int) ([]Entry, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id RunID) bool { _, named := startOf(id); return !named })
	slices.SortFunc(ids, func(a, b RunID) int { return strings.Compare(string(b), string(a)) }) // ids begin with their time
	entries := make([]Entry, 0, min(most, len(ids)))
	for _, id := range ids[:min(most, len(ids))] {
		entries = append(entries, readEntry(id, s.Path(id)))
	}
	sortNewest(entries)
	return entries, nil
}

// Prune removes the runs that started longer than age before now and are not among the newest keep,
// and returns their ids. A run that is alive stays.
func (s Store) Prune(keep int, age time.Duration, now time.Time) ([]RunID, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	old := func(id RunID) bool { at, ok := startOf(id); return !ok || now.Sub(at) > age }
	if len(ids) <= keep || !slices.ContainsFunc(ids, old) {
		return nil, s.EmptyTrash() // by the names alone: this is asked after every run
	}
	entries, err := s.List()
	if err != nil {
		return nil, err
	}
	if err := s.EmptyTrash(); err != nil {
		return nil, err
	}
	var gone []RunID
	counted := 0
	for _, entry := range entries {
		inner := inStore(entry.Parent, ids) // it goes after the run around it, and is not counted
		if !inner {
			counted++
		}
		if inner || counted <= keep || entry.Status == Running || entry.StartedAt.IsZero() || now.Sub(entry.StartedAt) <= age {
			continue
		}
		removed, err := s.remove(entry)
		if err != nil {
			return gone, err
		}
		if removed {
			gone = append(gone, entry.ID)
		}
	}
	for again := true; again; { // runs in runs in runs
		again = false
		for _, entry := range entries {
			if entry.Parent == "" || !slices.Contains(gone, entry.Parent) || slices.Contains(gone, entry.ID) {
				continue
			}
			removed, err := s.remove(entry)
			if err != nil {
				return gone, err
			}
			if removed {
				gone, again = append(gone, entry.ID), true
			}
		}
	}
	return gone, nil
}

// remove moves the run directory away before it empties it, so that a crash leaves no half run in the
// list.
func (s Store) remove(entry Entry) (bool, error) {
	release, err := Lock(entry.Dir)
	if errors.Is(err, ErrLive) || errors.Is(err, fs.ErrNotExist) { // or another process removes it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if runtime.GOOS == "windows" { // which moves no folder that has an open file
		release()
	} else {
		defer release()
	}
	trash := filepath.Join(s.runs(), trashPrefix+string(entry.ID))
	if err := os.Rename(entry.Dir, trash); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, cannotWrite(entry.Dir, err)
	}
	return true, removeTree(trash)
}

// EmptyTrash finishes removals of runs that a crash cut, and takes away copies of inner runs that it cut.
func (s Store) EmptyTrash() error {
	folders, err := os.ReadDir(s.runs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, folder := range folders {
		if strings.HasPrefix(folder.Name(), trashPrefix) {
			err = errors.Join(err, removeTree(filepath.Join(s.runs(), folder.Name())))
		}
		if strings.HasPrefix(folder.Name(), adoptPrefix) {
			err = errors.Join(err, s.sweepAdopted(folder.Name()))
		}
	}
	return err
}

func removeTree(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return cannotWrite(path, err)
	}
	return nil
}
