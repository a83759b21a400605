package runs

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// syncEvery bounds what a power failure may cost: events are on the disk this long after they were appended. A crash of
// the process alone costs nothing: Append has handed them to the system.
const syncEvery = 200 * time.Millisecond

// Journal appends events to a file, each linked to the one before by its hash. Its methods are safe for concurrent use.
type Journal struct {
	// StepSync makes Append wait for the disk at each step.finished ("durability: step"). Set it before the first
	// Append.
	StepSync bool

	clock  func() time.Time
	file   *os.File
	writer Writer

	mu   sync.Mutex
	seq  int       // of the next event
	prev Digest    // hash of the last one
	last time.Time // time of the last one
	size int64     // bytes of whole lines in the file
	sum  hash.Hash // of those bytes
	err  error     // why nothing more can be appended

	dirty chan struct{} // holds a token while something waits for the disk
	stop  chan struct{}
	done  chan struct{}
}

// CreateJournal makes a new journal; a file that is there already is an error. source is the digest of the source
// notebook, which the first event is linked to.
func CreateJournal(path string, source Digest, clock func() time.Time) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	return startJournal(file, source, clock), nil
}

// OpenJournal reads a journal and opens it for appending. It truncates a torn last line; any other break is the error
// of ReadJournal.
func OpenJournal(path string, source Digest, clock func() time.Time) (*Journal, []Event, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, cannotWrite(path, err)
	}
	events, size, _, err := readJournal(file, source)
	if err == nil {
		err = os.Truncate(path, size) // by path: Windows truncates no file that is open for appending
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	j := startJournal(file, source, clock)
	if _, err := io.Copy(j.sum, io.NewSectionReader(file, 0, size)); err != nil {
		return nil, nil, errors.Join(cannotRead(path, err), j.Close())
	}
	j.size = size
	if n := len(events); n > 0 {
		j.seq, j.prev, j.last = n, events[n-1].Hash, events[n-1].Time
	}
	return j, events, nil
}

func startJournal(file *os.File, source Digest, clock func() time.Time) *Journal {
	j := &Journal{
		clock: clock, file: file, prev: source, sum: sha256.New(),
		dirty: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go j.syncLoop()
	return j
}

// Append adds one event, whose data is the Data type of t, and returns when the system has it: one write per line. An
// event's time is never before that of the event before it, even if the clock is set back. After an error nothing of
// the event is in the file, and Append may be tried again.
func (j *Journal) Append(t EventType, step notebooks.StepID, data any) (Event, error) {
	j.mu.Lock()
	event, line, err := j.next(t, step, data)
	if err == nil {
		err = j.write(event, line)
	}
	j.mu.Unlock()
	if err == nil && j.StepSync && t == StepFinished {
		err = j.Sync()
	}
	return event, err
}

// Prepare returns the event that Commit will append, so that the files which depend on it can be written first: a
// verdict is never recorded without its files.
func (j *Journal) Prepare(t EventType, step notebooks.StepID, data any) (Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	event, _, err := j.next(t, step, data)
	return event, err
}

// Commit appends an event that Prepare made. It returns an error if something was appended in between.
func (j *Journal) Commit(event Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if event.Seq != j.seq || event.Prev != j.prev {
		return fmt.Errorf("event %d was prepared and event %d is due", event.Seq, j.seq)
	}
	if j.err != nil {
		return j.err
	}
	line, _, err := event.line()
	if err != nil {
		return err
	}
	return j.write(event, line)
}

// DigestWith returns the digest that the journal's file will have after Commit of an event.
func (j *Journal) DigestWith(event Event) (Digest, error) {
	line, _, err := event.line()
	if err != nil {
		return "", err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	sum, err := j.sum.(hash.Cloner).Clone() // crypto/sha256 has it since Go 1.25
	if err != nil {
		return "", err
	}
	sum.Write(line)
	return makeDigest(sum.Sum(nil)), nil
}

// next makes the next event of the chain, and its line.
func (j *Journal) next(t EventType, step notebooks.StepID, data any) (event Event, line []byte, err error) {
	if j.err != nil {
		return Event{}, nil, j.err
	}
	raw, err := j.writer.JSON(data)
	if err != nil {
		return Event{}, nil, fmt.Errorf("data of %s: %w", t, err)
	}
	event = Event{Seq: j.seq, Prev: j.prev, Type: t, Step: step, Data: raw}
	event.Time = j.clock().Round(0).UTC() // without the monotonic reading, which a reader does not get
	if event.Time.Before(j.last) {
		event.Time = j.last
	}
	line, event.Hash, err = event.line()
	return event, line, err
}

// write appends the line of an event.
func (j *Journal) write(event Event, line []byte) error {
	if _, err := j.file.Write(line); err != nil {
		// On a full disk a part of the line may be there, which would spoil the next line.
		if cut := os.Truncate(j.file.Name(), j.size); cut != nil {
			j.err = cannotWrite(j.file.Name(), cut)
		}
		return cannotWrite(j.file.Name(), err)
	}
	j.seq, j.prev, j.last = event.Seq+1, event.Hash, event.Time
	j.size += int64(len(line))
	j.sum.Write(line)
	select {
	case j.dirty <- struct{}{}:
	default: // the loop is about to sync
	}
	return nil
}

// Sync returns when all that was appended is on the disk. A disk that failed to sync may have lost any of it: after
// such an error nothing can be appended.
func (j *Journal) Sync() error {
	err := j.file.Sync()
	if err == nil || errors.Is(err, os.ErrClosed) {
		return nil // Close has synced
	}
	err = cannotWrite(j.file.Name(), err)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
	return err
}

func (j *Journal) syncLoop() {
	defer close(j.done)
	for {
		select {
		case <-j.dirty:
		case <-j.stop:
			return
		}
		select {
		case <-time.After(syncEvery):
		case <-j.stop:
			return
		}
		_ = j.Sync() // kept in j.err, which the next Append and Close return
	}
}

// Close syncs and closes. Closing again does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	if errors.Is(j.err, os.ErrClosed) {
		j.mu.Unlock()
		return nil
	}
	before := j.err
	j.err = fmt.Errorf("%s: %w", filepath.Base(j.file.Name()), os.ErrClosed)
	close(j.stop)
	j.mu.Unlock()

	<-j.done
	err := j.file.Sync()
	return errors.Join(before, err, j.file.Close())
}

