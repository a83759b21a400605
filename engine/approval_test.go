package engine

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/sshsig"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// anApproval is an answer that was given some minutes after noon, and holds for an hour.
func anApproval(t *testing.T, id, answer string, terms runs.Terms, minutes int) runs.Answer {
	t.Helper()
	digest, err := terms.Digest()
	if err != nil {
		t.Fatal(err)
	}
	a := &runs.Approval{ID: id, Answer: answer, Contract: digest, Terms: terms, Run: "r", Actor: "alice",
		Time: noon.Add(time.Duration(minutes) * time.Minute)}
	if answer == runs.AnswerGranted {
		a.Expires = a.Time.Add(time.Hour)
	}
	text, err := codec.Indent(a)
	if err != nil {
		t.Fatal(err)
	}
	return runs.Answer{Approval: a, Text: text}
}

func TestDecide(t *testing.T) {
	terms := runs.Terms{ContractRules: runs.ContractRules{TaskID: "task", TargetRepository: "/r",
		MutationMode: "worktree"}}
	changed := terms
	changed.MutationMode, changed.Cwd = "in-place", "x"
	elsewhere := changed
	elsewhere.TargetRepository = "/other"
	contract, err := terms.Digest()
	if err != nil {
		t.Fatal(err)
	}
	yes := func(id string, terms runs.Terms, minutes int) runs.Answer {
		return anApproval(t, id, runs.AnswerGranted, terms, minutes)
	}
	no := func(id string, minutes int) runs.Answer { return anApproval(t, id, runs.AnswerDenied, terms, minutes) }
	used := func(a runs.Answer) runs.Answer { a.Used = true; return a }
	bob := runs.Person{User: "bob", Email: "bob@example.org"}
	for _, c := range []struct {
		name       string
		conditions Conditions
		requester  runs.Person
		answers    []runs.Answer
		after      int    // minutes after noon at which the run starts
		code       string // "" may run
		words      string // of the code; else the ids that may be used
	}{
		{"none", Conditions{}, bob, nil, 10, runs.CodeApprovalRequired, "an approval is required"},
		{"one", Conditions{}, bob, []runs.Answer{yes("a", terms, 0)}, 10, "", "a"},
		{"two, the older first", Conditions{}, bob, []runs.Answer{yes("b", terms, 5), yes("a", terms, 0)},
			10, "", "a b"},
		{"given at the very moment", Conditions{}, bob, []runs.Answer{yes("a", terms, 10)}, 10, "", "a"},
		{"given after the start", Conditions{}, bob, []runs.Answer{yes("a", terms, 11)}, 10, runs.CodeApprovalRequired,
			"after the run had started"},
		{"expired", Conditions{}, bob, []runs.Answer{yes("a", terms, 0)}, 60, runs.CodeApprovalExpired,
			"a expired 2026-11-21 13:00:00Z"},
		{"just not expired", Conditions{}, bob, []runs.Answer{yes("a", terms, 0)}, 59, "", "a"},
		{"expired by the policy", Conditions{expires: 5 * time.Minute}, bob, []runs.Answer{yes("a", terms, 0)}, 10,
			runs.CodeApprovalExpired, "12:05"},
		{"used", Conditions{}, bob, []runs.Answer{used(yes("a", terms, 0))}, 10, runs.CodeApprovalConsumed,
			"has used it"},
		{"used, and used up by time", Conditions{}, bob, []runs.Answer{used(yes("a", terms, 0))}, 90,
			runs.CodeApprovalConsumed, "has used it"},
		{"used, and another", Conditions{}, bob, []runs.Answer{used(yes("a", terms, 0)), yes("b", terms, 1)},
			10, "", "b"},
		{"denied", Conditions{}, bob, []runs.Answer{no("n", 0)}, 10, runs.CodeApprovalDenied, "alice denied it"},
		{"denied after it was granted", Conditions{}, bob, []runs.Answer{no("n", 2), yes("a", terms, 1)}, 10,
			runs.CodeApprovalDenied, "alice denied it"},
		{"granted after it was denied", Conditions{}, bob, []runs.Answer{yes("a", terms, 3), no("n", 2)}, 10, "", "a"},
		{"granted, denied, granted", Conditions{}, bob, []runs.Answer{yes("a", terms, 1), no("n", 2),
			yes("b", terms, 3)}, 10, "", "b"},
		{"of another contract", Conditions{}, bob, []runs.Answer{yes("a", changed, 0)}, 10, runs.CodeApprovalMismatch,
			"cwd, mutation_mode changed"},
		{"of another contract, and used", Conditions{}, bob, []runs.Answer{used(yes("a", changed, 0))}, 10,
			runs.CodeApprovalRequired, "required"},
		{"of another contract, and expired", Conditions{}, bob, []runs.Answer{yes("a", changed, 0)}, 90,
			runs.CodeApprovalRequired, "required"},
		{"of another repository", Conditions{}, bob, []runs.Answer{yes("a", elsewhere, 0)}, 10,
			runs.CodeApprovalRequired, "required"},
		{"another's denial of another contract", Conditions{}, bob,
			[]runs.Answer{anApproval(t, "n", runs.AnswerDenied, changed, 0)}, 10, runs.CodeApprovalRequired,
			"required"},
		{"by the requester", Conditions{byOther: true}, runs.Person{User: "alice"}, []runs.Answer{yes("a", terms, 0)},
			10, runs.CodeApprovalRequired, "the requester's own"},
		{"by another", Conditions{byOther: true}, bob, []runs.Answer{yes("a", terms, 0)}, 10, "", "a"},
		{"not signed", Conditions{signers: [][]byte{nil}}, bob, []runs.Answer{yes("a", terms, 0)}, 10,
			runs.CodeApprovalRequired, "it is not signed"},
		{"no file of signers", Conditions{missing: "gone"}, bob, []runs.Answer{yes("a", terms, 0)}, 10,
			runs.CodeApprovalRequired, "gone"},
	} {
		at := noon.Add(time.Duration(c.after) * time.Minute)
		d, err := c.conditions.decide(c.answers, contract, &terms, c.requester, at)
		if err != nil {
			t.Fatal(err)
		}
		said := d.words
		if c.code == "" {
			var ids []string
			for _, g := range d.usable {
				ids = append(ids, g.ID)
			}
			said = strings.Join(ids, " ")
		}
		if d.code != c.code || !strings.Contains(said, c.words) || c.code == "" && said != c.words {
			t.Errorf("%s: %q %q, want %q %q", c.name, d.code, said, c.code, c.words)
		}
		if c.code != "" && len(d.usable) > 0 {
			t.Errorf("%s: it may run all the same", c.name)
		}
	}
}

