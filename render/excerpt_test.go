package render

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

	"markmill/runs"
)

func TestCutText(t *testing.T) {
	lines := strings.Repeat("0123456789abcde\n", 100)
	e := cutText(lines, 200)
	if e.head != lines[:96] || e.tail != lines[:96] {
		t.Errorf("head %q, tail %q: not whole lines", e.head, e.tail)
	}
	if want := "88 lines (1,408 bytes)"; e.cut != want {
		t.Errorf("cut %q, want %q", e.cut, want)
	}
	if e := cutText(lines, len(lines)); e.cut != "" || e.head != lines {
		t.Errorf("what fits is cut")
	}
	e = cutText(strings.Repeat("é", 100), 21)
	if !utf8.ValidString(e.head) || !utf8.ValidString(e.tail) || e.head != "ééééé" || e.cut != "180 bytes" {
		t.Errorf("one long line: %+v", e)
	}
}

// TestCutTextIsWhole: head, what is counted as gone, and tail are the text.
func TestCutTextIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab é\n👩"))).Draw(t, "text")
		limit := rapid.IntRange(2, 60).Draw(t, "limit")
		e := cutText(text, limit)
		if !strings.HasPrefix(text, e.head) || !strings.HasSuffix(text, e.tail) {
			t.Fatalf("%+v is not of %q", e, text)
		}
		if e.size() > limit && e.cut != "" || e.cut == "" && e.head != text {
			t.Fatalf("%+v of %d bytes breaks the limit %d", e, len(text), limit)
		}
		if !utf8.ValidString(e.head) || !utf8.ValidString(e.tail) {
			t.Fatalf("%+v cuts a character", e)
		}
	})
}

// huge is a file of any size that is not there: it counts the bytes that were read of it. Line n,
// of 16 bytes, starts with n in hexadecimal.
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

// hugeAt is a huge file that can be read anywhere, hugeSeek one that can seek.
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
	var first excerpt
	for _, c := range []struct {
		name string
		open func(*huge) fs.File
		read int64
	}{
		{"ReaderAt", func(h *huge) fs.File { return hugeAt{h} }, 256 << 10},
		{"Seeker", func(h *huge) fs.File { return hugeSeek{h} }, 256 << 10},
	} {
		h := &huge{size: size}
		e, err := excerptFile(oneFile{c.open(h)}, "stdout", 16<<10, keep)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if h.read > c.read {
			t.Errorf("%s: read %d bytes of the file, want at most %d", c.name, h.read, c.read)
		}
		if !strings.HasPrefix(e.head, "000000000000000\n000000000000001\n") || !strings.HasSuffix(e.tail, "\n000000003fffffe\n000000003ffffff\n") {
			t.Errorf("%s: head %.40q, tail …%q", c.name, e.head, e.tail[len(e.tail)-40:])
		}
		if e.size() > 16<<10 || e.size() < 15<<10 {
			t.Errorf("%s: %d bytes kept", c.name, e.size())
		}
		if e.cut != "about 1,024 MiB" {
			t.Errorf("%s: cut %q", c.name, e.cut)
		}
		if first.head != "" && e != first {
			t.Errorf("%s: another excerpt of the same bytes", c.name)
		}
		first = e
	}
}

func TestOutputOfAGigabyteReadsItsEnds(t *testing.T) {
	nb := testNotebook("```bash {#s}\n```\n")
	d := newDir(nb)
	rec := d.ends(0, runs.StepPassed, 0, "", "")
	rec.Finished.Stdout = runs.StreamData{File: "stdout", Bytes: 1 << 30, Digest: "sha256:00"}
	h := &huge{size: 1 << 30}
	out, err := Output(runs.OutputFile, nb, d.run, oneFile{hugeAt{h}})
	if err != nil {
		t.Fatal(err)
	}
	if h.read > 256<<10 {
		t.Errorf("read %d bytes", h.read)
	}
	if !bytes.Contains(out, []byte("… about 1,024 MiB elided: `stdout`, `sha256:00`")) {
		t.Errorf("the output notebook does not say what is elided:\n%.300s", out)
	}
}

func TestReadWindowWithoutSeeking(t *testing.T) {
	var want bytes.Buffer
	h := &huge{size: 1 << 16}
	io.Copy(&want, h)
	w, err := readWindow(oneFile{&huge{size: 1 << 16}}, "stdout", 1<<10, 100)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.head, want.Bytes()[:100]) || !bytes.Equal(w.tail, want.Bytes()[1<<16-100:]) {
		t.Errorf("head %q, tail %q", w.head, w.tail)
	}
}

// TestWindowsCutCharacters: ends that fall inside a character or a line show neither by halves.
func TestWindowsCutCharacters(t *testing.T) {
	c := cleaner{}
	long := []byte("x" + strings.Repeat("é", 1<<20))
	e, err := excerptFile(fstest.MapFS{"f": {Data: long}}, "f", 1000, c.line)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(e.head+e.tail, `\x`) || !strings.HasPrefix(e.head, "xé") || !strings.HasSuffix(e.tail, "é\n") {
		t.Errorf("head …%q, tail %q…", e.head[len(e.head)-20:], e.tail[:20])
	}
}
