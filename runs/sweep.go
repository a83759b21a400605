package runs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
)

// SweepID names a sweep: sweep-<UTC yyyymmddThhmmssZ>-<notebook>-<random>.
type SweepID string

const sweepPrefix = "sweep-"

// NewSweepID names a sweep as NewRunID names a run.
func NewSweepID(now time.Time, notebook string, random []byte) SweepID {
	return SweepID(sweepPrefix) + SweepID(NewRunID(now, notebook, random))
}

// The events of a sweep's journal, which is built as a run's is.
const (
	SweepStarted    EventType = "sweep.started"
	SweepResumed    EventType = "sweep.resumed"
	SweepRunStarted EventType = "sweep.run.started"
	SweepRunEnded   EventType = "sweep.run.ended"
	SweepCompleted  EventType = "sweep.completed"
)

// SweepStartedData is the definition of a sweep.
type SweepStartedData struct {
	SweepID    SweepID `json:"sweep_id"`
	Markmill   string  `json:"markmill"`    // version
	Notebook   string  `json:"notebook"`    // path as given
	SourceFile string  `json:"source_file"` // name of the copy in the sweep's directory
	MadeOf     string  `json:"made_of,omitzero"`
	Repository string  `json:"repository"`           // root, "" outside one
	Folder     string  `json:"folder,omitzero"`      // outside a repository: where the runs work
	Base       string  `json:"base,omitzero"`        // commit that all runs begin with
	Dirty      string  `json:"dirty,omitzero"`       // what happens to uncommitted changes
	InPlace    bool    `json:"in_place,omitzero"`    // runs work in the checkout itself
	OutputForm string  `json:"output_form,omitzero"` // of the output notebooks, if it is not the source's
	// Options are those of every run, with the values that all have in common.
	Options *OptionsData `json:"options"`
	Names   []string     `json:"names"`           // of the parameters that differ, in order
	Output  string       `json:"output,omitzero"` // absolute path of OUTPUT, with its placeholders
	Rows    []SweepRow   `json:"rows"`
	// Lanes says that the rows are attempts; nil of other sweeps.
	Lanes *LanesData `json:"lanes,omitzero"`
}

// SweepRow is what one run of a sweep is asked.
type SweepRow struct {
	Given  []GivenData `json:"given"`
	Output string      `json:"output,omitzero"` // absolute path of its output notebook
	Lane   *LaneRow    `json:"lane,omitzero"`   // the attempt; nil of other sweeps
}

// SweepResumedData says that another process goes on with the sweep.
type SweepResumedData struct {
	Markmill string `json:"markmill"` // version
}

// SweepRunStartedData says which run is made for a row.
type SweepRunStartedData struct {
	Row int   `json:"row"` // from 1
	Run RunID `json:"run"`
}

// SweepRunEndedData is the end of the run of a row.
type SweepRunEndedData struct {
	Row    int    `json:"row"` // from 1
	Run    RunID  `json:"run"`
	Status Status `json:"status"`
	Reason string `json:"reason,omitzero"` // the first cause why it did not pass
	Sums   Digest `json:"sums,omitzero"`   // digest of the run's SHA256SUMS; "" where no record was made
	Millis int64  `json:"ms"`              // how long it took
	// Lane is what the run of an attempt came to; nil of other sweeps, and where no record was made.
	Lane *LaneData `json:"lane,omitzero"`
}

// Set takes over how a run ended.
func (d *SweepRunEndedData) Set(record *Record, run *Run) (err error) {
	d.Status, d.Reason = run.Status(), reasonOf(run.Completed)
	d.Sums, err = record.Sums()
	return err
}

// SweepCompletedData is the end of a sweep, which a resumed one has again.
type SweepCompletedData struct {
	Status   Status `json:"status"`
	ExitCode int    `json:"exit_code"`
	// Of a comparison of attempts: the row that is picked, from 1, or 0, and the digest of the output notebook, if
	// there is one.
	Picked int    `json:"picked,omitzero"`
	Output Digest `json:"output,omitzero"`
}

// Sweep is the record of a sweep, as its journal says.
type Sweep struct {
	Dir       string
	Source    []byte // the notebook
	StartedAt time.Time
	Started   SweepStartedData
	Rows      []SweepState
	Completed *SweepCompletedData // nil: it is going on, or was killed
	Digest    Digest              // hash of the last event: kept elsewhere, it shows every later change
}

// SweepState is what became of a row.
type SweepState struct {
	SweepRow
	Run   RunID              // the newest run made for it; "" if none was begun
	Ended *SweepRunEndedData // nil: its run has not ended
}

// Missing reports whether the row has no run that came to its end, or one whose record could not be written, as on a
// full disk.
func (s *SweepState) Missing() bool {
	return s.Ended == nil || s.Ended.Status == Interrupted ||
		strings.HasPrefix(s.Ended.Reason, CodeArtifactWriteFailure)
}

