package worktree

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree/disk"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/quote"
	"markmill/engine/worktree/repo"
	"markmill/engine/worktree/rules"
	"markmill/notebooks"
)

// writeGitDir makes the worktree's own Git directory, except for HEAD and the index. A step may do anything to it:
// nothing in it reaches the source, and no capture depends on it.
func (t *Tree) writeGitDir() error {
	dot := filepath.Join(t.dir, ".git")
	for _, d := range []string{"", "hooks", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads",
		"refs/tags"} {
		if err := os.Mkdir(filepath.Join(dot, filepath.FromSlash(d)), 0o777); err != nil {
			return err
		}
	}
	files := map[string]string{"config": t.config(filepath.Join(dot, "hooks")),
		"objects/info/alternates": t.alternates(append(slices.Clone(t.opt.Objects), t.store.Dir)...)}
	if t.src != nil {
		refs, err := t.src.Refs()
		if err != nil {
			return err
		}
		if err := t.copyRefs(dot, refs, files); err != nil {
			return err
		}
		for _, name := range []string{"info/exclude", "info/attributes", "shallow"} {
			if data, err := os.ReadFile(filepath.Join(t.src.CommonDir(), filepath.FromSlash(name))); err == nil {
				files[name] = string(data)
			}
		}
	}
	return writeFiles(dot, files)
}

// writeFiles writes new files below a folder, except for empty ones.
func writeFiles(dir string, files map[string]string) error {
	for name, data := range files {
		if data == "" {
			continue
		}
		if err := disk.WriteNew(filepath.Join(dir, filepath.FromSlash(name)), []byte(data), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// copyRefs writes the source's branches, tags and remotes' branches as packed refs.
func (t *Tree) copyRefs(dot string, refs []repo.Ref, files map[string]string) error {
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, r := range refs {
		if kind, _, _ := strings.Cut(strings.TrimPrefix(r.Name, "refs/"), "/"); kind != "heads" && kind != "tags" &&
			kind != "remotes" {
			continue
		}
		if strings.HasPrefix(r.OID, "ref:") {
			p := filepath.Join(dot, filepath.FromSlash(r.Name))
			if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
				return err
			}
			files[r.Name] = r.OID + "\n"
			continue
		}
		if _, ok := t.fmt.Parse(object.OID(r.OID)); !ok {
			continue // a broken ref of the source stays there
		}
		b.WriteString(r.OID + " " + r.Name + "\n")
		if r.Peeled != "" {
			b.WriteString("^" + r.Peeled + "\n")
		}
	}
	files["packed-refs"] = b.String()
	return nil
}

// alternates lists the other object folders, more first.
func (t *Tree) alternates(more ...string) string {
	if t.src != nil {
		more = append(more, t.src.ObjectDirs()...)
	}
	var b strings.Builder
	for _, dir := range more {
		if strings.ContainsAny(dir, "\n\"") || strings.HasPrefix(dir, "#") {
			dir = quote.Path(dir)
			if dir[0] != '"' {
				dir = `"` + dir + `"`
			}
		}
		b.WriteString(filepath.ToSlash(dir) + "\n")
	}
	return b.String()
}

// settingsTaken are the source's settings that a worktree has too, by section; nil takes all keys.
var settingsTaken = map[string][]string{
	"core": {"filemode", "symlinks", "ignorecase", "precomposeunicode", "autocrlf", "eol", "safecrlf", "excludesfile",
		"attributesfile", "quotepath"},
	"submodule": {"url", "active", "branch"},
	"filter":    nil, "diff": nil, "merge": nil, "branch": nil,
	"remote": {"url", "fetch", "tagopt", "promisor", "partialclonefilter"},
}

// config composes the settings of the worktree's repository: those of the source that affect content, its remotes
// without permission to push, no hooks, and nothing that works in the background.
func (t *Tree) config(hooks string) string {
	var b strings.Builder
	version := 0
	if t.fmt != object.SHA1 {
		version = 1
	}
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %d\n\tbare = false\n\tlogallrefupdates = true\n", version)
	if hooks != "" {
		fmt.Fprintf(&b, "\thooksPath = %s\n", rules.QuoteValue(filepath.ToSlash(hooks)))
	}
	b.WriteString("\tfsmonitor = false\n\tuntrackedCache = false\n\tsplitIndex = false\n\tsparseCheckout = false\n")
	if version == 1 {
		fmt.Fprintf(&b, "[extensions]\n\tobjectFormat = %s\n", t.fmt.Name)
	}
	b.WriteString("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[index]\n\tsparse = false\n[commit]\n\tgpgSign = " +
		"false\n[tag]\n\tgpgSign = false\n")
	fmt.Fprintf(&b, "[user]\n\tname = %s\n\temail = %s\n", rules.QuoteValue(t.opt.Author.Name),
		rules.QuoteValue(t.opt.Author.Email))
	if t.src == nil {
		return b.String()
	}
	remotes := map[string]bool{}
	for _, s := range t.src.Config {
		if !s.Local {
			continue
		}
		if keys, all := settingsTaken[s.Section]; !all || keys != nil && !slices.Contains(keys, s.Key) {
			continue
		}
		value := s.Value
		switch s.Section {
		case "filter", "diff", "merge":
			if s.Sub == "" {
				continue
			}
		case "remote":
			if s.Key == "url" && isRelative(value) {
				value = filepath.Join(t.src.Root(), value)
			}
			remotes[s.Sub] = true
		}
		section := "[" + s.Section + "]"
		if s.Sub != "" {
			section = fmt.Sprintf("[%s %s]", s.Section, rules.QuoteValue(s.Sub))
		}
		fmt.Fprintf(&b, "%s\n\t%s = %s\n", section, s.Key, rules.QuoteValue(value))
	}
	for _, name := range slices.Sorted(maps.Keys(remotes)) {
		fmt.Fprintf(&b, "[remote %s]\n\tpushurl = \"no-push://a-run-does-not-push\"\n", rules.QuoteValue(name))
	}
	return b.String()
}

// isRelative reports whether a remote's URL is a path relative to the repository.
func isRelative(url string) bool {
	return strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../") || url == ".." || url == "."
}

// storeRepository makes the run's store a repository that the Git program accepts, for its filters.
func (t *Tree) storeRepository() error {
	dir := filepath.Dir(t.store.Dir)
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "refs"), 0o777); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o777); err != nil {
		return err
	}
	files := map[string]string{"config": t.config(""), "objects/info/alternates": t.alternates(),
		"HEAD": "ref: refs/heads/main\n"}
	if t.src != nil {
		if data, err := os.ReadFile(filepath.Join(t.src.CommonDir(), "info", "attributes")); err == nil {
			files["info/attributes"] = string(data)
		}
	}
	return writeFiles(dir, files)
}

func errNeedsGit(path string) error {
	return &notebooks.Error{Kind: notebooks.KindProvider, File: path,
		Msg: "its content passes through a filter, ident or an encoding of .gitattributes, which needs the Git " +
			"program, and there is none on PATH",
		Hint: "install git, or run with a base that does not use it"}
}

func errNoObject(f *object.Format, kind string, d object.Digest) error {
	return fmt.Errorf("%s %s is in no object store", kind, f.OID(d))
}
