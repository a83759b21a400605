package sshsig

import (
	"bytes"
	"crypto"
	"crypto/rand"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	magic   = "SSHSIG"
	version = 1
	begin   = "-----BEGIN SSH SIGNATURE-----"
	end     = "-----END SSH SIGNATURE-----"
	width   = 70 // of an armored line, as in ssh-keygen
	hash512 = "sha512"
	hash256 = "sha256"
)

// algorithms lists the accepted signature algorithms. ssh-rsa is SHA-1, which PROTOCOL.sshsig forbids.
var algorithms = []string{
	ssh.KeyAlgoED25519, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384,
	ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
}

// Signature is a parsed signature. It proves nothing until Verify succeeds.
type Signature struct {
	Key       ssh.PublicKey
	Namespace string

	hash      string
	signature ssh.Signature
}

// blob is the layout of a signature in PROTOCOL.sshsig, after the magic word.
type blob struct {
	Version   uint32
	PublicKey string
	Namespace string
	Reserved  string
	Hash      string
	Signature string
}

// signed is what the key signs, after the magic word.
type signed struct {
	Namespace string
	Reserved  string
	Hash      string
	Digest    string
}

// message returns the bytes that the key signs.
func message(namespace, hash string, data []byte) ([]byte, error) {
	algorithm, known := map[string]crypto.Hash{hash512: crypto.SHA512, hash256: crypto.SHA256}[hash]
	if !known {
		return nil, fmt.Errorf("the signature uses the unknown digest %q", hash)
	}
	digest := algorithm.New()
	digest.Write(data)
	text := ssh.Marshal(signed{Namespace: namespace, Hash: hash, Digest: string(digest.Sum(nil))})
	return append([]byte(magic), text...), nil
}

// Sign signs data for a namespace and returns the armored signature.
func Sign(signer ssh.Signer, namespace string, data []byte) ([]byte, error) {
	if namespace == "" {
		return nil, errors.New("a signature needs a namespace")
	}
	text, err := message(namespace, hash512, data)
	if err != nil {
		return nil, err
	}
	var sig *ssh.Signature
	if with, ok := signer.(ssh.AlgorithmSigner); ok && signer.PublicKey().Type() == ssh.KeyAlgoRSA {
		sig, err = with.SignWithAlgorithm(rand.Reader, text, ssh.KeyAlgoRSASHA512)
	} else {
		sig, err = signer.Sign(rand.Reader, text)
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains(algorithms, sig.Format) {
		return nil, fmt.Errorf("a key of the type %s cannot sign this", signer.PublicKey().Type())
	}
	raw := ssh.Marshal(blob{
		Version: version, PublicKey: string(signer.PublicKey().Marshal()),
		Namespace: namespace, Hash: hash512, Signature: string(ssh.Marshal(sig)),
	})
	return armor(append([]byte(magic), raw...)), nil
}

func armor(raw []byte) []byte {
	var b bytes.Buffer
	b.WriteString(begin + "\n")
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(raw)), width) {
		b.Write(append(line, '\n'))
	}
	b.WriteString(end + "\n")
	return b.Bytes()
}

// Check parses an armored signature and verifies it for data and namespace. It does not check whether the key is
// trusted: see AllowedSigners.
func Check(armored []byte, namespace string, data []byte) (*Signature, error) {
	s, err := Parse(armored)
	if err == nil {
		err = s.Verify(namespace, data)
	}
	return s, err
}

// Parse reads an armored signature.
func Parse(armored []byte) (*Signature, error) {
	text, found := strings.CutPrefix(strings.ReplaceAll(string(armored), "\r\n", "\n"), begin+"\n")
	body, rest, ended := strings.Cut(text, "\n"+end)
	if !found || !ended || strings.TrimSpace(rest) != "" {
		return nil, errors.New("it is not an armored SSH signature")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, "\n", ""))
	if err != nil {
		return nil, errors.New("the signature is not base64")
	}
	raw, found = bytes.CutPrefix(raw, []byte(magic))
	if !found {
		return nil, errors.New("the signature does not begin with SSHSIG")
	}
	var b blob
	if err := ssh.Unmarshal(raw, &b); err != nil {
		return nil, errors.New("the signature is truncated or has bytes left over")
	}
	if b.Version != version {
		return nil, fmt.Errorf("the signature has the version %d, and %d is known", b.Version, version)
	}
	if b.Namespace == "" {
		return nil, errors.New("the signature has no namespace")
	}
	s := &Signature{Namespace: b.Namespace, hash: b.Hash}
	if s.Key, err = ssh.ParsePublicKey([]byte(b.PublicKey)); err != nil {
		return nil, fmt.Errorf("the signature's key cannot be read: %w", err)
	}
	if _, certificate := s.Key.(*ssh.Certificate); certificate {
		return nil, errors.New("the signature is by a certificate, which is not supported: sign with the plain key")
	}
	if err := ssh.Unmarshal([]byte(b.Signature), &s.signature); err != nil {
		return nil, errors.New("the signature's last part cannot be read")
	}
	if !slices.Contains(algorithms, s.signature.Format) {
		return nil, fmt.Errorf("the signature's algorithm %q does not count", s.signature.Format)
	}
	return s, nil
}

// Verify returns an error unless the signature is of data, for namespace, by the key that it names.
func (s *Signature) Verify(namespace string, data []byte) error {
	if s.Namespace != namespace {
		return fmt.Errorf("the signature is for %q and not for %q", s.Namespace, namespace)
	}
	text, err := message(namespace, s.hash, data)
	if err != nil {
		return err
	}
	if err := s.Key.Verify(text, &s.signature); err != nil {
		return errors.New("the signature is not of these bytes")
	}
	return nil
}

// Fingerprint returns the fingerprint of the key as "ssh-keygen -l" prints it.
func (s *Signature) Fingerprint() string { return ssh.FingerprintSHA256(s.Key) }
