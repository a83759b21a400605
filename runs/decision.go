package runs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/notebooks/codec"
	"markmill/runs/sshsig"
)

// DecisionNamespace is the namespace of signatures of decisions.
const DecisionNamespace = "markmill-decision"

// DecisionsDir is the folder of a record with the operators' decisions: 0001.json, and its signature 0001.json.sig.
// They come after the run, so that SHA256SUMS does not list them: each names the digest of SHA256SUMS instead.
const DecisionsDir = "decisions"

// DecisionLog is the file of a store with a line for every decision on a run in it. A decision that is missing from its
// record is found by it.
const DecisionLog = "decisions.jsonl"

// maxDecisions bounds the decisions on one run.
const maxDecisions = 9999

// Answers of a Decision.
const (
	Accepted = "accepted"
	Rejected = "rejected"
)

// Decision is what an operator decided about a run that has ended. A signature is over the bytes of its file.
type Decision struct {
	Seq    int       `json:"seq"` // from 1
	Answer string    `json:"answer"`
	Run    RunID     `json:"run_id"`
	Sums   Digest    `json:"record"` // of SHA256SUMS, and so of the whole record
	Status Status    `json:"status"` // of the run, when it was decided on
	Actor  string    `json:"actor"`  // the system's user
	Time   time.Time `json:"time"`
	Reason string    `json:"reason,omitzero"`
	// Prev and PrevSignature are the digests of the decision before this one, and of its signature.
	Prev          Digest `json:"prev,omitzero"`
	PrevSignature Digest `json:"prev_signature,omitzero"`
}

// StoredDecision is a decision in a record.
type StoredDecision struct {
	*Decision
	File      string            // in the record
	Text      []byte            // its bytes
	Signature []byte            // armored; nil: it is a rejection without one
	Signed    *sshsig.Signature // what Signature is; it is one of Text
}

// digests are those of the decision and of its signature, "" without one.
func (d *StoredDecision) digests() (text, signature Digest) {
	if d.Signature != nil {
		signature = DigestOf(d.Signature)
	}
	return DigestOf(d.Text), signature
}

func decisionFile(seq int) string { return fmt.Sprintf("%s/%04d.json", DecisionsDir, seq) }

const decisionSignature = ".sig"

// isBeside reports whether a file of a record came after its end, so that SHA256SUMS does not list it.
func isBeside(name string) bool {
	return name == SumsSignatureFile || name == RerunFile || strings.HasPrefix(name, DecisionsDir+"/")
}

// Decisions returns the decisions on a run, the oldest first. It checks that each is of this record, that they follow
// one another without a gap, that each signature is one of its decision, and that none is missing which the log of the
// store has. Whether a key counts is for the caller to say.
func (r *Record) Decisions() ([]StoredDecision, error) {
	var list []StoredDecision
	var sums Digest
	known := map[string]bool{}
	for seq := 1; ; seq++ {
		file := decisionFile(seq)
		text, err := r.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err == nil && sums == "" {
			sums, err = r.Sums()
		}
		if err != nil {
			return nil, cannotRead(r.File(file), err)
		}
		d, err := r.readDecision(file, text)
		if err == nil {
			err = d.follows(list, sums)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %w", file, err)
		}
		known[file], known[file+decisionSignature] = true, true
		list = append(list, *d)
	}
	known[decisionFile(len(list)+1)+decisionSignature] = true // what a crash left of one that was not given
	if r.archive != nil || r.Has(DecisionsDir) {
		stray := ""
		note := func(name string) {
			if isBeside(name) && strings.HasPrefix(name, DecisionsDir+"/") && !known[name] {
				stray = name
			}
		}
		if err := r.walk(func(name string) error { note(name); return nil }, note); err != nil {
			return nil, cannotRead(r.path, err)
		}
		if stray != "" {
			return nil, fmt.Errorf("%s follows no decision: one before it is missing, or it is none", QuotePath(stray))
		}
	}
	return list, r.logged(list)
}

func (r *Record) readDecision(file string, text []byte) (*StoredDecision, error) {
	d := &StoredDecision{File: file, Text: text}
	if err := codec.Unmarshal(text, &d.Decision); err != nil {
		return nil, err
	}
	var err error
	d.Signature, err = r.ReadFile(file + decisionSignature)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Signature, err = nil, nil
	case err == nil:
		d.Signed, err = sshsig.Check(d.Signature, DecisionNamespace, text)
	}
	if err != nil {
		return nil, fmt.Errorf("has a signature that does not hold: %w", err)
	}
	return d, nil
}