func TestSignedApprovals(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	line := func(principals, options string) []byte {
		return []byte(fmt.Sprintf("%s %s%s\n", principals, options, public))
	}
	sign := func(namespace string, a runs.Answer) runs.Answer {
		a.Signature, err = sshsig.Sign(signer, namespace, a.Text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	plain := anApproval(t, "a", runs.AnswerGranted, runs.Terms{}, 0)
	good := sign(runs.ApprovalNamespace, plain)
	edited := good
	edited.Text = []byte(strings.Replace(string(good.Text), `"alice"`, `"mallory"`, 1))
	bob := runs.Person{User: "bob", Email: "bob@example.org"}
	for _, c := range []struct {
		name       string
		answer     runs.Answer
		conditions Conditions
		why        string
	}{
		{"it counts", good, Conditions{signers: [][]byte{line("alice@example.org", "")}}, ""},
		{"edited", edited, Conditions{signers: [][]byte{line("alice@example.org", "")}}, "not of these bytes"},
		{"signed for git", sign("git", plain), Conditions{signers: [][]byte{line("alice@example.org", "")}},
			`for "git"`},
		{"by every file", good, Conditions{signers: [][]byte{line("alice@example.org", ""), []byte("# nobody\n")}},
			"not among the allowed signers"},
		{"no more at the start of the run", good,
			Conditions{signers: [][]byte{line("alice@example.org", `valid-before="20261121120100Z" `)}},
			"no longer valid"},
		{"not yet when it was given", good,
			Conditions{signers: [][]byte{line("alice@example.org", `valid-after="20261121120100Z" `)}},
			"not valid yet"},
		{"the requester's by user", good, Conditions{byOther: true, signers: [][]byte{line("bob", "")}},
			"the requester's own"},
		{"the requester's by address", good, Conditions{byOther: true, signers: [][]byte{line("*@example.org", "")}},
			"the requester's own"},
		{"another's", good, Conditions{byOther: true, signers: [][]byte{line("alice@example.org", "")}}, ""},
		{"broken, where none is needed", edited, Conditions{}, "not of these bytes"},
	} {
		who, err := c.conditions.Counts(c.answer, bob, noon.Add(10*time.Minute))
		if c.why == "" && (err != nil || who.Key != ssh.FingerprintSHA256(signer.PublicKey()) ||
			who.Principals != "alice@example.org") {
			t.Errorf("%s: %+v, %v", c.name, who, err)
		}
		if c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestApproval: a run waits for an approval of exactly its contract, which is good for one run.
func TestApproval(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "x\n"})
	req := l.request("---\napproval: required\nparams:\n  key: {type: secret, env: KEY}\n---\n" + step("#a", "print x"))
	l.env["KEY"] = "hunter2-hunter2"
	ask := l.run(req)
	l.want(ask, runs.Blocked, "approval_required|markmill approve")
	if _, err := l.Answer(ask.Run, ask.Dir, l.Source, Reply{Expires: -time.Hour}); err == nil {
		t.Error("a negative time was accepted")
	}
	a, err := l.Answer(ask.Run, ask.Dir, l.Source, Reply{Comment: "fine"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Answer(ask.Run, ask.Dir, l.Source, Reply{}); err == nil || !strings.Contains(err.Error(),
		"is approved already") {
		t.Errorf("%v", err)
	}
	changed := req
	changed.Cwd = "sub"
	l.want(l.run(changed), runs.Blocked, "approval_mismatch|cwd changed")
	granted := l.run(req)
	l.want(granted, runs.Pass)
	if granted.Run.Granted == nil || granted.Run.Granted.ID != a.ID {
		t.Errorf("granted: %+v", granted.Run.Granted)
	}
	used := l.run(req)
	l.want(used, runs.Blocked, "approval_consumed")
	if _, err := l.Answer(used.Run, used.Dir, l.Source, Reply{Deny: true, Comment: "no more"}); err != nil {
		t.Fatal(err)
	}
	l.want(l.run(req), runs.Blocked, "approval_denied|no more")
	l.env["MARKMILL_RUN_ID"] = "x"
	if _, err := l.Answer(used.Run, used.Dir, l.Source, Reply{}); err == nil {
		t.Error("a step can approve")
	}
}
