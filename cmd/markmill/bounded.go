package main

import (
	"bytes"
	"fmt"
	"io"
)

// boundedWriter lets whole lines through until there are too many bytes, and says at the end what was left out.
type boundedWriter struct {
	to   io.Writer
	most int // bytes; 0 is no bound
	done int
	cut  int    // lines that were left out
	part []byte // of a line that has no end yet
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.most == 0 {
		return b.to.Write(p)
	}
	b.part = append(b.part, p...)
	for {
		i := bytes.IndexByte(b.part, '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := b.line(b.part[:i+1]); err != nil {
			return 0, err
		}
		b.part = b.part[i+1:]
	}
}

// boundedNote is what the last line may take.
const boundedNote = 100

func (b *boundedWriter) line(line []byte) error {
	if b.cut > 0 || b.done+len(line) > b.most-boundedNote {
		b.cut++
		return nil
	}
	b.done += len(line)
	_, err := b.to.Write(line)
	return err
}

// end writes what is left, and the note.
func (b *boundedWriter) end() error {
	if len(b.part) > 0 {
		if err := b.line(b.part); err != nil {
			return err
		}
	}
	if b.cut == 0 {
		return nil
	}
	_, err := fmt.Fprintf(b.to, "… %s left out: --max-bytes %d\n", counted(b.cut, "line"), b.most)
	return err
}