// follows returns an error unless the decision is the next one on a record.
func (d *StoredDecision) follows(list []StoredDecision, sums Digest) error {
	if d.Decision == nil || d.Answer != Accepted && d.Answer != Rejected {
		return errors.New("is no decision")
	}
	var prev, signature Digest
	if n := len(list); n > 0 {
		prev, signature = list[n-1].digests()
	}
	switch {
	case d.Sums != sums:
		return fmt.Errorf("decides on the record %s of run %s, and this record is %s", d.Sums, d.Run, sums)
	case d.Seq != len(list)+1:
		return fmt.Errorf("is decision %d, and stands as decision %d", d.Seq, len(list)+1)
	case d.Prev != prev || d.PrevSignature != signature:
		return errors.New("does not follow the decision before it: that one was changed, or is another")
	case d.Answer == Accepted && d.Signature == nil:
		return errors.New("accepts without a signature")
	}
	return nil
}

// decisionLine is a line of DecisionLog.
type decisionLine struct {
	Run       RunID  `json:"run_id"`
	Sums      Digest `json:"record"`
	Seq       int    `json:"seq"`
	Decision  Digest `json:"decision"`
	Signature Digest `json:"signature,omitzero"`
}

func (d *StoredDecision) line() decisionLine {
	line := decisionLine{Run: d.Run, Sums: d.Sums, Seq: d.Seq}
	line.Decision, line.Signature = d.digests()
	return line
}

// store is the store that a run directory is in; false for a copy elsewhere.
func (r *Record) store() (Store, bool) {
	abs, err := filepath.Abs(r.path)
	above, name := filepath.Split(abs)
	above = filepath.Clean(above)
	// A name with a dot is that of a copy which is not in the store yet.
	if err == nil && r.archive == nil && filepath.Base(above) == "runs" && !strings.HasPrefix(name, ".") {
		return Store{Dir: filepath.Dir(above)}, true
	}
	return Store{}, false
}

// logLines are the lines of the store's log about this record.
func (r *Record) logLines() (file string, lines []decisionLine, err error) {
	store, ok := r.store()
	if !ok {
		return "", nil, nil
	}
	file = filepath.Join(store.Dir, DecisionLog)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil, nil
	}
	if err != nil {
		return file, nil, cannotRead(file, err)
	}
	sums, err := r.Sums() // not the run's id, which its folder could be named otherwise
	if err != nil {
		return file, nil, cannotRead(r.File(SumsFile), err)
	}
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		var line decisionLine
		// A torn line is of a decision that was not reported as given.
		if codec.Unmarshal(in.Bytes(), &line) == nil && line.Sums == sums {
			lines = append(lines, line)
		}
	}
	return file, lines, nil
}

// logged returns an error if the log of the store has a decision on this record that list lacks.
func (r *Record) logged(list []StoredDecision) error {
	file, lines, err := r.logLines()
	if err != nil {
		return err
	}
	for _, line := range lines {
		switch {
		case line.Seq < 1 || line.Seq > len(list):
			return &missingDecisionError{decisionFile(line.Seq), file}
		case list[line.Seq-1].line() != line:
			return fmt.Errorf("%s is another decision than the one that %s has", decisionFile(line.Seq), file)
		}
	}
	return nil
}

// LogDecisions adds the decisions on this record to the log of its store, if they are not in it.
func (r *Record) LogDecisions(list []StoredDecision) (err error) {
	file, lines, err := r.logLines()
	if file == "" || err != nil {
		return err
	}
	var text []byte
	for i := range list {
		if line := list[i].line(); !slices.Contains(lines, line) {
			b, err := codec.Marshal(line)
			if err != nil {
				return err
			}
			text = append(append(text, b...), '\n')
		}
	}
	if len(text) == 0 {
		return nil
	}
	return r.writer.Append(file, text)
}

