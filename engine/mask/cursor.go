package mask

// maxGap is how many bytes of a line break and an indentation a wrapped encoding may have inside.
const maxGap = 64

// cursor is the position of a search in a text that comes in pieces. Places are counted from the start of the text.
type cursor struct {
	a     *automaton
	state int32
	pos   int64
	gaps  []gap // of a wrapped automaton: what was passed over, and may lie inside a match
	open  bool  // the last gap goes on
}

type gap struct{ at, size int64 }

// scan reads on and calls found with the place of each pattern, in the order of their ends. It stops
// when found returns false.
func (c *cursor) scan(b []byte, found func(start, end int64) bool) {
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
		} else if a.wrapped && b[i] <= ' ' && c.pass(b[i], c.pos+int64(i), state) {
			continue
		}
		c.open = false
		state = a.next[int(state)*a.width+int(a.class[b[i]])]
		if n := a.match[state]; n > 0 {
			if end := c.pos + int64(i) + 1; !found(c.start(n, end), end) {
				c.state = state
				c.pos = end
				return
			}
		}
	}
	c.state = state
	c.pos += int64(len(b))
}

// pass skips a byte of a line break or of an indentation.
func (c *cursor) pass(b byte, at int64, state int32) bool {
	if b != '\n' && b != '\r' && !(c.open && (b == ' ' || b == '\t')) {
		return false
	}
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

// start is where the last n bytes before end begin, gaps not counted.
func (c *cursor) start(n int32, end int64) int64 {
	p := end - int64(n)
	for i := len(c.gaps) - 1; i >= 0 && p < c.gaps[i].at+c.gaps[i].size; i-- {
		p -= c.gaps[i].size
	}
	return p
}

// safe is the place before which no pattern can begin that has not been found yet.
func (c *cursor) safe() int64 {
	if c.state == 0 {
		return c.pos
	}
	return c.start(c.a.depth[c.state], c.pos)
}
