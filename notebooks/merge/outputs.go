package merge

import (
	"bytes"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// Stale is the status of an output notebook whose outputs are of no one run.
const Stale = "stale"

// writtenStep is a step in the merged source.
type writtenStep struct {
	joint
	end  int // where it ends
	text string
}

// withOutputs puts the regions of the sides into the merged source. Where that is the source of one side, the whole of
// that side is taken, for its outputs are of one run; else each step has the outputs of the side whose text it has, a
// step with a text of its own has none, and the manifest says that this is of no run.
func (m *merger) withOutputs(docs [3]*document, source string, steps []writtenStep) []byte {
	b, x, y := docs[0], docs[1], docs[2]
	if !pick(b.hasOutputs(), x.hasOutputs(), y.hasOutputs()) {
		return []byte(source)
	}
	ofX, ofY := x.isRunOf(source), y.isRunOf(source)
	switch {
	case ofX && ofY:
		raw, ok := agreed(b.raw, x.raw, y.raw)
		if !ok {
			m.note("both sides have outputs of this very notebook: those of %s were taken", m.sideName(true))
		}
		return []byte(raw)
	case ofX:
		return []byte(x.raw)
	case ofY:
		return []byte(y.raw)
	}
	nb, _ := markdown.Parse(m.opt.Name, []byte(source))
	ids := map[int]notebooks.StepID{}
	for _, s := range nb.Steps {
		ids[s.Fence.End] = s.ID
	}
	var regions []region.Region
	dropped := 0
	for _, w := range steps {
		of := func(d *document, at int) []region.FoundRegion {
			if at < 0 || d.ids[at] == "" {
				return nil
			}
			return d.regions(string(d.ids[at]))
		}
		rb, rx, ry := of(b, w.b), of(x, w.x), of(y, w.y)
		keptX, keptY := w.x >= 0 && x.body.units[w.x].text == w.text, w.y >= 0 && y.body.units[w.y].text == w.text
		var take []region.FoundRegion
		switch {
		case keptX && keptY && sameRegions(rb, rx):
			take = ry
		case keptX:
			take = rx
		case keptY:
			take = ry
		}
		id, ok := ids[w.end]
		if !ok { // the step had no newline at its end, and something follows it now
			w.end++
			id, ok = ids[w.end]
		}
		if take == nil || !ok {
			if len(rx)+len(ry) > 0 {
				dropped++
			}
			continue
		}
		for _, r := range take {
			regions = append(regions, region.Region{ID: string(id), At: w.end, Body: r.Body})
		}
	}
	from := x
	if x.stripped.Manifest == nil || b.stripped.Manifest != nil && y.stripped.Manifest != nil &&
		sameParams(b.stripped.Manifest, x.stripped.Manifest) {
		from = y
	}
	manifest := notebooks.Manifest{Status: Stale}
	if from.stripped.Manifest != nil {
		manifest.Parameters = from.stripped.Manifest.Parameters
	}
	if nb.ParamsAt >= 0 {
		for _, r := range from.otherRegions() {
			regions = append(regions, region.Region{ID: r.ID, At: nb.ParamsAt, Body: r.Body})
		}
	}
	m.note("the outputs are of no one run: %d steps have none, and the status is %s; run it again", dropped, Stale)
	return region.Splice([]byte(source), regions, manifest)
}

func (d *document) hasOutputs() bool {
	return d.stripped.Manifest != nil || len(d.stripped.Regions) > 0
}

// pick returns the three-way merge of one thing that cannot be in conflict.
func pick[T comparable](b, x, y T) T {
	if b == x {
		return y
	}
	return x
}

// agreed is pick where at most one side changed it, or both in the same way; false where there is a conflict.
func agreed[T comparable](b, x, y T) (T, bool) {
	return pick(b, x, y), x == y || b == y || b == x
}

// isRunOf reports whether the document is an output notebook of a source.
func (d *document) isRunOf(source string) bool {
	m := d.stripped.Manifest
	if m == nil || m.Status == Stale || string(d.stripped.Source) != source {
		return false
	}
	return m.Source == region.DigestOf([]byte(source))
}

// regions returns the regions of a step.
func (d *document) regions(id string) []region.FoundRegion {
	if d.byStep == nil {
		d.byStep = map[string][]region.FoundRegion{}
		for _, r := range d.stripped.Regions {
			d.byStep[r.ID] = append(d.byStep[r.ID], r)
		}
	}
	return d.byStep[id]
}

// otherRegions returns the regions of no step: the injected values.
func (d *document) otherRegions() []region.FoundRegion {
	steps := make(map[notebooks.StepID]bool, len(d.ids))
	for _, id := range d.ids {
		steps[id] = true
	}
	return slices.DeleteFunc(slices.Clone(d.stripped.Regions), func(r region.FoundRegion) bool {
		return steps[notebooks.StepID(r.ID)]
	})
}

func sameRegions(a, b []region.FoundRegion) bool {
	return slices.EqualFunc(a, b, func(p, q region.FoundRegion) bool {
		return p.Digest == q.Digest && bytes.Equal(p.Body, q.Body)
	})
}

func sameParams(a, b *notebooks.Manifest) bool {
	return slices.EqualFunc(a.Parameters, b.Parameters, func(p, q notebooks.ManifestParam) bool {
		return p.Name == q.Name && bytes.Equal(p.Value, q.Value)
	})
}
