package runs

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

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
