package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"markmill/notebooks"
)

// Store is the folder that keeps runs: <repository>/.markmill, or one under the XDG state directory.
type Store struct {
	Dir    string
	Writer Writer
}

// trashPrefix begins the name of a run directory that is being removed.
const trashPrefix = ".trash-"

func (s Store) runs() string { return filepath.Join(s.Dir, "runs") }

// Record is the record of the run id, which need not be there.
func (s Store) Record(id RunID) *Record { return &Record{path: s.Path(id), writer: s.Writer} }

// Path is where the run directory of id is, or would be.
func (s Store) Path(id RunID) string { return filepath.Join(s.runs(), string(id)) }

// Create makes the run directory of id, locked until release is called (see Lock), and the store around it, which Git
// ignores. A run directory that is there already is an error.
func (s Store) Create(id RunID) (record *Record, release func(), err error) {
	if err := os.MkdirAll(s.runs(), 0o755); err != nil {
		return nil, nil, cannotWrite(s.runs(), err)
	}
	if err := s.hide(); err != nil {
		return nil, nil, err
	}
	done, err := exclusive(s.runs())
	if err != nil {
		return nil, nil, cannotWrite(s.runs(), err)
	}
	defer done()
	record = s.Record(id)
	if err := s.mark(string(id)); err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(record.path, 0o755); err != nil {
		return nil, nil, cannotWrite(record.path, err)
	}
	if release, err = LockOwn(record.path); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(record.path))
	}
	return record, release, nil
}

// hide makes Git ignore the store. The file is two bytes and needs no temporary file: an empty one, which a crash may
// leave, is written again.
func (s Store) hide() error {
	path := filepath.Join(s.Dir, ".gitignore")
	if info, err := os.Lstat(path); err == nil && info.Size() > 0 {
		return nil
	}
	return s.Writer.Overwrite(path, []byte("*\n"))
}

// Damaged is the status of an Entry whose journal cannot be read.
const Damaged Status = "damaged"

