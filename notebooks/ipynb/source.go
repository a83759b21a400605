package ipynb

import (
	"bytes"
	"cmp"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Names of what a run leaves in the metadata of a notebook and of its cells.
const (
	keyMarkmill  = "markmill"
	keyPapermill = "papermill"
	keyJupyter   = "jupyter"
)

// results are what a run leaves in an object of ours, which may hold other things of a notebook too.
var results = []string{"added", "manifest", "result", keyWas}

// tagError is the tag of the cells in which papermill says where a run failed.
const tagError = "papermill-error-cell-tag"

// Where the metadata of a notebook have the state of the widgets that its outputs show.
const (
	KeyWidgets  = "widgets"
	WidgetState = "application/vnd.jupyter.widget-state+json"
	WidgetView  = "application/vnd.jupyter.widget-view+json" // the MIME type of such an output
)

// Widgets returns the member KeyWidgets of the metadata, where it has the state of widgets; else nil.
func (nb *Notebook) Widgets() codec.Raw {
	v := nb.Metadata.at(KeyWidgets)
	if v.at(WidgetState).Raw == nil {
		return nil
	}
	return v.Raw
}

// Source returns a notebook without what runs leave in it: outputs and counts, the cells that Markmill added and those
// in which papermill reported an error, the metadata of both, the state of widgets, and the times of executions.
// injected takes out the cells of injected parameters too, whoever wrote them: new values come in their place.
//
// Code cells without outputs or a count, and what has no metadata, which nbformat does not allow, get them. Every other
// byte stays, and the source of a source is the same.
func Source(nb *Notebook, injected bool) []byte {
	w := stripping{nb: nb}
	keys := []string{keyPapermill}
	if nb.Widgets() != nil {
		keys = append(keys, KeyWidgets)
	}
	w.bare(nb.Metadata, keys...)
	if nb.Metadata.Raw == nil {
		end := bytes.LastIndexByte(nb.Source, '}')
		w.edits = append(w.edits, Edit{codec.Span{Start: end, End: end}, `, "metadata": {}`})
	}
	for _, l := range nb.lists {
		if l.first == l.end {
			w.put(l.span, "[]")
		}
	}
	_ = w.cells(func(c *Cell) bool { return leftByRun(c, injected) }, func(c *Cell) error {
		w.bareCell(c)
		return nil
	})
	return Apply(nb.Source, w.edits)
}

// leftByRun reports whether a run added the cell.
func leftByRun(c *Cell, injected bool) bool {
	return added(c) || c.Tagged(tagError) || injected && c.Tagged(notebooks.TagInjected)
}

func (w *stripping) bareCell(c *Cell) {
	missing := ""
	if c.Type == "code" {
		if c.OutputsAt.Raw == nil {
			missing += `, "outputs": []`
		}
		if c.Count.Raw == nil {
			missing += `, "execution_count": null`
		}
		w.put(c.OutputsAt.Span, "[]")
		w.put(c.Count.Span, "null")
	}
	if c.Metadata.Raw == nil {
		missing += `, "metadata": {}`
	}
	if missing != "" && w.nb.NBFormat == 4 {
		end := codec.Span{Start: c.Span.End - 1, End: c.Span.End - 1}
		w.edits = append(w.edits, Edit{end, missing})
	}
	w.bare(c.Metadata, append(w.unhide(c), keyPapermill, "execution")...)
}

// bare takes members out of metadata, and what a run has left in those of ours. An object that is empty is spelled {}.
func (w *stripping) bare(object Value, keys ...string) {
	if object.Raw == nil {
		return
	}
	if len(Members(object)) == 0 {
		w.put(object.Span, "{}")
		return
	}
	other := func(m Member) bool { return !slices.Contains(results, m.Name) }
	if !slices.ContainsFunc(Members(object.at(keyMarkmill)), other) {
		w.dropKeys(object, append(keys, keyMarkmill))
		return
	}
	for _, name := range results {
		keys = append(keys, keyMarkmill+"."+name)
	}
	w.dropKeys(object, keys)
}

// added reports whether Markmill inserted the cell.
func added(c *Cell) bool { return truth(c.Metadata.at(keyMarkmill, "added")) }

// Edit replaces a part of the source with a text.
type Edit struct {
	Span codec.Span
	Text string
}

// Apply returns the source with the edits, which may be in any order. An edit within another one has no effect.
func Apply(src []byte, edits []Edit) []byte {
	if len(edits) == 0 {
		return src
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(b.Span.End, a.Span.End))
	})
	size, at := len(src), 0
	for _, e := range edits {
		size += len(e.Text)
		if e.Span.Start >= at {
			size, at = size-(e.Span.End-e.Span.Start), e.Span.End
		}
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range edits {
		if e.Span.Start < at {
			continue
		}
		out = append(append(out, src[at:e.Span.Start]...), e.Text...)
		at = e.Span.End
	}
	return append(out, src[at:]...)
}

// takeOut removes items from an array or an object, with their commas and space. An item's span is the whole item: in
// an object from the name to the end of the value.
func (w *stripping) takeOut(whole codec.Span, items []codec.Span, drop []bool) {
	if !slices.Contains(drop, true) {
		return
	}
	if !slices.Contains(drop, false) {
		empty := string(w.nb.Source[whole.Start]) + string(w.nb.Source[whole.End-1])
		w.edits = append(w.edits, Edit{whole, empty})
		return
	}
	for i := 0; i < len(items); i++ {
		if !drop[i] {
			continue
		}
		first := i
		for i < len(items) && drop[i] {
			i++
		}
		span := codec.Span{Start: items[first].Start}
		if i < len(items) {
			span.End = items[i].Start // up to the item that stays
		} else { // the last ones: with the comma before them
			span = codec.Span{Start: items[first-1].End, End: items[i-1].End}
		}
		w.edits = append(w.edits, Edit{Span: span})
	}
}
