package ipynb

import (
	"sort"

	"markmill/notebooks/codec"
)

// Edit puts a text in the place of a part of the source.
type Edit struct {
	Span codec.Span
	Text string
}

// Apply gives the source with the edits, which may come in any order. An edit within another one has no effect: what
// it was to change is gone.
func Apply(src []byte, edits []Edit) []byte {
	if len(edits) == 0 {
		return src
	}
	edits = append([]Edit(nil), edits...)
	sort.SliceStable(edits, func(i, j int) bool {
		a, b := edits[i].Span, edits[j].Span
		return a.Start < b.Start || a.Start == b.Start && a.End > b.End
	})
	size, at := len(src), 0
	for _, e := range edits {
		size += len(e.Text)
	}
	gone := 0
	for _, e := range edits {
		if e.Span.Start >= at {
			gone += e.Span.End - e.Span.Start
			at = e.Span.End
		}
	}
	out := make([]byte, 0, size-gone)
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

// without takes items out of an array or an object, with the comma and the space that belong to each. The items are
// spans of the whole item: in an object from the name to the end of the value.
func without(whole codec.Span, src []byte, items []codec.Span, drop func(int) bool) []Edit {
	var edits []Edit
	kept := 0
	for i := 0; i < len(items); {
		if !drop(i) {
			kept++
			i++
			continue
		}
		first := i
		for i < len(items) && drop(i) {
			i++
		}
		switch {
		case i < len(items): // up to the item that stays
			edits = append(edits, Edit{Span: codec.Span{Start: items[first].Start, End: items[i].Start}})
		case first > 0: // the last ones: with the comma before them
			edits = append(edits, Edit{Span: codec.Span{Start: items[first-1].End, End: items[i-1].End}})
		}
	}
	if kept == 0 && len(items) > 0 {
		return []Edit{{Span: whole, Text: string(src[whole.Start]) + string(src[whole.End-1])}}
	}
	return edits
}
