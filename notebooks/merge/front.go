package merge

import (
	"strings"

	"markmill/notebooks/diff"
)

// front merges the front matter, with its marks.
func (m *merger) front(t *texts, b, x, y string) {
	before, msg := t.conflicts, bothChanged
	text, ok := agreed(b, x, y)
	switch {
	case ok:
		t.all(diff.Lines(text))
	case x == "" || y == "":
		m.marked(t, diff.Lines(b), diff.Lines(x), diff.Lines(y))
		msg = m.tookOut(x != "")
	case b == "" && !sameEnds(x, y):
		m.added(t, x, y)
	default:
		m.entries(t, b, x, y)
	}
	m.told("front matter", msg, t.conflicts-before)
}

// entries merges a YAML block by keys if it looks like one, else by lines, whichever gives fewer conflicts.
func (m *merger) entries(t *texts, b, x, y string) {
	if b != "" {
		var byLine texts
		m.fence(&byLine, diff.Lines(b), diff.Lines(x), diff.Lines(y))
		if byLine.conflicts == 0 || !sameEnds(x, y) || !sameEnds(b, x) {
			t.all(diff.Lines(byLine.String()))
			t.conflicts += byLine.conflicts
			return
		}
	}
	parts := [3]sequence{entriesOf(b), entriesOf(x), entriesOf(y)}
	lx := diff.Lines(x)
	told := len(m.result.Conflicts) // the caller reports the conflicts
	t.line(lx[0])
	m.weave(t, parts[0], parts[1], parts[2], func(j joint) {
		var texts [3]string
		for side, s := range parts {
			if at := *j.at(side); at >= 0 {
				texts[side] = s.units[at].text
			}
		}
		if j.b < 0 && j.x >= 0 && j.y >= 0 {
			m.added(t, texts[1], texts[2])
			return
		}
		m.lines(t, texts[0], texts[1], texts[2])
	})
	t.line(lx[len(lx)-1])
	m.result.Conflicts = m.result.Conflicts[:told]
}

// sameEnds reports whether two blocks have the same first line and the same last line.
func sameEnds(x, y string) bool {
	lx, ly := diff.Lines(x), diff.Lines(y)
	return len(lx) > 1 && len(ly) > 1 && lx[0] == ly[0] && lx[len(lx)-1] == ly[len(ly)-1]
}

// entriesOf splits the text between the first line and the last one at the keys.
func entriesOf(block string) sequence {
	var s sequence
	lines := diff.Lines(block)
	if len(lines) < 2 {
		return s
	}
	lines = lines[1 : len(lines)-1]
	for i := 0; i < len(lines); {
		key, ok := yamlKey(lines[i])
		if !ok {
			s.lines(lines[i])
			i++
			continue
		}
		first := i
		for i++; i < len(lines) && continues(lines[i]); i++ {
		}
		text := strings.Join(lines[first:i], "")
		s.add(unit{diff.Cell{ID: key, Label: key, Kind: diff.Raw, Source: text}, text})
	}
	return s
}

// continues reports whether a line belongs to the key before it: it is indented, or an item of a list.
func continues(line string) bool {
	return strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "" || strings.HasPrefix(line, "- ")
}

// yamlKey returns the key that a line begins with.
func yamlKey(line string) (string, bool) {
	key, rest, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
	if !ok || key == "" || strings.ContainsAny(key[:1], " \t#-{}[]&*!|>'\"%@`?,") ||
		rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	return key, true
}

// clashMember is the member that records metadata conflicts, in nbdime's format: both sides' diffs against the base, of
// which ours was applied.
const clashMember = "nbdime-conflicts"

// clash is a conflict in metadata: of a member of the object at hand, or of members within it.
type clash struct {
	name            string
	named           bool
	b, ours, theirs string // "" if absent
	within          []clash
}

// clashed takes the conflicts that were found since the last call as those of a member.
func (m *merger) clashed(name string) []clash {
	found := m.clashes
	m.clashes = nil
	switch {
	case len(found) == 0:
		return nil
	case !found[0].named:
		found[0].name, found[0].named = name, true
		return found
	}
	return []clash{{name: name, named: true, within: found}}
}

// record stores conflicts in their metadata.
func (o *object) record(found []clash) {
	lead := o.leadOf(clashMember)
	value := `{"local_diff": ` + clashDiff(found, func(c clash) string { return c.ours }) +
		`, "remote_diff": ` + clashDiff(found, func(c clash) string { return c.theirs }) + "}"
	if o.find(clashMember) >= 0 { // from an earlier, unresolved merge
		o.set(clashMember, value)
		return
	}
	o.members = append(o.members, member{clashMember, lead, value})
}

// clashDiff returns a side's diff, in nbdime's form.
func clashDiff(found []clash, of func(clash) string) string {
	var ops []string
	for _, c := range found {
		op := `{"key": ` + quoted(c.name) + `, "op": `
		switch value := of(c); {
		case c.within != nil:
			op += `"patch", "diff": ` + clashDiff(c.within, of)
		case value == "":
			op += `"remove"`
		case c.b == "":
			op += `"add", "value": ` + value
		default:
			op += `"replace", "value": ` + value
		}
		ops = append(ops, op+"}")
	}
	return "[" + strings.Join(ops, ", ") + "]"
}
