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
	return string(c.Metadata.at(keyJupyter, keySourceHidden).Raw) == "true"
}

// hide folds the code of a cell: it returns the settings for its metadata, including a note of the previous state, for
// Source.
func (w *writing) hide(c *Cell, settings []Setting) []Setting {
	if c.Hides() {
		return settings
	}
	var was *string
	hidden := []Setting{{Name: keyJupyter, Value: sourceHidden}}
	if jupyter := c.Metadata.at(keyJupyter); jupyter.Raw != nil {
		if jupyter.Raw[0] != '{' {
			return settings // invalid for Jupyter: leave it
		}
		was, hidden = new(string(jupyter.Raw)), nil
		if v := jupyter.at(keySourceHidden); v.Raw != nil {
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
	was := c.Metadata.at(keyMarkmill, keyWas)
	if string(was.Raw) == "null" {
		return []string{keyJupyter}
	}
	if text := was.Text(); codec.Raw(text).IsValid() {
		w.put(c.Metadata.at(keyJupyter).Span, text)
	}
	return nil
}
