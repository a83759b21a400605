//go:build unix

package object

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v6/plumbing/format/packfile"
	"github.com/klauspost/compress/zlib"
	"golang.org/x/sys/unix"
)

// Database is a repository's objects, for many reads: its packs are mapped into memory. go-git takes several times as
// long for each object, and makes an index of every pack in the other direction first. What is too new, or damaged, is
// not found here, and go-git reads it or says what is wrong.
type Database struct {
	format *Format
	list   []mappedPack
	loose  []string // folders of objects
}

type mappedPack struct {
	index, data []byte
	count       int // of objects
}

// headSize is that of a pack index's head: its magic number, its version and the numbers of objects by first byte.
const headSize = 8 + 4*256

// OpenDatabase opens folders of objects: a repository's own and its alternates.
func OpenDatabase(f *Format, dirs ...string) *Database {
	p := &Database{format: f, loose: dirs}
	for _, objects := range dirs {
		names, _ := filepath.Glob(filepath.Join(objects, "pack", "*.idx"))
		for _, name := range names {
			m := mappedPack{index: mapped(name)}
			if len(m.index) > headSize && bytes.HasPrefix(m.index, []byte("\xfftOc\x00\x00\x00\x02")) {
				m.count = int(binary.BigEndian.Uint32(m.index[headSize-4:]))
			}
			if m.count > 0 && len(m.index) >= headSize+m.count*(p.format.Size+8)+2*p.format.Size {
				m.data = mapped(strings.TrimSuffix(name, ".idx") + ".pack")
			}
			if len(m.data) <= 12+p.format.Size {
				m.unmap()
				continue
			}
			m.data = m.data[:len(m.data)-p.format.Size]
			p.list = append(p.list, m)
		}
	}
	runtime.AddCleanup(p, func(list []mappedPack) {
		for _, m := range list {
			m.unmap()
		}
	}, p.list)
	return p
}

// mapped maps a file; nil where that fails.
func mapped(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 || int64(int(info.Size())) != info.Size() {
		return nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

func (m mappedPack) unmap() {
	for _, b := range [][]byte{m.index, m.data[:cap(m.data)]} {
		if b != nil {
			_ = unix.Munmap(b)
		}
	}
}

// find returns where an object begins in the pack.
func (m *mappedPack) find(f *Format, d Digest) (offset uint64, ok bool) {
	be, size := binary.BigEndian, f.Size
	below := func(first int) int { return int(be.Uint32(m.index[8+4*first:])) }
	from, to := 0, below(int(d[0]))
	if d[0] > 0 {
		from = below(int(d[0]) - 1)
	}
	if from > to || to > m.count {
		return 0, false
	}
	names := m.index[headSize:]
	for from < to {
		i := (from + to) / 2
		switch c := bytes.Compare(names[i*size:][:size], d[:size]); {
		case c < 0:
			from = i + 1
		case c > 0:
			to = i
		default:
			at := uint64(be.Uint32(m.index[headSize+m.count*(size+4)+4*i:]))
			if at < 1<<31 {
				return at, true
			}
			large := m.index[headSize+m.count*(size+8):]
			if i := int(at & (1<<31 - 1)); 8*i+8 <= len(large) {
				return be.Uint64(large[8*i:]), true
			}
			return 0, false
		}
	}
	return 0, false
}

// Reader reads objects for one goroutine.
type Reader struct {
	db    *Database
	in    bytes.Reader
	zr    io.ReadCloser
	buf   []byte
	bases map[basis][]byte // what deltas were applied to lately
	held  int              // bytes of them
}

type basis struct {
	pack   int
	offset uint64
}

// basesMax bounds the bases that a reader holds.
const basesMax = 8 << 20

// NewReader makes a reader.
func (p *Database) NewReader() *Reader {
	return &Reader{db: p, bases: map[basis][]byte{}}
}

var packNumbers = [...]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}

// Get returns an object; ok is false if it is not found whole, of that kind. The bytes are valid until the next call.
func (r *Reader) Get(kind string, d Digest) (data []byte, ok bool) {
	defer runtime.KeepAlive(r.db) // while its memory is mapped
	for i := range r.db.list {
		if offset, found := r.db.list[i].find(r.db.format, d); found {
			number, data, err := r.object(basis{i, offset}, &r.buf, 0)
			return data, err == nil && packNumbers[number] == kind
		}
	}
	x := hex.EncodeToString(d[:r.db.format.Size])
	for _, dir := range r.db.loose {
		if file, err := os.ReadFile(filepath.Join(dir, x[:2], x[2:])); err == nil {
			return r.looseObject(kind, file)
		}
	}
	return nil, false
}

// looseObject reads the file of one object: its kind, size and content, compressed together.
func (r *Reader) looseObject(kind string, file []byte) (data []byte, ok bool) {
	if r.begin(file) != nil {
		return nil, false
	}
	var start [32]byte
	n, err := io.ReadFull(r.zr, start[:])
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, false
	}
	head, rest, _ := bytes.Cut(start[:n], []byte{0})
	name, digits, _ := bytes.Cut(head, []byte{' '})
	size, err := strconv.ParseUint(string(digits), 10, 31)
	if err != nil || string(name) != kind || uint64(len(rest)) > size {
		return nil, false
	}
	data, err = r.finish(rest, size, &r.buf)
	return data, err == nil
}

