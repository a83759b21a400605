package worktree

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"markmill/engine/worktree/rules"
)

// Visible says which paths of the checkout Git would take up, one by one and without a walk. It reads each .gitignore
// once. Paths of the Git directory, of .markmill and of repositories inside are not visible.
type Visible struct {
	root   string
	ign    *rules.Ignores
	chains map[string]*rules.Chain // by folder; nil of one that is not visible
}

// Visible reads the ignore rules of the checkout.
func (s *Source) Visible() *Visible {
	v := &Visible{root: s.Root(), ign: rules.NewIgnores(s.Config, s.CommonDir()), chains: map[string]*rules.Chain{}}
	v.chains["."] = v.read("", nil)
	return v
}

// Has reports whether Git would take up a path. It is slash-separated; "." is the root.
func (v *Visible) Has(name string, dir bool) bool {
	if dir {
		return v.folder(name) != nil
	}
	up := v.folder(path.Dir(name))
	return up != nil && !v.ign.Ignored(up, name, path.Base(name), false)
}

// folder returns the rules in a folder; nil if it is not visible.
func (v *Visible) folder(dir string) *rules.Chain {
	if r, ok := v.chains[dir]; ok {
		return r
	}
	up := v.folder(path.Dir(dir))
	var r *rules.Chain
	if base := path.Base(dir); up != nil && base != ".git" && dir != ".markmill" &&
		!v.ign.Ignored(up, dir, base, true) {
		if _, err := os.Lstat(filepath.Join(v.root, filepath.FromSlash(dir), ".git")); err != nil {
			r = v.read(dir+"/", up)
		}
	}
	v.chains[dir] = r
	return r
}

// read reads the .gitignore of a folder. Like Git it follows no link of that name.
func (v *Visible) read(prefix string, up *rules.Chain) *rules.Chain {
	r := &rules.Chain{Up: up, Prefix: len(prefix)}
	name := filepath.Join(v.root, filepath.FromSlash(prefix), ".gitignore")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return r
	}
	if text, err := os.ReadFile(name); err == nil {
		r.Ignore = rules.ParseIgnore(text)
	}
	return r
}

// Locked reports whether a Git command is changing the index, as while it checks files out.
func (s *Source) Locked() bool {
	_, err := os.Lstat(filepath.Join(s.GitDir(), "index.lock"))
	return err == nil
}

// InCheckout returns the slash-separated path of a file of this machine below the root; ok is false for one elsewhere.
// Unlike Relative it follows no links.
func (s *Source) InCheckout(file string) (name string, ok bool) {
	name, ok = strings.CutPrefix(file, s.Root()+string(filepath.Separator))
	return filepath.ToSlash(name), ok
}