// Verdict is the status and the exit code of a sweep as its rows are: the worst of them, or pass if one of several
// attempts passes. A status that is not known counts as a failure. A signal that ended the sweep gives its own exit
// code.
func (s *Sweep) Verdict(signal int) SweepCompletedData {
	v := SweepCompletedData{Picked: s.Picked()}
	if v.Status = s.worst(); s.Started.Lanes != nil {
		v.Status = s.lanesStatus()
	}
	switch {
	case signal > 0:
		v.Status, v.ExitCode = Interrupted, 128+signal
	case v.Status == Blocked:
		v.ExitCode = 3
	case !v.Status.Passed():
		v.ExitCode = 1
	}
	return v
}

// worst is the worst status of a row.
func (s *Sweep) worst() Status {
	order := []Status{Pass, Partial, Blocked, Interrupted, Fail}
	worst := 0
	for i := range s.Rows {
		status := Interrupted
		if ended := s.Rows[i].Ended; ended != nil {
			status = ended.Status
		}
		rank := slices.Index(order, status)
		if rank < 0 {
			rank = slices.Index(order, Fail)
		}
		worst = max(worst, rank)
	}
	return order[worst]
}

func (s Store) sweeps() string { return filepath.Join(s.Dir, "sweeps") }

// SweepDir is the directory of a sweep.
func (s Store) SweepDir(id SweepID) string { return filepath.Join(s.sweeps(), string(id)) }

// FindSweep finds the directory of a sweep by its id or a part that begins it, by its directory, or the newest as
// "last-sweep". It returns "" for a word that names no sweep: then it may name a run or a file.
func (s Store) FindSweep(word string) (dir string, err error) {
	if info, err := os.Stat(word); err == nil {
		if _, err := os.Stat(filepath.Join(word, JournalFile)); info.IsDir() && err == nil &&
			strings.HasPrefix(filepath.Base(word), sweepPrefix) {
			return filepath.Abs(word)
		}
		return "", nil
	}
	if word != "last-sweep" && !strings.HasPrefix(word, sweepPrefix) {
		return "", nil
	}
	ids, err := s.Sweeps()
	if err != nil {
		return "", err
	}
	if word == "last-sweep" && len(ids) > 0 {
		return s.newestSweep(ids), nil
	}
	found := slices.DeleteFunc(slices.Clone(ids), func(id SweepID) bool { return !strings.HasPrefix(string(id), word) })
	switch {
	case len(found) == 1:
		return filepath.Join(s.sweeps(), string(found[0])), nil
	case len(found) > 1:
		return "", &notebooks.Error{Kind: notebooks.KindOption,
			Msg: fmt.Sprintf("%d sweeps begin with %q, the newest is %s", len(found), word, found[0])}
	}
	hint := "there are no sweeps here"
	if len(ids) > 0 {
		hint = "the newest is " + string(ids[0])
	}
	return "", &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("no sweep is called %q", word), Hint: hint}
}

// newestSweep is the directory of the newest sweep. It reads the journals only of those that began in the same second.
func (s Store) newestSweep(ids []SweepID) (dir string) {
	var newest time.Time
	second := ids[0][:min(len(ids[0]), len(sweepPrefix)+len(runStamp))]
	for _, id := range ids {
		if !strings.HasPrefix(string(id), string(second)) {
			break
		}
		path := filepath.Join(s.sweeps(), string(id))
		if sweep, err := LoadSweep(path); dir == "" || err == nil && sweep.StartedAt.After(newest) {
			if dir = path; err == nil {
				newest = sweep.StartedAt
			}
		}
	}
	return dir
}

// StoreOfSweep is the store that the directory of a sweep is in.
func StoreOfSweep(dir string) Store { return Store{Dir: filepath.Dir(filepath.Dir(dir))} }

// Sweeps returns the ids of the kept sweeps, the newest first.
func (s Store) Sweeps() ([]SweepID, error) {
	entries, err := os.ReadDir(s.sweeps())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []SweepID
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), sweepPrefix) {
			ids = append(ids, SweepID(e.Name()))
		}
	}
	slices.Reverse(ids) // ids begin with their time
	return ids, err
}

// SweepRecorder writes the record of a sweep. Its methods are safe for concurrent use.
type SweepRecorder struct {
	Dir     string
	journal *Journal
	release func()
}

// CreateSweep makes the record of a sweep, with its definition and the notebook. It is locked until Close.
func (s Store) CreateSweep(started SweepStartedData, source []byte, clock func() time.Time) (*SweepRecorder, error) {
	dir := filepath.Join(s.sweeps(), string(started.SweepID))
	if err := os.MkdirAll(s.sweeps(), 0o755); err != nil {
		return nil, cannotWrite(s.sweeps(), err)
	}
	if err := s.hide(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, cannotWrite(dir, err)
	}
	release, err := LockOwn(dir)
	if err != nil {
		return nil, err
	}
	r := &SweepRecorder{Dir: dir, release: release}
	if _, err = s.Writer.WriteFile(filepath.Join(dir, started.SourceFile), source); err == nil {
		r.journal, err = CreateJournal(filepath.Join(dir, JournalFile), DigestOf(source), clock)
	}
	if err == nil {
		r.journal.writer = s.Writer
		err = r.Append(SweepStarted, started)
	}
	if err != nil {
		release()
		return nil, err
	}
	return r, nil
}

