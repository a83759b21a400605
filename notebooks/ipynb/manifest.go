package ipynb

import (
	"fmt"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Manifest is what a run says of the notebook that it left; nil where no run of Markmill's did.
func (nb *Notebook) Manifest() *notebooks.Manifest {
	v, ok := member(nb.Metadata, keyMarkmill)
	if !ok {
		return nil
	}
	if v, ok = member(v, "manifest"); !ok {
		return nil
	}
	var m notebooks.Manifest
	if codec.UnmarshalForeign(v.Raw, &m) != nil {
		return nil
	}
	return &m
}

// Rerun reports whether papermill ran the notebook since the run of the manifest, which it leaves in its place:
// papermill notes when it began, and Markmill does not.
func (nb *Notebook) Rerun() bool {
	v, _ := member(nb.Metadata, keyPapermill)
	began, ok := member(v, "start_time")
	return ok && string(began.Raw) != "null"
}

// ManifestSetting is the metadata that hold a manifest, and what else is noted of a run.
func ManifestSetting(m notebooks.Manifest, also ...Setting) (Setting, error) {
	noted := map[string]any{"manifest": m}
	for _, s := range also {
		noted[s.Name] = s.Value
	}
	raw, err := codec.Marshal(noted)
	return Setting{keyMarkmill, raw}, err
}

// RegionDigest is the digest of what a run left in a cell. It does not depend on the file's indentation.
func RegionDigest(outputs codec.Raw, count int) string {
	canonical, err := codec.Marshal(outputs)
	if err != nil { // what only a lenient reader takes
		canonical = outputs
	}
	return notebooks.DigestOf(append(slices.Clip(canonical), fmt.Sprintf("\n%d", count)...))
}

// Damage says what of an output notebook is not as its run left it. It is nil where nothing is, or where it has no
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
	if notebooks.DigestOf(source) != m.Source {
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
