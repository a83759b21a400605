package render

import (
	"fmt"

	"markmill/notebooks"
	"markmill/runs"
)

// Texts makes what the steps of a run printed into the text of an output notebook: what a terminal would
// show, this machine's paths by name, what varies as the notebook's rules have it.
type Texts struct {
	nb    *notebooks.Notebook
	names pathNames
	book  *ruleBook
}

// NewTexts returns the texts of a run of nb.
func NewTexts(nb *notebooks.Notebook, run *runs.Run) *Texts {
	return &Texts{nb, newPathNames(run.Started.Paths), newRuleBook(nb)}
}

// Step returns what makes the raw text of one step readable.
func (t *Texts) Step(id notebooks.StepID) (func(raw []byte) string, error) {
	step := t.nb.Step(id)
	if step == nil {
		return nil, fmt.Errorf("render: the journal has a step %q that the notebook has not", id)
	}
	rules, err := t.book.of(step)
	if err != nil {
		return nil, fmt.Errorf("render: step %q: %w", id, err)
	}
	c := cleaner{names: t.names, rules: rules}
	return func(raw []byte) string { return cleanLines(raw, c.line) }, nil
}

// Params is the parameters of the run as its output notebook shows them.
func (t *Texts) Params(run *runs.Run) []notebooks.ManifestParam {
	return manifestParams(run.Contract.Parameters, t.names)
}
