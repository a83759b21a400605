package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"

	"markmill/notebooks/codec"
)

// PayloadType is the type of an in-toto statement in an envelope.
const PayloadType = "application/vnd.in-toto+json"

// Envelope is a DSSE envelope (Dead Simple Signing Envelope, protocol 1.0).
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []Signature `json:"signatures"`
}

// Signature is one key's signature. KeyID is only a hint: here the key's fingerprint, as ssh-keygen -l shows it.
type Signature struct {
	KeyID string `json:"keyid,omitzero"`
	Sig   string `json:"sig"` // base64
}

// pae returns DSSE's pre-authentication encoding, the bytes that are signed. It binds the type to the payload.
func pae(payloadType string, payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// Sign puts a payload into an envelope.
func Sign(payload []byte, key ed25519.PrivateKey) (*Envelope, error) {
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	sig := ed25519.Sign(key, pae(PayloadType, payload))
	return &Envelope{PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString(payload),
			Signatures: []Signature{{KeyID: ssh.FingerprintSHA256(public),
				Sig: base64.StdEncoding.EncodeToString(sig)}}},
		nil
}

// errNoSignature means that no signature in an envelope is by the key.
var errNoSignature = errors.New("no signature in it is by this key over these bytes")

// Verify parses an envelope and returns its statement if one of its signatures is by the key.
func Verify(envelope []byte, key ed25519.PublicKey) (*Statement, error) {
	var e Envelope
	if err := codec.Unmarshal(envelope, &e); err != nil {
		return nil, fmt.Errorf("is no DSSE envelope: %w", err)
	}
	payload, err := decode(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("its payload is not base64: %w", err)
	}
	signed := false
	for _, s := range e.Signatures {
		if sig, err := decode(s.Sig); err == nil {
			signed = signed || ed25519.Verify(key, pae(e.PayloadType, payload), sig)
		}
	}
	if !signed {
		return nil, errNoSignature
	}
	if e.PayloadType != PayloadType {
		return nil, fmt.Errorf("it holds a %s, not a %s", e.PayloadType, PayloadType)
	}
	var s Statement
	if err := codec.Unmarshal(payload, &s); err != nil {
		return nil, fmt.Errorf("its payload is no statement: %w", err)
	}
	return &s, nil
}

// decode accepts standard and URL-safe base64, as DSSE requires.
func decode(text string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return base64.URLEncoding.DecodeString(text)
	}
	return b, nil
}
