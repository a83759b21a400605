package launch

import (
	"context"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/render"
	"markmill/render/safe"
)

// Plan plans the run of a notebook that was read, and returns the path of OUTPUT with its placeholders expanded.
func Plan(ctx context.Context, a *program.App, eng *engine.Engine, path, output string, o *Options) (
	plan *engine.Plan, to string, err error) {
	if o.Req.ID, err = eng.NewID(o.Req.Path); err != nil {
		return nil, "", err
	}
	if output, err = views.OutputPath(output, eng, o.Req); err != nil {
		return nil, "", err
	}
	if err := o.CheckTargets(a.World, output); err != nil { // the names in it stand for values now
		return nil, "", err
	}
	o.inject(program.Name(path), output)
	if err := o.SetOutput(output); err != nil {
		return nil, "", a.OutputHint(err, output)
	}
	o.Req.Empty, o.Req.Observed = o.PrepareOnly && !o.Frozen, true
	if plan, err = eng.Plan(ctx, o.Req); err != nil {
		return nil, "", err
	}
	return plan, output, CheckViews(a, plan, output)
}

// CheckViews returns an error if the views cannot show the run of a plan.
func CheckViews(a *program.App, plan *engine.Plan, output string) error {
	if err := safe.CheckNormalize(plan.Notebook()); err != nil {
		return err
	}
	if err := render.CheckForm(plan.Request().OutputForm, plan.Notebook()); err != nil {
		return a.OutputHint(err, output)
	}
	return nil
}
