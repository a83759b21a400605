package worktree

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
)

// packed is where an object stands in a pack.
type packed struct {
	oid    digest
	crc    uint32
	offset uint64
}

// writePack writes objects as one pack, whole and without deltas. each gets where an object stands; it may be nil.
func writePack(to io.Writer, f *format, list []digest, get func(digest) (kind string, data []byte, err error), each func(packed)) error {
	sum := f.new()
	w := &countingWriter{w: io.MultiWriter(to, sum)}
	head := append([]byte("PACK"), 0, 0, 0, 2)
	w.Write(binary.BigEndian.AppendUint32(head, uint32(len(list))))
	zw, err := zlib.NewWriterLevel(w, zlib.BestSpeed)
	if err != nil {
		return err
	}
	for _, d := range list {
		kind, data, err := get(d)
		if err != nil {
			return err
		}
		p := packed{oid: d, offset: w.n}
		w.crc = 0
		w.Write(entryHead(kind, uint64(len(data))))
		zw.Reset(w)
		zw.Write(data) // an error of the writer stays in w
		zw.Close()
		p.crc = w.crc
		if each != nil {
			each(p)
		}
		if w.err != nil {
			return w.err
		}
	}
	w.Write(sum.Sum(nil))
	return w.err
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

// readEntryHead reads what entryHead writes.
func readEntryHead(r io.ByteReader) (kind string, size int64, err error) {
	c, err := r.ReadByte()
	if err != nil {
		return "", 0, err
	}
	switch c >> 4 & 7 {
	case 1:
		kind = "commit"
	case 2:
		kind = "tree"
	case 3:
		kind = "blob"
	default:
		return "", 0, errors.New("an object of another kind than commit, tree and blob")
	}
	size = int64(c & 15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = r.ReadByte(); err != nil {
			return "", 0, err
		}
		if shift > 50 {
			return "", 0, errors.New("an object of an impossible size")
		}
		size |= int64(c&0x7f) << shift
	}
	return kind, size, nil
}

// packIndex is the content of a pack's index (version 2).
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
