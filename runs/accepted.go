package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// AcceptedFinding is a finding of review --judge that somebody accepted. The id is bound to both trees, the notebook
// and the test, so that it holds for nothing else.
type AcceptedFinding struct {
	ID     string    `json:"id"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

var findingID = lazyregexp.New(`^[0-9a-f]{12}$`)

// accepted is the folder of what was accepted: <id>.json, and <id>.json.sig where a key signed it.
func (s Store) accepted() string { return filepath.Join(s.Dir, "accepted") }

// AcceptFinding keeps that a finding was accepted. sign, which may be nil, signs it in the namespace of decisions.
func (s Store) AcceptFinding(f AcceptedFinding, sign func(text []byte) ([]byte, error)) error {
	if !findingID.MatchString(f.ID) {
		return &notebooks.Error{Kind: notebooks.KindOption, Msg: f.ID + " is no finding of review --judge",
			Hint: "a finding has an id of 12 digits and letters, such as 1a2b3c4d5e6f"}
	}
	text, err := codec.Marshal(f)
	if err != nil {
		return err
	}
	if err := s.hide(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.accepted(), 0o755); err != nil {
		return cannotWrite(s.accepted(), err)
	}
	name := filepath.Join(s.accepted(), f.ID+answerEnding)
	if sign != nil {
		signature, err := sign(text)
		if err != nil {
			return err
		}
		if _, err := s.Writer.WriteFile(name+".sig", signature); err != nil {
			return err
		}
	}
	_, err = s.Writer.WriteFile(name, text)
	return err
}

// AcceptedFindings returns what was accepted here. With signers.Allowed only what one of these keys signed counts.
func (s Store) AcceptedFindings(signers Signers) (list []AcceptedFinding, err error) {
	entries, err := os.ReadDir(s.accepted())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannotRead(s.accepted(), err)
	}
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), answerEnding)
		if !is || !findingID.MatchString(id) {
			continue
		}
		name := filepath.Join(s.accepted(), e.Name())
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, cannotRead(name, err)
		}
		var f AcceptedFinding
		if codec.Unmarshal(text, &f) != nil || f.ID != id {
			continue // damaged: it accepts nothing
		}
		if signers.Allowed != nil {
			signature, _ := os.ReadFile(name + ".sig")
			by, err := CheckSignature(signature, DecisionNamespace, text, signers.Allowed, signers.Now)
			if err != nil || !by.Counts() {
				continue
			}
			f.By = by.Principals + " (signed)"
		}
		list = append(list, f)
	}
	return list, nil
}
