package runs

import (
	"fmt"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Rerun is rerun.json: how a run compares with the one that it repeats. It follows from the two records, whose digests
// it names, and is written beside the record of the second.
type Rerun struct {
	Run       RunID  `json:"run_id"` // that was repeated
	Sums      Digest `json:"record"` // of its SHA256SUMS
	Rerun     RunID  `json:"rerun_id"`
	RerunSums Digest `json:"rerun_record"`
	Agrees    bool   `json:"agrees"`
	// OtherBase says that the repetition began with another commit, so that only the changes were compared, not trees.
	OtherBase string `json:"other_base,omitzero"`
	// Normalize are the rules besides the notebook's own that masked what was compared.
	Normalize []notebooks.Normalize `json:"normalize,omitempty"`
	Compared  int                   `json:"compared"` // how many results were compared
	// Differences are in the order of the notebook, those of the whole run first.
	Differences []RerunDifference `json:"differences"`
	Notes       []string          `json:"notes"` // what was not compared, and why
}

// RerunDifference is one result that differs.
type RerunDifference struct {
	Step  string   `json:"step,omitzero"` // "" is the whole run
	What  string   `json:"what"`          // status, exit, tree, change, scrap NAME, tests, output, steps, attempts
	Was   string   `json:"was"`
	Now   string   `json:"now"`
	Diff  string   `json:"diff,omitzero"`   // of texts, unified
	Paths []string `json:"paths,omitempty"` // whose content differs
}

// Reruns returns, by the run that they repeat, the records that were compared with it, the oldest first. They are not
// checked, and one whose rerun.json cannot be read is left out.
func (s Store) Reruns() (map[RunID][]*Record, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	out := map[RunID][]*Record{}
	for _, id := range ids {
		record := s.Record(id)
		if r, err := record.Rerun(); err == nil {
			out[r.Run] = append(out[r.Run], record)
		}
	}
	return out, nil
}

// Rerun reads rerun.json. It does not check that it follows from the records.
func (r *Record) Rerun() (*Rerun, error) {
	text, err := r.ReadFile(RerunFile)
	if err != nil {
		return nil, err
	}
	var out Rerun
	if err := codec.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", RerunFile, err)
	}
	return &out, nil
}
