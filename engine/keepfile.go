package engine

import (
	"fmt"
	"io"
	"markmill/engine/mask"
	"markmill/notebooks"
	"markmill/runs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keepFile copies a regular file into the record and follows no link that a step put in its place. Text is masked; a
// binary file that shows a secret is replaced by a note.
func (c *recorder) keepFile(step notebooks.StepID, from, to string) (int64, runs.Digest, error) {
	info, err := os.Lstat(from)
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() {
		return 0, "", fmt.Errorf("%s is not a regular file", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	return c.keepFrom(step, in, to)
}

// keepFrom is keepFile for bytes in memory, or for an open file.
func (c *recorder) keepFrom(step notebooks.StepID, in io.ReadSeeker, to string) (_ int64, _ runs.Digest, err error) {
	var source io.Reader = in
	if c.plan.mask != nil {
		if source, err = c.cleanFile(step, in, to); err != nil {
			return 0, "", err
		}
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, "", err
	}
	sum := runs.NewHasher()
	n, err := io.Copy(io.MultiWriter(out, sum), source)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return n, sum.Digest(), err
}

// cleanFile reads a file once to find out what it is, and returns what may be kept of it.
func (c *recorder) cleanFile(step notebooks.StepID, in io.ReadSeeker, to string) (io.Reader, error) {
	find, kind := c.plan.mask.Find(), &textTest{text: true}
	if _, err := io.Copy(io.MultiWriter(find, kind), in); err != nil {
		return nil, err
	}
	if find.Found() && !kind.text {
		rel, err := filepath.Rel(c.dir, to)
		if err != nil {
			return nil, err
		}
		c.leak(step, filepath.ToSlash(rel))
		return strings.NewReader(runs.LeakNote), nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil || !find.Found() {
		return in, err
	}
	return &maskReader{from: in, mask: c.plan.mask.Stream()}, nil
}

// textTest detects text: no NUL and no byte that never occurs in UTF-8.
type textTest struct{ text bool }

func (t *textTest) Write(b []byte) (int, error) {
	for i := 0; i < len(b) && t.text; i++ {
		t.text = b[i] != 0 && b[i] != 0xc0 && b[i] != 0xc1 && b[i] < 0xf5
	}
	return len(b), nil
}

// maskReader masks what is read through it.
type maskReader struct {
	from io.Reader
	mask *mask.Stream
	out  []byte
	buf  [32 << 10]byte
	err  error
}

func (m *maskReader) Read(b []byte) (int, error) {
	for len(m.out) == 0 && m.err == nil {
		n, err := m.from.Read(m.buf[:])
		m.out, m.err = m.mask.Next(m.buf[:n]), err
		if err != nil {
			m.out = append(slices.Clone(m.out), m.mask.Rest()...)
		}
	}
	if len(m.out) == 0 {
		return 0, m.err
	}
	n := copy(b, m.out)
	m.out = m.out[n:]
	return n, nil
}
