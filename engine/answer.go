package engine

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// DefaultExpiry is how long an approval is valid if nobody says otherwise.
const DefaultExpiry = 24 * time.Hour

// Reply is a person's answer to a request.
type Reply struct {
	Deny    bool
	Expires time.Duration // of a grant; 0 is DefaultExpiry, or what the policy allows
	Comment string
	Sign    func([]byte) ([]byte, error) // nil signs nothing
}

// Answer answers the request of a run that was blocked because it needs an approval, and stores the answer for the next
// run of the same contract. It returns an error for an approval that would not count, and stores nothing.
func (e *Engine) Answer(run *runs.Run, dir string, src *worktree.Source, reply Reply) (*runs.Approval, error) {
	if job := run.Contract.Job; job != "" {
		return nil, refused(fmt.Sprintf("the run %s is of job %s, whose queue keeps the answer", run.ID, job),
			"markmill approve "+job+" grants it, and markmill deny refuses it")
	}
	store := e.Store(run.Contract.TargetRepository).Approvals()
	answer, err := e.answer(run, dir, src, reply, store.Answers)
	if err != nil {
		return nil, err
	}
	return answer.Approval, store.Answer(answer.Text, answer.Signature)
}

// AnswerJob is Answer for the run of a job, whose answer the caller keeps.
func (e *Engine) AnswerJob(run *runs.Run, dir string, src *worktree.Source, reply Reply) (*runs.Answer, error) {
	return e.answer(run, dir, src, reply, func() ([]runs.Answer, error) { return nil, nil })
}

// answer makes an answer. earlier returns those that there are.
func (e *Engine) answer(run *runs.Run, dir string, src *worktree.Source, reply Reply,
	earlier func() ([]runs.Answer, error)) (*runs.Answer, error) {
	if err := e.OutsideRuns("approve or deny"); err != nil {
		return nil, err
	}
	request, err := readRequest(run, dir)
	if err != nil {
		return nil, err
	}
	conditions, err := e.Conditions(src, worktree.OID(request.Terms.BaseCommit))
	if err != nil {
		return nil, err
	}
	id := make([]byte, 16)
	if _, err := io.ReadFull(e.Random, id); err != nil {
		return nil, fmt.Errorf("random bytes for the approval's id: %w", err)
	}
	now := e.Now().UTC()
	a := &runs.Approval{ID: hex.EncodeToString(id), Answer: runs.AnswerDenied, Contract: request.Contract,
		Terms: request.Terms, Run: run.ID, Actor: e.User, Time: now, Comment: reply.Comment}
	if !reply.Deny {
		expires, err := conditions.expiry(reply.Expires)
		if err != nil {
			return nil, err
		}
		a.Answer, a.Expires = runs.AnswerGranted, now.Add(expires)
		answers, err := earlier()
		if err != nil {
			return nil, err
		}
		if err := conditions.unanswered(answers, request, now); err != nil {
			return nil, err
		}
	}
	text, err := codec.Indent(a)
	if err != nil {
		return nil, err
	}
	answer := runs.Answer{Approval: a, Text: text}
	if reply.Sign != nil {
		if answer.Signature, err = reply.Sign(text); err != nil {
			return nil, err
		}
	}
	if !reply.Deny {
		if _, err := conditions.Counts(answer, request.Requester, now); err != nil {
			return nil, refused("this approval would not count: "+err.Error(),
				"nothing was written; docs/policy.md says what counts")
		}
	}
	return &answer, nil
}

func refused(msg, hint string) error {
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: msg, Hint: hint}
}

// OutsideRuns returns an error inside a step: a step must not approve what it is part of.
func (e *Engine) OutsideRuns(what string) error {
	for _, name := range []string{"MARKMILL_RUN_ID", "MARKMILL_DEPTH"} {
		if v, ok := e.Getenv(name); ok && v != "" {
			return refused("a step of a run cannot "+what+" ("+name+" is set)", "answer from a shell of your own")
		}
	}
	return nil
}

// readRequest reads the request of a run and checks it against the run's journal and its own digest.
func readRequest(run *runs.Run, dir string) (*runs.ApprovalRequest, error) {
	switch {
	case run.Requested == nil:
		return nil, refused(fmt.Sprintf("the run %s did not ask for an approval", run.ID),
			"markmill list shows the runs there are")
	case run.Granted != nil:
		return nil, refused(fmt.Sprintf("the run %s has its approval, %s", run.ID, run.Granted.ID),
			"run the notebook once more, and answer the request of that run")
	}
	file := runs.At(dir).File(run.Requested.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: file, Msg: "cannot be read: " + err.Error(),
			Err: err}
	}
	var request runs.ApprovalRequest
	err = codec.Unmarshal(text, &request)
	if err == nil {
		err = request.Check(run, runs.DigestOf(text))
	}
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: file, Msg: "is not what the run asked: " +
			err.Error(),
			Hint: "see markmill verify", Err: err}
	}
	return &request, nil
}

// expiry is how long a grant is valid.
func (c Conditions) expiry(asked time.Duration) (time.Duration, error) {
	switch {
	case asked < 0:
		return 0, refused("--expires: a time above 0 was expected", "such as 24h")
	case asked == 0:
		return smaller(DefaultExpiry, c.expires), nil
	case c.expires > 0 && asked > c.expires:
		return 0, refused(fmt.Sprintf("--expires %s: the policy lets an approval hold for %s at most", asked,
			c.expires), "leave the option out")
	}
	return asked, nil
}

// unanswered returns an error while an approval of the same contract is unused: a second one would permit a second run.
func (c Conditions) unanswered(answers []runs.Answer, request *runs.ApprovalRequest, now time.Time) error {
	d, err := c.decide(answers, request.Contract, &request.Terms, request.Requester, now)
	if err != nil || len(d.usable) == 0 {
		return err
	}
	var ids []string
	for _, g := range d.usable {
		ids = append(ids, g.ID)
	}
	return refused("this contract is approved already, and no run has used it yet: "+strings.Join(ids, ", "),
		"run the notebook")
}
