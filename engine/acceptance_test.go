package engine

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"markmill/runs"
	"markmill/runs/sshsig"
)

// aKey makes a key, the line of an allowed_signers file for it, and what signs decisions with it.
func aKey(t *testing.T) (line string, sign func([]byte) ([]byte, error)) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return "alice " + string(ssh.MarshalAuthorizedKey(signer.PublicKey())), func(b []byte) ([]byte, error) {
		return sshsig.Sign(signer, runs.DecisionNamespace, b)
	}
}

// TestAcceptance: the change of a run may be used when one whose key counts has accepted this very record.
func TestAcceptance(t *testing.T) {
	allowed, alice := aKey(t)
	_, mallory := aKey(t)
	l := newLab(t)
	l.repository(map[string]string{"signers": allowed, "a.txt": "old\n",
		ConfigFile: "policy: {acceptance: required, allowed_signers: signers}\n"})
	passed := l.run(l.request(step("#a", "write a.txt new")))
	failed := l.run(l.request(step("#a", "exit 1")))
	decide := func(r *Result, v Verdict) error {
		t.Helper()
		checked, err := runs.At(r.Dir).Verify(nil, runs.Signers{})
		if err != nil {
			t.Fatal(err)
		}
		checked.Findings = nil // the output notebook of these tests has no manifest
		_, err = l.Decide(checked, l.Source, v)
		return err
	}
	refuses := func(err error, words string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want: %s", err, words)
		}
	}
	usable := func(r *Result) error { return l.CheckAcceptance(l.Source, r.Run, runs.At(r.Dir)) }

	refuses(usable(passed), "was not accepted")
	refuses(decide(passed, Verdict{}), "an acceptance is signed")
	refuses(decide(passed, Verdict{Sign: mallory}), "would not count")
	refuses(decide(failed, Verdict{Sign: alice}), "did not pass")
	if list, err := runs.At(passed.Dir).Decisions(); len(list) > 0 || err != nil {
		t.Fatalf("what was refused is stored: %v, %v", list, err)
	}
	for _, r := range []*Result{passed, failed} {
		if err := decide(r, Verdict{Sign: alice, Force: true, Reason: "read"}); err != nil {
			t.Fatal(err)
		}
		if err := usable(r); err != nil {
			t.Error(err)
		}
	}
	commit, err := l.Branch(t.Context(), l.Source, passed.Run, runs.At(passed.Dir), "mine")
	if err != nil || l.git("rev-parse", "mine") != commit || l.git("show", "mine:a.txt") != "new" {
		t.Errorf("branch: %s, %v", commit, err)
	}
	if err := decide(passed, Verdict{Reject: true, Reason: "read again"}); err != nil {
		t.Fatal(err)
	}
	err = usable(passed)
	refuses(err, "read again")
	if no := (*NotAcceptedError)(nil); !errors.As(err, &no) || !no.Required {
		t.Errorf("%#v", err)
	}
	if err := runs.At(failed.Dir).Write(runs.TestLogFile, []byte("forged")); err != nil {
		t.Fatal(err)
	}
	refuses(usable(failed), "its record is another now")
	l.env["MARKMILL_RUN_ID"] = "x"
	refuses(decide(passed, Verdict{Sign: alice}), "accept or reject")
}
