package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/markmill/remote"
	"markmill/engine/worktree"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/terminal"
	"markmill/runs"
)

// diffFolder is one side of a comparison of folders.
type diffFolder struct {
	name  string
	paths []string // of its notebooks, from the folder, with slashes
	read  func(path string) (side, error)
}

// isRevision says that a word is REV:PATH, and no file that is called so.
func isRevision(word string) bool {
	rev, _, ok := strings.Cut(word, ":")
	if !ok || rev == "" || remote.Is(word) || filepath.VolumeName(word) != "" {
		return false
	}
	_, err := os.Lstat(word)
	return err != nil
}

// notebooksIn lists the notebooks of a folder of a commit, or the notebook that a path names; "" is the top.
func notebooksIn(repo *worktree.Source, commit worktree.OID, folder string) ([]string, error) {
	files, err := repo.CommitFiles(commit)
	if err != nil {
		return nil, err
	}
	all, err := files.All(review.IsNotebookName)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p string) bool {
		rest, below := strings.CutPrefix(p, folder+"/")
		if folder == "" {
			rest, below = p, true
		}
		return p != folder && (!below || hidden(rest))
	}), nil
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }

// folders reads two words that both name folders; nil where one does not.
func (a *app) folders(words []string) ([]diffFolder, error) {
	var out []diffFolder
	for _, word := range words {
		f, ok, err := a.folder(word)
		if err != nil || !ok {
			return nil, err
		}
		out = append(out, f)
	}
	for i, f := range out {
		if len(f.paths) == 0 {
			return nil, badInput(words[i], "is a folder, and holds no notebook")
		}
	}
	return out, nil
}

func (a *app) folder(word string) (diffFolder, bool, error) {
	if info, err := os.Stat(word); err == nil && info.IsDir() {
		if _, err := runs.At(word).Stat(runs.JournalFile); err == nil { // a run
			return diffFolder{}, false, nil
		}
		f, err := a.folderOnDisk(word)
		return f, true, err
	}
	if !isRevision(word) {
		return diffFolder{}, false, nil
	}
	rev, name, _ := strings.Cut(word, ":")
	if review.IsNotebookName(name) {
		return diffFolder{}, false, nil
	}
	repo, commit, name, err := revisionPath(rev, name)
	if err != nil {
		return diffFolder{}, false, err
	}
	names, err := notebooksIn(repo, commit, name)
	if err != nil {
		return diffFolder{}, false, err
	}
	if len(names) == 1 && names[0] == name {
		return diffFolder{}, false, nil
	}
	if len(names) == 0 && name != "" {
		return diffFolder{}, false, notInRevision(rev, name)
	}
	f := diffFolder{name: word, read: func(p string) (side, error) {
		return a.revisionSide(rev+":"+path.Join(name, p), rev, path.Join(name, p))
	}}
	for _, p := range names {
		f.paths = append(f.paths, strings.TrimPrefix(strings.TrimPrefix(p, name), "/"))
	}
	return f, true, nil
}

