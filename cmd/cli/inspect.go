package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/engine"
	"markmill/notebooks/params"
	"markmill/render/terminal"
)

func (a *app) inspectCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "inspect NOTEBOOK", Short: "Show a notebook's parameters, steps and gates",
		Long: `Shows what a notebook takes (parameters with type, default and help), what it would run, and what must be
true before and after. Nothing runs.

Exit codes: 0 shown, 2 the notebook has errors.`,
		Example: "  markmill inspect examples/system-health.md\n  markmill inspect --json task.md | jq '.steps[].id'",
		Args:    args(1, 1),
		RunE: func(_ *cobra.Command, paths []string) error {
			src, err := a.readSource(paths[0], false, false)
			if err != nil {
				return err
			}
			eng, repo, err := a.engineFor(paths[0], "")
			if err != nil {
				return err
			}
			return a.inspect(eng, engine.Request{Path: name(paths[0]), Source: src, Repository: api.RootOf(repo)},
				asJSON)
		},
	}
	jsonFlag(c, &asJSON, "inspect")
	return c
}

// inspect shows a notebook, with the values of the command line instead of the defaults.
func (a *app) inspect(eng *engine.Engine, req engine.Request, asJSON bool) error {
	nb, narrowed, err := eng.Narrow(req)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON("inspect", api.NewInspected(nb, narrowed))
	}
	// Inspect shows required parameters, so that they need no value here.
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
