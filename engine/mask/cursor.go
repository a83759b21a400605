package mask

// maxGap is the maximum length, in bytes, of what may stand between two characters of a wrapped encoding: a line break
// with indentation, or the separators of a hexadecimal dump.
const maxGap = 64

// cursor is the position of a search in text that arrives in pieces. Offsets count from the start of the text.
type cursor struct {
	a     *automaton
	state int32
	pos   int64
	gaps  []gap // wrapped automaton only: skipped bytes that may lie inside a match
	open  bool  // the last gap has not ended
}

type gap struct{ at, size int64 }

// scan continues the search and calls found for each match, in order of their ends.
func (c *cursor) scan(b []byte, found func(start, end int64)) {
	a := c.a
	state := c.state
	for i := 0; i < len(b); i++ {
		if state == 0 {
			for i < len(b) && a.first[b[i]] == 0 {
				i++
			}
			if i == len(b) {
				break
			}
			c.gaps, c.open = c.gaps[:0], false
		} else if a.wrapped && separates(b[i]) && c.pass(c.pos+int64(i), state) {
			continue
		}
		c.open = false
		state = a.next[int(state)*a.width+int(a.class[b[i]])]
		if n := a.match[state]; n > 0 {
			end := c.pos + int64(i) + 1
			found(c.start(n, end), end)
		}
	}
	c.state = state
	c.pos += int64(len(b))
}

// separates reports whether a byte may stand between two characters of a wrapped encoding.
func separates(b byte) bool {
	return b == ' ' || b == '\n' || b == '\r' || b == '\t' || b == ':' || b == ','
}

// pass skips a separator.
func (c *cursor) pass(at int64, state int32) bool {
	if !c.open {
		begin, kept := c.start(c.a.depth[state], at), 0
		for _, g := range c.gaps {
			if g.at+g.size > begin {
				c.gaps[kept] = g
				kept++
			}
		}
		c.gaps, c.open = append(c.gaps[:kept], gap{at: at}), true
	}
	last := &c.gaps[len(c.gaps)-1]
	last.size++
	return last.size <= maxGap
}

// start returns where the last n bytes before end begin, not counting gaps.
func (c *cursor) start(n int32, end int64) int64 {
	p := end - int64(n)
	for i := len(c.gaps) - 1; i >= 0 && p < c.gaps[i].at+c.gaps[i].size; i-- {
		p -= c.gaps[i].size
	}
	return p
}

// safe returns the offset before which no unfound match can begin.
func (c *cursor) safe() int64 {
	if c.state == 0 {
		return c.pos
	}
	return c.start(c.a.depth[c.state], c.pos)
}
