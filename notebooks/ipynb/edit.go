package ipynb

import (
	"cmp"
	"slices"

	"markmill/notebooks/codec"
)

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