// ResumeSweep opens the record of a sweep of the store to go on with it. A sweep that is going on is an error.
func (s Store) ResumeSweep(dir, version string, clock func() time.Time) (*SweepRecorder, *Sweep, error) {
	release, err := Lock(dir)
	if errors.Is(err, ErrLive) {
		err = &notebooks.Error{Kind: notebooks.KindOption, Msg: filepath.Base(dir) + " is going on",
			Hint: "wait for its end"}
	}
	if err != nil {
		return nil, nil, err
	}
	sweep, err := LoadSweep(dir)
	r := &SweepRecorder{Dir: dir, release: release}
	if err == nil {
		r.journal, _, err = OpenJournal(filepath.Join(dir, JournalFile), DigestOf(sweep.Source), clock)
	}
	if err == nil {
		r.journal.writer = s.Writer
		err = r.Append(SweepResumed, SweepResumedData{Markmill: version})
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return r, sweep, nil
}

// Append adds an event.
func (r *SweepRecorder) Append(t EventType, data any) error {
	_, err := r.journal.Append(t, "", data)
	return err
}

// Close writes the journal to the disk and gives the lock back.
func (r *SweepRecorder) Close() error {
	defer r.release()
	return r.journal.Close()
}

// SweepSize is how many bytes the journal of a sweep has: more after each event. It is 0 where it cannot be read.
func SweepSize(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, JournalFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// LoadSweep reads the record of a sweep. A torn last line is dropped; any other break is an error.
func LoadSweep(dir string) (*Sweep, error) {
	text, err := os.ReadFile(filepath.Join(dir, JournalFile))
	if err != nil {
		return nil, cannotRead(dir, err)
	}
	line, _, whole := bytes.Cut(text, []byte("\n"))
	first, err := decodeEvent(line)
	if err != nil || !whole || first.Type != SweepStarted {
		return nil, cannotRead(dir, errors.New("its journal does not begin with "+string(SweepStarted)))
	}
	s := &Sweep{Dir: dir}
	if s.Started, err = decode[SweepStartedData](first); err != nil {
		return nil, cannotRead(dir, err)
	}
	if filepath.Base(s.Started.SourceFile) != s.Started.SourceFile {
		return nil, cannotRead(dir, fmt.Errorf("its notebook is called %q", s.Started.SourceFile))
	}
	if s.Source, err = os.ReadFile(filepath.Join(dir, s.Started.SourceFile)); err != nil {
		return nil, cannotRead(dir, err)
	}
	events, _, err := ReadJournal(bytes.NewReader(text), DigestOf(s.Source))
	if err != nil {
		return nil, err
	}
	s.StartedAt = first.Time
	for i, row := range s.Started.Rows {
		if (row.Lane == nil) != (s.Started.Lanes == nil) {
			return nil, cannotRead(dir, fmt.Errorf("row %d is an attempt, or is none, unlike its sweep", i+1))
		}
		s.Rows = append(s.Rows, SweepState{SweepRow: row})
	}
	for _, e := range events[1:] {
		if err := s.add(e); err != nil {
			return nil, cannotRead(dir, fmt.Errorf("event %d: %w", e.Seq, err))
		}
	}
	s.Digest = events[len(events)-1].Hash
	return s, nil
}

// add folds an event.
func (s *Sweep) add(e Event) error {
	row := func(n int) (*SweepState, error) {
		if n < 1 || n > len(s.Rows) {
			return nil, fmt.Errorf("there is no row %d", n)
		}
		return &s.Rows[n-1], nil
	}
	switch e.Type {
	case SweepResumed:
		s.Completed = nil
	case SweepRunStarted:
		d, err := decode[SweepRunStartedData](e)
		if err != nil {
			return err
		}
		to, err := row(d.Row)
		if err != nil {
			return err
		}
		to.Run, to.Ended = d.Run, nil
	case SweepRunEnded:
		d, err := decode[SweepRunEndedData](e)
		if err != nil {
			return err
		}
		to, err := row(d.Row)
		if err != nil {
			return err
		}
		if to.Run != d.Run {
			return fmt.Errorf("row %d ends with run %s and began run %s", d.Row, d.Run, to.Run)
		}
		to.Ended = &d
	case SweepCompleted:
		d, err := decode[SweepCompletedData](e)
		if err != nil {
			return err
		}
		s.Completed = &d
	default:
		return fmt.Errorf("%s is no event of a sweep", e.Type)
	}
	return nil
}
