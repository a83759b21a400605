package ipynb

import (
	"cmp"
	"fmt"

	"markmill/notebooks"
)

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
