package merge

import (
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/linediff"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// markdown merges Markdown notebooks of every form, sources or output notebooks.
func (m *merger) markdown(in [3]string) ([]byte, error) {
	var docs [3]*document
	for i, text := range in {
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

// cleanByLine returns the merge by line, where that has no conflict and breaks no step: what steps are is a guess where
// they have no ids and half of a fence was edited, or the form changed; and nobody should have to mend what Git alone
// would have merged.
func (m *merger) cleanByLine(b, x, y *document) (string, bool) {
	var t texts
	m.lines(&t, string(b.stripped.Source), string(x.stripped.Source), string(y.stripped.Source))
	if t.conflicts > 0 {
		return "", false
	}
	_, err := markdown.Parse(m.opt.Name, []byte(t.String()))
	return t.String(), err == nil || x.broken || y.broken
}

// document is a Markdown notebook split into parts.
type document struct {
	raw      string
	stripped region.Stripped
	front    string // with everything before it
	body     sequence
	form     notebooks.Form                  // where it changed, steps became prose, or prose steps
	broken   bool                            // it has mistakes of its author
	ids      []notebooks.StepID              // of the units that are steps
	byStep   map[string][]region.FoundRegion // of each step; nil until it is asked for
}

// source returns "" without a unit.
func (u *unit) source() string {
	if u == nil {
		return ""
	}
	return u.text
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
	d := &document{raw: text, stripped: region.Strip(m.opt.Name, []byte(text))}
	if len(d.stripped.Problems) > 0 {
		return nil, d.stripped.Problems
	}
	nb, err := markdown.Parse(m.opt.Name, d.stripped.Source)
	d.form, d.broken = nb.Form, err != nil
	declared := 0
	for _, p := range nb.Parts() {
		text := nb.Text(p)
		switch p.Kind {
		case notebooks.PartText:
			d.body.lines(text)
			continue
		case notebooks.PartFrontMatter:
			d.front = string(nb.Source[:p.Span.End])
			d.body = sequence{}
			continue
		}
		cell, id := diff.Cell{ID: parametersID(declared), Label: parametersID(declared), Kind: diff.Raw, Source: text},
			notebooks.StepID("")
		if s := p.Step; s != nil {
			id = s.ID
			cell = diff.Cell{Kind: diff.Code, Label: "step " + string(id), Lang: s.Lang, Source: string(s.Code)}
			if s.Explicit {
				cell.ID = "#" + string(id)
			}
		} else {
			declared++
		}
		d.body.add(unit{cell, text})
		d.ids = append(d.ids, id)
	}
	return d, nil
}

func parametersID(i int) string {
	return "parameters" + strings.Repeat("'", i)
}

// step merges one step, or a block of parameters, and gives the text that it wrote.
func (m *merger) step(t *texts, b, x, y *unit) string {
	t.end()
	start, before, msg := t.Len(), t.conflicts, bothChanged
	label := cmp.Or(x, y).cell.Label
	tb, tx, ty := b.source(), x.source(), y.source()
	text, ok := agreed(tb, tx, ty)
	switch {
	case b == nil && (x == nil || y == nil):
		t.all(diff.Lines(tx + ty))
	case x == nil || y == nil:
		m.marked(t, diff.Lines(tb), diff.Lines(tx), diff.Lines(ty))
		msg = m.tookOut(x != nil)
	case ok:
		t.all(diff.Lines(text))
	case b == nil:
		m.added(t, tx, ty)
		msg = bothAdded
	case x.cell.Kind == diff.Raw:
		m.entries(t, tb, tx, ty)
	default:
		m.fence(t, diff.Lines(tb), diff.Lines(tx), diff.Lines(ty))
	}
	m.told(label, msg, t.conflicts-before)
	return t.String()[start:]
}

// tookOut describes which side changed what the other removed.
func (m *merger) tookOut(xChanged bool) string {
	if xChanged != m.swapped {
		return "ours changed it, and theirs took it out"
	}
	return "theirs changed it, and ours took it out"
}

// added merges what both sides added under one id: what is not the same is a conflict.
func (m *merger) added(t *texts, x, y string) {
	lx, ly := diff.Lines(x), diff.Lines(y)
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
	line, ok := agreed(hb, hx, hy)
	if !ok {
		line, ok = mergeInfo(hb, hx, hy)
	}
	if ok {
		t.line(line)
	} else {
		m.conflict(t, []string{hb}, []string{hx}, []string{hy})
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
		part, ok := agreed(pb, px, py)
		switch {
		case ok:
			out.WriteString(part)
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
	for i := 1; i < len(line); i++ {
		c, before := line[i], line[i-1]
		if strings.IndexByte("}]\n\r", c) >= 0 || before == '{' || before == '[' ||
			(c == ' ' || c == '\t') && before != ' ' && before != '\t' {
			cut(i)
		}
	}
	cut(len(line))
	return out
}

// sameKey reports whether two lists of options set one in two ways, or are none of which one can say.
func sameKey(x, y []string) bool {
	attached := func(word string) bool { return word[0] != ' ' && word[0] != '\t' }
	if slices.ContainsFunc(slices.Concat(x, y), attached) {
		return true
	}
	keys := map[string]bool{}
	for _, w := range x {
		keys[optionKey(w)] = true
	}
	return slices.ContainsFunc(y, func(w string) bool { return keys[optionKey(w)] })
}

// optionKey returns what a word of an info string sets; all ids set the one id.
func optionKey(word string) string {
	word = strings.TrimSpace(word)
	if strings.HasPrefix(word, "#") {
		return "#"
	}
	key, _, _ := strings.Cut(word, "=")
	return key
}
