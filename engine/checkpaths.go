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

// mostHidden is how many hidden files are recorded by name.
const mostHidden = 100

// checkPaths checks every path that was written against allow and forbid: both ends of a rename, the targets of links,
// files that .gitignore hides if the run itself hid them, and what no change can hold.
func (r *run) checkPaths(ctx context.Context, files []runs.ChangedFile, data *runs.DiffCheckedData,
	record *runs.Run) error {
	broken := broken{record: record}
	for _, f := range files {
		for _, path := range changedPaths(f) {
			rule := r.plan.ruleAgainst(path)
			if f.Quoted && rule == "" {
				rule = r.plan.ruleAgainst(worktree.RawPath(path))
			}
			if rule != "" {
				data.Disallowed = append(data.Disallowed, path)
				broken.add(rule, path)
			}
		}
	}
	hidden, err := r.ws.tree.Hidden()
	if err != nil {
		return err
	}
	data.HiddenCount, data.Hidden = len(hidden), hidden[:min(len(hidden), mostHidden)]
	for _, path := range hidden {
		if pattern := firstMatch(r.plan.notebook.Front.Forbid, path); pattern != "" {
			data.Disallowed = append(data.Disallowed, path)
			broken.add("forbid: "+pattern, path)
		}
	}
	for _, a := range r.ws.tree.Artifacts() {
		if pattern := firstMatch(r.plan.notebook.Front.Forbid, a.Path); pattern != "" {
			data.Disallowed = append(data.Disallowed, a.Path)
			broken.add("forbid: "+pattern, a.Path)
		}
	}
	data.Blockers = append(data.Blockers, broken.blockers...)
	astray, err := r.strayLinks(files)
	if err != nil {
		return err
	}
	for _, l := range astray {
		if !slices.Contains(data.Disallowed, l.path) {
			data.Disallowed = append(data.Disallowed, l.path)
		}
		data.Blockers = append(data.Blockers, runs.Blocker{Code: runs.CodeDisallowedFileChange,
			Step: record.ChangedBy(l.path), Rule: "links stay where the run may write",
			Paths: []string{l.path}, Message: fmt.Sprintf("%s is a link to %s, which %s", l.path, l.target, l.why)})
	}
	unseen, err := r.ws.tree.Uncaptured(ctx)
	if err != nil {
		return err
	}
	if len(unseen) > 0 {
		data.Disallowed = append(data.Disallowed, unseen...)
		data.Blockers = append(data.Blockers, runs.Blocker{Code: runs.CodeDisallowedFileChange,
			Rule: "no repository inside the worktree", Paths: firstPaths(unseen),
			Message: "repositories inside the worktree, whose files no commit of the run can hold: " + firstOf(unseen) +
				"; let the step remove their .git, commit what belongs to a submodule there, or work in $TMPDIR"})
	}
	data.AllowedPassed = len(data.Disallowed) == 0
	return nil
}

// changedPaths are the paths that a change touches; a rename has two.
func changedPaths(f runs.ChangedFile) []string {
	if f.OldPath != "" {
		return []string{f.OldPath, f.Path}
	}
	return []string{f.Path}
}

// strayLink is a symbolic link to a place where the run may not write.
type strayLink struct{ path, target, why string }

// strayLinks finds the links that a restricted run made to places that it may not change. A later write through such a
// link would end up there.
func (r *run) strayLinks(files []runs.ChangedFile) ([]strayLink, error) {
	if !r.plan.restricted() {
		return nil, nil
	}
	var out []strayLink
	for _, f := range files {
		if f.NewMode != "120000" {
			continue
		}
		target, err := r.ws.tree.Blob(worktree.OID(f.NewBlob))
		if err != nil {
			return nil, err
		}
		if why := r.linkProblem(f.Path, string(target)); why != "" {
			out = append(out, strayLink{f.Path, strings.ToValidUTF8(string(target), "\uFFFD"), why})
		}
	}
	return out, nil
}

// linkProblem says what is wrong with the target of a link, taken literally and resolved in the worktree; "" is
// nothing.
func (r *run) linkProblem(link, target string) string {
	const outside = "is outside the worktree"
	if path.IsAbs(target) || filepath.IsAbs(target) {
		return outside
	}
	ends := []string{path.Join(path.Dir(link), filepath.ToSlash(target))}
	root, err := filepath.EvalSymlinks(r.ws.tree.Dir())
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

// restricted reports whether anything limits which paths may change.
func (p *Plan) restricted() bool {
	f := &p.notebook.Front
	return len(f.Allow) > 0 || len(f.Forbid) > 0 || len(p.allowAlso) > 0
}

// allowed reports whether a path of the worktree may change.
func (p *Plan) allowed(path string) bool { return p.ruleAgainst(path) == "" }

// ruleAgainst is the rule that forbids a change of a path of the worktree, as its author wrote it; "" is none.
func (p *Plan) ruleAgainst(path string) string {
	f := &p.notebook.Front
	if pattern := firstMatch(f.Forbid, path); pattern != "" {
		return "forbid: " + pattern
	}
	if f.Mode == runs.MutationNone {
		return "mode: none"
	}
	lists := p.allowAlso
	if len(f.Allow) > 0 {
		lists = append([][]string{f.Allow}, lists...)
	}
	for _, list := range lists {
		if !coveredBy(list, path) {
			return "allow: " + strings.Join(list, ", ")
		}
	}
	return ""
}

// broken collects the paths that changed against a rule, in a blocker for each rule and step.
type broken struct {
	record   *runs.Run
	blockers []runs.Blocker
	omitted  []int // paths of a blocker that it does not list
}

func (b *broken) add(rule, path string) {
	step := b.record.ChangedBy(path)
	at := slices.IndexFunc(b.blockers, func(o runs.Blocker) bool { return o.Rule == rule && o.Step == step })
	if at < 0 {
		at = len(b.blockers)
		b.blockers, b.omitted = append(b.blockers, runs.Blocker{Code: runs.CodeDisallowedFileChange, Step: step,
			Rule: rule}),
			append(b.omitted, 0)
	}
	o := &b.blockers[at]
	if len(o.Paths) < mostPaths {
		o.Paths = append(o.Paths, path)
	} else {
		b.omitted[at]++
	}
	o.Message = "changed, and not allowed to: " + firstOf(o.Paths)
	if n := b.omitted[at]; n > 0 {
		o.Message += fmt.Sprintf(" and %d more", n)
	}
	o.Message += fmt.Sprintf(" (%s)", rule)
}

// mostPaths is how many paths a blocker lists.
const mostPaths = 100

func firstPaths(paths []string) []string { return slices.Clone(paths[:min(len(paths), mostPaths)]) }
