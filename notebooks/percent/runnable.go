package percent

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/codec"
	"markmill/notebooks/magics"
	"markmill/notebooks/markdown"
)

// Runnable returns the script as a run takes it: its cells of code are the steps. It gives every mistake there is.
func (s *Script) Runnable() (*notebooks.Notebook, error) {
	book := notebooks.CellFile{Name: s.Name, Source: s.Source, Form: Form}
	if s.Header.Given {
		book.FrontMatter = []notebooks.FrontMatter{{Text: []byte(s.Header.Text), At: s.Header.At, Place: s.place,
			Strict: !s.Header.Jupytext && !s.Header.prose()}}
	} else {
		book.Head = s.head()
	}
	for i := range s.Cells {
		if c := &s.Cells[i]; c.Kind == Code {
			book.Cells = append(book.Cells, s.step(c))
		}
	}
	nb, err := markdown.FromCells(book)
	nb.Warnings = append(nb.Warnings, s.Warnings...)
	if len(s.mistakes) > 0 {
		var others notebooks.ErrorList
		if errors.As(err, &others) {
			return nb, append(s.mistakes, others...)
		}
		return nb, cmp.Or(err, error(s.mistakes))
	}
	return nb, err
}

// head returns the text of the comments on top, which may be a header that is not read.
func (s *Script) head() *notebooks.FrontMatter {
	sign := s.Language.Comment
	comment := func(i int) bool { return i < len(s.lines) && strings.HasPrefix(s.lines[i].Text, sign) }
	first := 0
	for first < len(s.lines) && (s.lines[first].Text == "" || strings.HasPrefix(s.lines[first].Text, "#!") ||
		comment(first) && (coding.MatchString(s.lines[first].Text) ||
			strings.TrimSpace(s.Language.Bare(s.lines[first].Text)) == "")) {
		first++
	}
	var text strings.Builder
	if first > 0 && s.lines[first-1].Text == "" { // a header is above the first empty line
		text.WriteByte('\n')
		first--
	}
	skipped := first
	for i := first; i < len(s.lines) && (comment(i) || i == first && text.Len() > 0); i++ {
		if comment(i) {
			text.WriteString(s.Language.Bare(s.lines[i].Text) + "\n")
		}
	}
	return &notebooks.FrontMatter{Text: []byte(text.String()), Place: func(line, col int) (int, int) {
		i := min(skipped+line-1, len(s.lines)-1)
		return i + 1, col + len(s.lines[i].Text) - len(magics.Bare(s.lines[i].Text, sign))
	}}
}

func (s *Script) step(c *Cell) notebooks.Cell {
	code := c.Source
	if code != "" {
		code += "\n"
	}
	out := notebooks.Cell{Lang: c.Lang, Code: code, At: c.At, Line: c.Line, CodeLine: c.CodeLine, Tags: c.Tags()}
	if args := text(c.Field("magic_args")); c.Lang != s.Lang && (args != "" || !notebooks.IsLanguage(c.Lang)) {
		// A cell magic that only the kernel of the script knows.
		out.Lang, out.CodeLine = s.Lang, c.CodeLine-1
		out.Code = notebooks.CellMagic(text(c.Field("language")), args, code)
	}
	for _, f := range c.Metadata {
		switch f.Name {
		case "tags", "language", "magic_args":
			continue
		}
		if strings.HasPrefix(f.Name, ".") { // a class
			out.Tags = append(out.Tags, f.Name[1:])
			continue
		}
		out.Options = append(out.Options, f)
	}
	return out
}

// Looks reports whether a text without a name is a percent script of Python: it begins with a cell or with a header in
// comments, and has a cell.
func Looks(src []byte) bool {
	lang := python()
	for _, l := range blocks.Lines(string(src[:min(len(src), 64<<10)])) {
		text := strings.TrimSpace(l.Text)
		switch _, mark := lang.marker(l.Text); {
		case text == "", strings.HasPrefix(text, "#!"), strings.HasPrefix(text, "#") && coding.MatchString(text):
			continue
		case mark:
			return true
		case text == "# ---" || text == "#---":
			return Marked(lang, bytes.TrimSpace(src))
		}
		return false
	}
	return false
}

// Active reports whether a cell is code in files of an extension, as Jupytext has it: in all of them, unless its
// metadata name some. field finds a value of the metadata, and returns nil without one.
func Active(field func(name string) codec.Raw, ext string) bool {
	var control struct {
		Frozen bool `json:"frozen"`
	}
	if raw := field("run_control"); raw != nil && codec.UnmarshalForeign(raw, &control) == nil && control.Frozen {
		return ext == "ipynb"
	}
	named := func(words []string) bool {
		return slices.ContainsFunc(words, func(one string) bool { return strings.EqualFold(one, ext) })
	}
	for _, tag := range tagsOf(field("tags")) {
		if strings.HasPrefix(tag, "active-") {
			return named(strings.Split(tag, "-"))
		}
	}
	raw := field("active")
	if raw == nil {
		return true
	}
	return named(strings.FieldsFunc(text(raw), func(r rune) bool { return r == '.' || r == ',' }))
}

// text returns a value that is one; "" of another.
func text(raw codec.Raw) string {
	var s string
	if raw == nil || codec.UnmarshalForeign(raw, &s) != nil {
		return ""
	}
	return s
}

// Form is the name of this form.
const Form = notebooks.FormPercent

// Script is a script that was read.
type Script struct {
	Name     string // as messages call it
	Source   []byte
	Language Language // of the ending
	Lang     string   // of the cells: what the header says, or else the language of the ending
	Header   Header
	Light    bool // cells are parted by empty lines
	Marimo   bool // cells are the functions of a notebook of marimo's
	Cells    []Cell
	Warnings notebooks.ErrorList // what runs, and a reader should know

	mistakes notebooks.ErrorList // because of which it cannot run

	lines []blocks.Line
}

// Header is the YAML in comments at the head of a script.
type Header struct {
	Given    bool
	Text     string // without the comment signs and the marks
	At       notebooks.Span
	Jupytext bool // Jupytext has written it

	first int // index of the line after the first mark
}

// Kind is what a cell holds.
type Kind string

// As Jupyter calls them.
const (
	Code     Kind = "code"
	Markdown Kind = "markdown"
	Raw      Kind = "raw"
)

// Cell is one cell.
type Cell struct {
	Kind     Kind
	Title    string             // the words on the marker line
	Depth    int                // how many further % there are
	Short    bool               // Markdown is spelled [md]
	Metadata []notebooks.Option // in the order of the marker line
	Lang     string             // of code; another than the script's where the cell says so
	// without comment signs, where they are not the author's; lines end with \n, the last one does not
	Source   string
	At       notebooks.Span
	Line     int  // of the marker, or of the first line
	CodeLine int  // of the first line of Source
	Marked   bool // it has a marker line
}

// Field finds a field of the cell; nil without one.
func (c *Cell) Field(name string) codec.Raw {
	for _, f := range c.Metadata {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Tags returns the tags of the cell.
func (c *Cell) Tags() []string { return tagsOf(c.Field("tags")) }

// tagsOf reads the value of tags: a list, or one tag.
func tagsOf(raw codec.Raw) []string {
	var tags []string
	if raw == nil || codec.UnmarshalForeign(raw, &tags) == nil {
		return tags
	}
	if one := text(raw); one != "" {
		return []string{one}
	}
	return nil
}
