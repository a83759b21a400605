package merge

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
)

// Style is the format of conflicts, as in Git's merge.conflictStyle.
type Style int

const (
	Plain  Style = iota // the two sides
	Diff3               // the base, too
	ZDiff3              // the base, too; lines common to both sides at its ends are moved out of the conflict
)

// Favor is what to do instead of marking a conflict.
type Favor int

const (
	Mark     Favor = iota // nothing: it is marked
	Ours                  // the lines of ours are taken
	Theirs                // the lines of theirs are taken
	Together              // ours, and then theirs
)

// Options configures a merge. The zero value matches Git's default.
type Options struct {
	Name               string // of the file, for messages
	Jupyter            bool   // they are Jupyter notebooks, and not Markdown
	Style              Style
	Favor              Favor
	MarkerSize         int    // how long <<<<<<< is; 0 is 7
	Base, Ours, Theirs string // what the marks call the three; "" is "base", "ours" and "theirs"
}

// Conflict is a place that needs a decision.
type Conflict struct {
	Step string // the step or cell, "" between steps
	Line int    // of its first mark in the result; in a Jupyter notebook in the text of the cell; 0 without marks
	Msg  string // what the two sides did
}

func (c Conflict) String() string {
	where := "the lines between the steps"
	if c.Step != "" {
		where = c.Step
	}
	if c.Line > 0 {
		where = fmt.Sprintf("%s, line %d", where, c.Line)
	}
	return where + ": " + c.Msg
}

// Result is what came out.
type Result struct {
	Bytes     []byte
	Conflicts []Conflict // in the order of the result
	Notes     []string   // what was decided and might surprise
}

// Notebooks merges three notebooks of one form. The error says which of them cannot be read as a notebook, and
// where; then Lines can still merge them.
func Notebooks(base, ours, theirs []byte, opt Options) (*Result, error) {
	switch {
	case bytes.Equal(base, theirs), bytes.Equal(ours, theirs):
		return &Result{Bytes: ours}, nil
	case bytes.Equal(base, ours):
		return &Result{Bytes: theirs}, nil
	}
	return notebooksBySteps(base, ours, theirs, opt)
}

func notebooksBySteps(base, ours, theirs []byte, opt Options) (*Result, error) {
	m := newMerger(ours, theirs, opt)
	ends := [3]lineEnds{endsOf(base), endsOf(ours), endsOf(theirs)}
	uniform := !slices.Contains(ends[:], mixed) && (ends[0] != ends[1] || ends[1] != ends[2])
	if uniform {
		base, ours, theirs = withLF(base), withLF(ours), withLF(theirs)
	}
	by := m.markdown
	if opt.Jupyter {
		by = m.jupyter
	}
	var err error
	if m.result.Bytes, err = by(m.arranged(string(base), string(ours), string(theirs))); err != nil {
		return nil, err
	}
	if !opt.Jupyter {
		m.findMarks(m.result)
	}
	if uniform && pick(ends[0], ends[1], ends[2]) == crlf {
		m.result.Bytes = bytes.ReplaceAll(m.result.Bytes, []byte("\n"), []byte("\r\n"))
	}
	return m.result, nil
}

// Lines merges three texts by their lines, as git merge-file does.
func Lines(base, ours, theirs []byte, opt Options) *Result {
	m := newMerger(ours, theirs, opt)
	in := m.arranged(string(base), string(ours), string(theirs))
	var t texts
	m.lines(&t, in[0], in[1], in[2])
	m.result.Bytes = []byte(t.String())
	m.told("", bothChanged, t.conflicts)
	m.findMarks(m.result)
	return m.result
}

const (
	bothChanged = "both sides changed the same lines"
	bothAdded   = "both sides added it, with other lines"
)

// merger is a merge at work. The two sides are called x and y within it: x is the one whose bytes come first when
// they are compared, so that what must be decided in one way or the other is decided alike when the sides are swapped.
type merger struct {
	opt     Options
	swapped bool // x is theirs
	result  *Result
	clashes []clash // in metadata, since clashed was asked
}