// sealed is an Event without its hash, its fields in the order of canonical JSON.
type sealed struct {
	Data codec.Raw        `json:"data"`
	Prev Digest           `json:"prev"`
	Seq  int              `json:"seq"`
	Step notebooks.StepID `json:"step,omitempty"`
	Time time.Time        `json:"time"`
	Type EventType        `json:"type"`
}

// line returns the event's line of the journal, newline included, and the hash in it. Data must be canonical.
func (e Event) line() ([]byte, Digest, error) {
	text, err := codec.Marshal(sealed{e.Data, e.Prev, e.Seq, e.Step, e.Time, e.Type})
	if err != nil {
		return nil, "", err
	}
	hash := DigestOf(text)
	member := `,"hash":"` + string(hash) + `"`
	// "hash" sorts right after "data", which comes first.
	at := len(`{"data":`) + len(e.Data)
	line := make([]byte, 0, len(text)+len(member)+1)
	line = append(line, text[:at]...)
	line = append(line, member...)
	line = append(line, text[at:]...)
	return append(line, '\n'), hash, nil
}

// ReadJournal reads a whole journal and checks its chain, from the digest of the source notebook to the last event. A
// last line without its newline is torn: it is dropped, and torn is true. Any other break is a *notebooks.Error that
// names the line, the event's seq, and what is broken: bad JSON, broken prev or hash mismatch. The events before it
// are returned.
func ReadJournal(r io.Reader, source Digest) (events []Event, torn bool, err error) {
	events, _, torn, err = readJournal(r, source)
	return events, torn, err
}

// readJournal is ReadJournal, and returns how many bytes the whole lines take.
func readJournal(r io.Reader, source Digest) (events []Event, size int64, torn bool, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for prev := source; ; prev = events[len(events)-1].Hash {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, size, len(line) > 0, nil
		}
		if err != nil {
			return events, size, false, err
		}
		event, err := readEvent(line, len(events), prev)
		if err != nil {
			return events, size, false, err
		}
		events = append(events, event)
		size += int64(len(line))
	}
}

// readEvent reads the event number seq from its line, newline included.
func readEvent(line []byte, seq int, prev Digest) (Event, error) {
	event, err := decodeEvent(line)
	var hash Digest
	if err == nil && event.Prev == prev {
		hash, err = hashOf(line, &event)
	}
	words := ""
	switch {
	case err != nil:
		words = "bad JSON: " + err.Error()
	case event.Prev != prev:
		words = fmt.Sprintf("broken prev: it says %s where %s is due", event.Prev, prev)
	case event.Hash != hash:
		words = fmt.Sprintf("hash mismatch: it says %s and its bytes give %s", event.Hash, hash)
	case event.Seq != seq:
		words = fmt.Sprintf("broken prev: its seq is %d", event.Seq)
	default:
		return event, nil
	}
	return Event{}, broken(seq, words)
}

func decodeEvent(line []byte) (Event, error) {
	var event Event
	err := codec.Unmarshal(line, &event)
	return event, err
}

var errNotCanonical = errors.New("the line is not canonical JSON")

// hashOf recomputes the hash of an event from its line alone, including members of later versions.
func hashOf(line []byte, event *Event) (Digest, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if canonical, err := codec.IsCanonical(line); err != nil || !canonical {
		return "", cmp.Or(err, errNotCanonical)
	}
	// "hash" sorts right after "data", which comes first, unless a later version has a member between or before them.
	const data = `{"data":`
	head, member := len(data)+len(event.Data), `,"hash":"`+string(event.Hash)+`"`
	if bytes.HasPrefix(line, []byte(data)) && head < len(line) && bytes.HasPrefix(line[head:], []byte(member)) {
		h := sha256.New()
		h.Write(line[:head])
		h.Write(line[head+len(member):])
		return makeDigest(h.Sum(nil)), nil
	}
	var members map[string]codec.Raw
	if err := codec.Unmarshal(line, &members); err != nil {
		return "", err
	}
	delete(members, "hash")
	rest, err := codec.Marshal(members)
	if err != nil {
		return "", err
	}
	return DigestOf(rest), nil
}

func broken(seq int, words string) error {
	return &notebooks.Error{
		Kind: notebooks.KindRecord, File: JournalFile, Line: seq + 1, Msg: fmt.Sprintf("event %d: %s", seq, words),
	}
}

// Warm makes the JSON encoders and decoders of what every run writes, which are otherwise made when each is first
// needed. Call it while another processor is idle.
func Warm() {
	for _, v := range []any{
		&RunStartedData{}, &ContractData{}, &PlanData{}, &StepStartedData{}, &StepFinishedData{}, &DiffCheckedData{},
		&VerificationData{}, &CompletedData{}, &ScrapData{}, &PatchData{}, &sealed{Data: codec.Raw("{}")},
	} {
		if b, err := codec.Marshal(v); err == nil {
			_ = codec.Unmarshal(b, v) // only the decoder is wanted
		}
	}
	_ = codec.Unmarshal([]byte("{}"), &Event{})
	_, _ = codec.Marshal(&Report{})
}
