package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"markmill/engine/worktree"
	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/sshsig"
)

// Conditions are what an approval must meet to count.
type Conditions struct {
	signers [][]byte      // of the allowed_signers files; the key must count by each. None: no signature is needed
	missing string        // why one of those files cannot be read: then nothing counts
	byOther bool          // the requester's own does not count
	expires time.Duration // longest that one holds; 0 is as long as it says

	acceptance bool // a change needs an acceptance
}

func conditionsOf(policies []placedPolicy) Conditions {
	var c Conditions
	for _, p := range policies {
		if p.Signers != "" {
			c.signers = append(c.signers, p.signers)
		}
		if p.missing != "" {
			c.missing = p.missing
		}
		c.byOther, c.acceptance = c.byOther || p.ByOther, c.acceptance || p.Acceptance
		c.expires = smaller(c.expires, p.Expires)
	}
	return c
}

// Conditions are those of a run of a base commit.
func (e *Engine) Conditions(src *worktree.Source, base worktree.OID) (Conditions, error) {
	policies, err := e.policies(src, base)
	return conditionsOf(policies), err
}

// Signed reports whether an approval needs a signature.
func (c Conditions) Signed() bool { return len(c.signers) > 0 }

// Requester is the person who runs something in a repository.
func (e *Engine) Requester(src *worktree.Source) runs.Person {
	p := runs.Person{User: e.User}
	if src != nil {
		p.Email = src.Email()
	}
	return p
}

// Counts returns who signed a grant if the grant counts at a time; the Signer is empty without a signature. The error
// says why the grant does not count. Expiry is not checked here.
func (c Conditions) Counts(a runs.Answer, requester runs.Person, at time.Time) (runs.Signer, error) {
	var who runs.Signer
	if c.missing != "" {
		return who, errors.New(c.missing)
	}
	if a.Time.After(at) {
		return who, fmt.Errorf("it was given %s, after the run had started", runs.Shown(a.Time))
	}
	if a.Signature == nil && c.Signed() {
		return who, errors.New("it is not signed, and the policy names the keys that count")
	}
	if a.Signature != nil {
		var err error
		if who, err = runs.CheckApprovalSignature(a.Text, a.Signature, c.signers, a.Time, at); err != nil {
			return who, err
		}
	}
	if c.byOther && own(requester, a.Actor, who.Principals) {
		return who, errors.New("it is the requester's own, and the policy wants another's (by-other)")
	}
	return who, nil
}

// own reports whether an approval was given by the requester: by the principals of a signature that was checked against
// allowed_signers, otherwise by the name in the approval. The account that acted for a requester counts as the
// requester, too: it could have named anybody.
func own(requester runs.Person, actor, principals string) bool {
	person, account := runs.SplitActor(requester.User)
	if principals == "" {
		return actor == requester.User || actor == account
	}
	for _, name := range []string{person, account, requester.Email} {
		if name != "" && sshsig.MatchList(principals, name) {
			return true
		}
	}
	return false
}

// actor is who asked for a run, where that is not the user.
func (e *Engine) actor() string {
	user := e.User
	if e.Job != nil { // the worker's user asked for nothing
		user = e.Job.Requester.User
	}
	if person, _ := runs.SplitActor(user); person == "" {
		return ""
	}
	return user
}

// until is when a grant expires.
func (c Conditions) until(a runs.Answer) time.Time {
	if c.expires > 0 {
		if most := a.Time.Add(c.expires); most.Before(a.Expires) {
			return most
		}
	}
	return a.Expires
}

// decision is what the stored answers say about a contract.
type decision struct {
	code, words string      // "" when it may run
	denied      runs.Answer // with the code approval_denied
	usable      []granted   // the oldest first
}

type granted struct {
	runs.Answer
	by runs.Signer
}

// decide finds the approvals that a run of the contract may use. Only answers after the last denial count. If none can
// be used, the decision says why the newest cannot.
func (c Conditions) decide(answers []runs.Answer, contract runs.Digest, terms *runs.Terms, requester runs.Person,
	at time.Time) (decision, error) {
	answers = slices.Clone(answers)
	slices.SortStableFunc(answers, func(a, b runs.Answer) int { return a.Time.Compare(b.Time) })
	var d decision
	for _, a := range answers {
		if a.Contract != contract {
			continue
		}
		if a.Answer == runs.AnswerDenied {
			d = decision{code: runs.CodeApprovalDenied, words: deniedWords(a), denied: a}
			continue
		}
		by, err := c.Counts(a, requester, at)
		switch {
		case err != nil:
			d.code, d.words = runs.CodeApprovalRequired, fmt.Sprintf("the approval %s does not count: %v", a.ID, err)
		case a.Used:
			d.code, d.words = runs.CodeApprovalConsumed, fmt.Sprintf("the approval %s was good for one run, which "+
				"has used it", a.ID)
		case !c.until(a).After(at):
			d.code, d.words = runs.CodeApprovalExpired, fmt.Sprintf("the approval %s expired %s", a.ID,
				runs.Shown(c.until(a)))
		default:
			d.usable = append(d.usable, granted{a, by})
		}
	}
	if len(d.usable) > 0 {
		d.code, d.words = "", ""
		return d, nil
	}
	if d.code == "" {
		return c.mismatch(answers, terms, requester, at)
	}
	return d, nil
}

func deniedWords(a runs.Answer) string {
	words := fmt.Sprintf("%s denied it %s", a.Actor, runs.Shown(a.Time))
	if a.Comment != "" {
		words += ": " + a.Comment
	}
	return words
}

