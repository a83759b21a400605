package safe

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"markmill/render/plain"
	"markmill/runs"
)

// wholeBytes is the size up to which a stream is read whole, so that its elision can be counted in lines. Of a
// larger one only the two ends are read.
const wholeBytes = 1 << 20

// Excerpt is bounded text: all of it in Head, or its two ends.
type Excerpt struct {
	Head, Tail string
	Cut        string // how much is missing between the two, in words; "" when nothing is
}

func (e Excerpt) Empty() bool { return e.Head == "" && e.Tail == "" && e.Cut == "" }
func (e Excerpt) Size() int   { return len(e.Head) + len(e.Tail) }

// CutText bounds text to about limit bytes.
func CutText(text string, limit int) Excerpt {
	if len(text) <= limit {
		return Excerpt{Head: text}
	}
	head, tail := HeadOf(text, limit/2), TailOf(text, limit/2)
	gone := text[len(head) : len(text)-len(tail)]
	cut := plain.Counted(len(gone), "byte")
	if lines := strings.Count(gone, "\n"); lines > 0 {
		cut = plain.Counted(lines, "line") + " (" + cut + ")"
	}
	return Excerpt{head, tail, cut}
}

// HeadOf returns at most n bytes from the start of text: whole lines, unless that loses more than half, else whole
// characters.
func HeadOf(text string, n int) string {
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

// TailOf is HeadOf from the other end.
func TailOf(text string, n int) string {
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

// window is a file's content: all of it in Head, or its two ends.
type window struct {
	Head, Tail []byte
	Size       int64
	Whole      bool
}

// ReadWindow reads a file of up to whole bytes, else edge bytes of each end. It seeks past the middle if the file
// can seek, else reads past it in constant memory.
func ReadWindow(files fs.FS, name string, whole, edge int64) (window, error) {
	f, err := files.Open(name)
	if err != nil {
		return window{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return window{}, err
	}
	w := window{Size: info.Size(), Whole: info.Size() <= whole}
	if w.Whole {
		w.Head, err = io.ReadAll(io.LimitReader(f, w.Size))
		return w, err
	}
	w.Head, w.Tail = make([]byte, edge), make([]byte, edge)
	var r io.Reader = f
	if at, ok := f.(io.ReaderAt); ok {
		r = io.NewSectionReader(at, 0, w.Size)
	}
	if _, err = io.ReadFull(r, w.Head); err != nil {
		return w, err
	}
	if s, ok := r.(io.Seeker); ok {
		_, err = s.Seek(w.Size-edge, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, r, w.Size-2*edge)
	}
	if err == nil {
		_, err = io.ReadFull(r, w.Tail)
	}
	return w, err
}

// End reads the end of a file, at most n bytes, from the start of a line if possible. more says that the file is
// longer.
func End(files fs.FS, name string, n int64) (text []byte, more bool, err error) {
	w, err := ReadWindow(files, name, n, n)
	if err != nil || w.Whole {
		return w.Head, false, err
	}
	return []byte(TailOf(string(w.Tail), int(n)-1)), true, nil
}

// ExcerptFile reads a file line by line through clean, and bounds the text to limit bytes. clean gets lines without
// their newline, and returns false to omit a line.
func ExcerptFile(files fs.FS, name string, limit int, clean func(line []byte) (string, bool)) (Excerpt, error) {
	w, err := ReadWindow(files, name, max(wholeBytes, 8*int64(limit)), 4*int64(limit))
	if err != nil {
		return Excerpt{}, err
	}
	if w.Whole {
		return CutText(Clean(w.Head, clean), limit), nil
	}
	// A partial line is shown only if there is no other.
	if i := bytes.LastIndexByte(w.Head, '\n'); i >= 0 {
		w.Head = w.Head[:i+1]
	} else {
		w.Head = trimRune(w.Head)
	}
	if i := bytes.IndexByte(w.Tail, '\n'); i >= 0 && i+1 < len(w.Tail) {
		w.Tail = w.Tail[i+1:]
	} else {
		for n := 0; n < utf8.UTFMax && len(w.Tail) > 0 && !utf8.RuneStart(w.Tail[0]); n++ {
			w.Tail = w.Tail[1:]
		}
	}
	e := Excerpt{
		Head: HeadOf(Clean(w.Head, clean), limit/2),
		Tail: TailOf(Clean(w.Tail, clean), limit/2),
	}
	// Rounded, because the exact number would depend on the lengths of replaced paths.
	e.Cut = fmt.Sprintf("about %s MiB", plain.Grouped(int((w.Size-int64(e.Size())+1<<19)>>20)))
	return e, nil
}

// trimRune drops a partial character from the end of b.
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

// Clean passes every line through clean. The result ends with a newline unless it is empty.
func Clean(raw []byte, clean func([]byte) (string, bool)) string {
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

// WriteExcerpt writes text in a fence. The elision stands between two fences, where no output can forge it. digest
// is that of the raw bytes of file.
func WriteExcerpt(b *bytes.Buffer, info string, e Excerpt, file string, digest runs.Digest) {
	if e.Empty() {
		return
	}
	Fence(b, info, e.Head)
	if e.Cut == "" {
		return
	}
	fmt.Fprintf(b, "… %s elided: %s", e.Cut, CodeSpan(plain.Escape(file)))
	if digest != "" {
		fmt.Fprintf(b, ", %s", CodeSpan(plain.Escape(string(digest))))
	}
	b.WriteString("\n\n")
	Fence(b, info, e.Tail)
}
