package ipynb

import (
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Notebook is a file that was read. Everything but Source is where its parts are and what they say.
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
func (c *Cell) Tagged(tag string) bool {
	for _, t := range c.Tags {
		if t == tag {
			return true
		}
	}
	return false
}

// Native reports whether the notebook was converted from a text form, whose meaning its metadata keep.
func (nb *Notebook) Native() bool {
	v, ok := member(nb.Metadata, keyMarkmill)
	if ok {
		v, ok = member(v, "form")
	}
	return ok && v.Given()
}

// Declares reports whether the cell comes from another form's parameters block, and is not a step.
func (c *Cell) Declares() bool {
	v, ok := member(c.Metadata, keyMarkmill)
	if ok {
		v, ok = member(v, "block")
	}
	return ok && v.Given()
}

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

// Text is what a stream says, joined. It is decoded with each call: it may be large.
func (o *Output) Text() string { return o.TextAt.Text() }

// Datum is one form of a result.
type Datum struct {
	MIME string
	Value
}

// JSON reports whether the value is JSON by its kind, not a text.
func (d Datum) JSON() bool {
	return d.MIME == "application/json" || strings.HasPrefix(d.MIME, "application/") && strings.HasSuffix(d.MIME, "+json")
}

// Text is a value that is a text or a list of texts, joined; "" when it is neither.
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
}

// Members are the members of an object, in their order; none when the value is no object. The places are those in the
// notebook.
func Members(v Value) []Member {
	var members []Member
	c := codec.NewCursor(v.Raw, 0)
	if c.Kind() != '{' {
		return nil
	}
	_, err := c.Object(func(name []byte, _ codec.Span) error {
		m := Member{Name: string(name)}
		span, err := c.Skip()
		if err == nil {
			m.Value = Value{bare: v.bare, Raw: span.Of(v.Raw), Span: codec.Span{Start: v.Span.Start + span.Start,
				End: v.Span.Start + span.End}}
			members = append(members, m)
		}
		return err
	})
	if err != nil {
		return nil // cannot happen: Parse has read it
	}
	return members
}
