package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/percent"
	"markmill/runs"
)

// CheckForm says whether a run can leave an output notebook of another form than the notebook's, before anything has
// run.
func CheckForm(form notebooks.Form, nb *notebooks.Notebook) error {
	var err error
	switch {
	case form == "":
	case form == ipynb.Form:
		_, err = newJupyter(nb)
	default:
		_, err = asMarkdown(nb)
	}
	return err
}

// asJupyter makes a Jupyter notebook of a text form, and finds the steps among its cells.
func asJupyter(nb *notebooks.Notebook) (*ipynb.Notebook, map[int]*notebooks.Step, error) {
	doc, err := convert.ReadRun(nb)
	if err != nil {
		return nil, nil, err
	}
	source, _, err := doc.To(notebooks.FormJupyter, "")
	if err != nil {
		return nil, nil, err
	}
	file, err := ipynb.Parse(nb.Name, source)
	if err != nil {
		return nil, nil, err
	}
	places, n := map[int]*notebooks.Step{}, 0
	for i := range file.Cells {
		c := &file.Cells[i]
		if c.Type != "code" || c.Declares() {
			continue
		}
		if n < len(nb.Steps) {
			places[i] = nb.Steps[n]
		}
		n++
	}
	if n != len(nb.Steps) {
		return nil, nil, fmt.Errorf("%s: its %d steps are %d in Jupyter's form", nb.Name, len(nb.Steps), n)
	}
	return file, places, nil
}

// AsMarkdown is the Markdown notebook whose digest the outputs in Markdown have of a notebook.
func AsMarkdown(nb *notebooks.Notebook) (*notebooks.Notebook, error) { return asMarkdown(nb) }

// asMarkdown makes a Markdown notebook of a script or of a Jupyter notebook. Its steps have the ids that they have in
// the record. What of the text Markdown would take for a step, or for something that does not end with its cell, is
// shown in a fence.
func asMarkdown(nb *notebooks.Notebook) (*notebooks.Notebook, error) {
	switch nb.Form {
	case ipynb.Form:
	case percent.Form:
		return Script(nb)
	default:
		return nb, nil
	}
	file, err := ipynb.Parse(nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	if out, err := convertedMarkdown(nb, file); err == nil {
		return out, nil
	}
	var cells []percent.Cell
	for i := range file.Cells {
		c := percent.Cell{Kind: percent.Markdown, Source: text(file.Cells[i].Source)}
		switch file.Cells[i].Type {
		case "code":
			c.Kind = percent.Code
		case "raw":
			c.Kind = percent.Raw
		}
		cells = append(cells, c)
	}
	out, err := cellsAs(nb, "", "", cells)
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindSyntax, File: nb.Name, Line: 1, Msg: "it cannot be written as Markdown: " + err.Error(),
			Hint: "give an OUTPUT that ends in .ipynb"}
	}
	return out, nil
}

// convertedMarkdown is a Jupyter notebook as markmill convert writes it, but for text that is no prose in Markdown.
func convertedMarkdown(nb *notebooks.Notebook, file *ipynb.Notebook) (*notebooks.Notebook, error) {
	doc, err := convert.Read(notebooks.FormJupyter, nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	steps, n := []notebooks.StepID{}, 0
	declares := map[notebooks.StepID]bool{}
	for i := range doc.Cells {
		c := &doc.Cells[i]
		if c.Type != "code" && !isProse(c.Source, false) {
			var b bytes.Buffer
			fence(&b, "markdown", text(c.Source))
			c.Source = strings.TrimSpace(b.String())
		}
		if c.Type == "code" && n < len(nb.Steps) {
			id := nb.Steps[n].ID
			c.ID = string(id)
			steps, declares[id] = append(steps, id), file.Cells[i].Declares()
			n++
		}
	}
	source, _, err := doc.To(notebooks.FormNative, runs.OutputFile)
	if err != nil {
		return nil, err
	}
	out, err := notebooks.Parse(nb.Name, source)
	if err != nil {
		return nil, err
	}
	// A cell that stands for a block of parameters is that block again, and no step.
	steps = slices.DeleteFunc(steps, func(id notebooks.StepID) bool { return declares[id] && out.Step(id) == nil })
	if !slices.EqualFunc(out.Steps, steps, func(a *notebooks.Step, id notebooks.StepID) bool { return a.ID == id }) {
		return nil, fmt.Errorf("its steps are other ones")
	}
	return out, nil
}

// text is a text without what a Markdown file cannot have.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }
