package engine

import (
	"errors"
	"path/filepath"

	"markmill/engine/worktree"
	"markmill/runs/outfile"
)

// OutputRules say where a command may write for a person: where the policies of the repository around the file forbid
// nothing. force is set if a person at a terminal insists.
func OutputRules(force bool) outfile.Rules {
	return outfile.Rules{Force: force, Checkout: checkoutAround}
}

func checkoutAround(folder string) (*outfile.Checkout, error) {
	src, err := worktree.Open(folder)
	if errors.Is(err, worktree.ErrNoRepository) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cfg, err := LoadConfig(src.Root())
	if err != nil {
		return nil, err
	}
	policies, err := (&Engine{Config: cfg}).policies(src, "")
	if err != nil {
		return nil, err
	}
	var forbidden []string
	for _, p := range policies {
		forbidden = append(append(forbidden, p.Rules.Forbid...), p.protected()...)
	}
	root, err := filepath.EvalSymlinks(src.Root())
	hooks := src.Config.Path("core", "hookspath")
	if hooks != "" && !filepath.IsAbs(hooks) {
		hooks = filepath.Join(root, hooks)
	}
	return &outfile.Checkout{Root: root, Tracked: src.Tracked, Hooks: hooks,
		Forbidden: func(path string) bool { return MatchesAny(forbidden, path) }}, err
}
