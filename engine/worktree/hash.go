package worktree

import (
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
)

// digest is an object's name in bytes; SHA-1 fills the first 20. The zero digest is none.
type digest [32]byte

// format is the object format of a repository.
type format struct {
	name   string // as extensions.objectFormat spells it
	size   int
	new    func() hash.Hash
	crypto crypto.Hash
}

var (
	formatSHA1   = &format{"sha1", sha1.Size, sha1.New, crypto.SHA1}
	formatSHA256 = &format{"sha256", sha256.Size, sha256.New, crypto.SHA256}
)

// rawDigest is a digest from its bytes.
func rawDigest(b []byte) (d digest) {
	copy(d[:], b)
	return d
}

func (d digest) zero() bool { return d == digest{} }

func (f *format) raw(d *digest) []byte { return d[:f.size] }

func (f *format) oid(d digest) OID {
	if d.zero() {
		return ""
	}
	return OID(hex.EncodeToString(d[:f.size]))
}

// parse reads a hexadecimal name; ok is false when it is not one of this format.
func (f *format) parse(o OID) (d digest, ok bool) {
	if len(o) != 2*f.size {
		return d, false
	}
	if _, err := hex.Decode(d[:f.size], []byte(o)); err != nil {
		return digest{}, false
	}
	return d, true
}

// header is what Git hashes and stores before an object's content.
func header(kind string, size int64) []byte {
	b := make([]byte, 0, 32)
	b = append(b, kind...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	return append(b, 0)
}

// sum names an object.
func (f *format) sum(kind string, data []byte) digest {
	h := f.new()
	h.Write(header(kind, int64(len(data))))
	h.Write(data)
	var d digest
	h.Sum(d[:0])
	return d
}