// Decide adds a decision to a record: its answer, actor, time and reason are those of d, and the rest follows from the
// record. check, which may be nil, sees it before it is written. sign may be nil for a rejection.
func (r *Record) Decide(
	d Decision, sign func([]byte) ([]byte, error), check func(*StoredDecision) error,
) (*StoredDecision, error) {
	if err := r.writable(DecisionsDir); err != nil {
		return nil, err
	}
	if Working(r.path) {
		return nil, ErrLive
	}
	run, _, err := r.Load()
	if err != nil {
		return nil, cannotRead(r.path, err)
	}
	list, err := r.Decisions()
	if err != nil {
		return nil, err
	}
	if len(list) >= maxDecisions {
		return nil, fmt.Errorf("there are %d decisions on run %s, and more are not kept", len(list), run.ID)
	}
	d.Seq, d.Run, d.Status = len(list)+1, run.ID, run.Status()
	if d.Sums, err = r.Sums(); err != nil {
		return nil, cannotRead(r.File(SumsFile), err)
	}
	if len(list) > 0 {
		d.Prev, d.PrevSignature = list[len(list)-1].digests()
	}
	made := &StoredDecision{Decision: &d, File: decisionFile(d.Seq)}
	if made.Text, err = codec.Indent(&d); err != nil {
		return nil, err
	}
	if sign != nil {
		if made.Signature, err = sign(made.Text); err == nil {
			made.Signed, err = sshsig.Check(made.Signature, DecisionNamespace, made.Text)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := made.follows(list, d.Sums); err != nil {
		return nil, fmt.Errorf("the decision %w", err)
	}
	if check != nil {
		if err := check(made); err != nil {
			return nil, err
		}
	}
	return made, r.keepDecision(made, list)
}

// claimedDecision is the last decision as its file says it, without a check; nil without one.
func (r *Record) claimedDecision() (last *Decision) {
	if !r.Has(DecisionsDir) {
		return nil
	}
	for seq := 1; seq <= maxDecisions; seq++ {
		text, err := r.ReadFile(decisionFile(seq))
		var d Decision
		if err != nil || codec.Unmarshal(text, &d) != nil {
			break
		}
		last = &d
	}
	return last
}

// keepDecision writes a decision. The signature comes first: whoever sees the decision finds it. Of two at the same
// time one is kept, and the other is an error.
func (r *Record) keepDecision(made *StoredDecision, before []StoredDecision) error {
	if err := os.MkdirAll(r.File(DecisionsDir), 0o755); err != nil {
		return cannotWrite(r.File(DecisionsDir), err)
	}
	done, err := exclusive(r.File(DecisionsDir))
	if err != nil {
		return cannotWrite(r.File(DecisionsDir), err)
	}
	defer done()
	if r.Has(made.File) {
		return fmt.Errorf("somebody else decided on run %s at the same time: markmill show has it", made.Run)
	}
	if made.Signature == nil {
		err = r.Remove(made.File + decisionSignature) // what a crash left
	} else {
		err = r.Write(made.File+decisionSignature, made.Signature)
	}
	if err == nil {
		err = r.Write(made.File, made.Text)
	}
	if err == nil {
		err = r.LogDecisions(append(slices.Clone(before), *made))
	}
	if err != nil {
		return errors.Join(err, r.Remove(made.File), r.Remove(made.File+decisionSignature))
	}
	return nil
}

// TakeDecisions adds the decisions that another copy of the record has, and returns how many those are. It is an error
// if neither copy's decisions begin with the other's.
func (r *Record) TakeDecisions(from *Record) (more int, err error) {
	theirs, err := from.Decisions()
	if err != nil {
		return 0, err
	}
	own, err := r.Decisions()
	var missing *missingDecisionError
	if err != nil && !errors.As(err, &missing) { // what is missing may be among theirs
		return 0, err
	}
	for i := range min(len(own), len(theirs)) {
		if own[i].line() != theirs[i].line() {
			return 0, fmt.Errorf("decision %d is another one", i+1)
		}
	}
	if len(theirs) > len(own) {
		if err := r.logged(theirs); err != nil {
			return 0, err
		}
		for i := len(own); i < len(theirs); i++ {
			if err := r.keepDecision(&theirs[i], theirs[:i]); err != nil {
				return i - len(own), err
			}
		}
		return len(theirs) - len(own), nil
	}
	return 0, err
}

// missingDecisionError is the error for a decision that the log has and the record lacks.
type missingDecisionError struct{ file, log string }

func (e *missingDecisionError) Error() string {
	return fmt.Sprintf("%s is missing: %s has it", e.file, e.log)
}

// DecisionSummary is a decision as it is shown.
type DecisionSummary struct {
	Answer string    `json:"answer"` // accepted, rejected
	Actor  string    `json:"actor"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason,omitzero"`
	Digest Digest    `json:"digest"` // of its file: kept elsewhere, it shows whether a later one was removed
	// Signed says who signed it, and whether the key counts; nil of a rejection without a signature.
	Signed *SignedBy `json:"signed,omitempty"`
}

// Words describes the decision in one line.
func (d *DecisionSummary) Words() string {
	words := d.Answer + " by " + d.Actor + " " + Shown(d.Time)
	if d.Signed != nil {
		words += ", " + d.Signed.Words()
	}
	if d.Reason != "" {
		words += ": " + strings.Join(strings.Fields(d.Reason), " ")
	}
	return words
}

// Summary describes the decision. The key must count when the decision was given, and now.
func (d *StoredDecision) Summary(signers Signers) DecisionSummary {
	s := DecisionSummary{Answer: d.Answer, Actor: d.Actor, Time: d.Time, Reason: d.Reason, Digest: DigestOf(d.Text)}
	if d.Signed != nil {
		s.Signed = signedBy(d.Signed, DecisionNamespace, signers.Allowed, d.Time, signers.Now)
	}
	return s
}

// decisions checks the decisions on the run.
func (c *check) decisions(signers Signers) {
	list, err := c.record.Decisions()
	if err != nil {
		c.v.find(DecisionsDir, "%s", words(err))
	}
	for i := range list {
		d := &list[i]
		if c.v.Run != nil && (d.Run != c.v.Run.ID || d.Status != c.v.Run.Status()) {
			c.v.find(d.File, "is about run %s, which was %s, and this is run %s, which was %s", d.Run, d.Status,
				c.v.Run.ID,
				c.v.Run.Status())
		}
		c.v.Decisions = append(c.v.Decisions, d.Summary(signers))
	}
}