// Entry is one run of the list.
type Entry struct {
	ID       RunID  `json:"run_id"`
	Dir      string `json:"dir"`
	Notebook string `json:"notebook"`
	Status   Status `json:"status"`
	// Reason is the first cause why the run did not pass, or why it is listed as damaged or interrupted.
	Reason     string    `json:"reason,omitzero"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	// Parent is the run that started this one, in one of its steps.
	Parent RunID `json:"parent,omitzero"`
	// ResumedFrom is the run that this one resumes, ResumedBy those that resume this one.
	ResumedFrom RunID   `json:"resumed_from,omitzero"`
	ResumedBy   []RunID `json:"resumed_by,omitempty"`
	// Sweep is the sweep that made the run.
	Sweep SweepID `json:"sweep,omitzero"`
	// ForkedFrom is the run that this one is a fork of.
	ForkedFrom RunID `json:"forked_from,omitzero"`
	// Decision is the last answer of an operator (accepted, rejected), and DecidedBy who gave it.
	Decision  string `json:"decision,omitzero"`
	DecidedBy string `json:"decided_by,omitzero"`
	// RerunOf is the run that this one repeats, and Agrees whether it came to the same; nil while that was not
	// compared.
	RerunOf RunID `json:"rerun_of,omitzero"`
	Agrees  *bool `json:"agrees,omitempty"`
	// Sums is the digest of SHA256SUMS (Record.Sums). List leaves it empty.
	Sums Digest `json:"sums,omitzero"`
}

// List returns every run, the newest first. It reads only the first and the last event of each journal: it shows what
// a run claims, which Verify checks. A run that is neither completed nor alive is listed as interrupted, one that
// cannot be read as damaged.
func (s Store) List() ([]Entry, error) {
	ids, err := s.IDs()
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
		if by.ResumedFrom == "" {
			continue
		}
		if i := slices.IndexFunc(entries, func(e Entry) bool { return e.ID == by.ResumedFrom }); i >= 0 {
			entries[i].ResumedBy = append(entries[i].ResumedBy, by.ID)
		}
	}
	return entries, nil
}

func sortNewest(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.ID, a.ID))
	})
}

// IDs returns the names of the run directories, sorted.
func (s Store) IDs() ([]RunID, error) {
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

// Unfinished returns the runs that were interrupted and not tidied up yet. It looks only at what is marked as open (see
// lock.go), so that every run can afford to call it. A run that has just made its folder may be among them (see
// Create); a folder whose name is no RunID is not. It also finishes what a crash interrupted in the store itself: its
// creation, and removals of runs.
func (s Store) Unfinished() ([]RunID, error) {
	if exists(s.Dir) {
		if err := s.hide(); err != nil {
			return nil, err
		}
	}
	return s.settle()
}

func readEntry(id RunID, dir string) Entry {
	record, entry := At(dir), Entry{ID: id, Dir: dir, Status: Damaged}
	entry.StartedAt, _ = startOf(id) // the zero time if the name is no RunID
	first, last, err := record.ends()
	if err == nil && last.Type != RunCompleted && !Alive(dir) {
		first, last, err = record.ends() // it may have ended in between
		entry.Reason = "it was interrupted and is not completed"
	}
	if err != nil && record.beingMade(id) {
		entry.Status, entry.Reason = Running, ""
		return entry
	}
	if err != nil {
		first, last, err = record.ends() // its first event may have been written in between
	}
	var started RunStartedData
	if err == nil {
		started, err = decode[RunStartedData](first)
	}
	if err != nil {
		entry.Reason = err.Error()
		return entry
	}
	entry.begun(first.Time, &started)
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
	entry.ended(last.Time, &completed)
	entry.after(record)
	return entry
}

// after reads what came after the run: decisions on it, and whether it agrees with the run that it repeats.
func (e *Entry) after(record *Record) {
	if last := record.claimedDecision(); last != nil {
		e.Decision, e.DecidedBy = last.Answer, last.Actor
	}
	if e.RerunOf == "" {
		return
	}
	if rerun, err := record.Rerun(); err == nil {
		e.Agrees = &rerun.Agrees
	}
}

func (e *Entry) begun(at time.Time, started *RunStartedData) {
	e.StartedAt, e.Notebook = at, started.Notebook
	if started.Repository != "" { // wherever it was started from
		e.Notebook = cmp.Or(started.SourcePath, started.Notebook)
	}
	if started.Parent != nil {
		e.Parent = started.Parent.Run
	}
	switch from := started.ResumedFrom; {
	case from == nil:
	case from.Fork != nil:
		e.ForkedFrom = from.Run
	default:
		e.ResumedFrom = from.Run
	}
	if started.Rerun != nil {
		e.RerunOf = started.Rerun.Run
	}
	if started.Sweep != nil {
		e.Sweep = started.Sweep.ID
	}
}

func (e *Entry) ended(at time.Time, completed *CompletedData) {
	e.Status, e.FinishedAt, e.Reason = completed.Status, at, reasonOf(completed)
}

// reasonOf returns the first cause why a run did not pass; "" when there is none.
func reasonOf(completed *CompletedData) string {
	causes := (&Run{Completed: completed}).Causes()
	if len(causes) == 0 {
		return ""
	}
	words := causes[0].Code
	if step := causes[0].Step; step != "" {
		words += " in " + string(step)
	}
	return words + ": " + causes[0].Message
}

// making is how long a run may take from creating its folder to its first event: some thousand times the usual time.
const making = 10 * time.Second

// beingMade reports whether a record without an event belongs to a run that has just started.
func (r *Record) beingMade(id RunID) bool {
	if journal, err := r.Stat(JournalFile); err == nil && journal.Size() > 0 {
		return false
	}
	start, named := startOf(id)
	return named && time.Since(start) < making || r.Alive()
}

// Find finds a run by its id or a part of it, or the newest as "last" or "latest". A beginning or an end of an id goes
// before a part from its middle: "02" is the run whose id ends with 02, not every run of February. A word that matches
// none or several is an error, which lists the several, the newest first.
func (s Store) Find(word string) (RunID, string, error) {
	if _, named := startOf(RunID(word)); named && filepath.Base(word) == word {
		if info, err := os.Lstat(s.Path(RunID(word))); err == nil && info.IsDir() {
			return RunID(word), s.Path(RunID(word)), nil // without a list of all, which may be many
		}
	}
	ids, err := s.IDs()
	if err != nil {
		return "", "", err
	}
	if word == "last" || word == "latest" {
		return s.latest(ids)
	}
	var found, inside []RunID
	for _, id := range ids {
		switch {
		case string(id) == word: // no RunID
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
		return "", "", s.noRun(fmt.Sprintf("no run has %q in its id", word), len(ids))
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

func (s Store) noRun(msg string, runs int) error {
	hint := "markmill list shows the runs there are"
	if runs == 0 {
		hint = "there are no runs in " + s.Dir
	}
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: msg, Hint: hint}
}

// latest returns the newest run that is not an inner run. It reads the journals only of runs that started in the same
// second.
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
	return "", "", s.noRun("there is no last run", 0)
}

// Newest returns the newest runs, at most so many, by the time in their ids. It opens the journals of no others.
func (s Store) Newest(most int) ([]Entry, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id RunID) bool { _, named := startOf(id); return !named })
	slices.Reverse(ids) // ids begin with their time
	entries := make([]Entry, 0, min(most, len(ids)))
	for _, id := range ids[:min(most, len(ids))] {
		entries = append(entries, readEntry(id, s.Path(id)))
	}
	sortNewest(entries)
	return entries, nil
}

// remove renames the run directory before it empties it, so that a crash leaves no half of a run in the list. It
// returns false if the run is alive or gone, or if still, which may be nil, returns false while the run is locked.
func (s Store) remove(id RunID, still func() bool) (bool, error) {
	release, err := Lock(s.Path(id))
	if errors.Is(err, ErrLive) || errors.Is(err, fs.ErrNotExist) { // or another process removes it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if still != nil && !still() {
		release()
		return false, nil
	}
	if runtime.GOOS == "windows" { // where a folder with an open file cannot be renamed
		release()
		if err := s.mark(string(id)); err != nil {
			return false, err
		}
	} else {
		defer release()
	}
	if s.dataHome() == s.Dir {
		if err := os.RemoveAll(s.dataDir(id)); err != nil {
			return false, cannotWrite(s.dataDir(id), err)
		}
	}
	trash := filepath.Join(s.runs(), trashPrefix+string(id))
	if err := os.Rename(s.Path(id), trash); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, cannotWrite(s.Path(id), err)
	}
	if err := removeTree(trash); err != nil {
		return true, err
	}
	s.unmark(string(id))
	_ = os.Remove(s.madeFile(string(id)))
	return true, nil
}

// EmptyTrash finishes removals of runs that a crash interrupted, and removes unfinished copies of inner runs.
func (s Store) EmptyTrash() error {
	_, err := s.settle()
	return err
}

// removeTree removes a run directory that was renamed before. Another process that asks for its lock at that moment may
// still create the lock file in it, so a folder that is not empty is tried again.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	for try := 0; try < 10 && errors.Is(err, syscall.ENOTEMPTY); try++ {
		err = os.RemoveAll(path)
	}
	if err != nil {
		return cannotWrite(path, err)
	}
	return nil
}
