package runs

import (
	"bytes"
	"fmt"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Reads reads the list of what a step read first.
func (r *Record) Reads(d *ReadsData) ([]notebooks.Input, error) {
	if d == nil || d.File == "" {
		return nil, nil
	}
	data, err := r.ReadFile(d.File)
	if err != nil {
		return nil, err
	}
	if got := DigestOf(data); got != d.Digest {
		return nil, fmt.Errorf("%s has changed: its journal says %s, and its bytes give %s", d.File, d.Digest, got)
	}
	var list []notebooks.Input
	for line := range bytes.Lines(data) {
		var in notebooks.Input
		if err := codec.Unmarshal(line, &in); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", d.File, len(list)+1, err)
		}
		list = append(list, in)
	}
	return list, nil
}
