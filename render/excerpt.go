package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"markmill/render/plain"
	"strings"
	"unicode/utf8"
)

// wholeBytes is the size up to which a stream is read whole, so that what is cut is counted in
// lines and bytes; of a larger one only the two ends are read.
const wholeBytes = 1 << 20

// excerpt is text cut to a bound: all of it in head, or head and tail.
type excerpt struct {
	head, tail string
	cut        string // how much is missing between the two, in words; "" when nothing is
}

func (e excerpt) empty() bool { return e.head == "" && e.tail == "" && e.cut == "" }
func (e excerpt) size() int   { return len(e.head) + len(e.tail) }

// cutText bounds text to about limit bytes.
func cutText(text string, limit int) excerpt {
	if len(text) <= limit {
		return excerpt{head: text}
	}
	head, tail := headOf(text, limit/2), tailOf(text, limit/2)
	gone := text[len(head) : len(text)-len(tail)]
	cut := plain.Counted(len(gone), "byte")
	if lines := strings.Count(gone, "\n"); lines > 0 {
		cut = plain.Counted(lines, "line") + " (" + cut + ")"
	}
	return excerpt{head, tail, cut}
}

// headOf returns at most n bytes of the start of text: whole lines, unless that would lose more than
// half, then whole characters.
func headOf(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if i := strings.LastIndexByte(text[:n], '\n'); i >= n/2 {
		return text[:i+1]
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// tailOf is headOf from the other end.
func tailOf(text string, n int) string {
	if len(text) <= n {
		return text
	}
	from := len(text) - n
	if i := strings.IndexByte(text[from:], '\n'); i >= 0 && i < n/2 {
		return text[from+i+1:]
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// window is what was read of a file: all of it in head, or its two ends.
type window struct {
	head, tail []byte
	size       int64
	whole      bool
}

// readWindow reads a file whole up to the bound whole, else edge bytes of each end. A file that can
// seek is not read in between; another is read past, in constant memory.
func readWindow(files fs.FS, name string, whole, edge int64) (window, error) {
	f, err := files.Open(name)
	if err != nil {
		return window{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return window{}, err
	}
	w := window{size: info.Size(), whole: info.Size() <= whole}
	if w.whole {
		w.head, err = io.ReadAll(io.LimitReader(f, w.size))
		return w, err
	}
	w.head, w.tail = make([]byte, edge), make([]byte, edge)
	switch f := f.(type) {
	case io.ReaderAt:
		if err = readAt(f, w.head, 0); err == nil {
			err = readAt(f, w.tail, w.size-edge)
		}
	case io.ReadSeeker:
		if _, err = io.ReadFull(f, w.head); err == nil {
			if _, err = f.Seek(w.size-edge, io.SeekStart); err == nil {
				_, err = io.ReadFull(f, w.tail)
			}
		}
	default:
		if _, err = io.ReadFull(f, w.head); err == nil {
			if _, err = io.CopyN(io.Discard, f, w.size-2*edge); err == nil {
				_, err = io.ReadFull(f, w.tail)
			}
		}
	}
	return w, err
}

// End reads the end of a file, at most n bytes, from the start of a line where one starts there. more says that the
// file has more.
func End(files fs.FS, name string, n int64) (text []byte, more bool, err error) {
	w, err := readWindow(files, name, n, n)
	if err != nil || w.whole {
		return w.head, false, err
	}
	return []byte(tailOf(string(w.tail), int(n)-1)), true, nil
}

// readAt fills b. io.ReaderAt may report the end of the file together with the last byte.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read %d of %d bytes at %d: %w", n, len(b), at, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// excerptFile reads a file as text through clean, line by line, and bounds it to limit bytes.
// clean gets each line without its newline and returns false to leave the line out.
func excerptFile(files fs.FS, name string, limit int, clean func(line []byte) (string, bool)) (excerpt, error) {
	w, err := readWindow(files, name, max(wholeBytes, 8*int64(limit)), 4*int64(limit))
	if err != nil {
		return excerpt{}, err
	}
	if w.whole {
		return cutText(cleanLines(w.head, clean), limit), nil
	}
	// A line that a window cuts is shown only where there is no other.
	if i := bytes.LastIndexByte(w.head, '\n'); i >= 0 {
		w.head = w.head[:i+1]
	} else {
		w.head = trimRune(w.head)
	}
	if i := bytes.IndexByte(w.tail, '\n'); i >= 0 && i+1 < len(w.tail) {
		w.tail = w.tail[i+1:]
	} else {
		for n := 0; n < utf8.UTFMax && len(w.tail) > 0 && !utf8.RuneStart(w.tail[0]); n++ {
			w.tail = w.tail[1:]
		}
	}
	e := excerpt{
		head: headOf(cleanLines(w.head, clean), limit/2),
		tail: tailOf(cleanLines(w.tail, clean), limit/2),
	}
	// Rounded: the exact number would vary with the length of a path that is shown by name.
	e.cut = fmt.Sprintf("about %s MiB", plain.Grouped(int((w.size-int64(e.size())+1<<19)>>20)))
	return e, nil
}

// trimRune drops a character that the end of b cuts.
func trimRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// cleanLines passes every line through clean; what comes back ends with a newline, unless it is empty.
func cleanLines(raw []byte, clean func([]byte) (string, bool)) string {
	var b strings.Builder
	for len(raw) > 0 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		if s, ok := clean(line); ok {
			b.WriteString(s)
			b.WriteByte('\n')
		}
		raw = rest
	}
	return b.String()
}
