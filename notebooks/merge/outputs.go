package merge

import (
	"bytes"
	"slices"

	"markmill/notebooks"
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
	if out := pick(b.hasOutputs(), x.hasOutputs(), y.hasOutputs()); !out {
		return []byte(source)
	}
	ofX, ofY := x.isRunOf(source), y.isRunOf(source)
	switch {
	case ofX && ofY && b.raw == x.raw:
		return []byte(y.raw)
	case ofX && ofY:
		if x.raw != y.raw && b.raw != y.raw {
			m.note("both sides have outputs of this very notebook: those of %s were taken", m.sideName(true))
		}
		return []byte(x.raw)
	case ofX:
		return []byte(x.raw)
	case ofY:
		return []byte(y.raw)
	}
	nb, _ := notebooks.Parse(m.opt.Name, []byte(source))
	ids := map[int]notebooks.StepID{}
	for _, s := range nb.Steps {
		ids[s.Fence.End] = s.ID
	}
	var regions []notebooks.Region
	dropped := 0
	for _, w := range steps {
		of := func(d *document, at int) []notebooks.FoundRegion {
			if at < 0 || d.ids[at] == "" {
				return nil
			}
			return d.regions(string(d.ids[at]))
		}
		rb, rx, ry := of(b, w.b), of(x, w.x), of(y, w.y)
		keptX, keptY := w.x >= 0 && x.body.units[w.x].text == w.text, w.y >= 0 && y.body.units[w.y].text == w.text
		var take []notebooks.FoundRegion
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
			regions = append(regions, notebooks.Region{ID: string(id), At: w.end, Body: r.Body})
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
			regions = append(regions, notebooks.Region{ID: r.ID, At: nb.ParamsAt, Body: r.Body})
		}
	}
	m.note("the outputs are of no one run: %d steps have none, and the status is %s; run it again", dropped, Stale)
	return notebooks.Splice([]byte(source), regions, manifest)
}

func (d *document) hasOutputs() bool {
	return d.stripped.Manifest != nil || len(d.stripped.Regions) > 0
}

// pick is the three-way merge of one thing that cannot be in conflict.
func pick[T comparable](b, x, y T) T {
	if b == x {
		return y
	}
	return x
}

// isRunOf says that the document is an output notebook of a source.
func (d *document) isRunOf(source string) bool {
	m := d.stripped.Manifest
	if m == nil || m.Status == Stale || string(d.stripped.Source) != source {
		return false
	}
	return m.Source == notebooks.DigestOf([]byte(source))
}

// regions returns the regions of a step.
func (d *document) regions(id string) []notebooks.FoundRegion {
	if d.byStep == nil {
		d.byStep = map[string][]notebooks.FoundRegion{}
		for _, r := range d.stripped.Regions {
			d.byStep[r.ID] = append(d.byStep[r.ID], r)
		}
	}
	return d.byStep[id]
}

// otherRegions returns the regions of no step: the injected values.
func (d *document) otherRegions() []notebooks.FoundRegion {
	steps := make(map[notebooks.StepID]bool, len(d.ids))
	for _, id := range d.ids {
		steps[id] = true
	}
	var out []notebooks.FoundRegion
	for _, r := range d.stripped.Regions {
		if !steps[notebooks.StepID(r.ID)] {
			out = append(out, r)
		}
	}
	return out
}

func sameRegions(a, b []notebooks.FoundRegion) bool {
	return slices.EqualFunc(a, b, func(p, q notebooks.FoundRegion) bool {
		return p.Digest == q.Digest &&
			bytes.Equal(p.Body, q.Body)
	})
}

func sameParams(a, b *notebooks.Manifest) bool {
	return slices.EqualFunc(a.Parameters, b.Parameters, func(p, q notebooks.ManifestParam) bool {
		return p.Name == q.Name && bytes.Equal(p.Value, q.Value)
	})
}
