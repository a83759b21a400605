package worktree

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

// packed is where an object stands in a pack.
type packed struct {
	oid    digest
	crc    uint32
	offset uint64
}

// writePack writes the run's objects as one pack, whole and without deltas, and gives its name and
// the content of its index (version 2).
func (s *store) writePack(f *os.File) (name digest, index []byte, err error) {
	sum := s.fmt.new()
	w := &countingWriter{w: io.MultiWriter(f, sum)}
	head := append([]byte("PACK"), 0, 0, 0, 2)
	w.Write(binary.BigEndian.AppendUint32(head, uint32(len(s.order))))
	var list []packed
	for _, d := range s.order {
		kind, data, _, err := s.read(d)
		if err != nil {
			return name, nil, err
		}
		p := packed{oid: d, offset: w.n}
		w.crc = 0
		w.Write(entryHead(kind, uint64(len(data))))
		zw, err := zlib.NewWriterLevel(w, zlib.BestSpeed)
		if err != nil {
			return name, nil, err
		}
		zw.Write(data) // an error of the file stays in w
		zw.Close()
		p.crc = w.crc
		list = append(list, p)
	}
	copy(name[:], sum.Sum(nil))
	w.Write(name[:s.fmt.size])
	return name, packIndex(s.fmt, list, name), w.err
}

// entryHead is the type and size before an object's deflated content.
func entryHead(kind string, size uint64) []byte {
	code := map[string]byte{"commit": 1, "tree": 2, "blob": 3}[kind]
	b := []byte{code<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		b[len(b)-1] |= 0x80
		b = append(b, byte(size&0x7f))
	}
	return b
}

func packIndex(f *format, list []packed, pack digest) []byte {
	slices.SortFunc(list, func(a, b packed) int { return bytes.Compare(a.oid[:], b.oid[:]) })
	be := binary.BigEndian
	out := []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}
	n := 0
	for first := range 256 {
		for n < len(list) && int(list[n].oid[0]) <= first {
			n++
		}
		out = be.AppendUint32(out, uint32(n))
	}
	for _, p := range list {
		out = append(out, p.oid[:f.size]...)
	}
	for _, p := range list {
		out = be.AppendUint32(out, p.crc)
	}
	var far []byte
	for _, p := range list {
		if p.offset < 1<<31 {
			out = be.AppendUint32(out, uint32(p.offset))
			continue
		}
		out = be.AppendUint32(out, 1<<31|uint32(len(far)/8))
		far = be.AppendUint64(far, p.offset)
	}
	out = append(out, far...)
	out = append(out, pack[:f.size]...)
	h := f.new()
	h.Write(out)
	return h.Sum(out)
}

// countingWriter knows its position, the checksum since crc was cleared, and its first error.
type countingWriter struct {
	w   io.Writer
	n   uint64
	crc uint32
	err error
}

func (c *countingWriter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.n += uint64(n)
	c.crc = crc32.Update(c.crc, crc32.IEEETable, p[:n])
	c.err = err
	return n, err
}
