package sshsig

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// algorithms lists the accepted signature algorithms. ssh-rsa is SHA-1, which PROTOCOL.sshsig forbids.
var algorithms = []string{
	ssh.KeyAlgoED25519, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384,
	ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
}

// Signature is a parsed signature. It proves nothing until Verify succeeds.
type Signature struct {
	Key ssh.PublicKey

	read *sshsig.Signature
}

// Sign signs data for a namespace and returns the armored signature.
func Sign(signer ssh.Signer, namespace string, data []byte) ([]byte, error) {
	s, err := sshsig.Sign(bytes.NewReader(data), signer, sshsig.HashSHA512, namespace)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(algorithms, s.Signature.Format) {
		return nil, fmt.Errorf("a key of the type %s cannot sign this", signer.PublicKey().Type())
	}
	return sshsig.Armor(s), nil
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

// Parse reads an armored signature, which must be all of the text.
func Parse(armored []byte) (*Signature, error) {
	block, rest := pem.Decode(armored)
	if block == nil || block.Type != sshsig.PEMType || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 ||
		!bytes.HasPrefix(armored, []byte("-----BEGIN ")) {
		return nil, errors.New("it is not an armored SSH signature")
	}
	s, err := sshsig.ParseSignature(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the signature cannot be read: %w", err)
	}
	if s.Namespace == "" {
		return nil, errors.New("the signature has no namespace")
	}
	if _, certificate := s.PublicKey.(*ssh.Certificate); certificate {
		return nil, errors.New("the signature is by a certificate, which is not supported: sign with the plain key")
	}
	if !slices.Contains(algorithms, s.Signature.Format) {
		return nil, fmt.Errorf("the signature's algorithm %q does not count", s.Signature.Format)
	}
	return &Signature{Key: s.PublicKey, read: s}, nil
}

// Verify returns an error unless the signature is of data, for namespace, by the key that it names.
func (s *Signature) Verify(namespace string, data []byte) error {
	if s.read.Namespace != namespace {
		return fmt.Errorf("the signature is for %q and not for %q", s.read.Namespace, namespace)
	}
	if sshsig.Verify(bytes.NewReader(data), s.read, s.Key, s.read.HashAlgorithm, namespace) != nil {
		return errors.New("the signature is not of these bytes")
	}
	return nil
}

// Fingerprint returns the fingerprint of the key as "ssh-keygen -l" prints it.
func (s *Signature) Fingerprint() string { return ssh.FingerprintSHA256(s.Key) }
