package merge

import (
	"sort"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/linediff"
)

// markdown merges Markdown notebooks of every form, sources or output notebooks.
func (m *merger) markdown(in three) ([]byte, error) {
	var docs [3]*document
	for i, text := range []string{in.b, in.x, in.y} {
		doc, err := m.document(text)
		if err != nil {
			return nil, m.unreadable(i, err)
		}
		docs[i] = doc
	}
	b, x, y := docs[0], docs[1], docs[2]
	var t texts
	m.front(&t, b.front, x.front, y.front)
	var written []writtenStep
	m.weave(&t, b.body, x.body, y.body, func(j joint) {
		text := m.step(&t, b.unit(j.b), x.unit(j.x), y.unit(j.y))
		written = append(written, writtenStep{j, t.Len(), text})
	})
	if (t.conflicts > 0 || b.form != x.form || b.form != y.form) && !x.hasOutputs() && !y.hasOutputs() {
		if text, ok := m.cleanByLine(b, x, y); ok {
			m.result.Conflicts = nil
			return []byte(text), nil
		}
	}
	return m.withOutputs(docs, t.String(), written), nil
}

// cleanByLine is the merge by line, where that has no conflict and breaks no step: what steps are is a guess where they
// have no ids and half of a fence was edited, or the form changed; and nobody should have to mend what Git alone would
// have merged.
func (m *merger) cleanByLine(b, x, y *document) (string, bool) {
	var t texts
	m.lines(&t, string(b.stripped.Source), string(x.stripped.Source), string(y.stripped.Source))
	if t.conflicts > 0 {
		return "", false
	}
	_, err := notebooks.Parse(m.opt.Name, []byte(t.String()))
	return t.String(), err == nil || x.broken || y.broken
}

// document is a Markdown notebook taken apart.
type document struct {
	raw      string
	stripped notebooks.Stripped
	front    string // with everything before it
	body     sequence
	form     notebooks.Form                     // where it changed, steps became prose, or prose steps
	broken   bool                               // it has mistakes of its author
	ids      []notebooks.StepID                 // of the units that are steps
	byStep   map[string][]notebooks.FoundRegion // of each step; nil until it is asked for
}

func (d *document) unit(i int) *unit {
	if i < 0 {
		return nil
	}
	return &d.body.units[i]
}

// document reads one of the three. Mistakes of the author are none here: a notebook with mistakes is merged, too. But
// damaged regions are text of somebody's.
func (m *merger) document(text string) (*document, error) {
	if err := notebooks.CheckText(m.opt.Name, []byte(text)); err != nil {
		return nil, err
	}
	d := &document{raw: text, stripped: notebooks.Strip(m.opt.Name, []byte(text))}
	if len(d.stripped.Problems) > 0 {
		return nil, d.stripped.Problems
	}
	nb, err := notebooks.Parse(m.opt.Name, d.stripped.Source)
	d.form, d.broken = nb.Form, err != nil
	src := string(nb.Source)
	type piece struct {
		span notebooks.Span
		unit unit
		id   notebooks.StepID
	}
	var pieces []piece
	for i, span := range nb.Declared {
		text := src[span.Start:span.End]
		pieces = append(pieces, piece{span, unit{diff.Cell{ID: parametersID(i), Label: parametersID(i), Kind: diff.Raw,
			Source: text}, text}, ""})
	}
	for _, s := range nb.Steps {
		cell := diff.Cell{Kind: diff.Code, Label: "step " + string(s.ID), Lang: s.Lang, Source: string(s.Code)}
		if s.Explicit {
			cell.ID = "#" + string(s.ID)
		}
		pieces = append(pieces, piece{s.Fence, unit{cell, src[s.Fence.Start:s.Fence.End]}, s.ID})
	}
	sort.SliceStable(pieces, func(i, j int) bool { return pieces[i].span.Start < pieces[j].span.Start })
	at := 0
	if front := nb.Front.Span; front.End > front.Start {
		d.front, at = src[:front.End], front.End
	}
	for _, p := range pieces {
		if p.span.Start < at { // one in the other, or in the front matter: it goes with that
			continue
		}
		d.body.lines(src[at:p.span.Start])
		d.body.add(p.unit)
		d.ids = append(d.ids, p.id)
		at = p.span.End
	}
	d.body.lines(src[at:])
	return d, nil
}

func parametersID(i int) string {
	return "parameters" + strings.Repeat("'", i)
}

