package ipynb

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/markdown"
)

// Form is the name of this form.
const Form = notebooks.FormJupyter

// Kernel returns the kernelspec that a notebook names, "" without one.
func (nb *Notebook) Kernel() string { return nb.MetadataText("kernelspec", "name") }

// NamedLanguage returns the language that the metadata name, as they spell it; "" without one.
func (nb *Notebook) NamedLanguage() string {
	return cmp.Or(nb.MetadataText("language_info", "name"), nb.MetadataText("kernelspec", "language"))
}

// Language returns the language of a notebook's code, in lower case; "" when nothing says it.
func (nb *Notebook) Language() string {
	lang := nb.NamedLanguage()
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

// Title returns the title that the metadata give, as papermill's reports have it.
func (nb *Notebook) Title() string {
	return nb.MetadataText("title")
}

// MetadataText returns a text of the metadata, by the names that lead to it.
func (nb *Notebook) MetadataText(names ...string) string {
	return nb.Metadata.at(names...).Text()
}

// Runnable returns the notebook as a run takes it: its code cells are the steps. It gives every mistake there is in
// what the metadata say of the run and of its steps.
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
	out, err := markdown.FromCells(notebooks.CellFile{Name: nb.Name, Source: nb.Source, Form: Form, FrontMatter: matter,
		Head: nb.head(places, matter), Cells: cells})
	out.Front.Kernel = cmp.Or(out.Front.Kernel, nb.Kernel())
	out.Front.Title = cmp.Or(out.Front.Title, nb.Title())
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
		Interrupt   bool    `json:"interrupt_on_timeout"`
	}
	if v := nb.Metadata.at("execution"); v.Raw == nil || codec.UnmarshalForeign(v.Raw, &said) != nil {
		return
	}
	if f.Timeout == 0 && said.Timeout > 0 && said.Timeout < 1e9 {
		f.Timeout = time.Duration(said.Timeout * float64(time.Second))
	}
	f.AllowErrors = f.AllowErrors || said.AllowErrors
	f.InterruptOnTimeout = f.InterruptOnTimeout || said.Interrupt
}

// codeStart returns the offset at which a cell's code begins: in a list of lines, that of its first item.
func (c *Cell) codeStart() int {
	start := c.SourceAt.Span.Start
	if raw := c.SourceAt.Raw; len(raw) > 0 && raw[0] == '[' {
		start += len(raw) - len(bytes.TrimLeft(raw[1:], " \t\r\n"))
	}
	return start
}

// StepCell is a step of a notebook's source, and its cell in the file with outputs.
type StepCell struct {
	Step *notebooks.Step // of the source: its lines are those of Source
	Cell *Cell
	Line int // of the cell in this file
}

// StepCells returns the steps of a notebook's source with their cells here, without those that a run added. injected
// leaves out the cells of injected parameters too, as in Source.
func (nb *Notebook) StepCells(injected bool) ([]StepCell, error) {
	bare, err := Parse(nb.Name, Source(nb, injected))
	if err != nil { // cannot happen: the notebook was parsed
		return nil, err
	}
	run, _ := bare.Runnable() // what is wrong with it does not change which cells it has
	places := notebooks.NewPlaces(nb.Source)
	var out []StepCell
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.Type != "code" || leftByRun(c, injected) || len(out) >= len(run.Steps) {
			continue
		}
		out = append(out, StepCell{Step: run.Steps[len(out)], Cell: c, Line: places.Line(c.Span.Start)})
	}
	return out, nil
}

// StepNames returns the names of the code cells, by place: a step's id in a run, or else the name of the place.
func (nb *Notebook) StepNames() map[int]string {
	names := map[int]string{}
	steps := map[*Cell]string{}
	if cells, err := nb.StepCells(false); err == nil {
		for _, s := range cells {
			steps[s.Cell] = string(s.Step.ID)
		}
	}
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.Type != "code" {
			continue
		}
		names[i] = cmp.Or(steps[c], c.ID, fmt.Sprintf("cell-%d", i+1))
	}
	return names
}

// Verdict reports whether the cell is the first one, in which a run shows its verdict.
func (c *Cell) Verdict() bool {
	return c.Type == "markdown" && added(c) && c.Tagged("markmill")
}
