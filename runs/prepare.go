package runs

import (
	"fmt"
	"hash"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Prepare returns the event that Commit will append, so that the files which depend on it can be written first: a
// verdict is never recorded without its files.
func (j *Journal) Prepare(t EventType, step notebooks.StepID, data any) (Event, error) {
	raw, err := codec.Marshal(data)
	if err != nil {
		return Event{}, fmt.Errorf("data of %s: %w", t, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return Event{}, j.err
	}
	event := j.place(Event{Type: t, Step: step, Data: raw})
	_, event.Hash, err = event.line()
	return event, err
}

// Commit appends an event that Prepare made. It returns an error if something was appended in between.
func (j *Journal) Commit(event Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if event.Seq != j.seq || event.Prev != j.prev {
		return fmt.Errorf("event %d was prepared and event %d is due", event.Seq, j.seq)
	}
	_, err := j.write(event)
	return err
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
