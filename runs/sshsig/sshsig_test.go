package sshsig

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

const begin = "-----BEGIN SSH SIGNATURE-----\n"

const namespace = "markmill-approval"

// keys returns one key of each common kind.
func keys(t testing.TB) map[string]crypto.Signer {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]crypto.Signer{"ed25519": ed, "ecdsa": ec, "rsa": rs}
}

func signerOf(t testing.TB, key crypto.Signer) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func allowed(key ssh.PublicKey) string {
	return strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(key)), "\n")
}

func TestSignAndVerify(t *testing.T) {
	data := []byte("approve this\n")
	for name, key := range keys(t) {
		signer := signerOf(t, key)
		armored, err := Sign(signer, namespace, data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := Parse(armored)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Verify(namespace, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Verify(namespace, append(data, '!')) == nil {
			t.Errorf("%s: other bytes verify", name)
		}
		if s.Verify("git", data) == nil {
			t.Errorf("%s: another namespace verifies", name)
		}
		if s.Fingerprint() != ssh.FingerprintSHA256(signer.PublicKey()) {
			t.Errorf("%s: the fingerprint is %s", name, s.Fingerprint())
		}
	}
}

// A change to any byte of the signature is detected.
func TestEveryByteCounts(t *testing.T) {
	data := []byte("approve this\n")
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	armored, err := Sign(signerOf(t, key), namespace, data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(armored)
	if err != nil {
		t.Fatal(err)
	}
	fingerprint := s.Fingerprint()
	block, _ := pem.Decode(armored)
	for i := range block.Bytes {
		changed := bytes.Clone(block.Bytes)
		changed[i] ^= 1
		s, err := Parse(pem.EncodeToMemory(&pem.Block{Type: sshsig.PEMType, Bytes: changed}))
		if err == nil && s.Verify(namespace, data) == nil && s.Fingerprint() == fingerprint {
			t.Errorf("byte %d can be changed", i)
		}
	}
	for _, bad := range []string{"", begin, "words\n" + string(armored), string(armored[:len(armored)/2]),
		string(armored) + "more",
		strings.Replace(string(armored), "U1NI", "!!!!", 1)} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a signature", bad)
		}
	}
}

// A SHA-1 signature by an allowed RSA key must be rejected: x/crypto would verify it.
func TestNoSHA1(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer := signerOf(t, key)
	sig, err := signer.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, []byte("x"), ssh.KeyAlgoRSA)
	if err != nil {
		t.Fatal(err)
	}
	sha1 := sshsig.Armor(&sshsig.Signature{Version: 1, PublicKey: signer.PublicKey(), Namespace: namespace,
		HashAlgorithm: sshsig.HashSHA512, Signature: sig})
	if _, err := Parse(sha1); err == nil || !strings.Contains(err.Error(), "ssh-rsa") {
		t.Errorf("got %v", err)
	}
}

func TestAllowedSigners(t *testing.T) {
	_, one, _ := ed25519.GenerateKey(rand.Reader)
	_, two, _ := ed25519.GenerateKey(rand.Reader)
	key, other := signerOf(t, one).PublicKey(), signerOf(t, two).PublicKey()
	k := allowed(key)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	east := time.FixedZone("east", 2*3600)
	for _, c := range []struct{ text, who, why string }{
		{"# people\n\nalice@example.org " + k + " her key\n", "alice@example.org", ""},
		{"  alice,bob " + k, "alice,bob", ""},
		{`"a b" ` + k, "a b", ""},
		{"alice " + allowed(other), "", "not among"},
		{"", "", "not among"},
		{`alice namespaces="git,markmill-*" ` + k, "alice", ""},
		{`alice namespaces="git,!markmill-approval,markmill-*" ` + k, "", "is not valid for"},
		{`alice NameSpaces="git" ` + k, "", "is not valid for"},
		{`alice namespaces="git" ` + k + "\nbob " + k, "bob", ""},
		{"alice cert-authority " + k, "", "certificate authority"},
		{`alice valid-after="20261121120000Z" ` + k, "alice", ""},
		{`alice valid-after="20261121120001Z" ` + k, "", "not valid yet"},
		{`alice valid-before="20261121120000Z" ` + k, "alice", ""},
		{`alice valid-before="20261121115959Z" ` + k, "", "no longer valid"},
		{`alice valid-before="202611211359" ` + k, "", "no longer valid"}, // 11:59 UTC
		{`alice valid-before="202611211401" ` + k, "alice", ""},
		{`alice valid-after="20261101",valid-before="20261201",namespaces="*" ` + k, "alice", ""},
		{`alice valid-after="20261201",valid-before="20261101" ` + k, "", "line 1: valid-before"},
		{`alice valid-after="soon" ` + k, "", "line 1: valid-after"},
		{`alice valid-after="20261321" ` + k, "", "line 1: valid-after"},
		{`alice verify-required ` + k, "", `line 1: unknown option "verify-required"`},
		{`alice namespaces="a",namespaces="markmill-approval" ` + k, "", "given twice"},
		{`alice namespaces="markmill-approval ` + k, "", "line 1"},
		{"alice ssh-rsa " + strings.Fields(k)[1], "", "line 1"},
		{k, "", "not among"},
	} {
		who, err := ParseAllowedSigners([]byte(c.text), east).Find(key, namespace, noon)
		if c.why == "" && (err != nil || who != c.who) || c.why != "" &&
			(err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%q: %q, %v", c.text, who, err)
		}
	}
	if _, err := ParseAllowedSigners([]byte(`a valid-before="20261121120000Z" `+k), east).Find(key, namespace, noon,
		noon.Add(time.Second)); err == nil {
		t.Error("a key counts at a time after its end")
	}
}

