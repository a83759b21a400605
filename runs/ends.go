package runs

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"markmill/notebooks"
)

// Bounds of what a list of runs reads of a journal. run.started and run.completed are much shorter.
const (
	headMax   = 1 << 20
	tailFirst = 4 << 10
	tailMax   = 1 << 20
)

// firstEvent reads the first event of the journal, unchecked.
func (r *Record) firstEvent() (Event, error) {
	file, err := r.open(JournalFile)
	if err != nil {
		return Event{}, err
	}
	defer file.Close()
	return readFirst(file)
}

func readFirst(r io.Reader) (Event, error) {
	line, err := bufio.NewReader(io.LimitReader(r, headMax)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return Event{}, &notebooks.Error{Kind: notebooks.KindRecord, File: JournalFile, Msg: "holds no whole event"}
	}
	if err != nil {
		return Event{}, err
	}
	event, err := decodeEvent(line)
	if err != nil {
		return Event{}, broken(0, "bad JSON: "+err.Error())
	}
	if event.Type != RunStarted {
		return Event{}, broken(0, "is not "+string(RunStarted))
	}
	return event, nil
}

// ends reads the first and the last whole event of the journal, and nothing between. The last one's own hash is
// checked; a last event longer than tailMax (a scrap) is returned as a zero Event.
func (r *Record) ends() (first, last Event, err error) {
	file, err := r.open(JournalFile)
	if err != nil {
		return Event{}, Event{}, err
	}
	defer file.Close()
	if first, err = readFirst(file); err != nil {
		return Event{}, Event{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return Event{}, Event{}, err
	}
	for size := int64(tailFirst); ; size *= 16 {
		start := max(0, info.Size()-size)
		tail := make([]byte, info.Size()-start)
		if _, err := file.ReadAt(tail, start); err != nil {
			return Event{}, Event{}, err
		}
		line, found := lastLine(tail, start == 0)
		if found {
			last, err = checkedEvent(line)
			return first, last, err
		}
		if start == 0 || size >= tailMax {
			return first, Event{}, nil
		}
	}
}

// lastLine finds the last whole line, newline included. whole says that tail begins at the start of a line.
func lastLine(tail []byte, whole bool) ([]byte, bool) {
	end := bytes.LastIndexByte(tail, '\n')
	if end < 0 {
		return nil, false
	}
	start := bytes.LastIndexByte(tail[:end], '\n') + 1
	if start == 0 && !whole {
		return nil, false
	}
	return tail[start : end+1], true
}

func checkedEvent(line []byte) (Event, error) {
	event, err := decodeEvent(line)
	if err != nil {
		return Event{}, &notebooks.Error{
			Kind: notebooks.KindRecord, File: JournalFile, Msg: "the last line is bad JSON: " + err.Error(),
		}
	}
	return readEvent(line, event.Seq, event.Prev)
}