func newMerger(ours, theirs []byte, opt Options) *merger {
	if opt.MarkerSize <= 0 {
		opt.MarkerSize = 7
	}
	label := func(text, name string) string { return cmp.Or(strings.Join(strings.Fields(text), " "), name) }
	opt.Base, opt.Ours, opt.Theirs = label(opt.Base, "base"), label(opt.Ours, "ours"), label(opt.Theirs, "theirs")
	return &merger{opt: opt, swapped: bytes.Compare(ours, theirs) > 0, result: &Result{}}
}

// arranged returns the base, x and y.
func (m *merger) arranged(base, ours, theirs string) [3]string {
	if m.swapped {
		return [3]string{base, theirs, ours}
	}
	return [3]string{base, ours, theirs}
}

// sideName returns what the marks call a side.
func (m *merger) sideName(isX bool) string {
	if isX != m.swapped {
		return m.opt.Ours
	}
	return m.opt.Theirs
}

// lineEnds are those of a text. Where the three have one kind each, and not the same, one side changed them all: that
// is no change of every line.
type lineEnds int

const (
	lf lineEnds = iota
	crlf
	mixed
)

func endsOf(text []byte) lineEnds {
	switch n := bytes.Count(text, []byte("\r")); {
	case n == 0:
		return lf
	case n == bytes.Count(text, []byte("\n")) && n == bytes.Count(text, []byte("\r\n")):
		return crlf
	}
	return mixed
}

func withLF(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// findMarks gives conflicts the lines on which they begin.
func (m *merger) findMarks(r *Result) {
	if m.opt.Favor != Mark || len(r.Conflicts) == 0 {
		return
	}
	lines := markLines(string(r.Bytes), m.mark('<', m.opt.Ours))
	for i := range min(len(lines), len(r.Conflicts)) {
		r.Conflicts[i].Line = lines[i]
	}
}

// markLines returns the lines of a text, from 1, that are a mark.
func markLines(text, mark string) []int {
	var out []int
	line := 0
	for l := range strings.Lines(text) {
		if line++; strings.TrimRight(l, "\r\n") == mark {
			out = append(out, line)
		}
	}
	return out
}

func (m *merger) mark(sign byte, label string) string {
	mark := strings.Repeat(string(sign), m.opt.MarkerSize)
	if label != "" {
		mark += " " + label
	}
	return mark
}

// unreadable returns an error that says which of the three cannot be read: 0 is the base, 1 is x, 2 is y.
func (m *merger) unreadable(side int, err error) error {
	name := m.opt.Base
	if side > 0 {
		name = m.sideName(side == 1)
	}
	return fmt.Errorf("%s cannot be merged by step: %w", name, err)
}

func (m *merger) note(format string, args ...any) {
	m.result.Notes = append(m.result.Notes, fmt.Sprintf(format, args...))
}

// sourceList spells the text of a cell as from spells its own: as one text, or as a list of lines. A line that a side
// has keeps its spelling.
func sourceList(text, like string, from *ipynb.Cell, cells ...*ipynb.Cell) string {
	if strings.HasPrefix(like, `"`) {
		return quoted(text)
	}
	spelled := map[string]string{}
	head, between, tail := "", " ", ""
	for _, c := range append(cells, from) {
		if c == nil || len(c.SourceAt.Raw) == 0 || c.SourceAt.Raw[0] != '[' {
			continue
		}
		raw := c.SourceAt.Raw
		at := codec.NewCursor(raw, 0)
		end := 0
		_, err := at.Array(func() error {
			start := at.Offset()
			line, err := at.String()
			if end == 0 {
				head, between = string(raw[1:start]), string(raw[1:start])
			}
			end = at.Offset()
			spelled[line] = string(raw[start:end])
			return err
		})
		if err == nil && end > 0 {
			tail = string(raw[end : len(raw)-1])
		}
	}
	var lines []string
	for _, line := range diff.Lines(text) {
		lines = append(lines, cmp.Or(spelled[line], quoted(line)))
	}
	if len(lines) == 0 {
		return "[]"
	}
	return "[" + head + strings.Join(lines, ","+between) + tail + "]"
}

// quoted returns a text as JSON.
func quoted(text string) string { return string(codec.AppendText(nil, text, nil)) }
