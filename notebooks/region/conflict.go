package region

import (
	"bytes"
	"sort"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// Two branches that ran the same notebook disagree about its regions, and Git puts its conflict lines into them or
// around them. Where nothing but regions stands between the lines, all of it goes: the source was never in conflict.

// holdsConflict reports whether one of the lines is Git's.
func holdsConflict(text []byte) bool {
	for at := 0; at < len(text); {
		end := blocks.LineEnd(text, at)
		if line := text[at:end]; blocks.IsConflictOpen(line) || blocks.IsConflictEnd(line) {
			return true
		}
		at = end
	}
	return false
}

// settleConflicts widens the first region of a conflict to the whole of it, and reports the end markers that
// belong to nothing.
func (s *stripping) settleConflicts() {
	done := 0 // all before is settled
	for i := range s.found {
		f := &s.found[i]
		if f.span.Start < done {
			f.told = true
			continue
		}
		open := s.lineBefore(f.span.Start)
		if open < 0 || !blocks.IsConflictOpen(s.src[open:]) {
			continue
		}
		end, ok := s.conflictEnd(i)
		f.conflict = f.conflict || ok || holdsConflict(s.src[min(f.span.End, s.limit):s.limit])
		if !ok {
			continue
		}
		if f.span.Start == f.markerStart(s) { // its empty line is before Git's line
			open = s.emptyLineBefore(open)
		}
		f.span = notebooks.Span{Start: open, End: end}
		done = end
	}
	for _, at := range s.strays {
		if i := sort.Search(len(s.found), func(i int) bool { return s.found[i].span.End > at }); i < len(s.found) &&
			s.found[i].span.Start <= at {
			continue
		}
		s.problem(found{FoundRegion: FoundRegion{Line: sort.SearchInts(s.lines, at+1)}},
			"a marker ends a region that does not begin", "delete the line, or restore the region")
	}
}

func (f *found) markerStart(s *stripping) int { return s.lines[f.Line-1] }

// lineBefore is where the line before an offset begins; -1 at the head.
func (s *stripping) lineBefore(at int) int {
	if at == 0 {
		return -1
	}
	return bytes.LastIndexByte(s.src[:at-1], '\n') + 1
}

// conflictEnd finds the end of the conflict that region i begins. It is false if anything else is in it.
func (s *stripping) conflictEnd(i int) (int, bool) {
	at := s.found[i].span.End
	for i++; at < len(s.src); {
		end := blocks.LineEnd(s.src, at)
		line := s.src[at:end]
		switch {
		case i < len(s.found) && at >= s.found[i].span.Start:
			end = max(end, s.found[i].span.End)
			i++
		case blocks.IsConflictEnd(line):
			return end, true
		case blocks.IsConflictPart(line), isEndMarker(line), len(bytes.TrimSpace(line)) == 0:
		default:
			return 0, false
		}
		at = end
	}
	return 0, false
}
