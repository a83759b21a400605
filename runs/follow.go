package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"markmill/notebooks"
)

// pollEvery is how soon a Follower sees a new event.
const pollEvery = 50 * time.Millisecond

// Follower reads the events of a journal as they are appended, by this process or another. It checks each event's hash
// and its link to the event before it.
type Follower struct {
	record *Record
	file   recordFile // nil while there is no journal
	in     *bufio.Reader
	offset int64
	last   *Event
}

// Follow follows the journal of a run from an offset: 0, or the Offset of an earlier Follower. The journal need not be
// there yet.
func (r *Record) Follow(offset int64) *Follower { return &Follower{record: r, offset: offset} }

// Next returns the next event, and waits for it while the run is alive. It returns io.EOF after run.completed, and also
// when there is no further event and nobody holds the lock of the run, which was cut then. When ctx ends it returns
// the cause, and may be called again.
func (f *Follower) Next(ctx context.Context) (Event, error) {
	if f.last != nil && f.last.Type == RunCompleted {
		return Event{}, io.EOF
	}
	for alive := true; ; {
		if err := context.Cause(ctx); err != nil {
			return Event{}, err
		}
		event, found, err := f.read()
		switch {
		case err != nil || found:
			return event, err
		case !alive && f.file == nil:
			return Event{}, cannotRead(f.record.path, errors.New("it has no "+JournalFile+", and the run is not alive"))
		case !alive:
			return Event{}, io.EOF
		}
		if alive = f.record.Alive(); !alive {
			continue // its last event may have come after read
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// Ready returns the next event if it is there, and does not wait.
func (f *Follower) Ready() (event Event, found bool, err error) { return f.read() }

// Offset is where the next event begins in the journal, in bytes.
func (f *Follower) Offset() int64 { return f.offset }

// Close closes the journal.
func (f *Follower) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// read returns the next event if its whole line is there.
func (f *Follower) read() (event Event, found bool, err error) {
	if f.file == nil {
		if err := f.open(); err != nil || f.file == nil {
			return Event{}, false, err
		}
	}
	line, err := f.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		f.rewind() // part of a line may be taken back, where the disk is full
		return Event{}, false, nil
	}
	if err != nil {
		return Event{}, false, cannotRead(JournalFile, err)
	}
	if event, err = f.check(line); err != nil {
		return Event{}, false, err
	}
	f.offset += int64(len(line))
	f.last = &event
	return event, true, nil
}

func (f *Follower) check(line []byte) (Event, error) {
	if f.last != nil {
		return readEvent(line, f.last.Seq+1, f.last.Hash)
	}
	event, err := decodeEvent(line)
	if err != nil {
		return Event{}, &notebooks.Error{
			Kind: notebooks.KindRecord, File: JournalFile, Msg: fmt.Sprintf("bad JSON at byte %d: %v", f.offset, err),
		}
	}
	seq := event.Seq
	if f.offset == 0 {
		seq = 0
	}
	return readEvent(line, seq, event.Prev)
}

func (f *Follower) rewind() {
	f.in.Reset(io.NewSectionReader(f.file, f.offset, math.MaxInt64-f.offset))
}

// open opens the journal; f.file stays nil while there is none.
func (f *Follower) open() error {
	file, err := f.record.open(JournalFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cannotRead(JournalFile, err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() < f.offset {
		err = fmt.Errorf("it has %d bytes, and was to be followed from byte %d", info.Size(), f.offset)
	}
	if err != nil {
		return errors.Join(cannotRead(JournalFile, err), file.Close())
	}
	f.file, f.in = file, bufio.NewReader(nil)
	f.rewind()
	return nil
}
