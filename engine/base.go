package engine

import (
	"context"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// chooseBase finds the base commit and the user's changes that are not in it.
func (p *Plan) chooseBase(ctx context.Context, homes []string) error {
	req := p.request
	if p.source == nil {
		for _, o := range []struct {
			flag string
			set  bool
		}{{"--base", req.Base != ""}, {"--branch", req.Branch != ""}} {
			if o.set {
				return &notebooks.Error{Kind: notebooks.KindOption,
					Msg:  o.flag + " needs a Git repository, and the notebook is in none",
					Hint: "run it inside one, or leave the option out"}
			}
		}
		return p.checkFolder(homes)
	}
	var err error
	if req.Base == "" {
		p.base, err = p.source.Head()
	} else {
		p.base, err = p.source.Resolve(req.Base)
	}
	if err != nil {
		return err
	}
	if req.Branch != "" {
		if err := worktree.CheckBranch(p.source, req.Branch, p.base); err != nil {
			return err
		}
	}
	if p.dirtyPaths, err = p.source.Dirty(ctx); req.Dirty != DirtyInclude { // what is taken along is named whole
		p.dirtyPaths = slices.DeleteFunc(p.dirtyPaths, p.isOutput)
	}
	return err
}

// isOutput reports whether a path of the checkout is OUTPUT or one of its pictures, which an earlier run may have left.
func (p *Plan) isOutput(name string) bool {
	output, ok := p.source.Relative(p.request.Output)
	if !ok || p.request.Output == "" {
		return false
	}
	assets := path.Join(path.Dir(output), filepath.ToSlash(p.request.Assets))
	return name == output || p.request.Assets != "" && strings.HasPrefix(name, assets+"/")
}
