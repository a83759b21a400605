package terminal

import "bytes"

// tailBytes bounds what is kept of a stream: longer lines are shown by their end.
const tailBytes = 4 << 10

// tail is the end of a stream that is still being written.
type tail struct{ buf []byte }

// keep appends a chunk and forgets all but the end.
func (t *tail) keep(chunk []byte) {
	if len(chunk) >= tailBytes {
		t.buf = append(t.buf[:0], chunk[len(chunk)-tailBytes:]...)
		return
	}
	if over := len(t.buf) + len(chunk) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, chunk...)
}

// lastLine is the last line that is not empty, without its newline.
func (t *tail) lastLine() []byte {
	b := bytes.TrimRight(t.buf, "\r\n")
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

// lines appends a chunk and takes out the lines that are whole. A line longer than 64 KiB comes in
// pieces.
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

// flush takes out a last line without a newline.
func (t *tail) flush() [][]byte {
	if len(t.buf) == 0 {
		return nil
	}
	out := [][]byte{t.buf}
	t.buf = nil
	return out
}