var errPack = errors.New("a damaged pack")

// object reads an object at its place. into is memory that may be used for it; nil: it is kept.
func (r *Reader) object(at basis, into *[]byte, depth int) (number byte, data []byte, err error) {
	b := r.db.list[at.pack].data
	if at.offset < 12 || at.offset >= uint64(len(b)) || depth > 4096 {
		return 0, nil, errPack
	}
	b = b[at.offset:]
	number = b[0] >> 4 & 7
	size, shift, n := uint64(b[0]&15), 4, 1
	for b[n-1]&0x80 != 0 {
		if n == len(b) || shift > 56 {
			return 0, nil, errPack
		}
		size |= uint64(b[n]&0x7f) << shift
		shift += 7
		n++
	}
	b = b[n:]
	under := at
	switch number {
	case 1, 2, 3, 4:
		data, err = r.inflate(b, size, into)
		return number, data, err
	case 6:
		var back uint64
		for i := 0; ; i++ {
			if i == len(b) || i > 8 {
				return 0, nil, errPack
			}
			back = back<<7 | uint64(b[i]&0x7f)
			if b[i]&0x80 == 0 {
				b = b[i+1:]
				break
			}
			back++
		}
		if back == 0 || back > at.offset {
			return 0, nil, errPack
		}
		under.offset -= back
	case 7:
		if len(b) < r.db.format.Size {
			return 0, nil, errPack
		}
		var found bool
		under.offset, found = r.db.list[at.pack].find(r.db.format, RawDigest(b[:r.db.format.Size]))
		if b = b[r.db.format.Size:]; !found {
			return 0, nil, errPack
		}
	default:
		return 0, nil, errPack
	}
	number, base, err := r.base(under, depth)
	if err != nil {
		return 0, nil, err
	}
	var delta []byte
	if delta, err = r.inflate(b, size, nil); err == nil {
		data, err = packfile.PatchDelta(base, delta)
	}
	return number, data, err
}

// base is an object that a delta is applied to.
func (r *Reader) base(at basis, depth int) (number byte, data []byte, err error) {
	if data, ok := r.bases[at]; ok {
		return data[0], data[1:], nil
	}
	number, data, err = r.object(at, nil, depth+1)
	if err == nil && len(data) <= basesMax/4 {
		if r.held += len(data); r.held > basesMax {
			clear(r.bases)
			r.held = len(data)
		}
		kept := append([]byte{number}, data...)
		r.bases[at], data = kept, kept[1:]
	}
	return number, data, err
}

// inflate reads compressed content of a known size.
func (r *Reader) inflate(b []byte, size uint64, into *[]byte) ([]byte, error) {
	if size >= 1<<31 {
		return nil, errPack
	}
	if err := r.begin(b); err != nil {
		return nil, err
	}
	return r.finish(nil, size, into)
}

func (r *Reader) begin(b []byte) (err error) {
	r.in.Reset(b)
	if r.zr == nil {
		r.zr, err = zlib.NewReader(&r.in)
		return err
	}
	return r.zr.(zlib.Resetter).Reset(&r.in, nil)
}

// finish reads the rest of size bytes after their start, and nothing may follow.
func (r *Reader) finish(start []byte, size uint64, into *[]byte) (data []byte, err error) {
	if size > uint64(r.in.Size())*1100 { // deflate makes at most 1,032 bytes of one
		return nil, errPack
	}
	if into == nil {
		data = make([]byte, size, size+1)
	} else {
		*into = slices.Grow((*into)[:0], int(size)+1)
		data = (*into)[:size]
	}
	if _, err := io.ReadFull(r.zr, data[copy(data, start):]); err != nil {
		return nil, err
	}
	if n, err := r.zr.Read(data[size : size+1]); n > 0 || err != io.EOF { // the checksum is looked at, too
		return nil, errPack
	}
	return data, nil
}
