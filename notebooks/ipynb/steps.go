package ipynb

import (
	"bytes"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Form is the name of this form.
const Form = notebooks.FormJupyter

// Kernel is the kernelspec that a notebook names, "" without one.
func (nb *Notebook) Kernel() string { return nb.text("kernelspec", "name") }

// Language is the language of a notebook's code, in lower case; "" when nothing says it.
func (nb *Notebook) Language() string {
	lang := nb.text("language_info", "name")
	if lang == "" {
		lang = nb.text("kernelspec", "language")
	}
	if lang == "" { // Jupyter's own kernels, in files that were written by hand
		switch name := nb.Kernel(); {
		case strings.HasPrefix(name, "python"):
			lang = "python"
		case name == "ir":
			lang = "r"
		}
	}
	return strings.ToLower(lang)
}

// Title is the title that the metadata give, as papermill's reports have it.
func (nb *Notebook) Title() string {
	if v, ok := member(nb.Metadata, "title"); ok {
		return v.Text()
	}
	return ""
}

// text is a text of the metadata, two names deep.
func (nb *Notebook) text(outer, inner string) string {
	v, ok := member(nb.Metadata, outer)
	if !ok {
		return ""
	}
	v, ok = member(v, inner)
	if !ok {
		return ""
	}
	return v.Text()
}

// Runnable is the notebook as a run takes it: its code cells are the steps. It gives every mistake there is in what the
// metadata say of the run and of its steps.
func (nb *Notebook) Runnable() (*notebooks.Notebook, error) {
	lang := nb.Language()
	if lang == "" && nb.NBFormat < 4 {
		lang = nb.cellLanguage()
	}
	places := notebooks.NewPlaces(nb.Source)
	var cells []notebooks.Cell
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.Type != "code" {
			continue
		}
		step := notebooks.Cell{ID: c.ID, Place: i + 1, Lang: lang, Code: c.Source, Tags: c.Tags,
			Line: places.Line(c.Span.Start), CodeLine: places.Line(c.codeStart()),
			At: notebooks.Span{Start: c.Span.Start, End: c.Span.End}}
		c.options(&step)
		cells = append(cells, step)
	}
	matter := nb.matter(places)
	out, err := notebooks.FromCells(notebooks.CellFile{Name: nb.Name, Source: nb.Source, Form: Form, FrontMatter: matter,
		Head: nb.head(places, matter), Cells: cells})
	if out.Front.Kernel == "" {
		out.Front.Kernel = nb.Kernel()
	}
	if out.Front.Title == "" {
		out.Front.Title = nb.Title()
	}
	nb.execution(&out.Front)
	out.Warnings = append(out.Warnings, nb.Warnings...)
	return out, err
}

// execution reads what jupyter-cache and MyST have notebooks say of their execution: {"timeout": 30, "allow_errors":
// true}, in seconds. What the front matter says comes first.
func (nb *Notebook) execution(f *notebooks.Front) {
	var said struct {
		Timeout     float64 `json:"timeout"`
		AllowErrors bool    `json:"allow_errors"`
	}
	v, ok := member(nb.Metadata, "execution")
	if !ok || codec.UnmarshalForeign(v.Raw, &said) != nil {
		return
	}
	if limit := time.Duration(said.Timeout * float64(time.Second)); f.Timeout == 0 && said.Timeout > 0 &&
		said.Timeout < 1e9 {
		f.Timeout = limit
	}
	f.AllowErrors = f.AllowErrors || said.AllowErrors
}

// codeStart returns the offset at which a cell's code begins: in a list of lines, that of its first item.
func (c *Cell) codeStart() int {
	start := c.SourceAt.Span.Start
	if raw := c.SourceAt.Raw; len(raw) > 0 && raw[0] == '[' {
		start += len(raw) - len(bytes.TrimLeft(raw[1:], " \t\r\n"))
	}
	return start
}
