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
	"markmill/runs/outfile"
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

// matchPath reports whether a slash-separated path matches a pattern of allow: or forbid:. A star stands for any
// characters but the slash, ** for any number of whole path elements, and a pattern that ends in a slash for everything
// below it. The pattern is for the whole path.
//
// bmatcuk/doublestar 4.10.4 is no replacement, and would save 15 lines: in policies that are in force {a,b} and [!a]
// are other characters than there, which escapes could mend, but its a*** does not match "a".
func matchPath(pattern, name string) bool {
	if pattern == Sensitive {
		return sensitive(name)
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return matchParts(strings.Split(strings.TrimPrefix(pattern, "./"), "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for len(pattern) > 0 && pattern[0] == "**" {
				pattern = pattern[1:]
			}
			if len(pattern) == 0 {
				return true
			}
			for i := range name {
				if matchParts(pattern, name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return len(name) == 0
}

// Sensitive stands in forbid: and protect: for the files that decide what is trusted: keys and passwords, workflows and
// hooks, and where packages come from.
const Sensitive = "@sensitive"

// secretFiles are names of files, and of folders, that hold keys and passwords, or say where packages come from.
var secretFiles = []string{
	".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".gcloud",
	"secrets", ".secrets", "credentials", "credentials.*", ".netrc", ".git-credentials", ".pgpass", ".htpasswd",
	"*.tfstate", "*.tfstate.*", "*.tfvars", "service-account*.json",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pip.conf", ".pypirc", "nuget.config", ".gemrc",
}

// sensitive reports whether a path is one of those for which Sensitive stands. A template of a secret is none.
func sensitive(name string) bool {
	if outfile.IsWorkflow(name) || name == ".cargo/config.toml" || name == ".mvn/settings.xml" {
		return true
	}
	for _, part := range strings.Split(strings.ToLower(name), "/") {
		switch path.Ext(part) {
		case ".example", ".sample", ".template", ".dist", ".pub":
			continue
		}
		for _, p := range secretFiles {
			if ok, _ := path.Match(p, part); ok {
				return true
			}
		}
	}
	return false
}

// firstMatch is the first pattern that matches a path; "" is none.
func firstMatch(patterns []string, name string) string {
	for _, p := range patterns {
		if matchPath(p, name) {
			return p
		}
	}
	return ""
}

// MatchesAny reports whether a path matches one of several patterns, as in forbid: and protect:.
func MatchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchPath(p, name) })
}

// coveredBy reports whether allow: covers a path. A pattern that ends in /** covers everything below a folder, but not
// the folder's own name: a file or a link in its place was not allowed. forbid: covers both.
func coveredBy(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if folder := strings.TrimSuffix(p, "**"); strings.HasSuffix(folder, "/") {
			p = folder + "*/**"
		}
		return matchPath(p, name)
	})
}

// badPattern returns the first pattern that is not valid, or "".
func badPattern(patterns []string) string {
	for _, p := range patterns {
		for _, part := range strings.Split(p, "/") {
			if _, err := path.Match(part, ""); err != nil {
				return p
			}
		}
		if p == "" || strings.HasPrefix(p, "/") {
			return p
		}
	}
	return ""
}
