package lookup

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/worktree"
	"markmill/notebooks/diff"
	"markmill/notebooks/forms"
	"markmill/notebooks/percent"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/terminal"
	"markmill/runs"
)

// Folder is a folder of notebooks, on disk or in a revision.
type Folder struct {
	Name  string
	Paths []string // of its notebooks, relative to the folder, with slashes
	read  func(path string) (Side, error)
}

// isRevision reports whether a word is REV:PATH, and no file of that name.
func (r Reader) isRevision(word string) bool {
	rev, _, ok := strings.Cut(word, ":")
	if !ok || rev == "" || r.stream(word) || filepath.VolumeName(word) != "" {
		return false
	}
	_, err := os.Lstat(word)
	return err != nil
}

// Revisions makes REV: of each word, where all of them name revisions of Git, as the branches main and fix do, and
// nothing that is on the disk.
func Revisions(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		if _, err := os.Lstat(word); err == nil || word == "-" || strings.Contains(word, ":") {
			return words
		}
		if _, _, _, err := revisionPath(word, ""); err != nil {
			return words
		}
		out[i] = word + ":"
	}
	return out
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

// Folder reads the folder that a word names; false where it names something else.
func (r Reader) Folder(word string) (*Folder, bool, error) {
	if info, err := os.Stat(word); err == nil && info.IsDir() {
		if _, err := runs.At(word).Stat(runs.JournalFile); err == nil { // a run
			return nil, false, nil
		}
		f, err := r.folderOnDisk(word)
		return f, true, err
	}
	if !r.isRevision(word) {
		return nil, false, nil
	}
	rev, name, _ := strings.Cut(word, ":")
	if review.IsNotebookName(name) {
		return nil, false, nil
	}
	repo, commit, name, err := revisionPath(rev, name)
	if err != nil {
		return nil, false, err
	}
	names, err := notebooksIn(repo, commit, name)
	if err != nil {
		return nil, false, err
	}
	if len(names) == 1 && names[0] == name {
		return nil, false, nil
	}
	if len(names) == 0 && name != "" {
		return nil, false, notInRevision(rev, name)
	}
	f := &Folder{Name: word, read: func(p string) (Side, error) {
		return revisionSide(rev+":"+path.Join(name, p), rev, path.Join(name, p))
	}}
	for _, p := range names {
		f.Paths = append(f.Paths, strings.TrimPrefix(strings.TrimPrefix(p, name), "/"))
	}
	return f, true, nil
}

func (r Reader) folderOnDisk(word string) (*Folder, error) {
	f := &Folder{Name: r.name(word), read: func(p string) (Side, error) {
		return r.Side(filepath.Join(word, filepath.FromSlash(p)))
	}}
	err := filepath.WalkDir(word, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return r.bad(at, "cannot be read: %v", err)
		}
		rel, err := filepath.Rel(word, at)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && d.Type().IsRegular() && review.IsNotebookName(at) && !strings.HasPrefix(d.Name(), "."):
			f.Paths = append(f.Paths, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(f.Paths)
	return f, err
}

// FoldersDiff is a comparison of two folders, notebook by notebook; as JSON it is what diff --json prints of folders.
type FoldersDiff struct {
	Version   int    `json:"version"`
	A         string `json:"a"`
	B         string `json:"b"`
	Same      bool   `json:"same"` // nothing differs
	Notebooks []Pair `json:"notebooks"`
}

// Pair is a notebook of one folder or of both.
type Pair struct {
	Path   string `json:"path"`
	In     string `json:"in"` // both, a, b
	Same   bool   `json:"same"`
	TextAt string `json:"text_at,omitzero"` // the notebook at which the same text is compared
	// Comparison is as that of two notebooks; without its cells where text_at is given.
	Comparison any        `json:"comparison,omitempty"`
	d          *diff.Diff // nil where there is nothing to compare
}

// CompareFolders compares two folders. A text that several outputs share is compared once.
func CompareFolders(a, b *Folder, how diff.Options) (*FoldersDiff, error) {
	out := &FoldersDiff{Version: diffview.Version, A: a.Name, B: b.Name, Same: true, Notebooks: []Pair{}}
	paths := slices.Concat(a.Paths, b.Paths)
	slices.Sort(paths)
	texts := map[[2]string]string{}
	for _, p := range slices.Compact(paths) {
		pair, err := pairOf(p, []*Folder{a, b}, how)
		if err != nil {
			return nil, err
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
	return out, nil
}

// pairOf reads and compares what stands at a path of two folders; nil of a text that is no notebook. An output that
// only the second folder has is compared with its source in the first, which has not run.
func pairOf(p string, folders []*Folder, how diff.Options) (*Pair, error) {
	var docs [2]*diff.Document
	var source string // of an output
	in, notebook := "both", false
	for i, f := range folders {
		if !slices.Contains(f.Paths, p) {
			in = []string{"b", "a"}[i]
			continue
		}
		s, err := f.read(p)
		if err != nil {
			return nil, err
		}
		if lang, script := percent.LanguageOf(p); script && !percent.Marked(lang, s.Source) {
			continue
		}
		docs[i], source = s.Doc, forms.MadeOf(p, s.Source)
		isCode := func(c diff.Cell) bool { return c.Kind == diff.Code }
		notebook = notebook || s.Doc.Status != "" || slices.ContainsFunc(s.Doc.Cells, isCode)
	}
	if !notebook {
		return nil, nil
	}
	if in == "b" && source != "" && slices.Contains(folders[0].Paths, source) {
		s, err := folders[0].read(source)
		if err != nil {
			return nil, err
		}
		docs[0] = s.Doc
	}
	if docs[0] == nil || docs[1] == nil {
		return &Pair{Path: p, In: in}, nil
	}
	d := diff.Compare(docs[0], docs[1], how)
	return &Pair{Path: p, In: in, Same: d.Same, d: d}, nil
}

// sections are what a pair has to tell.
func (p *Pair) sections() []diffview.Section {
	if p.TextAt != "" {
		return diffview.Results(p.d)
	}
	return diffview.Sections(p.d)
}

// line says in one line what differs in a notebook; "" for nothing.
func (d *FoldersDiff) line(p *Pair) string {
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
	if slices.ContainsFunc(p.d.Results, func(r diff.ResultChange) bool { return r.Turned == diff.Red }) {
		words = "different, and turned red"
	}
	if p.TextAt != "" {
		words += "; its text as at " + p.TextAt
	}
	return words
}

// summary counts the notebooks by the result.
func (d *FoldersDiff) summary() string {
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
	return plain.Counted(len(d.Notebooks), "notebook") + ": " + strings.Join(parts, ", ")
}

// Write writes the comparison for a terminal, nothing if the folders are the same.
func (d *FoldersDiff) Write(w io.Writer, color bool) error {
	if d.Same {
		return nil
	}
	return terminal.Document(w, d.Markdown(math.MaxInt32), 0, color)
}

// Markdown is the comparison as Markdown, of at most so many bytes.
func (d *FoldersDiff) Markdown(limit int) []byte {
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