// mismatch distinguishes an approval of a changed contract, which could be used otherwise, from none at all.
func (c Conditions) mismatch(answers []runs.Answer, terms *runs.Terms, requester runs.Person, at time.Time) (decision,
	error) {
	d := decision{code: runs.CodeApprovalRequired, words: "an approval is required"}
	for _, a := range answers {
		if a.Answer != runs.AnswerGranted || a.Used || !c.until(a).After(at) || a.Terms.TaskID != terms.TaskID ||
			a.Terms.TargetRepository != terms.TargetRepository {
			continue
		}
		if _, err := c.Counts(a, requester, at); err != nil {
			continue
		}
		fields, err := a.Terms.Differences(terms)
		if err != nil {
			return d, err
		}
		d.code, d.words = runs.CodeApprovalMismatch, fmt.Sprintf("the approval %s is of another contract: %s changed",
			a.ID, strings.Join(fields, ", "))
	}
	return d, nil
}

// approval requests the run's approval and uses one if there is any. What it finds goes into the journal. A run without
// an approval is gated.
func (r *run) approval() error {
	store, job := r.plan.Store(r.eng).Approvals(), r.eng.Job
	requester := r.eng.Requester(r.plan.source)
	if job != nil {
		requester = job.Requester
	}
	terms, err := r.terms(store)
	if err != nil {
		return err
	}
	contract, err := terms.Digest()
	if err != nil {
		return err
	}
	started := r.rec.events[0].Time
	request := &runs.ApprovalRequest{Run: r.id, Contract: contract, Terms: *terms, Requester: requester, Time: started}
	conditions := conditionsOf(r.plan.policies)
	command := "markmill approve " + string(r.id)
	if job != nil {
		command = "markmill approve " + job.ID
	}
	if conditions.Signed() {
		command += " --key FILE"
	}
	text, err := codec.Indent(request)
	if err != nil {
		return err
	}
	sealed, err := r.rec.keep(runs.RequestFile, text)
	if err != nil {
		return err
	}
	if job == nil {
		if err := store.Request(request); err != nil {
			return err
		}
	}
	if err := r.rec.emit(runs.ApprovalRequested, "", runs.ApprovalRequestedData{Code: runs.CodeApprovalRequired,
		Message:  "an approval is required; it is granted with: " + command,
		Contract: contract, File: sealed.File, Digest: sealed.Digest}); err != nil {
		return err
	}
	if r.verdict.gated {
		return nil // another gate stands: no approval is spent on a run that cannot start
	}
	var answers []runs.Answer
	if job != nil {
		answers = job.Answers
	} else if answers, err = store.Answers(); err != nil {
		return r.refuse(decision{code: runs.CodeApprovalRequired, words: "the approvals cannot be read: " +
			err.Error()}, command)
	}
	d, err := conditions.decide(answers, contract, terms, requester, started)
	if err != nil {
		return err
	}
	for _, g := range d.usable {
		if job != nil { // the queue keeps that it is used, by the entries of the job
			return r.grant(g, conditions, own(requester, g.Actor, g.by.Principals))
		}
		by, err := r.eng.Store(r.plan.root()).Citing(g.ID)
		if err != nil {
			return err
		}
		if err = runs.ErrUsed; by == "" {
			err = store.Use(g.ID, r.id)
		}
		if err == nil {
			return r.grant(g, conditions, own(requester, g.Actor, g.by.Principals))
		}
		if !errors.Is(err, runs.ErrUsed) {
			return err
		}
		d.code, d.words = runs.CodeApprovalConsumed,
			fmt.Sprintf("the approval %s was good for one run, which has used it", g.ID)
	}
	return r.refuse(d, command)
}

// approvalRule is the rule in the blockers of a run without an approval.
const approvalRule = "approval: required"

// refuse ends a run without an approval before anything has started.
func (r *run) refuse(d decision, command string) error {
	r.verdict.gated = true
	if d.code != runs.CodeApprovalDenied {
		d.words += "; grant it with: " + command
		gate := runs.Blocker{Code: d.code, Rule: approvalRule, Message: d.words}
		r.verdict.block(gate)
		return r.rec.emit(runs.GateBlocked, "", gate)
	}
	r.verdict.block(runs.Blocker{Code: d.code, Rule: approvalRule, Message: d.words})
	sealed, err := r.rec.keep(runs.ApprovalFile, d.denied.Text)
	if err != nil {
		return err
	}
	return r.rec.emit(runs.ApprovalDenied, "", runs.ApprovalDeniedData{Code: d.code, Rule: approvalRule,
		Message: d.words,
		ID:      d.denied.ID, Actor: d.denied.Actor, Time: d.denied.Time, File: sealed.File, Digest: sealed.Digest})
}

// grant records the approval that this run uses, with everything that is needed to check it later.
func (r *run) grant(g granted, c Conditions, byRequester bool) error {
	data := runs.ApprovalGrantedData{ID: g.ID, Contract: g.Contract, Actor: g.Actor, Time: g.Time, Expires: g.Expires,
		Own: byRequester, Key: g.by.Key, Principals: g.by.Principals}
	sealed, err := r.rec.keep(runs.ApprovalFile, g.Text)
	if err != nil {
		return err
	}
	data.File, data.Digest = sealed.File, sealed.Digest
	if g.Signature != nil {
		signature, err := r.rec.keep(runs.SignatureFile, g.Signature)
		if err != nil {
			return err
		}
		data.Signature = &signature
		for i, text := range c.signers {
			name := runs.SignersFile
			if i > 0 {
				name = fmt.Sprintf("%s.%d", name, i+1)
			}
			list, err := r.rec.keep(name, text)
			if err != nil {
				return err
			}
			data.Signers = append(data.Signers, list)
		}
	}
	return r.rec.emit(runs.ApprovalGranted, "", data)
}
