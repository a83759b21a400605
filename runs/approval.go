package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"markmill/notebooks/codec"
	"markmill/runs/sshsig"
)

// ApprovalNamespace is the namespace of signatures of approvals: one that was made for Git does not count.
const ApprovalNamespace = "markmill-approval"

// Terms are what an approval approves: everything that decides what a run does and may do. Their digest is the
// contract's name; a single different byte makes another contract. Those of a job leave out what belongs to the machine
// that runs it: the path of the repository, which variables the machine has set, and the values of secrets.
type Terms struct {
	ContractRules
	Folder           string        `json:"folder,omitzero"` // of a run outside a repository
	Notebook         Digest        `json:"notebook"`        // of its source
	Parameters       []TermsParam  `json:"parameters"`
	Steps            []PlannedStep `json:"steps"`
	AllowedAlso      [][]string    `json:"allowed_also"`
	StepTimeoutNS    int64         `json:"step_timeout_ns"` // of steps that set none
	StepTimeoutMaxNS int64         `json:"step_timeout_max_ns"`
	Sandbox          string        `json:"sandbox"`
	Network          string        `json:"network"`
	// of files that begin with older content than the base's
	Reversed   Digest   `json:"reversed,omitzero"`
	DirtyFiles Digest   `json:"dirty_files,omitzero"` // of the uncommitted changes, if the run sees them
	Kernels    Digest   `json:"kernels,omitzero"`     // of the kernels that markmill.yaml adds or changes
	Cwd        string   `json:"cwd"`
	Copy       []string `json:"copy"` // patterns of ignored files that are copied into the worktree
	Branch     string   `json:"branch"`
}

// Cover sets the members that follow from the contract and the plan of a run.
func (t *Terms) Cover(c *ContractData, plan PlanData) {
	t.ContractRules, t.AllowedAlso, t.Steps = c.ContractRules, c.AllowedAlso, plan.Steps
	t.StepTimeoutMaxNS, t.Sandbox, t.Network = c.StepTimeoutMaxNS, c.Sandbox, c.Network
	if c.Job != "" {
		t.TargetRepository, t.Environment = "", nil
	}
}

// WorkersSecret stands in the terms of a job for the value of a secret: that is the worker's, and no two workers could
// compare it without a key that would let others guess it.
var WorkersSecret = codec.Raw(`"the worker's"`)

// TermsParam is a parameter. A secret's value is a digest keyed with the store's own key, so that it can be compared
// but not guessed; that of a job's run is WorkersSecret. Masked is such a digest of a value in which a secret is
// masked.
type TermsParam struct {
	Name   string    `json:"name"`
	Type   string    `json:"type"`
	Value  codec.Raw `json:"value"`
	Masked codec.Raw `json:"masked,omitzero"`
}

// Digest returns the name of the contract.
func (t *Terms) Digest() (Digest, error) {
	text, err := codec.Marshal(t)
	if err != nil {
		return "", err
	}
	return DigestOf(text), nil
}

// Differences returns the members in which two terms differ, sorted; a parameter as parameters.NAME.
func (t *Terms) Differences(other *Terms) ([]string, error) {
	mine, err := membersOf(t)
	if err != nil {
		return nil, err
	}
	theirs, err := membersOf(other)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range differing(mine, theirs, codec.Same) {
		if name != "parameters" {
			out = append(out, name)
			continue
		}
		params := differing(valuesOf(t.Parameters), valuesOf(other.Parameters),
			func(a, b string) bool { return a == b })
		for _, param := range params {
			out = append(out, "parameters."+param)
		}
		if len(params) == 0 {
			out = append(out, name) // their order
		}
	}
	return out, nil
}

func valuesOf(params []TermsParam) map[string]string {
	values := map[string]string{}
	for _, p := range params {
		values[p.Name] = p.Type + " " + string(p.Value) + string(p.Masked)
	}
	return values
}

