package mask

import "slices"

// automaton finds many patterns in one pass over a text (Aho and Corasick, "Efficient string matching", CACM 18(6),
// 1975), as a state table over byte classes. It is safe for concurrent use.
type automaton struct {
	class   [256]uint16 // 0: in no pattern
	width   int         // number of classes
	next    []int32     // by state*width + class
	first   [256]int32  // next of state 0, by byte
	depth   []int32     // length of the longest pattern prefix that the state stands for
	match   []int32     // length of the longest pattern that ends in a state, or 0
	wrapped bool        // skip what separates characters
}

// newAutomaton builds the table for patterns. None may be empty.
func newAutomaton(patterns []string, wrapped bool) *automaton {
	patterns = slices.Clone(patterns)
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	a := &automaton{width: 1, wrapped: wrapped}
	for _, p := range patterns {
		for i := range len(p) {
			if c := p[i]; a.class[c] == 0 {
				a.class[c] = uint16(a.width)
				a.width++
			}
		}
	}
	state := func(depth int32) int32 {
		a.next = append(a.next, make([]int32, a.width)...)
		a.depth, a.match = append(a.depth, depth), append(a.match, 0)
		return int32(len(a.depth) - 1)
	}
	state(0)
	for _, p := range patterns {
		at := int32(0)
		for i := range len(p) {
			slot := int(at)*a.width + int(a.class[p[i]])
			if a.next[slot] == 0 {
				to := state(int32(i + 1))
				a.next[slot] = to
			}
			at = a.next[slot]
		}
		a.match[at] = int32(len(p))
	}
	a.complete()
	for c := range 256 {
		a.first[c] = a.next[a.class[c]]
	}
	return a
}

// mayBegin reports whether a match may begin with two bytes.
func (a *automaton) mayBegin(c, d byte) bool {
	state := a.first[c]
	return state != 0 && (a.match[state] > 0 || a.wrapped && separates(d) ||
		a.depth[a.next[int(state)*a.width+int(a.class[d])]] == 2)
}

// complete fills in the missing transitions, breadth first, from the state of the longest proper suffix.
func (a *automaton) complete() {
	fall := make([]int32, len(a.depth))
	queue := make([]int32, 0, len(a.depth))
	for c := 1; c < a.width; c++ {
		if to := a.next[c]; to != 0 {
			queue = append(queue, to)
		}
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		a.match[at] = max(a.match[at], a.match[fall[at]])
		for c := 1; c < a.width; c++ {
			slot, other := int(at)*a.width+c, a.next[int(fall[at])*a.width+c]
			if to := a.next[slot]; to != 0 {
				fall[to] = other
				queue = append(queue, to)
			} else {
				a.next[slot] = other
			}
		}
	}
}
