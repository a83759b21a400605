package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
)

// pathOf is the PATH that steps get, and the entries of the caller's that they do not: folders of the repository, where
// a branch can put a program in the place of another, and relative ones. Folders of dependencies that Git does not
// track stay, and those that the policy names (path:).
func (p *Plan) pathOf(list string) (kept string, dropped []string) {
	if p.source == nil {
		return list, nil
	}
	var keep []string
	roots := sandbox.Real([]string{p.source.Root(), p.root()})
	for _, entry := range filepath.SplitList(list) {
		if entry != "" && (!filepath.IsAbs(entry) || p.inRepository(entry, roots)) {
			dropped = append(dropped, entry)
		} else {
			keep = append(keep, entry)
		}
	}
	if dropped == nil {
		return list, nil
	}
	return strings.Join(keep, string(filepath.ListSeparator)), dropped
}

func (p *Plan) inRepository(entry string, roots []string) bool {
	real, err := filepath.EvalSymlinks(entry)
	if err != nil {
		real = filepath.Clean(entry) // it may come
	}
	for _, root := range roots {
		rel, err := filepath.Rel(root, real)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		name := filepath.ToSlash(rel)
		for _, each := range p.policies {
			if slices.Contains(each.Path, name) {
				return false
			}
		}
		return !isInstalled(root, real) || p.tracks(name)
	}
	return false
}

// isInstalled reports whether a folder is in one of dependencies: Node's packages, or a virtual environment of Python.
func isInstalled(root, dir string) bool {
	for ; dir != root && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "pyvenv.cfg")); err == nil || filepath.Base(dir) == modules {
			return true
		}
	}
	return false
}

// tracks reports whether the commit that the run begins with has a folder.
func (p *Plan) tracks(name string) bool {
	files, err := p.source.CommitFiles(p.base)
	if err != nil {
		return true
	}
	defer files.Close()
	list, err := files.In(name)
	return err != nil || len(list) > 0
}

// warnPath says which entries of PATH the steps do not get.
func (p *Plan) warnPath(e *Engine) {
	list, _ := e.Getenv("PATH")
	if _, dropped := p.pathOf(list); dropped != nil {
		p.notebook.Warnings = append(p.notebook.Warnings, &notebooks.Error{Kind: notebooks.KindOption,
			File: p.request.Path,
			Msg: fmt.Sprintf("steps do not get these entries of PATH, which a branch can fill: %s",
				worktree.ShownPath(firstOf(dropped))),
			Hint: "name the folder in path: of the repository's policy if its programs are to run"})
	}
}
