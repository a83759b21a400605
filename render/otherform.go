package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/percent"
	"markmill/render/jupyter"
	"markmill/render/safe"
	"markmill/runs"
)

// CheckForm returns an error if a run cannot write its output notebook in another form. It runs nothing.
func CheckForm(form notebooks.Form, nb *notebooks.Notebook) error {
	switch form {
	case "":
		return nil
	case ipynb.Form:
		return jupyter.Check(nb)
	}
	_, err := AsMarkdown(nb)
	return err
}

// AsMarkdown converts a script or a Jupyter notebook to Markdown. Steps keep their recorded ids. Text that Markdown
// would read as a step, or that would not end with its cell, is fenced.
func AsMarkdown(nb *notebooks.Notebook) (*notebooks.Notebook, error) {
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
		return nil, &notebooks.Error{Kind: notebooks.KindSyntax, File: nb.Name, Line: 1,
			Msg:  "it cannot be written as Markdown: " + err.Error(),
			Hint: "give an OUTPUT that ends in .ipynb"}
	}
	return out, nil
}

// convertedMarkdown converts a Jupyter notebook as `markmill convert` does, but fences text that is not prose.
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
			safe.Fence(&b, "markdown", text(c.Source))
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
	out, err := markdown.Parse(nb.Name, source)
	if err != nil {
		return nil, err
	}
	// A cell converted from a parameters block becomes that block again, and is not a step.
	steps = slices.DeleteFunc(steps, func(id notebooks.StepID) bool { return declares[id] && out.Step(id) == nil })
	if !slices.EqualFunc(out.Steps, steps, func(a *notebooks.Step, id notebooks.StepID) bool { return a.ID == id }) {
		return nil, fmt.Errorf("its steps are other ones")
	}
	return out, nil
}

// text replaces characters that a Markdown file cannot hold.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }
