package worktree

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/rules"
)

// ignoreArtifacts takes the files of Options.Artifacts for ignored ones, but those that the base has.
func (t *Tree) ignoreArtifacts() {
	if len(t.opt.Artifacts) == 0 {
		return
	}
	var text bytes.Buffer
	for _, pattern := range t.opt.Artifacts {
		text.WriteString("/" + strings.TrimPrefix(pattern, "./") + "\n")
	}
	t.artifacts = rules.ParseIgnore(text.Bytes())
	text.Reset()
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)
	for prefix, e := range t.root.Entries() {
		if e.Mode != 0 && t.isArtifact(prefix+e.Name) {
			text.WriteString("!/" + escape.Replace(prefix+e.Name) + "\n")
		}
	}
	t.artifacts = append(t.artifacts, rules.ParseIgnore(text.Bytes())...)
	t.ign.Global = append(t.ign.Global, t.artifacts)
}

// readArtifacts lists the artifacts among what is pending that the step has not written itself.
func (t *Tree) readArtifacts() []string {
	var out []string
	for p := range t.reading.pending {
		if len(t.artifacts) > 0 && t.ignored[p] && !t.stepIgnored[p] && t.isArtifact(p) {
			out = append(out, quote.Escaped(p))
		}
	}
	slices.Sort(out)
	return out
}

// isArtifact reports whether a path, or a folder above it, is one of Options.Artifacts.
func (t *Tree) isArtifact(p string) bool {
	only := rules.Ignores{Global: []rules.IgnoreFile{t.artifacts}, Fold: t.ign.Fold}
	for at, dir := p, false; at != "."; at, dir = path.Dir(at), true {
		if only.Ignored(nil, at, path.Base(at), dir) {
			return true
		}
	}
	return false
}

// Artifact is a file that the run wrote and that belongs to no change.
type Artifact struct {
	Path string // as in a Change
	File string // where it is
}

// Artifacts lists the regular files that the run wrote and that Options.Artifacts names, sorted.
func (t *Tree) Artifacts() []Artifact {
	var out []Artifact
	for p := range t.ignored {
		if len(t.artifacts) == 0 || !t.isArtifact(p) {
			continue
		}
		file := filepath.Join(t.dir, filepath.FromSlash(p))
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			out = append(out, Artifact{quote.Escaped(p), file})
		}
	}
	slices.SortFunc(out, func(a, b Artifact) int { return strings.Compare(a.Path, b.Path) })
	return out
}
