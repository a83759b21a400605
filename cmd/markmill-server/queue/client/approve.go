package client

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/records"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/terminal"
	"markmill/runs"
)

// Answer approves or denies the request of a job's run. It reads the record of that run and answers as markmill approve
// does for a local run, but the answer goes into the queue.
func (c *Client) Answer(ctx context.Context, job string, reply engine.Reply, asJSON bool) error {
	h, err := c.Queue.Job(ctx, job)
	if err != nil {
		return err
	}
	asked := h.Asked()
	if h.State != queue.StateUnapproved || asked == nil {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("job %s waits for no approval: "+
			"it is %s", h.ID, h.State), Hint: "markmill queue list --state unapproved lists those that do"}
	}
	if c.Root == "" {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: "the policy of the repository says which " +
			"approvals count, and there is no repository here", Hint: "change into it, or name it with --repo"}
	}
	dir, err := os.MkdirTemp("", "markmill-approval-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	src, err := worktree.Open(c.Root)
	if err != nil {
		return err
	}
	run, err := c.asking(ctx, h, asked, dir, src)
	if err != nil {
		return err
	}
	eng, _, err := engines.New(c.Root)
	if err != nil {
		return err
	}
	eng.User = c.User
	got, err := eng.AnswerJob(run, dir, src, reply)
	if err != nil {
		return err
	}
	// An approval counts only for runs that start after it, and the worker's clock may be behind this one.
	e := &queue.Entry{Kind: queue.Answered, Time: got.Time, By: c.User, Reason: got.Answer, Run: asked.Run,
		NotBefore: got.Time, Answer: got.Text, Signature: got.Signature}
	if got.Comment != "" {
		e.Reason += ": " + got.Comment
	}
	if _, err := c.Queue.Answer(ctx, h.ID, e); err != nil {
		return err
	}
	if asJSON {
		return c.print("approval", got.Approval)
	}
	_, err = fmt.Fprint(c.stderr, terminal.Answer(got.Approval, run.Started.Notebook))
	return err
}

// asking writes the record of the requesting run into a folder, and returns the run if the record verifies and is a run
// of what was submitted.
func (c *Client) asking(ctx context.Context, h *queue.History, asked *queue.Entry, dir string, src *worktree.Source) (
	*runs.Run, error) {
	if err := c.write(ctx, asked.Files, dir); err != nil {
		return nil, err
	}
	v, err := records.VerifyRecord(runs.At(dir), src, runs.Signers{})
	if err != nil {
		return nil, err
	}
	if why := unanswerable(v, h, asked); why != "" {
		return nil, &notebooks.Error{Kind: notebooks.KindRecord, File: string(asked.Run),
			Msg:  fmt.Sprintf("the record of the run that asks for the approval of job %s is refused: %s", h.ID, why),
			Hint: "markmill queue cancel " + h.ID + " ends the job"}
	}
	return v.Run, nil
}

// unanswerable returns why the requesting run cannot be answered; "" if it can.
func unanswerable(v *runs.Verification, h *queue.History, asked *queue.Entry) string {
	spec := h.Spec()
	switch {
	case len(v.Findings) > 0 || v.Run == nil:
		return fmt.Sprint(v.Findings)
	case v.Run.ID != asked.Run || v.Run.Contract.Job != h.ID:
		return fmt.Sprintf("it is of run %s of job %q", v.Run.ID, v.Run.Contract.Job)
	case v.Run.Source != runs.DigestOf(spec.Request.Source):
		return "its notebook is another one than was submitted"
	case v.Run.Contract.BaseCommit != spec.Base:
		return fmt.Sprintf("it begins with commit %s, and %s was submitted", v.Run.Contract.BaseCommit, spec.Base)
	}
	return ""
}

// request reads the approval request of a job's run.
func (c *Client) request(ctx context.Context, h *queue.History) (*runs.ApprovalRequest, error) {
	asked := h.Asked()
	i := slices.IndexFunc(asked.Files, func(f queue.File) bool { return f.Path == runs.RequestFile })
	if i < 0 {
		return nil, fmt.Errorf("the run that asks for an approval has no %s", runs.RequestFile)
	}
	var text bytes.Buffer
	if err := c.Queue.Get(ctx, asked.Files[i], &text); err != nil {
		return nil, err
	}
	request := &runs.ApprovalRequest{}
	return request, codec.Unmarshal(text.Bytes(), request)
}
