package object

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v6/plumbing"
	"github.com/go-git/go-git/v6/plumbing/format/idxfile"
	"github.com/go-git/go-git/v6/plumbing/format/packfile"
	"github.com/go-git/go-git/v6/plumbing/hash"
)

// packKinds are the types of the objects that a run makes, as a pack numbers them.
var packKinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

// Opener opens an object to read its content.
type Opener func(Digest) (kind string, size int64, content io.ReadCloser, err error)

// InMemory is the Opener of objects that are got whole.
func InMemory(get func(Digest) (kind string, data []byte, err error)) Opener {
	return func(d Digest) (string, int64, io.ReadCloser, error) {
		kind, data, err := get(d)
		return kind, int64(len(data)), io.NopCloser(bytes.NewReader(data)), err
	}
}

// WritePack writes objects as one pack, whole and without deltas. go-git's encoder would first collect the content of
// all objects in memory.
func WritePack(to io.Writer, f *Format, list []Digest, open Opener) error {
	sum := f.New()
	w := io.MultiWriter(to, sum)
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(list)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	zw, err := zlib.NewWriterLevel(w, zlib.BestSpeed)
	if err != nil {
		return err
	}
	for _, d := range list {
		kind, size, content, err := open(d)
		if err != nil {
			return err
		}
		if _, err = w.Write(entryHead(kind, uint64(size))); err == nil {
			zw.Reset(w)
			_, err = io.Copy(zw, content)
		}
		if err = errors.Join(err, content.Close()); err != nil {
			return err
		}
		if err := zw.Close(); err != nil {
			return err
		}
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

// entryHead is the type and size before an object's deflated content.
func entryHead(kind string, size uint64) []byte {
	b := []byte{packKinds[kind]<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		b[len(b)-1] |= 0x80
		b = append(b, byte(size&0x7f))
	}
	return b
}

// scanPack reads a pack through to its end, verifies its checksum, and returns that. It refuses deltas and tags, which
// writePack does not write.
func scanPack(r io.ReadSeeker, f *Format, each func(packfile.ObjectHeader)) (sum plumbing.Hash, err error) {
	var opts []packfile.ScannerOption
	if f == SHA256 {
		opts = append(opts, packfile.WithSHA256())
	}
	s := packfile.NewScanner(r, opts...)
	for s.Scan() {
		switch v := s.Data().Value().(type) {
		case packfile.ObjectHeader:
			if packKinds[v.Type.String()] == 0 {
				return sum, fmt.Errorf("its pack holds an object of the kind %s", v.Type)
			}
			each(v)
		case plumbing.Hash:
			sum = v
		}
	}
	if err := s.Error(); err != nil {
		return sum, err
	}
	end, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return sum, err
	}
	if size, err := r.Seek(0, io.SeekEnd); err != nil || size != end {
		return sum, errors.Join(err, errors.New("something follows its pack"))
	}
	return sum, nil
}

// IndexPack returns the index of a pack, and the checksum that names both.
func IndexPack(r io.ReadSeeker, f *Format) (data []byte, name Digest, err error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, name, err
	}
	var w idxfile.Writer
	sum, err := scanPack(r, f, func(o packfile.ObjectHeader) { w.Add(o.Hash, uint64(o.Offset), o.Crc32) })
	if err != nil {
		return nil, name, err
	}
	if err := w.OnFooter(sum); err != nil {
		return nil, name, err
	}
	index, err := w.Index()
	if err != nil {
		return nil, name, err
	}
	var out bytes.Buffer
	err = idxfile.Encode(&out, hash.New(f.Crypto), index)
	return out.Bytes(), RawDigest(sum.Bytes()), err
}