// step merges one step, or a block of parameters, and gives the text that it wrote.
func (m *merger) step(t *texts, b, x, y *unit) string {
	t.end()
	start := t.Len()
	before := t.conflicts
	switch {
	case x != nil && y != nil && b != nil:
		switch {
		case x.text == y.text, b.text == y.text:
			t.all(split(x.text))
		case b.text == x.text:
			t.all(split(y.text))
		case x.cell.Kind == diff.Raw:
			m.entries(t, b.text, x.text, y.text)
		default:
			m.fence(t, split(b.text), split(x.text), split(y.text))
		}
		m.told(x.cell.Label, bothChanged, t.conflicts-before)
	case x != nil && y != nil:
		if x.text == y.text {
			t.all(split(x.text))
			break
		}
		m.added(t, x.text, y.text)
		m.told(x.cell.Label, bothAdded, t.conflicts-before)
	case b == nil && x != nil:
		t.all(split(x.text))
	case b == nil && y != nil:
		t.all(split(y.text))
	case x != nil:
		m.marked(t, split(b.text), split(x.text), nil)
		m.told(x.cell.Label, m.tookOut(true), t.conflicts-before)
	default:
		m.marked(t, split(b.text), nil, split(y.text))
		m.told(y.cell.Label, m.tookOut(false), t.conflicts-before)
	}
	return t.String()[start:]
}

// tookOut says who changed what the other side has taken out.
func (m *merger) tookOut(xChanged bool) string {
	if xChanged != m.swapped {
		return "ours changed it, and theirs took it out"
	}
	return "theirs changed it, and ours took it out"
}

// added merges what both sides added under one id: what is not the same is a conflict.
func (m *merger) added(t *texts, x, y string) {
	lx, ly := split(x), split(y)
	head, tail := commonEnds(lx, ly)
	t.all(lx[:head])
	if m.opt.Style == Plain {
		m.refined(t, lx[head:len(lx)-tail], ly[head:len(ly)-tail])
	} else {
		m.marked(t, nil, lx[head:len(lx)-tail], ly[head:len(ly)-tail])
	}
	t.all(lx[len(lx)-tail:])
}

// fence merges a step: its first line by words, the others by line. So an option that one side gave and a line that the
// other one changed under it are no conflict.
func (m *merger) fence(t *texts, b, x, y []string) {
	head := func(lines []string) (string, []string) {
		if len(lines) == 0 {
			return "", nil
		}
		return lines[0], lines[1:]
	}
	hb, b := head(b)
	hx, x := head(x)
	hy, y := head(y)
	switch {
	case hx == hy, hb == hy:
		t.line(hx)
	case hb == hx:
		t.line(hy)
	default:
		if line, ok := mergeInfo(hb, hx, hy); ok {
			t.line(line)
		} else {
			m.conflict(t, []string{hb}, []string{hx}, []string{hy})
		}
	}
	m.mergeLines(t, b, x, y)
}

// mergeInfo merges the first line of a fence by its words; false when both sides changed the same one.
func mergeInfo(b, x, y string) (string, bool) {
	n := linediff.Numbering[string]{}
	wb, wx, wy := infoWords(b), infoWords(x), infoWords(y)
	nb, nx, ny := n.All(wb), n.All(wx), n.All(wy)
	var out strings.Builder
	for _, c := range chunks(nb, nx, ny) {
		px, py, pb := strings.Join(wx[c.x0:c.x1], ""), strings.Join(wy[c.y0:c.y1], ""), strings.Join(wb[c.b0:c.b1], "")
		switch {
		case c.same, px == py, pb == py:
			out.WriteString(px)
		case pb == px:
			out.WriteString(py)
		case pb == "" && !sameKey(wx[c.x0:c.x1], wy[c.y0:c.y1]):
			out.WriteString(px + py)
		default:
			return "", false
		}
	}
	return out.String(), true
}

// infoWords cuts a line into words, each with the space before it; what ends it is a word, too. A line with quotes is
// one word: a cut within them would merge halves of values.
func infoWords(line string) []string {
	if strings.ContainsAny(line, "\"'`\\") && strings.ContainsAny(strings.TrimLeft(line, "`"), "\"'`\\") {
		return []string{line}
	}
	var out []string
	start := 0
	cut := func(at int) {
		if at > start {
			out = append(out, line[start:at])
			start = at
		}
	}
	for i := range len(line) {
		switch c := line[i]; {
		case c == '}' || c == ']' || c == '\n' || c == '\r':
			cut(i)
		case (c == ' ' || c == '\t') && i > 0 && line[i-1] != ' ' && line[i-1] != '\t':
			cut(i)
		case i > 0 && (line[i-1] == '{' || line[i-1] == '['):
			cut(i)
		}
	}
	cut(len(line))
	return out
}

// sameKey says that two lists of options set one in two ways, or are none of which one can say.
func sameKey(x, y []string) bool {
	keys := map[string]bool{}
	for _, w := range x {
		if !separate(w) {
			return true
		}
		keys[optionKey(w)] = true
	}
	for _, w := range y {
		if !separate(w) || keys[optionKey(w)] {
			return true
		}
	}
	return false
}

// separate says that a word stands apart from the one before it.
func separate(word string) bool { return strings.HasPrefix(word, " ") || strings.HasPrefix(word, "\t") }

// optionKey is what a word of an info string sets; all ids set the one id.
func optionKey(word string) string {
	word = strings.TrimSpace(word)
	if strings.HasPrefix(word, "#") {
		return "#"
	}
	key, _, _ := strings.Cut(word, "=")
	return key
}
