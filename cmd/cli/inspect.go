package cli

import (
	"slices"

	"markmill/cmd/api"
	"markmill/engine"
	"markmill/notebooks/params"
	"markmill/render/terminal"
)

// inspect shows a notebook, with the values of the command line instead of the defaults.
func (a *app) inspect(eng *engine.Engine, req engine.Request, asJSON bool) error {
	nb, narrowed, err := eng.Narrow(req)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON("inspect", api.NewInspected(nb, narrowed))
	}
	// A notebook is shown without values for its required parameters.
	declared := slices.Clone(nb.Params)
	for i := range declared {
		declared[i].Required = false
	}
	bound, err := params.Bind(req.Path, declared, req.Given,
		params.Options{AllowUnknown: req.AllowUnknown, Getenv: a.getenv})
	if err != nil {
		return err
	}
	return terminal.Inspect(a.stdout, nb, bound, narrowed, a.colour(a.stdout))
}
