package runs

import (
	"crypto/ed25519"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"markmill/notebooks/codec"
	"markmill/runs/sshsig"
)

// approved is what a test changes of an approved run before it is recorded, consistently.
type approved struct {
	request *ApprovalRequest
	answer  *Approval
	event   *ApprovalGrantedData
	text    string // of the answer; "" is what answer gives
	signers string
	sign    ssh.Signer // nil leaves the signature out
}

// anApprovedRun records a run whose digests all hold, whatever change did.
func anApprovedRun(t *testing.T, change func(*approved)) *record {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	r := newRecord(t, newStore(t), aTime, 1)
	rules := ContractRules{TaskID: "fix", BaseCommit: "b0", MutationMode: "worktree",
		EvidenceExpectations: []string{"approval"}}
	contract := ContractData{ContractRules: rules, ApprovalRequired: true,
		Parameters: []ParamData{{Name: "n", Type: "int", Value: codec.Raw("1")},
			{Name: "s", Type: "secret", Value: codec.Raw(`"***"`)}}}
	terms := Terms{ContractRules: rules, Notebook: DigestOf(r.source),
		Parameters: []TermsParam{{Name: "n", Type: "int", Value: codec.Raw("1")},
			{Name: "s", Type: "secret", Value: codec.Raw(`"hmac-sha256:00"`)}}}
	a := &approved{
		request: &ApprovalRequest{Run: r.id, Terms: terms, Time: aTime},
		answer: &Approval{ID: "a1", Answer: AnswerGranted, Terms: terms, Run: "earlier", Actor: "alice",
			Time:    aTime.Add(-time.Minute),
			Expires: aTime.Add(time.Hour)},
		event: &ApprovalGrantedData{ID: "a1", Actor: "alice", Time: aTime.Add(-time.Minute),
			Expires:    aTime.Add(time.Hour),
			Principals: "alice@example.org"},
		signers: "alice@example.org " + string(ssh.MarshalAuthorizedKey(signer.PublicKey())), sign: signer,
	}
	change(a)
	digest := func(terms *Terms) Digest {
		d, err := terms.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	file := func(name, text string) SealedFile { return SealedFile{name, r.write(name, text)} }
	indent := func(v any) string {
		text, err := codec.Indent(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	mustAppend(t, r.Journal, ContractCreated, "", contract)
	mustAppend(t, r.Journal, PlanUpdated, "", PlanData{})
	a.request.Contract = digest(&a.request.Terms)
	f := file(RequestFile, indent(a.request))
	mustAppend(t, r.Journal, ApprovalRequested, "",
		ApprovalRequestedData{Code: CodeApprovalRequired, Contract: a.request.Contract, File: f.File, Digest: f.Digest})
	a.answer.Contract = digest(&a.answer.Terms)
	if a.text == "" {
		a.text = indent(a.answer)
	}
	f = file(ApprovalFile, a.text)
	a.event.Contract, a.event.File, a.event.Digest = a.answer.Contract, f.File, f.Digest
	if a.sign != nil {
		signature, err := sshsig.Sign(a.sign, ApprovalNamespace, []byte(indent(a.answer)))
		if err != nil {
			t.Fatal(err)
		}
		f := file(SignatureFile, string(signature))
		a.event.Signature, a.event.Key = &f, ssh.FingerprintSHA256(a.sign.PublicKey())
		a.event.Signers = []SealedFile{file(SignersFile, a.signers)}
	}
	mustAppend(t, r.Journal, ApprovalGranted, "", a.event)
	r.finish()
	return r
}

// Each of these is consistent in itself, every digest made anew: only what it says is wrong.
func TestVerifyApprovals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*approved)
		want   string
	}{
		{"it holds", func(*approved) {}, ""},
		{"not signed, where no key was asked for", func(a *approved) { a.sign, a.event.Principals = nil, "" }, ""},
		{"given after the start", func(a *approved) {
			a.answer.Time, a.event.Time = aTime.Add(time.Second), aTime.Add(time.Second)
		}, "after the run had started"},
		{"expired at the start", func(a *approved) {
			a.answer.Expires, a.event.Expires = aTime.Add(time.Millisecond), aTime.Add(time.Millisecond)
		}, "had expired"},
		{"of another contract", func(a *approved) { a.answer.Terms.Cwd = "elsewhere" }, "the run's is"},
		{"of another base", func(a *approved) { a.answer.Terms.BaseCommit, a.request.Terms.BaseCommit = "b1", "b1" },
			"base_commit"},
		{"of another notebook", func(a *approved) { a.request.Terms.Notebook = DigestOf(nil) }, "notebook"},
		{"of other parameters", func(a *approved) {
			a.request.Terms.Parameters = []TermsParam{{Name: "n", Type: "int", Value: codec.Raw("2")},
				a.request.Terms.Parameters[1]}
		}, "parameters.n"},
		{"another run's request", func(a *approved) { a.request.Run = "other" }, "it is of the run other"},
		{"a denial", func(a *approved) { a.answer.Answer = AnswerDenied }, "says denied"},
		{"another actor", func(a *approved) { a.event.Actor = "bob" }, "not the approval that the journal cites"},
		{"another id", func(a *approved) { a.event.ID = "a2" }, "not the approval that the journal cites"},
		{"no approval at all", func(a *approved) { a.text = "{}" }, "is no approval"},
		{"other bytes than were signed", func(a *approved) {
			a.answer.Comment = "x"
			text, _ := codec.Marshal(a.answer)
			digest, _ := a.answer.Terms.Digest()
			a.text = strings.Replace(string(text), `"contract":""`, `"contract":"`+string(digest)+`"`, 1)
		}, "not of these bytes"},
		{"a key that does not count", func(a *approved) { a.signers = "# nobody\n" }, "not among the allowed signers"},
		{"a key whose time was over", func(a *approved) {
			a.signers = strings.Replace(a.signers, " ", ` valid-before="20200101Z" `, 1)
		}, "no longer valid"},
		{"another signer", func(a *approved) { a.event.Principals = "bob@example.org" }, "the journal says"},
		{"signed, they say", func(a *approved) { a.sign, a.event.Key = nil, "SHA256:x" }, "has no signature"},
	} {
		r := anApprovedRun(t, c.change)
		v := verify(t, r.dir)
		var all []string
		for _, f := range v.Findings {
			all = append(all, f.String())
		}
		got := strings.Join(all, "\n")
		if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// Files of an approval without an event of one are nobody's.
func TestVerifyApprovalOutOfNowhere(t *testing.T) {
	r := newRecord(t, newStore(t), aTime, 1)
	r.steps()
	r.write(ApprovalFile, "{}")
	r.finish()
	if v := verify(t, r.dir); len(v.Findings) != 1 || v.Findings[0].Where != ApprovalFile {
		t.Errorf("got %v", v.Findings)
	}
}

// The report cites the approval that was used.
func TestReportCitesTheApproval(t *testing.T) {
	report, err := At(anApprovedRun(t, func(*approved) {}).dir).ReadReport()
	if err != nil || report.Approval == nil || report.Approval.ID != "a1" ||
		report.ApprovalStatus != ApprovalIsGranted {
		t.Errorf("%+v, %v", report, err)
	}
}
