package mask

import "markmill/notebooks/ansi"

// row is the line under the cursor, searched for values as it changes: also for those that stand there only for a
// moment, or that are put together out of order.
type row struct {
	line ansi.Line
	sets [2]struct {
		*automaton
		state int32 // of the cells before the cursor
	}
	stale bool // the states are to be made anew: the cursor was moved
	found bool
}

// begin starts a line with what stands in it.
func (r *row) begin(text []byte) {
	r.line.Reset()
	r.stale = true
	for len(text) > 0 {
		text = text[r.put(text):]
	}
}

// put writes the first character of text at the cursor and returns its length.
func (r *row) put(text []byte) int {
	col, columns := r.line.Column(), r.line.Columns()
	n := r.line.Put(text)
	if r.stale || col > columns || r.line.Column() == col { // the last: it joined the cell before
		r.catchUp()
	} else {
		for i := range r.sets {
			r.step(i, r.line.Cell(col))
		}
	}
	r.ahead()
	return n
}

// move carries out a token of kind ansi.Move.
func (r *row) move(token []byte) {
	erased := token[len(token)-1] == 'K' || token[len(token)-1] == 'J'
	if len(token) == 1 && token[0] == '\r' {
		r.sets[0].state, r.sets[1].state, r.stale = 0, 0, false
	} else {
		r.stale = true
	}
	if r.line.Move(token); erased { // the spaces that are left may be part of a value
		r.catchUp()
		r.ahead()
	}
}

func (r *row) step(i int, text []byte) {
	a := &r.sets[i]
	for _, c := range text {
		a.state = a.next[int(a.state)*a.width+int(a.class[c])]
		r.found = r.found || a.match[a.state] > 0
	}
}

// catchUp makes the states of the cells before the cursor, as far back as a value can reach.
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
		a.state = 0
		for ; from < end; from++ {
			r.step(i, r.line.Cell(from))
		}
		for range r.line.Column() - end {
			r.step(i, []byte{' '})
		}
	}
}

// ahead looks at the cells behind the cursor, as far as a value reaches that begins before it.
func (r *row) ahead() {
	for i := range r.sets {
		a := r.sets[i].automaton
		state, n := r.sets[i].state, 0
		for at := r.line.Column(); at < r.line.Columns() && int(a.depth[state]) > n && !r.found; at++ {
			for _, c := range r.line.Cell(at) {
				state = a.next[int(state)*a.width+int(a.class[c])]
				r.found = r.found || a.match[state] > 0
				n++
			}
		}
	}
}

// begins says whether a value may begin before the cursor.
func (r *row) begins() bool {
	if r.stale {
		r.catchUp()
	}
	return r.sets[0].state != 0 || r.sets[1].state != 0
}
