package check

import (
	"slices"

	"markmill/cmd/api"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/notebooks/params"
	"markmill/render/terminal"
)

// Inspect shows a notebook, with the values of the command line instead of the defaults.
func Inspect(a *program.App, eng *engine.Engine, req engine.Request, asJSON bool) error {
	nb, narrowed, err := eng.Narrow(req)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON("inspect", api.NewInspected(nb, narrowed))
	}
	// A notebook is shown without values for its required parameters.
	declared := slices.Clone(nb.Params)
	for i := range declared {
		declared[i].Required = false
	}
	bound, err := params.Bind(req.Path, declared, req.Given,
		params.Options{AllowUnknown: req.AllowUnknown, Getenv: a.Getenv})
	if err != nil {
		return err
	}
	return terminal.Inspect(a.Stdout, nb, bound, narrowed, a.Colour(a.Stdout))
}
