package mask

import (
	"bytes"
	"slices"
	"strings"

	"markmill/notebooks/ansi"
)

// Bounds on buffered input: the visible text of a line whose cursor may still move back, an unterminated sequence, and
// text that may be the start of a value.
const (
	maxLine     = 64 << 10
	maxSequence = 64 << 10
	maxWaiting  = 1 << 20
)

// anew clears a terminal line so that its text can be rewritten.
const anew = "\r\x1b[2K"

// effects runs before the byte search. It searches the text that a terminal shows after applying a line's control
// sequences: a value assembled by colours, backspaces and carriage returns is nowhere in the bytes. Text without
// effects passes through. Once a value shows, if only for a moment, the visible text replaces the line's bytes, and the
// search in the bytes masks it there. Everything else stays as it is.
//
// What is passed does not depend on how the stream was cut: a re-run gives the same bytes. A part of a value may be
// passed before the cursor goes back and completes it; the line is then written anew.
type effects struct {
	plain, wrapped *automaton
	pass           func(b []byte) []byte // b is done with, and valid for the call only; returns what came out
	idle           func() bool           // what was passed does not end in what may begin a value
	takeBack       func() held           // what was passed last, and waits for the end of what may be a value

	inside bool // in a line with effects, or in one after it
	line   struct {
		text  []byte // as it was passed, without sequences, while the cursor was not moved
		long  bool   // it is longer than maxLine, and text does not have it
		moved bool   // the cursor was moved; then row has the line
		begun bool   // bytes of it were passed; only known then
	}
	row row
	// above is the end of the lines before, as they were passed, where a value has several lines.
	above []byte

	// waiting is what was not passed. Of a line whose cursor was moved, only waiting and safe are kept.
	waiting  []byte    // bytes not yet passed on, in whole tokens
	partial  []byte    // the incomplete token that follows
	text     []byte    // waiting without its sequences; after a value, the replacement text
	base     int64     // offset of text in the stream's text
	pos      int64     // offset of its end
	parts    []part    // maps text to waiting
	marks    []place   // in text: values that the raw bytes contain as well
	masked   int64     // the text before this has a Mark, or will have
	stripped [2]cursor // search in the stream's text without its sequences
	// search in the lines as they were when they ended; wrapped encodings are searched for in each line alone
	shown cursor
	safe  int  // nothing in waiting before it can belong to a value
	shows bool // the line shows a value; its output is passed on when it ends

	found   bool // a value was shown
	altered bool // the output differs from the input
}

// part maps the text from an offset on to the bytes from at on.
type part struct {
	text int64
	at   int
}

// held is the position of a search in the raw bytes.
type held struct {
	bytes        []byte    // what is given back
	stays        []byte    // not given back: may continue a masked value
	cursors      [2]cursor // after them
	base, masked int64     // offset of the bytes; end of the last Mark
}

func newEffects(s *Set, pass func([]byte) []byte, idle func() bool, takeBack func() held) *effects {
	e := &effects{plain: s.plain, wrapped: s.wrapped, pass: pass, idle: idle, takeBack: takeBack}
	e.row.sets[0].automaton, e.row.sets[1].automaton = s.plain, s.wrapped
	return e
}

// hasEffects returns the index of the first byte with an effect, or -1. A carriage return before a line feed has no
// effect; one at the end of b may have one.
func hasEffects(b []byte) int {
	first := -1
	for _, c := range []byte{0x1b, '\b'} {
		if i := bytes.IndexByte(b, c); i >= 0 {
			first, b = i, b[:i]
		}
	}
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], '\r')
		if i < 0 {
			return first
		}
		if i += from; i+1 == len(b) || b[i+1] != '\n' {
			return i
		}
		from = i + 2
	}
}

// write takes a piece.
func (e *effects) write(b []byte) {
	for len(b) > 0 {
		if e.inside {
			line, rest, ended := bytes.Cut(b, []byte{'\n'})
			e.tokens(line, false)
			if ended {
				e.endLine("\n")
			}
			e.release()
			e.inside = !ended || len(e.waiting) > 0 || e.shown.state != 0 || !e.idle()
			b = rest
			continue
		}
		at := hasEffects(b)
		if at < 0 {
			at = len(b)
		} else {
			at = bytes.LastIndexByte(b[:at], '\n') + 1
		}
		if at > 0 {
			e.remember(e.pass(b[:at]))
		}
		if b = b[at:]; len(b) > 0 {
			e.enter()
		}
	}
}

// finish ends the stream.
func (e *effects) finish() {
	if e.inside {
		e.endLine("")
		e.safe = len(e.waiting)
		e.release()
	}
}

// remember keeps the text of a line whose cursor did not move.
func (e *effects) remember(b []byte) {
	l := &e.line
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		if e.plain.class['\n'] != 0 {
			e.above = append(append(e.above, l.text...), b[:i+1]...)
			e.above = append(e.above[:0], e.above[max(0, len(e.above)-e.plain.longest):]...)
		}
		l.text, l.long, b = l.text[:0], false, b[i+1:]
	}
	if l.long = l.long || len(l.text)+len(b) > maxLine; l.long {
		l.text = l.text[:0]
		return
	}
	l.text = append(l.text, b...)
}

