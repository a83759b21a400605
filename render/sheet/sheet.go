package sheet

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render/documents"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// Options configure a sheet.
type Options struct {
	Long   bool                   // a row a scrap, else a row a notebook
	Params bool                   // parameters are columns
	Keep   func(name string) bool // the scraps that are wanted; nil wants all
}

// Sheet is a table. An empty cell is nil or null.
type Sheet struct {
	Columns []string
	Rows    [][]codec.Raw
	// Left counts the tables, pictures, files and values of unknown encoders that do not fit in the rows.
	Left int
	// Elided counts the values that output notebooks had no room for.
	Elided int

	marks [][]Mark // of cells, for people; nil without
}

// Columns that are always present. Those of a long sheet follow the parameters.
var (
	first = []string{"notebook", "run", "status"}
	long  = []string{"step", "name", "type", "value"}
)

// Builder collects the rows of a sheet. It keeps only their cells, because there may be many notebooks.
type Builder struct {
	options        Options
	params, scraps columns
	rows           []row
	left, elided   int
}

// New begins a sheet.
func New(o Options) *Builder { return &Builder{options: o} }

// row holds cells whose columns are not ordered yet.
type row struct {
	about          []codec.Raw // of first
	params, scraps []codec.Raw // as far as there are any
	scrap          []codec.Raw // of long
}

// columns holds names in order of first appearance.
type columns struct {
	names []string
	at    map[string]int
}

// set puts a value into the cell of a name.
func (c *columns) set(cells []codec.Raw, name string, value codec.Raw) []codec.Raw {
	at, known := c.at[name]
	if !known {
		if c.at == nil {
			c.at = map[string]int{}
		}
		at = len(c.names)
		c.at[name], c.names = at, append(c.names, name)
	}
	if missing := at + 1 - len(cells); missing > 0 {
		cells = append(cells, make([]codec.Raw, missing)...)
	}
	cells[at] = value.Clone() // of the text of the notebook, perhaps
	return cells
}

// Add adds the next notebook.
func (b *Builder) Add(r *documents.Recorded) {
	one := row{about: []codec.Raw{text(r.Name), text(r.Run), text(r.Status)}}
	if b.options.Params {
		for _, p := range r.Params {
			one.params = b.params.set(one.params, p.Name, p.Value)
		}
	}
	b.elided += r.Gone
	for i := range r.Scraps {
		s := &r.Scraps[i]
		keep := b.options.keeps(s.Name)
		if keep && s.Type == documents.Elided {
			b.elided++
		}
		switch {
		case !keep:
		case b.options.Long:
			line := one
			line.scrap = longCells(s)
			b.rows = append(b.rows, line)
		case scalar(s):
			one.scraps = b.scraps.set(one.scraps, s.Name, s.Value)
		case s.Type != documents.Elided:
			b.left++
		}
	}
	if !b.options.Long {
		b.rows = append(b.rows, one)
	}
}

// Sheet returns the table of the added notebooks.
func (b *Builder) Sheet() *Sheet {
	s := &Sheet{Columns: b.names(), Rows: make([][]codec.Raw, len(b.rows)), Left: b.left, Elided: b.elided}
	for i, r := range b.rows {
		cells := make([]codec.Raw, 0, len(s.Columns))
		cells = append(append(cells, r.about...), r.params...)
		cells = cells[:len(first)+len(b.params.names)]
		cells = append(append(cells, r.scraps...), r.scrap...)
		s.Rows[i], b.rows[i] = cells[:len(s.Columns)], row{}
	}
	return s
}

func (o Options) keeps(name string) bool { return o.Keep == nil || o.Keep(name) }

// scalar reports whether a scrap fits in one cell.
func scalar(s *documents.StepScrap) bool {
	return s.Opaque == "" && (s.Type == runs.ScrapText || s.Type == runs.ScrapJSON)
}

func longCells(s *documents.StepScrap) []codec.Raw {
	kind, value := s.Type, s.Value
	switch {
	case s.Opaque != "":
		kind, value = "opaque", text(s.Opaque)
	case s.Digest != "":
		value = text(string(s.Digest))
	}
	return []codec.Raw{text(s.Step), text(s.Name), text(kind), value.Clone()}
}

// text marshals a string, and returns nil for an empty one.
func text(s string) codec.Raw {
	if s == "" {
		return nil
	}
	raw, err := codec.Marshal(s)
	if err != nil { // a file's name that is not UTF-8
		raw, _ = codec.Marshal(strconv.QuoteToASCII(s))
	}
	return raw
}

// names chooses column names: a scrap or parameter uses its own, unless another column has it. Then a parameter
// becomes params.NAME, as in the expressions of if=.
func (b *Builder) names() []string {
	out := slices.Clone(first)
	taken := map[string]bool{}
	for _, name := range first {
		taken[name] = true
	}
	if b.options.Long {
		for _, name := range long {
			taken[name] = true
		}
	}
	place := func(name, prefix string, reserved bool) {
		if reserved || taken[name] {
			name = prefix + name
		}
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		out = append(out, name)
	}
	for _, name := range b.params.names {
		_, scrap := b.scraps.at[name]
		place(name, "params.", scrap)
	}
	for _, name := range b.scraps.names {
		place(name, "scraps.", false)
	}
	if b.options.Long {
		out = append(out, long...)
	}
	return out
}

// kindWords are what a page calls the columns of a kind.
var kindWords = map[string]string{"parameter": "Parameters", "scrap": "Scraps", "tests": "Tests", "change": "Change",
	"cost": "Cost"}

// arrows say on a page which values of a column are better.
var arrows = map[Better]string{Lower: " ↓", Higher: " ↑"}

// Page is the comparison as the document of a page, and its title. The name of a column stands behind its kind.
func (t *Compared) Page() (title string, doc []byte) {
	title = "run"
	if len(t.Runs) > 0 && t.Runs[0].Attempt != "" {
		title = "attempt"
	}
	title = plain.Counted(len(t.Runs), title) + " compared"
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", title)
	if !slices.ContainsFunc(t.Runs, func(c *ComparedRun) bool { return c.Notebook != t.Runs[0].Notebook }) {
		fmt.Fprintf(&b, "of %s\n\n", safe.CodeSpan(plain.OneLine(t.Runs[0].Notebook)))
	}
	if t.Note != "" {
		b.WriteString(safe.Inline(plain.OneLine(t.Note)) + "\n\n")
	}
	if len(t.Same) > 0 {
		b.WriteString("The same in all:")
		for _, words := range t.SameWords() {
			b.WriteString(" " + safe.CodeSpan(words))
		}
		b.WriteString("\n\n")
	}
	shown := Sheet{marks: t.Marks}
	for _, c := range t.Headings {
		name := c.Name
		if kind := kindWords[c.Kind]; kind != "" {
			name = kind + " · " + strings.TrimPrefix(name, "tests ")
		}
		if c.Marked {
			name += arrows[c.Better]
		}
		shown.Columns = append(shown.Columns, name)
	}
	for i, run := range t.Runs {
		row := slices.Clone(t.Rows[i])
		if run.Attempt == "" && !run.Started.IsZero() {
			row[0] = text(runs.RunID(run.Run).Short() + " · " + run.Started.UTC().Format("2006-01-02 15:04:05Z"))
		}
		shown.Rows = append(shown.Rows, row)
	}
	w := bufio.NewWriter(&b)
	shown.markdown(w)
	_ = w.Flush() // a buffer makes no error
	if legend := t.Legend(); legend != "" {
		fmt.Fprintf(&b, "\n%s. A run that did not pass is never the best.\n", legend)
	}
	return title, b.Bytes()
}
