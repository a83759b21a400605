package object

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"markmill/engine/worktree/disk"
	"os"
	"path/filepath"
)

// StreamFrom is the size from which content is hashed and compressed as it is read, not held in memory.
const StreamFrom = 8 << 20

// Store is the run's own object store, of loose objects that only the engine writes. Whatever steps do to the
// worktree's .git, it does not affect what was captured. It compresses at zlib's fastest level, which go-git's writer
// does not offer, since a step waits for it.
type Store struct {
	Dir    string // of the objects
	Format *Format
	Known  map[Digest]bool
	Based  map[Digest]bool // trees of the base that were replaced: one that comes again is no object of the run
	Order  []Digest        // as written; what a bundle holds
	dirs   [256]bool
	zw     *zlib.Writer
	buf    bytes.Buffer
	tmp    int

	Recent     map[Digest][]byte // content captured lately, for patches
	recentSize int

	held []heldObject // known, and not on disk yet
}

// heldObject is an object that is not written as long as nothing depends on it.
type heldObject struct {
	oid  Digest
	kind string
	data []byte
}

// recentMax bounds the content that is held for patches; the rest is read back.
const recentMax = 32 << 20

func (s *Store) Remember(d Digest, data []byte) {
	if s.recentSize+len(data) > recentMax {
		clear(s.Recent)
		s.recentSize = 0
	}
	if s.Recent[d] == nil && len(data) <= recentMax {
		s.Recent[d] = data
		s.recentSize += len(data)
	}
}

func NewStore(dir string, f *Format) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o777); err != nil {
		return nil, err
	}
	zw, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	if err != nil {
		return nil, err
	}
	return &Store{Dir: dir, Format: f, Known: map[Digest]bool{}, Based: map[Digest]bool{}, zw: zw,
		Recent: map[Digest][]byte{}}, nil
}

// Path is where an object lies.
func (s *Store) Path(d Digest) string {
	x := hex.EncodeToString(d[:s.Format.Size])
	return filepath.Join(s.Dir, x[:2], x[2:])
}

// Put writes an object, unless the run has it already, and returns its name.
func (s *Store) Put(kind string, data []byte) (Digest, error) {
	d := s.Format.Sum(kind, data)
	if s.Known[d] {
		return d, nil
	}
	if err := s.write(kind, data, d); err != nil {
		return d, err
	}
	s.Known[d] = true
	s.Order = append(s.Order, d)
	return d, nil
}

// write makes a loose object.
func (s *Store) write(kind string, data []byte, d Digest) error {
	s.buf.Reset()
	s.zw.Reset(&s.buf)
	s.zw.Write(Header(kind, int64(len(data)))) // into memory: these cannot fail
	s.zw.Write(data)
	if err := s.zw.Close(); err != nil {
		return err
	}
	tmp := s.temp()
	if err := disk.WriteNew(tmp, s.buf.Bytes(), 0o444); err != nil {
		return err
	}
	return s.keep(tmp, d)
}

// Hold keeps an object in memory and returns its name. A crash loses it, so it must hold no information: the commit of
// a step that changed nothing.
func (s *Store) Hold(kind string, data []byte) Digest {
	d := s.Format.Sum(kind, data)
	if !s.Known[d] {
		s.held = append(s.held, heldObject{d, kind, data})
		s.Known[d] = true
		s.Order = append(s.Order, d)
	}
	return d
}

// Release writes the held objects, because something is about to depend on them.
func (s *Store) Release() error {
	for len(s.held) > 0 {
		o := s.held[0]
		if err := s.write(o.kind, o.data, o.oid); err != nil {
			return err
		}
		s.held = s.held[1:]
	}
	return nil
}

// PutStream writes a blob of a known size from a reader. Content of another size is ErrChanged.
func (s *Store) PutStream(r io.Reader, size int64) (Digest, error) {
	var d Digest
	tmp := s.temp()
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return d, err
	}
	defer os.Remove(tmp) // gone after a rename
	s.zw.Reset(f)
	s.zw.Write(Header("blob", size)) // an error of the file comes again with the content
	d, err = s.Format.SumStream(r, size, s.zw)
	if err = errors.Join(err, s.zw.Close(), f.Close()); err != nil {
		return d, err
	}
	if s.Known[d] {
		return d, nil
	}
	if err := s.keep(tmp, d); err != nil {
		return d, err
	}
	s.Known[d] = true
	s.Order = append(s.Order, d)
	return d, nil
}

func (s *Store) temp() string {
	s.tmp++
	return filepath.Join(s.Dir, fmt.Sprintf("tmp_obj_%d", s.tmp))
}

// keep moves a finished object to its place.
func (s *Store) keep(tmp string, d Digest) error {
	p := s.Path(d)
	if !s.dirs[d[0]] {
		if err := os.Mkdir(filepath.Dir(p), 0o777); err != nil && !os.IsExist(err) {
			return err
		}
		s.dirs[d[0]] = true
	}
	return os.Rename(tmp, p)
}

// Read returns an object of the run; ok is false if the run did not write it.
func (s *Store) Read(d Digest) (kind string, data []byte, ok bool, err error) {
	if !s.Known[d] {
		return "", nil, false, nil
	}
	kind, size, content, err := s.Open(d)
	if err != nil {
		return "", nil, true, err
	}
	defer content.Close()
	data = make([]byte, size)
	_, err = io.ReadFull(content, data)
	return kind, data, true, err
}

// Open opens an object of the run to read its content.
func (s *Store) Open(d Digest) (kind string, size int64, content io.ReadCloser, err error) {
	for _, o := range s.held {
		if o.oid == d {
			return o.kind, int64(len(o.data)), io.NopCloser(bytes.NewReader(o.data)), nil
		}
	}
	if !s.Known[d] {
		return "", 0, nil, fmt.Errorf("object %s is not one of the run's", s.Format.OID(d))
	}
	f, err := os.Open(s.Path(d))
	if err != nil {
		return "", 0, nil, err
	}
	zr, err := zlib.NewReader(f)
	if err == nil {
		in := bufio.NewReader(zr)
		var head string
		if head, err = in.ReadString(0); err == nil {
			_, err = fmt.Sscanf(head, "%s %d\x00", &kind, &size)
		}
		content = loose{in, f}
	}
	if err != nil {
		f.Close()
		return "", 0, nil, fmt.Errorf("object %s of the run is damaged: %w", s.Format.OID(d), err)
	}
	return kind, size, content, nil
}

// loose is the content of a loose object, and its file.
type loose struct {
	io.Reader
	io.Closer
}

// Replaced notes that a tree was replaced: if it comes back and is of the base, it is no object of the run.
func (s *Store) Replaced(tree Digest) {
	if !s.Known[tree] {
		s.Based[tree] = true
	}
}
