package markdown

import (
	"bytes"
	"fmt"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// checkConflicts refuses a source with unresolved merge conflicts: a conflict in prose, or around steps, which would
// otherwise run, both of its sides. One inside a fence is that fence's text, and its language's to refuse.
func (r *parser) checkConflicts() {
	src := r.nb.Source
	if !bytes.Contains(src, []byte("\n>>>>>>> ")) {
		return
	}
	open, parted := -1, false
	for at, f := 0, 0; at < len(src); at = blocks.LineEnd(src, at) {
		for f < len(r.fences) && r.fences[f].Span.End <= at {
			f++
		}
		line := src[at:blocks.LineEnd(src, at)]
		switch inside := f < len(r.fences) && r.fences[f].Span.Start < at; {
		case blocks.IsConflictOpen(line) && !inside:
			open, parted = at, false
		case open >= 0 && blocks.IsConflictPart(line):
			parted = true
		case open >= 0 && parted && blocks.IsConflictEnd(line):
			end, _ := r.nb.Position(at)
			r.mistake(notebooks.KindSyntax, open, "",
				fmt.Sprintf("a conflict of a merge begins here, and ends in line %d", end),
				"keep what is right, and delete Git's lines")
			open = -1
		}
	}
}
