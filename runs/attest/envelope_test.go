package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"testing"

	"markmill/notebooks/codec"
)

// The example of the DSSE specification, version 1.0.
func TestPreAuthenticationEncoding(t *testing.T) {
	const want = "DSSEv1 29 http://example.com/HelloWorld 11 hello world"
	if got := string(pae("http://example.com/HelloWorld", []byte("hello world"))); got != want {
		t.Errorf("%q", got)
	}
}

func TestVerify(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	other := ed25519.NewKeyFromSeed([]byte("another key of thirty-two bytes."))
	public := key.Public().(ed25519.PublicKey)
	payload := []byte(`{"_type":"https://in-toto.io/Statement/v1"}`)
	signed, err := Sign(payload, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Envelope)
		key    ed25519.PublicKey
		ok     bool
	}{
		"as signed": {func(*Envelope) {}, public, true},
		"URL-safe base64": {func(e *Envelope) { e.Payload = base64.URLEncoding.EncodeToString(payload) },
			public, true},
		"a second, foreign key's": {
			func(e *Envelope) { e.Signatures = append([]Signature{{Sig: "AAAA"}}, e.Signatures...) }, public, true},
		"another key": {func(*Envelope) {}, other.Public().(ed25519.PublicKey), false},
		"another payload": {func(e *Envelope) { e.Payload = base64.StdEncoding.EncodeToString([]byte("{}")) },
			public, false},
		"another type":              {func(e *Envelope) { e.PayloadType = "text/plain" }, public, false},
		"no signature":              {func(e *Envelope) { e.Signatures = nil }, public, false},
		"a payload that is no text": {func(e *Envelope) { e.Payload = "%" }, public, false},
	} {
		e := *signed
		e.Signatures = append([]Signature{}, signed.Signatures...)
		c.change(&e)
		b, err := codec.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(b, c.key); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Verify([]byte("not JSON"), public); err == nil {
		t.Error("what is no JSON passes")
	}
}
