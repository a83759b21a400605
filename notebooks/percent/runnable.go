package percent

import (
	"bytes"
	"strings"

	"markmill/notebooks"
)

// Runnable is the script as a run takes it: its cells of code are the steps. It gives every mistake there is.
func (s *Script) Runnable() (*notebooks.Notebook, error) {
	book := notebooks.Book{Name: s.Name, Source: s.Source, Form: Form}
	if s.Header.Given {
		book.Matter = []notebooks.Matter{{Text: []byte(s.Header.Text), At: s.Header.At, Place: s.place, Strict: !s.Header.Jupytext}}
	}
	for i := range s.Cells {
		if c := &s.Cells[i]; c.Kind == Code {
			book.Cells = append(book.Cells, s.step(c))
		}
	}
	nb, err := notebooks.Assemble(book)
	nb.Warnings = append(nb.Warnings, s.Warnings...)
	return nb, err
}

func (s *Script) step(c *Cell) notebooks.Cell {
	code := c.Source
	if code != "" {
		code += "\n"
	}
	out := notebooks.Cell{Lang: c.Lang, Code: code, At: c.At, Line: c.Line, CodeLine: c.CodeLine, Tags: c.Tags()}
	if args := text(c.Field("magic_args")); c.Lang != s.Lang && (args != "" || !notebooks.IsLanguage(c.Lang)) {
		// A cell magic that only the kernel of the script knows.
		out.Lang, out.Code, out.CodeLine = s.Lang, strings.TrimSpace("%%"+text(c.Field("language"))+" "+args)+"\n"+code, c.CodeLine-1
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
		out.Options = append(out.Options, notebooks.Option{Name: f.Name, Value: f.Value, At: f.At})
	}
	return out
}

// Looks says whether a text of which there is no name is a percent script of Python: it begins with a cell or with a header in comments, and
// has a cell.
func Looks(src []byte) bool {
	lang := languages[".py"]
	for _, l := range lines(src[:min(len(src), 64<<10)]) {
		text := strings.TrimSpace(l.text)
		switch _, mark := lang.marker(l.text); {
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
