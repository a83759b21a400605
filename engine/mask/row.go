package mask

import "markmill/notebooks/ansi"

// row is the line under the cursor. It is searched as it changes, which also finds values that appear only briefly or
// are assembled out of order.
type row struct {
	line ansi.Line
	sets [2]struct {
		*automaton
		first int32 // of the lines before
		state int32 // including the cells before the cursor
	}
	stale bool // the cursor moved, so the states must be rebuilt
	found bool // the line shows, or has shown, a value
	ends  bool // a value from earlier lines ends, or has ended, in it
}

// begin starts a line with its content, continuing the search of earlier lines.
func (r *row) begin(text []byte, before int32) {
	r.line.Reset()
	r.stale, r.found, r.ends = true, false, false
	r.sets[0].first = before
	for len(text) > 0 {
		text = text[r.put(text):]
	}
}

// put writes the first character of text at the cursor and returns its length.
func (r *row) put(text []byte) int {
	col, columns := r.line.Column(), r.line.Columns()
	n := r.line.Put(text)
	if r.stale || col > columns || r.line.Column() == col { // the last case: it joined the previous cell
		r.catchUp()
	} else {
		for i := range r.sets {
			r.step(i, col)
		}
	}
	r.ahead()
	return n
}

// move applies a token of kind ansi.Move.
func (r *row) move(token []byte) {
	erased := token[len(token)-1] == 'K' || token[len(token)-1] == 'J'
	if len(token) == 1 && token[0] == '\r' {
		r.sets[0].state, r.sets[1].state, r.stale = r.sets[0].first, r.sets[1].first, false
	} else {
		r.stale = true
	}
	if r.line.Move(token); erased { // the remaining spaces may be part of a value
		r.catchUp()
		r.ahead()
	}
}

// step advances over the text of a cell.
func (r *row) step(i, cell int) {
	a := &r.sets[i]
	text := []byte{' '} // between the end of the text and the cursor
	if cell < r.line.Columns() {
		text = r.line.Cell(cell)
	}
	a.state = r.next(a.automaton, a.state, text, cell)
}

// next returns the state after the text of a cell and records a value that ends there.
func (r *row) next(a *automaton, state int32, text []byte, cell int) int32 {
	for _, c := range text {
		state = a.next[int(state)*a.width+int(a.class[c])]
		n := int(a.match[state])
		if n == 0 {
			continue
		}
		for cell = min(cell, r.line.Columns()-1); cell >= 0 && n > 0; cell-- {
			n -= len(r.line.Cell(cell))
		}
		r.found, r.ends = true, r.ends || n > 0
	}
	return state
}

// catchUp rebuilds the states of the cells before the cursor, as far back as a value can reach.
func (r *row) catchUp() {
	r.stale = false
	end := min(r.line.Column(), r.line.Columns())
	for i := range r.sets {
		a := &r.sets[i]
		from, n := end, 0
		for from > 0 && n < a.longest {
			from--
			n += len(r.line.Cell(from))
		}
		if a.state = 0; from == 0 {
			a.state = a.first
		}
		for ; from < end; from++ {
			r.step(i, from)
		}
		for ; from < r.line.Column(); from++ {
			r.step(i, from)
		}
	}
}

// ahead searches the cells after the cursor, as far as a value that begins before it can reach.
func (r *row) ahead() {
	for i := range r.sets {
		a := r.sets[i].automaton
		state, n := r.sets[i].state, 0
		for at := r.line.Column(); at < r.line.Columns() && int(a.depth[state]) > n && !r.found; at++ {
			text := r.line.Cell(at)
			state = r.next(a, state, text, at)
			n += len(text)
		}
	}
}

// begins reports whether a value may begin before the cursor.
func (r *row) begins() bool {
	if r.stale {
		r.catchUp()
	}
	return r.sets[0].state != 0 || r.sets[1].state != 0
}