// differing returns the names that only one of two maps has, and those whose values are not the same, sorted.
func differing[V any](a, b map[string]V, same func(V, V) bool) []string {
	names := map[string]bool{}
	for name, value := range a {
		if other, there := b[name]; !there || !same(value, other) {
			names[name] = true
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// contradicts names the members in which the terms are not those of a run, "" when all are. It does not compare the
// values of secrets, which are not in the journal.
func (t *Terms) contradicts(r *Run) (string, error) {
	c := &r.Contract
	want := *t
	want.Cover(c, r.Plan)
	want.Notebook, want.Folder, want.Parameters = r.Source, r.Started.Folder, nil
	for i, p := range c.Parameters {
		value := p.Value
		if p.Type == "secret" && c.Job != "" {
			value = WorkersSecret
		} else if p.Type == "secret" && i < len(t.Parameters) && t.Parameters[i].Name == p.Name {
			value = t.Parameters[i].Value
		}
		param := TermsParam{Name: p.Name, Type: p.Type, Value: value}
		if i < len(t.Parameters) {
			param.Masked = t.Parameters[i].Masked // not in the journal, as values of secrets
		}
		want.Parameters = append(want.Parameters, param)
	}
	different, err := t.Differences(&want)
	return strings.Join(different, ", "), err
}

// Person is who asks for an approval: the system's user, and Git's.
type Person struct {
	User  string `json:"user"`
	Email string `json:"email,omitzero"`
}

// ApprovalRequest is approval-request.json: what a run asks approval for. An answer is for the next run with the same
// terms, not for this one.
type ApprovalRequest struct {
	Run       RunID     `json:"run_id"`
	Contract  Digest    `json:"contract"` // of the terms
	Terms     Terms     `json:"terms"`
	Requester Person    `json:"requester"`
	Time      time.Time `json:"time"`
}

// Check returns an error unless a request is the one that a run's journal cites, by the digest of its bytes, and has
// the terms of that run.
func (q *ApprovalRequest) Check(run *Run, digest Digest) error {
	terms, err := q.Terms.Digest()
	if err != nil {
		return err
	}
	different, err := q.Terms.contradicts(run)
	switch {
	case err != nil:
		return err
	case digest != run.Requested.Digest:
		return fmt.Errorf("the journal says %s and its bytes give %s", run.Requested.Digest, digest)
	case terms != run.Requested.Contract || q.Contract != terms:
		return fmt.Errorf("its terms give the contract %s and the journal says %s", terms, run.Requested.Contract)
	case q.Run != run.ID:
		return fmt.Errorf("it is of the run %s", q.Run)
	case different != "":
		return fmt.Errorf("it differs from what the run was asked in %s", different)
	}
	return nil
}

// Answers to a request.
const (
	AnswerGranted = "granted"
	AnswerDenied  = "denied"
)

// Approval is approval.json: an answer. A signature is over the bytes of the file.
type Approval struct {
	ID       string    `json:"id"`
	Answer   string    `json:"answer"` // granted, denied
	Contract Digest    `json:"contract"`
	Terms    Terms     `json:"terms"`
	Run      RunID     `json:"run_id"` // that asked
	Actor    string    `json:"actor"`  // the system's user who answered
	Time     time.Time `json:"time"`
	Expires  time.Time `json:"expires,omitzero"` // of a grant
	Comment  string    `json:"comment,omitzero"`
}

// ReadApproval parses an answer and checks that it is complete and that its contract is the digest of its terms.
func ReadApproval(text []byte) (*Approval, error) {
	var a Approval
	if err := codec.Unmarshal(text, &a); err != nil {
		return nil, err
	}
	digest, err := a.Terms.Digest()
	switch {
	case err != nil:
		return nil, err
	case a.ID == "" || a.Time.IsZero() || a.Answer != AnswerGranted && a.Answer != AnswerDenied:
		return nil, fmt.Errorf("it is no answer to a request")
	case a.Answer == AnswerGranted && !a.Expires.After(a.Time):
		return nil, fmt.Errorf("it expires before it was given")
	case digest != a.Contract:
		return nil, fmt.Errorf("it is of the contract %s and its terms give %s", a.Contract, digest)
	}
	return &a, nil
}

// Signer is who signed an approval.
type Signer struct {
	Key        string // fingerprint, SHA256:…
	Principals string // of the line of allowed_signers
}

// CheckApprovalSignature returns who signed data. The key must count by every one of the allowed_signers files at all
// of the times.
func CheckApprovalSignature(data, signature []byte, signers [][]byte, at ...time.Time) (Signer, error) {
	s, err := sshsig.Check(signature, ApprovalNamespace, data)
	if err != nil {
		return Signer{}, err
	}
	return CountsBy(s, ApprovalNamespace, signers, at...)
}

// CountsBy returns whose signature it is. The key must count by every one of the allowed_signers files at all of the
// times.
func CountsBy(s *sshsig.Signature, namespace string, signers [][]byte, at ...time.Time) (Signer, error) {
	who := Signer{Key: s.Fingerprint()}
	for _, text := range signers {
		var err error
		allowed := sshsig.ParseAllowedSigners(text, time.Local)
		if who.Principals, err = allowed.Find(s.Key, namespace, at...); err != nil {
			return Signer{}, err
		}
	}
	return who, nil
}

// via stands between a person and the account of the system that acted for them. No user of a system is named so.
const via = " via "

// Via is the actor of what an account of the system did for a person who signed in elsewhere (markmill serve). It says
// both, so that it is never the name of an account.
func Via(person, account string) string { return person + via + account }

// SplitActor returns the person and the account of an actor. Without an account in it, the actor is an account itself.
func SplitActor(actor string) (person, account string) {
	if person, account, found := strings.Cut(actor, via); found {
		return person, account
	}
	return "", actor
}

// maxPerson is the longest name of a person, in bytes.
const maxPerson = 64

// IsPerson reports whether a text can name a person: letters and digits of ASCII, and . _ - + @ behind the first.
func IsPerson(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && strings.IndexByte("._-+@", c) >= 0:
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxPerson
}

// ApprovalRequestedData is the data of approval.requested.
type ApprovalRequestedData struct {
	Code     string `json:"code"`
	Message  string `json:"words"`
	Contract Digest `json:"contract"` // of the terms
	File     string `json:"file"`     // the request, relative to the run directory
	Digest   Digest `json:"digest"`
}

// ApprovalGrantedData is the data of approval.granted: which approval this run has used.
type ApprovalGrantedData struct {
	ID         string       `json:"id"`
	Contract   Digest       `json:"contract"`
	Actor      string       `json:"actor"`
	Time       time.Time    `json:"time"`
	Expires    time.Time    `json:"expires"`
	Own        bool         `json:"own,omitzero"` // who granted it is who asked for it
	File       string       `json:"file"`
	Digest     Digest       `json:"digest"`
	Key        string       `json:"key,omitzero"`        // fingerprint of the key that signed
	Principals string       `json:"principals,omitzero"` // of its line in allowed_signers
	Signature  *SealedFile  `json:"signature,omitempty"`
	Signers    []SealedFile `json:"signers,omitempty"` // the allowed_signers files that it was held against
}

// ApprovalDeniedData is the data of approval.denied.
type ApprovalDeniedData struct {
	Code    string    `json:"code"`
	Rule    string    `json:"rule,omitzero"`
	Message string    `json:"words"`
	ID      string    `json:"id,omitzero"`
	Actor   string    `json:"actor,omitzero"`
	Time    time.Time `json:"time,omitzero"`
	File    string    `json:"file,omitzero"`
	Digest  Digest    `json:"digest,omitzero"`
}

// SealedFile is a file of the run directory and its digest.
type SealedFile struct {
	File   string `json:"file"`
	Digest Digest `json:"digest"`
}
