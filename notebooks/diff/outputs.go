package diff

import (
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/linediff"
)

// fold returns what makes lines of outputs equal that differ in noise only; nil with All.
func (c *comparing) fold() func(string) string {
	if c.opt.All {
		return nil
	}
	return withoutAddresses
}

func (c *comparing) outputs(step string, a, b []Output) {
	a, b = joinStreams(a), joinStreams(b)
	numbers := linediff.Numbering[string]{}
	number := func(list []Output) []int32 {
		out := make([]int32, len(list))
		for i := range list {
			out[i] = numbers.Of(c.key(&list[i]))
		}
		return out
	}
	for _, k := range linediff.Blocks(linediff.Numbers(number(a), number(b))) {
		c.outputBlock(step, a[k.I0:k.I1], b[k.J0:k.J1])
	}
}

// joinStreams makes one output of pieces of a stream that follow each other: how a stream was cut is chance. The last
// line of a text gets an end, so that a line that comes after it is no change of it.
func joinStreams(list []Output) []Output {
	var out []Output
	for i := 0; i < len(list); {
		o := list[i]
		o.Data = slices.Clone(o.Data)
		if i++; isStream(&o) {
			var all strings.Builder
			all.WriteString(o.Data[0].Text)
			for ; i < len(list) && isStream(&list[i]) && list[i].Name == o.Name; i++ {
				all.WriteString(list[i].Data[0].Text)
			}
			o.Data[0].Text = all.String()
		}
		out = append(out, o)
	}
	for i := range out {
		for k := range out[i].Data {
			if d := &out[i].Data[k]; d.IsText() {
				d.Text = Ended(d.Text)
			}
		}
	}
	return out
}

func isStream(o *Output) bool {
	return (o.Name == Stdout || o.Name == Stderr) && len(o.Data) == 1 && o.Data[0].IsText()
}

// key returns the same of outputs that are the same.
func (c *comparing) key(o *Output) string {
	var b strings.Builder
	b.WriteString(o.Name)
	for _, d := range o.Data {
		b.WriteString("\x00" + d.MIME + "\x00" + d.Digest + "\x00")
		switch {
		case !d.IsText():
			b.Write(d.Bytes)
		case c.opt.All:
			b.WriteString(d.Text)
		default:
			b.WriteString(withoutAddresses(d.Text))
		}
	}
	for _, f := range o.Options {
		if c.opt.All || !f.Volatile {
			b.WriteString("\x00" + f.Name + "\x00" + string(f.Value))
		}
	}
	return b.String()
}

// outputBlock compares a stretch without an equal output: those of one name in their order.
func (c *comparing) outputBlock(step string, a, b []Output) {
	waiting := map[outputKind][]int{} // places in b, in order
	for j := range b {
		for _, k := range kindsOf(&b[j]) {
			waiting[k] = append(waiting[k], j)
		}
	}
	used := make([]bool, len(b))
	partner := make([]int, len(a))
	for i := range a {
		partner[i] = -1
		for _, k := range kindsOf(&a[i]) {
			list := waiting[k]
			for len(list) > 0 && used[list[0]] {
				list = list[1:]
			}
			if waiting[k] = list; len(list) > 0 && (partner[i] < 0 || list[0] < partner[i]) {
				partner[i] = list[0]
			}
		}
		if partner[i] >= 0 {
			used[partner[i]] = true
		}
	}
	add := func(old, new *Output) {
		ch := c.output(step, old, new)
		if ch.What != Edited || len(ch.Data)+len(ch.Options) > 0 {
			c.d.Outputs = append(c.d.Outputs, ch)
		}
	}
	for i := range a {
		if j := partner[i]; j >= 0 {
			add(&a[i], &b[j])
		} else {
			add(&a[i], nil)
		}
	}
	for j := range b {
		if !used[j] {
			add(nil, &b[j])
		}
	}
}

// outputKind is what two outputs must share for one to have become the other: the name, and a representation, "" where
// they have none.
type outputKind struct{ name, mime string }

func kindsOf(o *Output) []outputKind {
	if len(o.Data) == 0 {
		return []outputKind{{o.Name, ""}}
	}
	out := make([]outputKind, len(o.Data))
	for i := range o.Data {
		out[i] = outputKind{o.Name, o.Data[i].MIME}
	}
	return out
}

