package retest

import (
	"context"
	"errors"
	"io/fs"

	"markmill/cmd/internal/files"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/render/safe"
)

// SourceIn reads a notebook without outputs; nil if the tree has none.
func SourceIn(tree *worktree.Files, name string) ([]byte, error) {
	text, err := tree.Read(name, files.MaxJupyter)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	source, err := forms.Source(name, text, false)
	if source != nil { // damaged regions do not matter
		err = nil
	}
	return source, err
}

// Refused divides errors: those of the notebook or its values, for which no run can begin, are the first one.
func Refused(ctx context.Context, err error) (refused, failed error) {
	if ctx.Err() == nil && (errors.As(err, new(*notebooks.Error)) || errors.As(err, new(notebooks.ErrorList))) {
		return err, nil
	}
	return nil, err
}

// RunRequest plans a request and runs it, or says why no run can begin.
func RunRequest(ctx context.Context, eng *engine.Engine, req engine.Request, sinks engine.Sinks) (
	ran *engine.Result, refused, err error) {
	if req.ID, err = eng.NewID(req.Path); err != nil {
		return nil, nil, err
	}
	req.Aside = true
	plan, err := eng.Plan(ctx, req)
	if err == nil {
		err = safe.CheckNormalize(plan.Notebook())
	}
	if err != nil {
		refused, err = Refused(ctx, err)
		return nil, refused, err
	}
	if ran, err = eng.Run(ctx, plan, sinks); err == nil {
		err = context.Cause(ctx)
	}
	return ran, nil, err
}
