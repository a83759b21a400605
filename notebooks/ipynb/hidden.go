package ipynb

import (
	"markmill/notebooks/codec"
)

// sourceHidden is what Jupyter keeps of a cell whose code is folded.
var sourceHidden = codec.Raw(`{"source_hidden": true}`)

const (
	keySourceHidden = "source_hidden"
	keyWas          = "jupyter_was" // in keyMarkmill: "jupyter" before a run hid the code; null if absent
)

// Hides reports whether Jupyter folds the code of a cell.
func (c *Cell) Hides() bool {
	jupyter, ok := member(c.Metadata, keyJupyter)
	if !ok {
		return false
	}
	v, ok := member(jupyter, keySourceHidden)
	return ok && string(v.Raw) == "true"
}

// hide folds the code of a cell, and gives what is to be put into its metadata, besides what else is: with a note of
// what was there, for Source.
func (w *writing) hide(c *Cell, settings []Setting) []Setting {
	if c.Hides() {
		return settings
	}
	var was *string
	hidden := []Setting{{Name: keyJupyter, Value: sourceHidden}}
	if jupyter, ok := member(c.Metadata, keyJupyter); ok {
		if len(jupyter.Raw) == 0 || jupyter.Raw[0] != '{' {
			return settings // no reader of Jupyter's takes it: it stays as it is
		}
		was, hidden = new(string(jupyter.Raw)), nil
		if v, ok := member(jupyter, keySourceHidden); ok {
			w.edits = append(w.edits, Edit{v.Span, "true"})
		} else {
			w.set(jupyter, []Setting{{Name: keySourceHidden, Value: codec.Raw("true")}})
		}
	}
	note := map[string]any{keyWas: was}
	for _, s := range settings {
		if s.Name != keyMarkmill {
			hidden = append(hidden, s)
			continue
		}
		for _, m := range Members(Value{Raw: s.Value}) {
			note[m.Name] = m.Raw
		}
	}
	raw, err := codec.Marshal(note)
	if err != nil && w.err == nil {
		w.err = err
	}
	return append(hidden, Setting{Name: keyMarkmill, Value: raw})
}

// unhide puts the cell's "jupyter" back as it was before a run hid its code, or names it as a key to take out.
func (w *stripping) unhide(c *Cell) (drop []string) {
	note, ok := member(c.Metadata, keyMarkmill)
	if !ok {
		return nil
	}
	was, ok := member(note, keyWas)
	if !ok {
		return nil
	}
	if string(was.Raw) == "null" {
		return []string{keyJupyter}
	}
	if jupyter, ok := member(c.Metadata, keyJupyter); ok {
		if text := was.Text(); codec.Raw(text).IsValid() {
			w.put(jupyter.Span, text)
		}
	}
	return nil
}
