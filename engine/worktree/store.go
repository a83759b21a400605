package worktree

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// streamFrom is the size from which content is hashed and compressed as it is read, not held in memory.
const streamFrom = 8 << 20

// store is the run's own object store: loose objects, which only the engine writes. Steps may do
// what they like to the worktree's .git; what was captured is not there.
type store struct {
	dir   string // of the objects
	fmt   *format
	known map[digest]bool
	based map[digest]bool // trees of the base that were replaced: one that comes again is no object of the run
	order []digest        // as written; what a bundle holds
	dirs  [256]bool
	zw    *zlib.Writer
	buf   bytes.Buffer
	tmp   int

	recent     map[digest][]byte // content captured lately, for patches
	recentSize int

	held []heldObject // known, and not on disk yet
}

// heldObject is an object that is not written for as long as nothing depends on it.
type heldObject struct {
	oid  digest
	kind string
	data []byte
}

// recentMax bounds the content that is held for patches; the rest is read back.
const recentMax = 32 << 20

func (s *store) remember(d digest, data []byte) {
	if s.recentSize+len(data) > recentMax {
		clear(s.recent)
		s.recentSize = 0
	}
	if s.recent[d] == nil && len(data) <= recentMax {
		s.recent[d] = data
		s.recentSize += len(data)
	}
}

func newStore(dir string, f *format) (*store, error) {
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o777); err != nil {
		return nil, err
	}
	zw, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	if err != nil {
		return nil, err
	}
	return &store{dir: dir, fmt: f, known: map[digest]bool{}, based: map[digest]bool{}, zw: zw, recent: map[digest][]byte{}}, nil
}

// path is where an object lies.
func (s *store) path(d digest) string {
	x := hex.EncodeToString(d[:s.fmt.size])
	return filepath.Join(s.dir, x[:2], x[2:])
}

// put writes an object, unless the run has it already, and names it.
func (s *store) put(kind string, data []byte) (digest, error) {
	d := s.fmt.sum(kind, data)
	if s.known[d] {
		return d, nil
	}
	if err := s.write(kind, data, d); err != nil {
		return d, err
	}
	s.known[d] = true
	s.order = append(s.order, d)
	return d, nil
}

// write makes a loose object.
func (s *store) write(kind string, data []byte, d digest) error {
	s.buf.Reset()
	s.zw.Reset(&s.buf)
	s.zw.Write(header(kind, int64(len(data)))) // into memory: these cannot fail
	s.zw.Write(data)
	if err := s.zw.Close(); err != nil {
		return err
	}
	tmp := s.temp()
	if err := writeNew(tmp, s.buf.Bytes(), 0o444); err != nil {
		return err
	}
	return s.keep(tmp, d)
}

// hold names an object and keeps it in memory. A crash loses it, so it must be one that says nothing
// new: the commit of a step that changed nothing.
func (s *store) hold(kind string, data []byte) digest {
	d := s.fmt.sum(kind, data)
	if !s.known[d] {
		s.held = append(s.held, heldObject{d, kind, data})
		s.known[d] = true
		s.order = append(s.order, d)
	}
	return d
}

// release writes what is held, for something is about to depend on it.
func (s *store) release() error {
	for len(s.held) > 0 {
		o := s.held[0]
		if err := s.write(o.kind, o.data, o.oid); err != nil {
			return err
		}
		s.held = s.held[1:]
	}
	return nil
}

// putStream writes a blob of a known size from a reader. A content of another size is errChanged.
func (s *store) putStream(r io.Reader, size int64) (digest, error) {
	var d digest
	tmp := s.temp()
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return d, err
	}
	defer os.Remove(tmp) // gone after a rename
	h := s.fmt.new()
	s.zw.Reset(f)
	w := io.MultiWriter(h, s.zw)
	w.Write(header("blob", size))
	n, err := io.Copy(w, io.LimitReader(r, size+1))
	if err == nil && n != size {
		err = errChanged
	}
	if err == nil {
		err = s.zw.Close()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return d, err
	}
	h.Sum(d[:0])
	if s.known[d] {
		return d, nil
	}
	if err := s.keep(tmp, d); err != nil {
		return d, err
	}
	s.known[d] = true
	s.order = append(s.order, d)
	return d, nil
}

func (s *store) temp() string {
	s.tmp++
	return filepath.Join(s.dir, fmt.Sprintf("tmp_obj_%d", s.tmp))
}

// keep moves a finished object to its place.
func (s *store) keep(tmp string, d digest) error {
	p := s.path(d)
	if !s.dirs[d[0]] {
		if err := os.Mkdir(filepath.Dir(p), 0o777); err != nil && !os.IsExist(err) {
			return err
		}
		s.dirs[d[0]] = true
	}
	return os.Rename(tmp, p)
}

// read gives back an object of the run; ok is false when the run did not write it.
func (s *store) read(d digest) (kind string, data []byte, ok bool, err error) {
	if !s.known[d] {
		return "", nil, false, nil
	}
	for _, o := range s.held {
		if o.oid == d {
			return o.kind, o.data, true, nil
		}
	}
	f, err := os.Open(s.path(d))
	if err != nil {
		return "", nil, true, err
	}
	defer f.Close()
	zr, err := zlib.NewReader(f)
	if err != nil {
		return "", nil, true, err
	}
	all, err := io.ReadAll(zr)
	if err != nil {
		return "", nil, true, err
	}
	head, data, found := bytes.Cut(all, []byte{0})
	name, _, _ := bytes.Cut(head, []byte{' '})
	if !found {
		return "", nil, true, fmt.Errorf("object %s of the run is damaged", s.fmt.oid(d))
	}
	return string(name), data, true, nil
}

// get is read of an object that the run has.
func (s *store) get(d digest) (kind string, data []byte, err error) {
	kind, data, ok, err := s.read(d)
	if !ok && err == nil {
		err = fmt.Errorf("object %s is not one of the run's", s.fmt.oid(d))
	}
	return kind, data, err
}

// writeNew writes a file that must not exist.
func writeNew(path string, data []byte, perm os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
