package runs

import (
	"errors"
	"io/fs"
	"time"

	"markmill/notebooks/codec"
)

// approval checks that what was asked is what ran, that the approval is of that and was given in time, and that a key
// that counted signed it. eventFiles checks the digests of the files.
func (c *check) approval() {
	run := c.v.Run
	if run.Requested == nil {
		for _, path := range []string{RequestFile, ApprovalFile, SignatureFile, SignersFile} {
			if _, err := c.record.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				c.v.find(path, "is there, and the journal requests no approval")
			}
		}
		return
	}
	c.request(run.Requested)
	if run.Granted != nil {
		c.granted(run.Granted)
	}
}

func (c *check) request(q *ApprovalRequestedData) {
	if q.File == "" {
		c.v.find(JournalFile, "%s names no request", ApprovalRequested)
		return
	}
	text, err := c.record.ReadFile(q.File)
	if err != nil {
		return // eventFiles has found it
	}
	var request ApprovalRequest
	if err := codec.Unmarshal(text, &request); err != nil {
		c.v.find(q.File, "cannot be read: %s", cause(err))
		return
	}
	if err := request.Check(c.v.Run, q.Digest); err != nil {
		c.v.find(q.File, "%s", err)
	}
}

func (c *check) granted(g *ApprovalGrantedData) {
	if g.File == "" {
		c.v.find(JournalFile, "%s names no approval", ApprovalGranted)
		return
	}
	text, err := c.record.ReadFile(g.File)
	if err != nil {
		return // eventFiles has found it
	}
	a, err := ReadApproval(text)
	if err != nil {
		c.v.find(g.File, "is no approval: %s", cause(err))
		return
	}
	started := c.v.Run.StartedAt
	switch {
	case a.Answer != AnswerGranted:
		c.v.find(g.File, "says %s", a.Answer)
	case a.ID != g.ID || a.Contract != g.Contract || a.Actor != g.Actor,
		!a.Time.Equal(g.Time), !a.Expires.Equal(g.Expires):
		c.v.find(g.File, "is not the approval that the journal cites")
	case c.v.Run.Requested.Contract != a.Contract:
		c.v.find(g.File, "is of the contract %s and the run's is %s", a.Contract, c.v.Run.Requested.Contract)
	case a.Time.After(started):
		c.v.find(g.File, "was given %s, after the run had started", a.Time.UTC().Format(time.RFC3339))
	case !a.Expires.After(started):
		c.v.find(g.File, "had expired %s, when the run started", a.Expires.UTC().Format(time.RFC3339))
	}
	switch different, err := a.Terms.contradicts(c.v.Run); {
	case err != nil:
		c.v.find(g.File, "cannot be compared: %s", err)
	case different != "":
		c.v.find(g.File, "is not of what the run was asked: %s", different)
	}
	c.signature(g, text, a)
}

func (c *check) signature(g *ApprovalGrantedData, text []byte, a *Approval) {
	if g.Signature == nil {
		if len(g.Signers) > 0 || g.Key != "" {
			c.v.find(g.File, "has no signature, and the journal names one")
		}
		return
	}
	signature, err := c.record.ReadFile(g.Signature.File)
	if err != nil {
		return // eventFiles has found it
	}
	var signers [][]byte
	for _, s := range g.Signers {
		list, err := c.record.ReadFile(s.File)
		if err != nil {
			return // eventFiles has found it
		}
		signers = append(signers, list)
	}
	switch who, err := CheckApprovalSignature(text, signature, signers, a.Time, c.v.Run.StartedAt); {
	case err != nil:
		c.v.find(g.Signature.File, "%s", err)
	case who.Key != g.Key || len(signers) > 0 && who.Principals != g.Principals:
		c.v.find(g.Signature.File, "is by %s of %s and the journal says %s of %s",
			who.Key, who.Principals, g.Key, g.Principals)
	}
}
