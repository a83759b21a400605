package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
)

const digestPrefix = "sha256:"

// DigestOf returns the digest of bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return makeDigest(sum[:])
}

func makeDigest(sum []byte) Digest {
	var text [len(digestPrefix) + 2*sha256.Size]byte
	copy(text[:], digestPrefix)
	hex.Encode(text[len(digestPrefix):], sum)
	return Digest(text[:])
}

// Hex returns the digest without its prefix.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Valid reports whether d is well-formed.
func (d Digest) Valid() bool {
	text, found := strings.CutPrefix(string(d), digestPrefix)
	if !found || len(text) != 2*sha256.Size || text != strings.ToLower(text) {
		return false
	}
	_, err := hex.DecodeString(text)
	return err == nil
}

// Hasher digests a stream as it is written.
type Hasher struct {
	hash  hash.Hash
	bytes int64
}

// NewHasher returns a new Hasher.
func NewHasher() *Hasher { return &Hasher{hash: sha256.New()} }

// Write never fails.
func (h *Hasher) Write(b []byte) (int, error) {
	h.bytes += int64(len(b))
	return h.hash.Write(b)
}

// Digest returns the digest of what was written so far.
func (h *Hasher) Digest() Digest { return makeDigest(h.hash.Sum(nil)) }

// Bytes returns how many bytes were written so far.
func (h *Hasher) Bytes() int64 { return h.bytes }
