package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"markmill/notebooks/forms"
	"markmill/runs/sshsig"
)

// Namespaces of SSH signatures (ssh-keygen -n). A signature counts only in the namespace that it was made for.
const (
	RecordNamespace = "markmill-record" // of SHA256SUMS
	OutputNamespace = "markmill-output" // of the manifest of an output notebook
)

// SignedBy says who signed something.
type SignedBy struct {
	Key        string `json:"key"`                 // fingerprint of the key
	Principals string `json:"principals,omitzero"` // of its line in allowed_signers
	// Refused says why the key does not count: no line of allowed_signers allows it, or not for this namespace or time.
	Refused string `json:"refused,omitzero"`
}

// Counts reports whether the key counts.
func (s *SignedBy) Counts() bool { return s != nil && s.Refused == "" }

// Words describes the signature in a few words.
func (s *SignedBy) Words() string {
	if s.Counts() {
		return fmt.Sprintf("signed by %s with %s", s.Principals, s.Key)
	}
	return fmt.Sprintf("signed with %s, which does not count: %s", s.Key, s.Refused)
}

// CheckSignature says whose signature of data it is. It returns an error if it is no signature of data. allowed may be
// nil: then no key counts.
func CheckSignature(
	armored []byte, namespace string, data []byte, allowed *sshsig.AllowedSigners, now time.Time,
) (*SignedBy, error) {
	sig, err := sshsig.Check(armored, namespace, data)
	if err != nil {
		return nil, err
	}
	return signedBy(sig, namespace, allowed, now), nil
}

// signedBy says whose signature it is, and whether the key counts at all of the times.
func signedBy(sig *sshsig.Signature, namespace string, allowed *sshsig.AllowedSigners, at ...time.Time) *SignedBy {
	by := &SignedBy{Key: sig.Fingerprint()}
	if allowed == nil {
		by.Refused = "no allowed_signers file is configured"
		return by
	}
	var err error
	if by.Principals, err = allowed.Find(sig.Key, namespace, at...); err != nil {
		by.Refused = err.Error()
	}
	return by
}

// SignedOutput says who signed the manifest of an output notebook; nil without a signature. It returns an error if the
// signature is not of this manifest.
func SignedOutput(name string, text []byte, signers Signers) (*SignedBy, error) {
	m, err := forms.Manifest(name, text)
	if err != nil || m == nil || m.Signature == "" {
		return nil, err
	}
	data, err := m.SigningBytes()
	if err != nil {
		return nil, err
	}
	return CheckSignature([]byte(m.Signature), OutputNamespace, data, signers.Allowed, signers.Now)
}

// sumsSignature checks SHA256SUMS.sig, if there is one.
func (c *check) sumsSignature(allowed *sshsig.AllowedSigners, now time.Time) {
	armored, err := c.record.ReadFile(SumsSignatureFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var sums []byte
	if err == nil {
		sums, err = c.record.ReadFile(SumsFile)
	}
	if err != nil {
		c.v.find(SumsSignatureFile, "cannot be read: %s", cause(err))
		return
	}
	if c.v.Signed, err = CheckSignature(armored, RecordNamespace, sums, allowed, now); err != nil {
		c.v.find(SumsSignatureFile, "is no signature of %s: %s", SumsFile, err)
	}
}
