package program

import (
	"bytes"
	"fmt"
	"io"

	"markmill/render/plain"
)

// BoundedWriter passes on whole lines up to a limit of bytes, and notes at the end how many it left out.
type BoundedWriter struct {
	To   io.Writer
	Most int // bytes; 0 is no limit
	done int
	cut  int    // number of lines left out
	part []byte // of a line whose end has not come yet
}

func (b *BoundedWriter) Write(p []byte) (int, error) {
	if b.Most == 0 {
		return b.To.Write(p)
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

// boundedNote is the room for the last line, in bytes.
const boundedNote = 100

func (b *BoundedWriter) line(line []byte) error {
	if b.cut > 0 || b.done+len(line) > b.Most-boundedNote {
		b.cut++
		return nil
	}
	b.done += len(line)
	_, err := b.To.Write(line)
	return err
}

// End writes the rest, and the note.
func (b *BoundedWriter) End() error {
	if len(b.part) > 0 {
		if err := b.line(b.part); err != nil {
			return err
		}
	}
	if b.cut == 0 {
		return nil
	}
	_, err := fmt.Fprintf(b.To, "… %s left out: --max-bytes %d\n", plain.Counted(b.cut, "line"), b.Most)
	return err
}
