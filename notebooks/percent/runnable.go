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
