package render

import (
	"fmt"
	"slices"

	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/percent"
	"markmill/runs"
)

// CheckForm says whether a run can leave an output notebook of another form than the notebook's, before anything has run.
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
	form, err := convert.FormOf(nb.Name, nb.Source)
	if err != nil {
		return nil, nil, err
	}
	doc, err := convert.Read(form, nb.Name, nb.Source)
	if err != nil {
		return nil, nil, err
	}
	source, _, err := doc.To(convert.Jupyter, "")
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
		return nil, nil, otherSteps(nb, n)
	}
	return file, places, nil
}

// asMarkdown makes a Markdown notebook of a script or of a Jupyter notebook. Its steps have the ids that they have in the record.
func asMarkdown(nb *notebooks.Notebook) (*notebooks.Notebook, error) {
	switch nb.Form {
	case ipynb.Form:
	case percent.Form:
		return Script(nb)
	default:
		return nb, nil
	}
	doc, err := convert.Read(convert.Jupyter, nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	file, err := ipynb.Parse(nb.Name, nb.Source)
	if err != nil {
		return nil, err
	}
	steps, n := []notebooks.StepID{}, 0
	declares := map[notebooks.StepID]bool{}
	for i := range doc.Cells {
		if c := &doc.Cells[i]; c.Type == "code" && n < len(nb.Steps) {
			id := nb.Steps[n].ID
			c.ID = string(id)
			steps, declares[id] = append(steps, id), file.Cells[i].Declares()
			n++
		}
	}
	source, _, err := doc.To(convert.Native, runs.OutputFile)
	if err != nil {
		return nil, err
	}
	out, err := notebooks.Parse(nb.Name, source)
	if err != nil {
		return nil, fmt.Errorf("the notebook as Markdown: %w", err)
	}
	// A cell that stands for a block of parameters is that block again, and no step.
	steps = slices.DeleteFunc(steps, func(id notebooks.StepID) bool { return declares[id] && out.Step(id) == nil })
	if !slices.EqualFunc(out.Steps, steps, func(a *notebooks.Step, id notebooks.StepID) bool { return a.ID == id }) {
		return nil, otherSteps(nb, len(out.Steps))
	}
	return out, nil
}

func otherSteps(nb *notebooks.Notebook, n int) error {
	return &notebooks.Error{Kind: notebooks.KindSyntax, File: nb.Name, Line: 1,
		Msg:  fmt.Sprintf("its %d steps are %d in the form of OUTPUT", len(nb.Steps), n),
		Hint: "give an OUTPUT of the notebook's own form, and convert that"}
}
