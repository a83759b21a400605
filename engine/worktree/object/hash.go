package object

import (
	"context"
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strconv"

	"markmill/engine/worktree/disk"
)

// OID names a Git object in hexadecimal: 40 digits for SHA-1, 64 for SHA-256; "" is none.
type OID string

// Digest is an object's name in bytes; SHA-1 fills the first 20. The zero digest is none.
type Digest [32]byte

// Format is the object format of a repository.
type Format struct {
	Name   string // as extensions.objectFormat spells it
	Size   int
	New    func() hash.Hash
	Crypto crypto.Hash
}

var (
	SHA1   = &Format{"sha1", sha1.Size, sha1.New, crypto.SHA1}
	SHA256 = &Format{"sha256", sha256.Size, sha256.New, crypto.SHA256}
)

// RawDigest is a digest from its bytes.
func RawDigest(b []byte) (d Digest) {
	copy(d[:], b)
	return d
}

func (d Digest) IsZero() bool { return d == Digest{} }

func (f *Format) OID(d Digest) OID {
	if d.IsZero() {
		return ""
	}
	return OID(hex.EncodeToString(d[:f.Size]))
}

// Parse reads a hexadecimal name; ok is false when it is not one of this format.
func (f *Format) Parse(o OID) (d Digest, ok bool) {
	if len(o) != 2*f.Size {
		return d, false
	}
	if _, err := hex.Decode(d[:f.Size], []byte(o)); err != nil {
		return Digest{}, false
	}
	return d, true
}

// Header is what Git hashes and stores before an object's content.
func Header(kind string, size int64) []byte {
	b := make([]byte, 0, 32)
	b = append(b, kind...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	return append(b, 0)
}

// Until reads until a context ends, and then returns why it ended.
func Until(ctx context.Context, r io.Reader) io.Reader { return until{ctx, r} }

type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// SumStream names a blob of a known size, and copies its content. Content of another size is disk.ErrChanged.
func (f *Format) SumStream(r io.Reader, size int64, to io.Writer) (d Digest, err error) {
	h := f.New()
	h.Write(Header("blob", size))
	n, err := io.Copy(io.MultiWriter(h, to), io.LimitReader(r, size+1))
	if err == nil && n != size {
		err = disk.ErrChanged
	}
	h.Sum(d[:0])
	return d, err
}

// Sum names an object.
func (f *Format) Sum(kind string, data []byte) Digest {
	h := f.New()
	h.Write(Header(kind, int64(len(data))))
	h.Write(data)
	var d Digest
	h.Sum(d[:0])
	return d
}
