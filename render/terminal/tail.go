package terminal

import (
	"bytes"

	"markmill/render/plain"
)

// tailBytes bounds what is kept of a stream.
const tailBytes = 4 << 10

// tail is the end of a stream that is still being written.
type tail struct {
	buf []byte
	cut bool // the beginning is forgotten
}

// keep appends a chunk, and drops all but the end.
func (t *tail) keep(chunk []byte) {
	t.cut = t.cut || len(t.buf)+len(chunk) > tailBytes
	if len(chunk) >= tailBytes {
		t.buf = append(t.buf[:0], chunk[len(chunk)-tailBytes:]...)
		return
	}
	if over := len(t.buf) + len(chunk) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, chunk...)
}

// lastLine returns the last nonempty line, as a terminal would show it.
func (t *tail) lastLine() string {
	b := bytes.TrimRight(t.buf, "\r\n")
	at := bytes.LastIndexByte(b, '\n') + 1
	if at == 0 && t.cut {
		return plain.Rest(b)
	}
	return plain.Line(b[at:])
}

// lines appends a chunk and returns the complete lines. It splits lines longer than 64 KiB.
func (t *tail) lines(chunk []byte) [][]byte {
	var out [][]byte
	for {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			break
		}
		out = append(out, append(t.buf, chunk[:i]...))
		t.buf, chunk = nil, chunk[i+1:]
	}
	t.buf = append(t.buf, chunk...)
	if len(t.buf) > 16*tailBytes {
		out = append(out, t.buf)
		t.buf = nil
	}
	return out
}

// flush returns a last line without a newline.
func (t *tail) flush() [][]byte {
	if len(t.buf) == 0 {
		return nil
	}
	out := [][]byte{t.buf}
	t.buf = nil
	return out
}