func (a *app) folderOnDisk(word string) (diffFolder, error) {
	f := diffFolder{name: name(word), read: func(p string) (side, error) { return a.side(filepath.Join(word, filepath.FromSlash(p))) }}
	err := filepath.WalkDir(word, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return badInput(name(at), "cannot be read: %v", err)
		}
		rel, err := filepath.Rel(word, at)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && d.Type().IsRegular() && review.IsNotebookName(at) && !strings.HasPrefix(d.Name(), "."):
			f.paths = append(f.paths, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(f.paths)
	return f, err
}

// foldersDiff is what a comparison of folders prints as JSON.
type foldersDiff struct {
	Version   int          `json:"version"`
	A         string       `json:"a"`
	B         string       `json:"b"`
	Same      bool         `json:"same"` // nothing differs
	Notebooks []folderPair `json:"notebooks"`
}

// folderPair is a notebook of one folder or of both.
type folderPair struct {
	Path       string     `json:"path"`
	In         string     `json:"in"` // both, a, b
	Same       bool       `json:"same"`
	TextAt     string     `json:"text_at,omitzero"`     // the notebook at which the same text is compared
	Comparison any        `json:"comparison,omitempty"` // as that of two notebooks; without its cells where text_at is given
	d          *diff.Diff // nil where one folder lacks it
}

// diffFolders compares two folders, notebook by notebook. A text that several outputs share is compared once.
func (a *app) diffFolders(opt diffOptions, how diff.Options, folders []diffFolder) error {
	if opt.html || opt.format != "" {
		return usagef("--html and --format are of two notebooks; markmill review --html FILE makes a page of all notebooks of a branch")
	}
	out := foldersDiff{Version: diffview.Version, A: folders[0].name, B: folders[1].name, Same: true, Notebooks: []folderPair{}}
	paths := append(slices.Clone(folders[0].paths), folders[1].paths...)
	slices.Sort(paths)
	texts := map[[2]string]string{}
	for _, p := range slices.Compact(paths) {
		pair, err := pairOf(p, folders, how)
		if err != nil {
			return err
		}
		if pair == nil {
			continue
		}
		if d := pair.d; d != nil {
			key := [2]string{d.Old.Source, d.New.Source}
			if at, ok := texts[key]; ok && key[0] != "" && key[0] != key[1] {
				pair.TextAt = at
				pair.Comparison = diffview.Value(diffview.WithoutCells(d))
			} else {
				texts[key] = p
				pair.Comparison = diffview.Value(d)
			}
		}
		out.Same = out.Same && pair.Same
		out.Notebooks = append(out.Notebooks, *pair)
	}
	if err := a.showFolders(opt, &out); err != nil {
		return err
	}
	if !out.Same {
		return exit(exitFail)
	}
	return nil
}

// pairOf reads and compares what stands at a path of two folders; nil of a text that is no notebook.
func pairOf(p string, folders []diffFolder, how diff.Options) (*folderPair, error) {
	var docs [2]*diff.Document
	notebook := false
	for i, f := range folders {
		if !slices.Contains(f.paths, p) {
			continue
		}
		s, err := f.read(p)
		if err != nil {
			return nil, err
		}
		docs[i] = s.doc
		notebook = notebook || s.doc.Status != "" || slices.ContainsFunc(s.doc.Cells, func(c diff.Cell) bool { return c.Kind == diff.Code })
	}
	if !notebook {
		return nil, nil
	}
	switch {
	case docs[1] == nil:
		return &folderPair{Path: p, In: "a"}, nil
	case docs[0] == nil:
		return &folderPair{Path: p, In: "b"}, nil
	}
	d := diff.Compare(docs[0], docs[1], how)
	return &folderPair{Path: p, In: "both", Same: d.Same, d: d}, nil
}

// sections are what a pair has to tell.
func (p *folderPair) sections() []diffview.Section {
	if p.TextAt != "" {
		return diffview.Results(p.d)
	}
	return diffview.Sections(p.d)
}

// line says in one line what became of a notebook; "" where nothing did.
func (d *foldersDiff) line(p *folderPair) string {
	switch p.In {
	case "a":
		return "only in " + d.A
	case "b":
		return "only in " + d.B
	}
	if p.Same {
		return ""
	}
	words := "different"
	if red := slices.ContainsFunc(p.d.Results, func(r diff.ResultChange) bool { return r.Turned == diff.Red }); red {
		words = "different, and turned red"
	}
	if p.TextAt != "" {
		words += "; its text as at " + p.TextAt
	}
	return words
}

// summary counts the notebooks by what became of them.
func (d *foldersDiff) summary() string {
	count := map[string]int{}
	for i := range d.Notebooks {
		switch p := &d.Notebooks[i]; {
		case p.In != "both":
			count["only in "+map[string]string{"a": d.A, "b": d.B}[p.In]]++
		case p.Same:
			count["the same"]++
		default:
			count["different"]++
		}
	}
	var parts []string
	for _, words := range []string{"different", "only in " + d.A, "only in " + d.B, "the same"} {
		if n := count[words]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	return counted(len(d.Notebooks), "notebook") + ": " + strings.Join(parts, ", ")
}

func (a *app) showFolders(opt diffOptions, d *foldersDiff) error {
	if opt.json {
		text, err := codec.Indent(d)
		if err == nil {
			_, err = a.stdout.Write(text)
		}
		return err
	}
	if opt.markdown {
		_, err := a.stdout.Write(d.comment(opt.limit()))
		return err
	}
	to := &boundedWriter{to: a.stdout, most: opt.most}
	var errs []error
	if !d.Same {
		_, err := fmt.Fprintln(to, plain.Escape(d.summary()))
		errs = append(errs, err)
	}
	for i := range d.Notebooks {
		if words := d.line(&d.Notebooks[i]); words != "" {
			_, err := fmt.Fprintf(to, "%s: %s\n", plain.Escape(d.Notebooks[i].Path), plain.Escape(words))
			errs = append(errs, err)
		}
	}
	for i := range d.Notebooks {
		if p := &d.Notebooks[i]; p.d != nil && !p.Same {
			_, err := fmt.Fprintln(to)
			errs = append(errs, err, terminal.Sections(to, p.d, p.sections(), a.colour(a.stdout)))
		}
	}
	return errors.Join(append(errs, to.end())...)
}

// comment is the comparison as Markdown, of at most so many bytes.
func (d *foldersDiff) comment(limit int) []byte {
	c := render.NewComment(limit, "`markmill diff` shows all")
	c.Put(fmt.Sprintf("## %s → %s\n\n%s\n\n", render.CodeSpan(d.A), render.CodeSpan(d.B), render.Words(d.summary())))
	for i := range d.Notebooks {
		p := &d.Notebooks[i]
		if words := d.line(p); words != "" && !c.Put("- "+render.CodeSpan(p.Path)+": "+render.Words(words)+"\n") {
			c.Omit("notebooks")
		}
	}
	for i := range d.Notebooks {
		p := &d.Notebooks[i]
		if p.d == nil || p.Same {
			continue
		}
		if !c.Put("\n### " + render.CodeSpan(p.Path) + "\n") {
			c.Omit("notebooks in full")
			continue
		}
		c.Sections(p.sections(), "####", c.Left()/2)
	}
	return c.Bytes()
}
