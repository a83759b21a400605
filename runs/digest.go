package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strings"
)

const digestPrefix = "sha256:"

// DigestOf digests bytes that are at hand.
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

// Hex is the digest without its prefix.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Valid says whether d is spelled as a digest is.
func (d Digest) Valid() bool {
	text, found := strings.CutPrefix(string(d), digestPrefix)
	if !found || len(text) != 2*sha256.Size || text != strings.ToLower(text) {
		return false
	}
	_, err := hex.DecodeString(text)
	return err == nil
}

// Hasher digests a stream of any length as it is written.
type Hasher struct {
	hash  hash.Hash
	bytes int64
}

// NewHasher returns a Hasher that nothing was written to.
func NewHasher() *Hasher { return &Hasher{hash: sha256.New()} }

// Write never fails.
func (h *Hasher) Write(b []byte) (int, error) {
	h.bytes += int64(len(b))
	return h.hash.Write(b)
}

// Digest is that of what was written so far.
func (h *Hasher) Digest() Digest { return makeDigest(h.hash.Sum(nil)) }

// Bytes counts what was written so far.
func (h *Hasher) Bytes() int64 { return h.bytes }

// digestOfReader reads r to its end.
func digestOfReader(r io.Reader) (Digest, int64, error) {
	h := NewHasher()
	_, err := io.Copy(h, r)
	return h.Digest(), h.bytes, err
}
