package ipynb

import (
	"fmt"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/region"
)

// Manifest returns the manifest that a run of Markmill left, or nil.
func (nb *Notebook) Manifest() *notebooks.Manifest {
	var m notebooks.Manifest
	if v := nb.Metadata.at(keyMarkmill, "manifest"); v.Raw == nil || codec.UnmarshalForeign(v.Raw, &m) != nil {
		return nil
	}
	return &m
}

// Rerun reports whether papermill ran the notebook after the manifest's run. papermill keeps the manifest, but records
// its start time, which Markmill does not.
func (nb *Notebook) Rerun() bool {
	return nb.Metadata.at(keyPapermill, "start_time").Given()
}

// ManifestSetting returns the metadata for a manifest and the other notes of a run.
func ManifestSetting(m notebooks.Manifest, also ...Setting) (Setting, error) {
	noted := map[string]any{"manifest": m}
	for _, s := range also {
		noted[s.Name] = s.Value
	}
	raw, err := codec.Marshal(noted)
	return Setting{keyMarkmill, raw}, err
}

// RegionDigest returns the digest of a cell's run results, independent of the file's indentation.
func RegionDigest(outputs codec.Raw, count int) string {
	canonical, err := codec.Marshal(outputs)
	if err != nil { // accepted only by a lenient reader
		canonical = outputs
	}
	return region.DigestOf(append(slices.Clip(canonical), fmt.Sprintf("\n%d", count)...))
}

// Damage lists how an output notebook differs from what its run left. It is nil without differences, or without a
// manifest.
func (nb *Notebook) Damage() notebooks.ErrorList {
	m := nb.Manifest()
	if m == nil {
		return nil
	}
	var found notebooks.ErrorList
	r := reader{nb: nb}
	problem := func(at int, id, msg string) {
		e := r.problem(at, msg, "run the notebook again")
		e.Kind, e.Step = notebooks.KindRegion, notebooks.StepID(id)
		found = append(found, e)
	}
	source := Source(nb, false)
	if region.DigestOf(source) != m.Source {
		problem(0, "",
			"its cells or its metadata were edited: without its outputs it is another notebook than the one that ran")
	}
	cells, err := nb.StepCells(false)
	if err != nil { // cannot happen: the notebook was parsed
		return found
	}
	want := map[string]string{}
	for _, r := range m.Regions {
		want[r.ID] = r.Digest
	}
	for _, sc := range cells {
		c, id := sc.Cell, string(sc.Step.ID)
		digest, known := want[id]
		delete(want, id)
		var count int
		if c.Count.Given() {
			_, _ = fmt.Sscan(string(c.Count.Raw), &count)
		}
		switch {
		case !known && (len(c.Outputs) > 0 || count > 0):
			problem(c.Span.Start, id, "the outputs of this cell are of another run: the manifest does not list them")
		case known && RegionDigest(c.OutputsAt.Raw, count) != digest:
			problem(c.Span.Start, id, "the outputs of this cell were edited: their digest is another")
		}
	}
	for _, r := range m.Regions {
		if _, left := want[r.ID]; left {
			problem(0, r.ID, "the outputs of this cell were deleted: the manifest lists them")
		}
	}
	return found
}
