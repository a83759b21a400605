package cli

import (
	"bytes"
	"fmt"
	"io"

	"markmill/render/plain"
)

// boundedWriter passes on whole lines up to a limit of bytes, and notes at the end how many it left out.
type boundedWriter struct {
	to   io.Writer
	most int // bytes; 0 is no limit
	done int
	cut  int    // number of lines left out
	part []byte // of a line whose end has not come yet
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

// boundedNote is the room for the last line, in bytes.
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

// end writes the rest, and the note.
func (b *boundedWriter) end() error {
	if len(b.part) > 0 {
		if err := b.line(b.part); err != nil {
			return err
		}
	}
	if b.cut == 0 {
		return nil
	}
	_, err := fmt.Fprintf(b.to, "… %s left out: --max-bytes %d\n", plain.Counted(b.cut, "line"), b.most)
	return err
}