// enter starts tracking effects, beginning with the waiting bytes.
func (e *effects) enter() {
	e.inside = true
	e.shown = cursor{a: e.plain}
	e.ends(e.above)
	got := e.takeBack()
	e.remember(got.stays)
	e.stripped, e.base, e.masked, e.pos = got.cursors, got.base, got.masked, got.cursors[0].pos
	e.waiting, e.text = append(e.waiting[:0], got.bytes...), append(e.text[:0], got.bytes...)
	e.parts, e.marks, e.safe = append(e.parts[:0], part{got.base, 0}), e.marks[:0], 0
}

// tokens applies part of a line; whole says that the line ends there.
func (e *effects) tokens(b []byte, whole bool) {
	if len(e.partial) > 0 {
		e.partial = append(e.partial, b...)
		b = e.partial
	}
	for len(b) > 0 {
		kind, n := ansi.Next(b, whole)
		if kind != ansi.Text && (n > maxSequence || n == 0 && len(b) > maxSequence) { // too long to wait for its end
			e.partial = nil
			e.tokens(b[:maxSequence], true)
			e.breakLine()
			b = b[maxSequence:]
			continue
		}
		if n == 0 {
			break
		}
		e.token(kind, b[:n])
		b = b[n:]
	}
	e.partial = append(e.partial[:0], b...)
}

func (e *effects) token(kind ansi.Kind, token []byte) {
	switch {
	case kind == ansi.Move:
		e.move(token)
	case kind != ansi.Text:
		e.skip(token)
	case !e.line.moved:
		e.add(token)
	default:
		for len(token) > 0 {
			if e.row.line.Size() > maxLine {
				e.breakLine()
				e.token(kind, token)
				return
			}
			n := e.row.put(token)
			e.look()
			e.add(token[:n])
			token = token[n:]
		}
	}
}

// move takes a token that moves the cursor. Before the first one of a line, it passes on all waiting bytes: afterwards
// the text is not in order.
func (e *effects) move(token []byte) {
	if !e.line.moved {
		if e.shows {
			e.instead()
		}
		e.safe = len(e.waiting)
		e.release()
		if e.line.long {
			e.breakLine()
		}
		e.line.moved, e.line.begun = true, len(e.line.text) > 0
		for i := range e.stripped {
			e.stripped[i].state = 0
		}
		e.row.begin(e.line.text, e.shown.state)
	}
	e.row.move(token)
	e.look()
	e.add(token)
}

// skip takes a sequence. After a value it is dropped.
func (e *effects) skip(token []byte) {
	if !e.shows {
		e.waiting = append(e.waiting, token...)
	}
}

// add takes text.
func (e *effects) add(b []byte) {
	if e.line.moved {
		if e.skip(b); !e.row.begins() {
			e.safe = len(e.waiting)
		}
		return
	}
	if !e.shows {
		e.parts = append(e.parts, part{e.pos, len(e.waiting)})
		e.waiting = append(e.waiting, b...)
	}
	e.text = append(e.text, b...)
	e.pos += int64(len(b))
	for i := range e.stripped {
		e.stripped[i].scan(b, func(start, end int64) bool {
			e.show(start, end)
			return true
		})
	}
	if e.shows { // nothing waits, and the text that replaces the line is not at its offsets
		return
	}
	begin := max(e.masked, min(e.stripped[0].safe(), e.stripped[1].safe()))
	if begin = e.behindEscape(begin); begin < e.pos {
		e.safe = max(e.safe, e.at(begin))
	} else {
		e.safe = len(e.waiting)
	}
}

// behindEscape returns the offset of a preceding ESC that begins no sequence but could if a Mark replaced the text
// after it; without one it returns its argument.
func (e *effects) behindEscape(place int64) int64 {
	i := place - e.base
	for i > 0 && (e.text[i-1] >= 0x20 && e.text[i-1] <= 0x3f || e.text[i-1] == '[') {
		i--
	}
	if i > 0 && e.text[i-1] == 0x1b {
		return e.base + i - 1
	}
	return place
}

// at returns the position in waiting of an offset in the text.
func (e *effects) at(place int64) int {
	for i := len(e.parts) - 1; i >= 0; i-- {
		if p := e.parts[i]; p.text <= place {
			return p.at + int(place-p.text)
		}
	}
	return 0
}

// show records that the text, without its sequences, contains a value.
func (e *effects) show(start, end int64) {
	from := max(start, e.base, e.masked)
	switch {
	case e.shows:
	case from > start: // its beginning was passed on or is already masked
		rest := append([]byte(Mark), e.text[end-e.base:]...)
		e.cover(e.at(from))
		e.text = rest
	case e.behindEscape(start) == start && e.at(end-1)-e.at(start) == int(end-1-start): // the raw bytes contain it
		e.marks, e.masked = append(e.marks, place{start, end}), end
	default:
		start = e.behindEscape(start)
		rest := slices.Clone(e.text[start-e.base:])
		e.cover(e.at(start))
		e.text = rest
	}
}