func TestMatchList(t *testing.T) {
	for _, c := range []struct {
		patterns, word string
		want           bool
	}{
		{"alice@example.org", "alice@example.org", true}, {"alice@example.org", "bob@example.org", false},
		{"*@example.org", "bob@example.org", true}, {"*@example.org,!bob@*", "bob@example.org", false},
		{"!bob", "alice", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*a*b*", "xxaxxbxx", true}, {"*", "", true}, {"", "", true},
		{"", "a", false},
		{"**a", "aaaa", true}, {"a*", "b", false},
	} {
		if got := MatchList(c.patterns, c.word); got != c.want {
			t.Errorf("%q, %q: %v", c.patterns, c.word, got)
		}
	}
}

// TestWithSSHKeygen checks signing and verification against ssh-keygen.
func TestWithSSHKeygen(t *testing.T) {
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("no ssh-keygen on this machine")
	}
	data := []byte("approve this\n")
	now := time.Now()
	for name, key := range keys(t) {
		dir := t.TempDir()
		file := func(name string, text []byte) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		keygen := func(in []byte, args ...string) ([]byte, error) {
			c := exec.Command(program, args...)
			c.Stdin = bytes.NewReader(in)
			c.Env = append(os.Environ(), "TZ=UTC")
			return c.CombinedOutput()
		}
		signer := signerOf(t, key)
		block, err := ssh.MarshalPrivateKey(key, "")
		if err != nil {
			t.Fatal(err)
		}
		private := file("key", pem.EncodeToMemory(block))
		armored, err := Sign(signer, namespace, data)
		if err != nil {
			t.Fatal(err)
		}
		ours := file("ours.sig", armored)
		theirs, err := keygen(data, "-Y", "sign", "-q", "-f", private, "-n", namespace)
		if err != nil {
			t.Fatalf("%s: %s", name, theirs)
		}
		s, err := Parse(theirs)
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, theirs)
		}
		if err := s.Verify(namespace, data); err != nil {
			t.Errorf("%s: what ssh-keygen signed: %v", name, err)
		}
		// Both interpret the same lines alike.
		for i, options := range []string{"", `namespaces="markmill-approval"`, `namespaces="git"`,
			`namespaces="mark*,!markmill-approval"`,
			`valid-after="20200101Z"`, `valid-after="29990101Z"`, `valid-before="20200101Z"`,
			`valid-before="29990101Z"`, "cert-authority", "nonsense",
			`valid-after="20200101Z",valid-before="29990101120000Z",namespaces="*"`,
			`valid-after="29990101Z",valid-before="20200101Z"`,
			`namespaces="git",namespaces="*"`, `valid-after="tomorrow"`} {
			line := strings.Join(strings.Fields("alice "+options+" "+allowed(signer.PublicKey())), " ") + "\n"
			signers := file(fmt.Sprintf("signers%d", i), []byte(line))
			out, err := keygen(data, "-Y", "verify", "-f", signers, "-I", "alice", "-n", namespace, "-s", ours)
			_, mine := ParseAllowedSigners([]byte(line), time.UTC).Find(s.Key, namespace, now)
			if (err == nil) != (mine == nil) {
				t.Errorf("%s: %q: ssh-keygen says %v %s and this package %v", name, options, err, out, mine)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		f.Fatal(err)
	}
	armored, err := Sign(signer, namespace, []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(armored)
	f.Add([]byte(begin + "-----END SSH SIGNATURE-----"))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := Parse(in)
		if err == nil && s.Verify(namespace, []byte("y")) == nil {
			t.Fatal("a signature of x is one of y")
		}
	})
}

func FuzzAllowedSigners(f *testing.F) {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		f.Fatal(err)
	}
	public := signer.PublicKey()
	f.Add([]byte(`a namespaces="x\"y",valid-after="20260101" ` + allowed(public)))
	f.Add([]byte(`"a b" cert-authority `))
	f.Fuzz(func(t *testing.T, in []byte) {
		who, err := ParseAllowedSigners(in, time.UTC).Find(public, namespace, time.Now())
		if err == nil && !bytes.Contains(in, []byte(strings.Fields(allowed(public))[1])) {
			t.Fatalf("%q counts without its key in the file", who)
		}
	})
}