// whole returns a representation that only one side has.
func whole(d *Datum, what What) DatumChange {
	ch := DatumChange{MIME: d.MIME, What: what}
	old, new := "", d.Text
	if what == Removed {
		old, new = new, old
		ch.Old, ch.OldDigest = d, d.Digest
	} else {
		ch.New, ch.NewDigest = d, d.Digest
	}
	if d.IsText() {
		ch.Text = compareText(old, new, nil)
	}
	return ch
}

// output compares two outputs; one of them may be nil.
func (c *comparing) output(step string, a, b *Output) OutputChange {
	ch := OutputChange{Step: step, Cell: c.cell, Name: cmp.Or(b, a).Name, What: Edited, Old: a, New: b,
		Data: []DatumChange{}}
	switch {
	case b == nil:
		ch.What, b = Removed, &Output{}
	case a == nil:
		ch.What, a = Added, &Output{}
	default:
		ch.Options = c.fields(a.Options, b.Options)
	}
	for old, new := range matched(a.Data, b.Data, func(d *Datum) string { return d.MIME }) {
		switch {
		case new == nil:
			ch.Data = append(ch.Data, whole(old, Removed))
		case old == nil:
			ch.Data = append(ch.Data, whole(new, Added))
		case old.IsText() && new.IsText():
			if text := compareText(old.Text, new.Text, c.fold()); text != nil {
				ch.Data = append(ch.Data, DatumChange{MIME: old.MIME, What: Edited, Text: text, Old: old, New: new})
			}
		case old.Digest != new.Digest || old.IsText() != new.IsText() ||
			old.Digest == "" && string(old.Bytes) != string(new.Bytes):
			ch.Data = append(ch.Data, DatumChange{MIME: old.MIME, What: Edited,
				OldDigest: old.Digest, NewDigest: new.Digest,
				Old: old, New: new})
		}
	}
	return ch
}

// Text is how one text became another, by lines.
type Text struct {
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
	Hunks   []Hunk `json:"hunks"`   // in order; nothing between them changed
}

// Hunk is lines that came in the place of others. A line has its line end, which the last of a text may lack.
type Hunk struct {
	A   int      `json:"a"` // number of the first line that goes, or before which lines come, from 1
	B   int      `json:"b"`
	Old []string `json:"old,omitempty"`
	New []string `json:"new,omitempty"`
}

// Lines cuts a text after each newline.
func Lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// Ended adds a missing final newline, so that appending a line does not change the one before.
func Ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// WithEnds gives each line its newline, as the lines of a Hunk have it.
func WithEnds(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l + "\n"
	}
	return out
}

// compareText is nil where nothing changed. Lines that fold makes the same are the same; nil folds nothing.
func compareText(a, b string, fold func(string) string) *Text {
	if a == b {
		return nil
	}
	return compareLines(Lines(a), Lines(b), fold)
}

func compareLines(a, b []string, fold func(string) string) *Text {
	var t Text
	for _, k := range linediff.Blocks(linediff.Lines(folded(a, fold), folded(b, fold))) {
		t.Hunks = append(t.Hunks, Hunk{A: k.I0 + 1, B: k.J0 + 1, Old: a[k.I0:k.I1:k.I1], New: b[k.J0:k.J1:k.J1]})
		t.Removed += k.I1 - k.I0
		t.Added += k.J1 - k.J0
	}
	if len(t.Hunks) == 0 {
		return nil
	}
	return &t
}

func folded(lines []string, fold func(string) string) []string {
	if fold == nil {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = fold(l)
	}
	return out
}

const atAddress = " at 0x"

var address = lazyregexp.New(" at 0x[0-9a-fA-F]*")

// withoutAddresses drops memory addresses ("<function f at 0x7f0c…>"), which differ in every run.
func withoutAddresses(text string) string {
	if !strings.Contains(text, atAddress) {
		return text
	}
	return address.ReplaceAllStringFunc(text, func(found string) string {
		if digits := len(found) - len(atAddress); digits < 4 || digits > 16 {
			return found
		}
		return atAddress
	})
}
