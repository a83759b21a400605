package ipynb

import (
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Notebook is a parsed file: Source, and the positions and meaning of its parts.
type Notebook struct {
	Name     string // as messages call it
	Source   []byte
	NBFormat int // 4; 3 and 2 for old files, whose cells are given as those of 4
	Minor    int
	Metadata Value // of the notebook
	Cells    []Cell
	Warnings notebooks.ErrorList // what Jupyter takes, and a reader should know

	lists []list // where the cells are; old files may have several worksheets
}

// list is an array of cells in the source.
type list struct {
	span       codec.Span
	first, end int // of Notebook.Cells
}

// Value is a JSON value as the file spells it; the zero Value is absent.
type Value struct {
	Raw  codec.Raw
	Span codec.Span
	bare bool // of an old file, whose lists of lines may be without their ends
}

// Given reports whether the value is there and is not null.
func (v Value) Given() bool { return len(v.Raw) > 0 && v.Raw[0] != 'n' }

// Cell is one cell.
type Cell struct {
	Span        codec.Span // the whole object
	ID          string     // "" before nbformat 4.5
	IDAt        Value
	Type        string // code, markdown or raw, or what else the file says
	Source      string // joined; a heading of an old file has its # signs
	SourceAt    Value  // a text or a list of texts
	Metadata    Value
	Tags        []string
	Outputs     []Output // of code cells
	OutputsAt   Value
	Count       Value // execution_count; prompt_number in old files
	Attachments Value
	Language    string // of a code cell in old files
	Collapsed   Value  // of a code cell in old files, where it is beside the metadata
}

// Tagged reports whether the cell has a tag.
func (c *Cell) Tagged(tag string) bool { return slices.Contains(c.Tags, tag) }

// Native reports whether the notebook was converted from a text form, whose meaning its metadata keep.
func (nb *Notebook) Native() bool { return nb.Metadata.at(keyMarkmill, "form").Given() }

// Declares reports whether the cell comes from another form's parameters block, and is not a step.
func (c *Cell) Declares() bool { return c.Metadata.at(keyMarkmill, keyBlock).Given() }

// Output is one output of a code cell.
type Output struct {
	Value
	Type      string // stream, display_data, execute_result or error
	Name      string // of a stream: stdout, stderr
	TextAt    Value  // of a stream
	Data      []Datum
	Metadata  Value
	Count     Value
	Ename     string
	Evalue    string
	Traceback []string
}

// Text returns a stream's text, joined. Each call decodes it: it may be large.
func (o *Output) Text() string { return o.TextAt.Text() }

// Datum is one form of a result.
type Datum struct {
	MIME string
	Value
}

// JSON reports whether the value is JSON by its kind, not a text.
func (d Datum) JSON() bool {
	return d.MIME == "application/json" || strings.HasPrefix(d.MIME, "application/") &&
		strings.HasSuffix(d.MIME, "+json")
}

// Text returns a value that is a text or a list of texts, joined; "" when it is neither.
func (v Value) Text() string {
	text, err := joined(codec.NewCursor(v.Raw, 0), v.bare)
	if err != nil {
		return ""
	}
	return text
}

// joined reads a text or a list of texts. Where the texts may be without their line ends, the first reports whether
// they are: as in nbformat's v3/rwbase.py.
func joined(c *codec.Cursor, bare bool) (string, error) {
	switch c.Kind() {
	case '"':
		return c.String()
	case '[':
		var lines []string
		_, err := c.Array(func() error {
			if c.Kind() != '"' {
				return &misfit{c.Offset(), "a line of a list of lines must be a text", ""}
			}
			line, err := c.String()
			lines = append(lines, line)
			return err
		})
		if bare && len(lines) > 0 && !strings.HasSuffix(lines[0], "\n") && !strings.HasSuffix(lines[0], "\r") {
			return strings.Join(lines, "\n"), err
		}
		return strings.Join(lines, ""), err
	}
	return "", c.Expected("a text or a list of texts")
}

// Member is a member of an object.
type Member struct {
	Name string
	Value
	whole codec.Span // from the name to the end of the value
}

// at returns the value at a path of names, the zero Value where there is none. Of a name given twice the last counts.
func (v Value) at(path ...string) Value {
	for _, name := range path {
		object := v
		v = Value{}
		for _, m := range Members(object) {
			if m.Name == name {
				v = m.Value
			}
		}
	}
	return v
}

// part returns the part of the value at an offset within it.
func (v Value) part(span codec.Span) Value {
	return Value{bare: v.bare, Raw: span.Of(v.Raw),
		Span: codec.Span{Start: v.Span.Start + span.Start, End: v.Span.Start + span.End}}
}

// Members returns the members of an object, in their order; none when the value is no object. The places are those in
// the notebook.
func Members(v Value) []Member {
	var members []Member
	c := codec.NewCursor(v.Raw, 0)
	if c.Kind() != '{' {
		return nil
	}
	_, err := c.Object(func(name []byte, at codec.Span) error {
		span, err := c.Skip()
		if err == nil {
			whole := codec.Span{Start: v.Span.Start + at.Start, End: v.Span.Start + span.End}
			members = append(members, Member{string(name), v.part(span), whole})
		}
		return err
	})
	if err != nil {
		return nil // cannot happen: Parse has read it
	}
	return members
}

// items returns the items of a list; none when the value is no list.
func (v Value) items() []Value {
	var items []Value
	c := codec.NewCursor(v.Raw, 0)
	_, err := c.Array(func() error {
		span, err := c.Skip()
		if err == nil {
			items = append(items, v.part(span))
		}
		return err
	})
	if err != nil {
		return nil
	}
	return items
}

// sourceHidden is what Jupyter keeps of a cell whose code is folded.
var sourceHidden = codec.Raw(`{"source_hidden": true}`)

const (
	keySourceHidden = "source_hidden"
	keyWas          = "jupyter_was" // in keyMarkmill: "jupyter" before a run hid the code; null if absent
)

// Hides reports whether Jupyter folds the code of a cell.
func (c *Cell) Hides() bool {
	return string(c.Metadata.at(keyJupyter, keySourceHidden).Raw) == "true"
}

// hide folds the code of a cell: it returns the settings for its metadata, including a note of the previous state, for
// Source.
func (w *writing) hide(c *Cell, settings []Setting) []Setting {
	if c.Hides() {
		return settings
	}
	var was *string
	hidden := []Setting{{Name: keyJupyter, Value: sourceHidden}}
	if jupyter := c.Metadata.at(keyJupyter); jupyter.Raw != nil {
		if jupyter.Raw[0] != '{' {
			return settings // invalid for Jupyter: leave it
		}
		was, hidden = new(string(jupyter.Raw)), nil
		if v := jupyter.at(keySourceHidden); v.Raw != nil {
			w.edits = append(w.edits, Edit{v.Span, "true"})
		} else {
			w.set(jupyter, []Setting{{Name: keySourceHidden, Value: codec.Raw("true")}})
		}
	}
	note := map[string]any{keyWas: was}
	for _, s := range settings {
		if s.Name != keyMarkmill {
			hidden = append(hidden, s)
			continue
		}
		for _, m := range Members(Value{Raw: s.Value}) {
			note[m.Name] = m.Raw
		}
	}
	raw, err := codec.Marshal(note)
	if err != nil && w.err == nil {
		w.err = err
	}
	return append(hidden, Setting{Name: keyMarkmill, Value: raw})
}

// unhide puts the cell's "jupyter" back as it was before a run hid its code, or names it as a key to take out.
func (w *stripping) unhide(c *Cell) (drop []string) {
	was := c.Metadata.at(keyMarkmill, keyWas)
	if string(was.Raw) == "null" {
		return []string{keyJupyter}
	}
	if text := was.Text(); codec.Raw(text).IsValid() {
		w.put(c.Metadata.at(keyJupyter).Span, text)
	}
	return nil
}
