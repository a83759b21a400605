package plain

import (
	"bytes"
	"io"
	"strings"

	"markmill/notebooks/ansi"
)

// maxHeld is the length, in bytes, up to which a Writer holds a line as a whole.
const maxHeld = 64 << 10

// Writer makes what others wrote fit for a terminal: of control sequences only colours pass. A line in which the cursor
// moves is written as it would look in the end, and everything else that is hidden is escaped.
type Writer struct {
	to   io.Writer
	line []byte
}

// NewWriter returns a Writer to a terminal. Close writes a last line without a line feed.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

func (w *Writer) Write(b []byte) (int, error) {
	var out []byte
	for rest := b; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		w.line = append(w.line, rest[:n]...)
		rest = rest[n:]
		if body, ended := bytes.CutSuffix(w.line, []byte{'\n'}); ended || len(w.line) > maxHeld {
			out = append(out, colored(body)...)
			if w.line = w.line[:0]; ended {
				out = append(out, '\n')
			}
		}
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close writes what is held. It does not close the terminal.
func (w *Writer) Close() error {
	_, err := io.WriteString(w.to, colored(w.line))
	w.line = nil
	return err
}

// colored returns a line with its colours, or without them where the cursor moves.
func colored(raw []byte) string {
	var b strings.Builder
	painted := false
	for rest := bytes.TrimSuffix(raw, []byte{'\r'}); len(rest) > 0; {
		kind, n := ansi.Next(rest, true)
		switch token := string(rest[:n]); {
		case kind == ansi.Move:
			return Line(raw)
		case kind == ansi.Style && strings.Trim(token[2:n-1], "0123456789;:") == "":
			b.WriteString(token)
			painted = true
		default:
			b.WriteString(Escape(token))
		}
		rest = rest[n:]
	}
	if painted {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}
