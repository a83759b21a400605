package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"path"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// RunID names a run: <UTC yyyymmddThhmmssZ>-<notebook>-<random>.
type RunID string

// Digest is "sha256:" and 64 hexadecimal digits.
type Digest string

// EventType is one of the types below.
type EventType string

// The types, in the order in which a run has them.
const (
	RunStarted            EventType = "run.started"
	ContractCreated       EventType = "task.contract.created"
	PlanUpdated           EventType = "plan.updated"
	ApprovalRequested     EventType = "approval.requested"
	ApprovalGranted       EventType = "approval.granted"
	ApprovalDenied        EventType = "approval.denied"
	GateBlocked           EventType = "gate.blocked"
	TreeOpened            EventType = "tree.opened"
	StepStarted           EventType = "step.started"
	ScrapRecorded         EventType = "scrap.recorded"
	PatchApplied          EventType = "patch.applied"
	StepReplayed          EventType = "step.replayed"
	StepFinished          EventType = "step.finished"
	InputsRecorded        EventType = "inputs.recorded" // its data is a notebooks.Inputs
	GitDiffChecked        EventType = "git.diff.checked"
	VerificationCompleted EventType = "verification.completed"
	DataKept              EventType = "data.written"
	RunCompleted          EventType = "run.completed"
)

// Event is one line of the journal.
type Event struct {
	Seq  int              `json:"seq"` // from 0
	Time time.Time        `json:"time"`
	Type EventType        `json:"type"`
	Step notebooks.StepID `json:"step,omitempty"`
	Data codec.Raw        `json:"data"` // the canonical JSON of the matching Data type
	Prev Digest           `json:"prev"` // hash of the event before; of the first: digest of the source notebook
	Hash Digest           `json:"hash"` // of the canonical JSON of the event without hash
}

// runStamp is the time in a RunID: UTC, to the second.
const runStamp = "20060102T150405Z"

// slugMax bounds the notebook's part of a RunID, to keep paths below the run directory short.
const slugMax = 40

// NewRunID names a run by its start, the path of its notebook, and random bytes, which tell runs of the same second
// apart.
func NewRunID(now time.Time, notebook string, random []byte) RunID {
	return RunID(now.UTC().Format(runStamp) + "-" + slug(notebook) + "-" + hex.EncodeToString(random))
}

// slug makes a word that is safe in paths, Git refs and shells: lower-case letters, digits and single dashes.
func slug(notebook string) string {
	base := path.Base(strings.ReplaceAll(notebook, `\`, "/"))
	base = strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))
	words := strings.FieldsFunc(base, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	out := strings.Join(words, "-")
	if len(out) > slugMax {
		out = strings.TrimRight(out[:slugMax], "-")
	}
	if out == "" {
		return "notebook"
	}
	return out
}

// startOf parses the time at the beginning of a RunID; false if it is no RunID.
func startOf(id RunID) (time.Time, bool) {
	if len(id) <= len(runStamp) || id[len(runStamp)] != '-' {
		return time.Time{}, false
	}
	t, err := time.Parse(runStamp, string(id[:len(runStamp)]))
	return t, err == nil
}

// Short returns the id without its time.
func (id RunID) Short() string {
	if _, named := startOf(id); named {
		return string(id[len(runStamp)+1:])
	}
	return string(id)
}

const digestPrefix = "sha256:"

// DigestOf returns the digest of bytes.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return makeDigest(sum[:])
}

func makeDigest(sum []byte) Digest {
	var text [len(digestPrefix) + 2*sha256.Size]byte
	copy(text[:], digestPrefix)
	hex.Encode(text[len(digestPrefix):], sum)
	return Digest(text[:])
}

// Hex returns the digest without its prefix.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Valid reports whether d is well-formed.
func (d Digest) Valid() bool {
	text, found := strings.CutPrefix(string(d), digestPrefix)
	if !found || len(text) != 2*sha256.Size || text != strings.ToLower(text) {
		return false
	}
	_, err := hex.DecodeString(text)
	return err == nil
}

// Hasher digests a stream as it is written.
type Hasher struct {
	hash  hash.Hash
	bytes int64
}

// NewHasher returns a new Hasher.
func NewHasher() *Hasher { return &Hasher{hash: sha256.New()} }

// Write never fails.
func (h *Hasher) Write(b []byte) (int, error) {
	h.bytes += int64(len(b))
	return h.hash.Write(b)
}

// Digest returns the digest of what was written so far.
func (h *Hasher) Digest() Digest { return makeDigest(h.hash.Sum(nil)) }

// Bytes returns how many bytes were written so far.
func (h *Hasher) Bytes() int64 { return h.bytes }
