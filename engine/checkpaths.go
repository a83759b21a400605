package engine

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree"
	"markmill/runs"
)

// mostHidden bounds how many hidden files are recorded by name.
const mostHidden = 100

// checkPaths holds every path that was written against allow and forbid: of what changed both ends of a
// rename, and where a link leads; of what .gitignore hides, what the run itself hid; and what no change holds.
func (r *run) checkPaths(ctx context.Context, files []runs.ChangedFile, data *runs.DiffCheckedData, block func(code, words string)) error {
	for _, f := range files {
		for _, path := range changedPaths(f) {
			if !r.plan.allowed(path) || f.Quoted && !r.plan.allowed(worktree.RawPath(path)) {
				data.Disallowed = append(data.Disallowed, path)
			}
		}
	}
	hidden, err := r.tree.Hidden()
	if err != nil {
		return err
	}
	data.HiddenCount, data.Hidden = len(hidden), hidden[:min(len(hidden), mostHidden)]
	for _, path := range hidden {
		if r.plan.forbidden(path) {
			data.Disallowed = append(data.Disallowed, path)
		}
	}
	if len(data.Disallowed) > 0 {
		block(runs.CodeDisallowedFileChange, "changed, and not allowed to: "+firstOf(data.Disallowed))
	}
	astray, err := r.astray(files)
	if err != nil {
		return err
	}
	for _, l := range astray {
		if !slices.Contains(data.Disallowed, l.path) {
			data.Disallowed = append(data.Disallowed, l.path)
		}
		block(runs.CodeDisallowedFileChange, fmt.Sprintf("%s is a link to %s, which %s", l.path, l.target, l.why))
	}
	unseen, err := r.tree.Unseen(ctx)
	if err != nil {
		return err
	}
	if len(unseen) > 0 {
		data.Disallowed = append(data.Disallowed, unseen...)
		block(runs.CodeDisallowedFileChange, "repositories inside the worktree, whose files no commit of the run can hold: "+firstOf(unseen)+
			"; let the step remove their .git, commit what belongs to a submodule there, or work in $TMPDIR")
	}
	data.AllowedPassed = len(data.Disallowed) == 0
	return nil
}

// changedPaths are the paths that a change touches: a rename at both its ends.
func changedPaths(f runs.ChangedFile) []string {
	if f.OldPath != "" {
		return []string{f.OldPath, f.Path}
	}
	return []string{f.Path}
}

// linkAstray is a symbolic link that leads where the run may not write.
type linkAstray struct{ path, target, why string }

// astray finds the links that a run with allow or forbid made and that lead out of what it may change:
// whoever writes through one later writes there.
func (r *run) astray(files []runs.ChangedFile) ([]linkAstray, error) {
	if !r.plan.restricted() {
		return nil, nil
	}
	var out []linkAstray
	for _, f := range files {
		if f.NewMode != "120000" {
			continue
		}
		target, err := r.tree.Blob(worktree.OID(f.NewBlob))
		if err != nil {
			return nil, err
		}
		if why := r.leads(f.Path, string(target)); why != "" {
			out = append(out, linkAstray{f.Path, strings.ToValidUTF8(string(target), "\uFFFD"), why})
		}
	}
	return out, nil
}

// leads says what is wrong with where a link leads, by its words and, through other links, in the worktree; "" is nothing.
func (r *run) leads(link, target string) string {
	const outside = "is outside the worktree"
	if path.IsAbs(target) || filepath.IsAbs(target) {
		return outside
	}
	ends := []string{path.Join(path.Dir(link), filepath.ToSlash(target))}
	root, err := filepath.EvalSymlinks(r.tree.Dir())
	if err == nil {
		real, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(link)))
		if rel, rerr := filepath.Rel(root, real); err == nil && rerr == nil {
			ends = append(ends, filepath.ToSlash(rel))
		}
	}
	for _, end := range ends {
		switch {
		case end == ".." || strings.HasPrefix(end, "../"):
			return outside
		case end == ".git" || strings.HasPrefix(end, ".git/"):
			return "is the Git directory"
		case !r.plan.allowed(end) && !r.plan.allowed(end+"/x"):
			return "may not change"
		}
	}
	return ""
}

// restricted says whether anything limits which paths may change.
func (p *Plan) restricted() bool {
	f := &p.Notebook.Front
	return len(f.Allow) > 0 || len(f.Forbid) > 0 || len(p.AllowAlso) > 0
}

// forbidden says whether a pattern of forbid names a path.
func (p *Plan) forbidden(path string) bool { return matchAny(p.Notebook.Front.Forbid, path) }

// allowed says whether a path of the worktree may change.
func (p *Plan) allowed(path string) bool {
	f := &p.Notebook.Front
	if len(f.Allow) > 0 && !coveredBy(f.Allow, path) || p.forbidden(path) || f.Mode == runs.MutationNone {
		return false
	}
	return !slices.ContainsFunc(p.AllowAlso, func(list []string) bool { return !coveredBy(list, path) })
}
