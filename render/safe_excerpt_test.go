package render_test

import (
	"bytes"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"markmill/render/safe"
)

func TestCutText(t *testing.T) {
	lines := strings.Repeat("0123456789abcde\n", 100)
	e := safe.CutText(lines, 200)
	if e.Head != lines[:96] || e.Tail != lines[:96] {
		t.Errorf("head %q, tail %q: not whole lines", e.Head, e.Tail)
	}
	if want := "88 lines (1,408 bytes)"; e.Cut != want {
		t.Errorf("cut %q, want %q", e.Cut, want)
	}
	if e := safe.CutText(lines, len(lines)); e.Cut != "" || e.Head != lines {
		t.Errorf("a text that fits is cut")
	}
	e = safe.CutText(strings.Repeat("é", 100), 21)
	if !utf8.ValidString(e.Head) || !utf8.ValidString(e.Tail) || e.Head != "ééééé" || e.Cut != "180 bytes" {
		t.Errorf("one long line: %+v", e)
	}
}

// TestCutTextIsWhole: head, the counted gap and tail add up to the text.
func TestCutTextIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab é\n👩"))).Draw(t, "text")
		limit := rapid.IntRange(2, 60).Draw(t, "limit")
		e := safe.CutText(text, limit)
		if !strings.HasPrefix(text, e.Head) || !strings.HasSuffix(text, e.Tail) {
			t.Fatalf("%+v is not of %q", e, text)
		}
		if e.Size() > limit && e.Cut != "" || e.Cut == "" && e.Head != text {
			t.Fatalf("%+v of %d bytes breaks the limit %d", e, len(text), limit)
		}
		if !utf8.ValidString(e.Head) || !utf8.ValidString(e.Tail) {
			t.Fatalf("%+v cuts a character", e)
		}
	})
}

// huge is a virtual file of any size that counts the bytes read. Line n, of 16 bytes, starts with n in hexadecimal.
type huge struct {
	size, read, at int64
}

func (h *huge) Stat() (fs.FileInfo, error) { return h, nil }
func (h *huge) Close() error               { return nil }
func (h *huge) Name() string               { return "stdout" }
func (h *huge) Size() int64                { return h.size }
func (h *huge) Mode() fs.FileMode          { return 0o644 }
func (h *huge) ModTime() time.Time         { return time.Time{} }
func (h *huge) IsDir() bool                { return false }
func (h *huge) Sys() any                   { return nil }

func (h *huge) Read(b []byte) (int, error) {
	n, err := h.fill(b, h.at)
	h.at += int64(n)
	return n, err
}

func (h *huge) fill(b []byte, at int64) (int, error) {
	n := 0
	for ; n < len(b) && at < h.size; n, at = n+1, at+1 {
		if k := at % 16; k == 15 {
			b[n] = '\n'
		} else {
			b[n] = "0123456789abcdef"[at/16>>(4*(14-k))&15]
		}
	}
	h.read += int64(n)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// hugeAt is a huge file with ReadAt, hugeSeek one with Seek.
type hugeAt struct{ *huge }

func (h hugeAt) ReadAt(b []byte, at int64) (int, error) { return h.fill(b, at) }

type hugeSeek struct{ *huge }

func (h hugeSeek) Seek(at int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		panic("only from the start")
	}
	h.at = at
	return at, nil
}

// oneFile is a file system of one file.
type oneFile struct{ f fs.File }

func (o oneFile) Open(string) (fs.File, error) { return o.f, nil }

func TestExcerptOfAGigabyteReadsItsEnds(t *testing.T) {
	const size = 1 << 30
	keep := func(line []byte) (string, bool) { return string(line), true }
	var first safe.Excerpt
	for _, c := range []struct {
		name string
		open func(*huge) fs.File
		read int64
	}{
		{"ReaderAt", func(h *huge) fs.File { return hugeAt{h} }, 256 << 10},
		{"Seeker", func(h *huge) fs.File { return hugeSeek{h} }, 256 << 10},
	} {
		h := &huge{size: size}
		e, err := safe.ExcerptFile(oneFile{c.open(h)}, "stdout", 16<<10, keep)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if h.read > c.read {
			t.Errorf("%s: read %d bytes of the file, want at most %d", c.name, h.read, c.read)
		}
		if !strings.HasPrefix(e.Head, "000000000000000\n000000000000001\n") ||
			!strings.HasSuffix(e.Tail, "\n000000003fffffe\n000000003ffffff\n") {
			t.Errorf("%s: head %.40q, tail …%q", c.name, e.Head, e.Tail[len(e.Tail)-40:])
		}
		if e.Size() > 16<<10 || e.Size() < 15<<10 {
			t.Errorf("%s: %d bytes kept", c.name, e.Size())
		}
		if e.Cut != "about 1,024 MiB" {
			t.Errorf("%s: cut %q", c.name, e.Cut)
		}
		if first.Head != "" && e != first {
			t.Errorf("%s: two excerpts of the same bytes differ", c.name)
		}
		first = e
	}
}

func TestReadWindowWithoutSeeking(t *testing.T) {
	var want bytes.Buffer
	h := &huge{size: 1 << 16}
	io.Copy(&want, h)
	w, err := safe.ReadWindow(oneFile{&huge{size: 1 << 16}}, "stdout", 1<<10, 100)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.Head, want.Bytes()[:100]) || !bytes.Equal(w.Tail, want.Bytes()[1<<16-100:]) {
		t.Errorf("head %q, tail %q", w.Head, w.Tail)
	}
}

// TestWindowsCutCharacters: a cut inside a character or a line shows no partial character or line.
func TestWindowsCutCharacters(t *testing.T) {
	c := safe.Cleaner{}
	long := []byte("x" + strings.Repeat("é", 1<<20))
	e, err := safe.ExcerptFile(fstest.MapFS{"f": {Data: long}}, "f", 1000, c.Line)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(e.Head+e.Tail, `\x`) || !strings.HasPrefix(e.Head, "xé") || !strings.HasSuffix(e.Tail, "é\n") {
		t.Errorf("head …%q, tail %q…", e.Head[len(e.Head)-20:], e.Tail[:20])
	}
}