// look checks whether the line currently shows a value.
func (e *effects) look() {
	if e.row.found && !e.shows {
		e.cover(e.safe)
	}
}

// cover passes on what is before at and drops the rest: the text replaces the bytes up to the end of the line.
func (e *effects) cover(at int) {
	e.safe = at
	e.release()
	e.shows, e.altered, e.found = true, true, true
	e.waiting, e.parts, e.marks = e.waiting[:0], e.parts[:0], e.marks[:0]
}

// instead outputs the text that replaces the bytes.
func (e *effects) instead() {
	if !e.line.moved {
		e.text = bytes.ReplaceAll(e.text, []byte{0x1b}, nil) // an ESC that began no sequence could begin one now
		e.came((&Set{e.plain, e.wrapped}).whole(e.text))
	}
	e.pass(e.text)
	e.text, e.base, e.shows = e.text[:0], e.pos, false
}

// endLine ends a line, with a line feed or with the stream.
func (e *effects) endLine(feed string) {
	rest, returned := bytes.CutSuffix(e.partial, []byte{'\r'})
	e.partial = nil
	e.tokens(rest, true)
	if returned {
		e.skip([]byte{'\r'})
	}
	e.newLine(feed)
}

// breakLine ends a line that is too long to keep, so that the cursor cannot move back into its beginning.
func (e *effects) breakLine() {
	e.altered = true
	e.newLine("\n")
}

func (e *effects) newLine(feed string) {
	if !e.line.moved {
		if e.add([]byte(feed)); e.shows {
			e.instead()
		}
		return
	}
	e.above = e.above[:0]                                       // what is before this line is in shown
	text := strings.ReplaceAll(e.row.line.String(), "\x1b", "") // an ESC that began no sequence could begin one now
	if e.ends([]byte(text+feed)) || e.row.ends {
		if text = Mark; !e.shows {
			e.cover(e.safe)
		}
	}
	e.add([]byte(feed))
	if e.shows {
		if e.line.begun {
			e.text = append(e.text, anew...)
		}
		e.text = append(append(e.text, text...), feed...)
		e.instead()
	}
	e.safe = len(e.waiting)
	e.release()
	e.line.text, e.line.long, e.line.moved, e.line.begun, e.row.found = e.line.text[:0], false, false, false, false
	if e.shown.state != 0 { // a possible value continues in a way that the bytes do not show
		e.line.moved = true
		e.row.begin(nil, e.shown.state)
	}
}

// ends searches a finished line and reports whether a value that began in earlier text ends in it.
func (e *effects) ends(text []byte) (found bool) {
	begin := e.shown.pos
	e.shown.scan(text, func(start, _ int64) bool {
		found = found || start < begin
		return true
	})
	return found
}

// came takes text that was passed on while the cursor did not move.
func (e *effects) came(text []byte) {
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		e.ends(e.line.text)
		e.ends(text[:i+1])
	}
	e.remember(text)
}

// release passes on what is safe.
func (e *effects) release() {
	if e.shows {
		if !e.line.moved && len(e.text) > maxWaiting {
			e.instead()
			e.shows = true
		}
		return
	}
	if len(e.waiting) > maxWaiting {
		e.safe = len(e.waiting)
	}
	place := e.pos
	if e.safe < len(e.waiting) {
		place = e.drop()
	} else {
		e.parts = e.parts[:0]
	}
	if !e.line.moved {
		e.came(e.passed(place))
		e.text = append(e.text[:0], e.text[place-e.base:]...)
	}
	e.pass(e.waiting[:e.safe])
	e.line.begun = e.line.begun || e.safe > 0
	e.waiting = append(e.waiting[:0], e.waiting[e.safe:]...)
	e.base, e.safe = place, 0
}

// passed returns the text up to an offset as it is output, with Marks.
func (e *effects) passed(to int64) []byte {
	var out []byte
	at, done := e.base, 0
	for ; done < len(e.marks) && e.marks[done].start < to; done++ {
		if p := e.marks[done]; p.start >= at {
			out = append(append(out, e.text[at-e.base:p.start-e.base]...), Mark...)
			at = p.end
		}
	}
	e.marks = e.marks[:copy(e.marks, e.marks[done:])]
	return append(out, e.text[min(at, to)-e.base:to-e.base]...)
}

// drop forgets the parts that were passed on and returns the text offset of the first remaining one.
func (e *effects) drop() int64 {
	place, end := e.base, e.pos
	for i := len(e.parts) - 1; i >= 0; i-- {
		p := &e.parts[i]
		if p.at -= e.safe; p.at > 0 {
			end = p.text
			continue
		}
		place = min(p.text-int64(p.at), end)
		p.text, p.at = place, 0
		e.parts = e.parts[:copy(e.parts, e.parts[i:])]
		break
	}
	return place
}
