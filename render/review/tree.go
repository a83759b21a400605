package review

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/percent"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/documents"
	"markmill/render/fresh"
)

// Tree gives access to the files of one side. Paths are slash-separated and relative to the root, which is "".
type Tree interface {
	Read(path string, most int64) ([]byte, error) // fs.ErrNotExist where there is none
	In(folder string) ([]string, error)           // names of files
	All(want func(name string) bool) ([]string, error)
	// Entry returns the blob (in hexadecimal) and mode (in octal) of a file or link, as Git has them.
	Entry(path string) (blob, mode string, ok bool, err error)
	// Inputs is the tree as the inputs of runs are compared with it; nil where they cannot be.
	Inputs() fresh.Tree
}

// Bounds of what is read, in bytes.
const (
	maxMarkdown = 64 << 20
	maxJupyter  = 1 << 30
	maxPicture  = 64 << 20
)

// IsNotebookName reports whether a file of that name may be a notebook.
func IsNotebookName(name string) bool { return isText(name) || isJupyter(name) }

// isText reports whether a file of that name may be a notebook in a text form.
func isText(name string) bool { return isMarkdown(name) || isScript(name) }

func isScript(name string) bool { return notebooks.FormOfName(name) == notebooks.FormPercent }

func isMarkdown(name string) bool { return notebooks.IsMarkdownName(name) }

func isJupyter(name string) bool { return notebooks.IsJupyterName(name) }

// side is one side of a review, with a cache of what was read.
type side struct {
	Tree
	rev     Revision
	books   map[string]*book
	names   map[string]map[string]bool     // of each folder: its files
	folders map[string]map[string][]string // of each folder: digests of the Markdown in it, to paths
	stems   map[string][]string            // of all Markdown: paths by stem; nil until it is asked for
	owners  map[string]string              // of outputs: the source
	// of sources: the files whose manifest may name them; nil until it is asked for
	named map[string][]string
	reads map[string]*notebooks.Inputs // of outputs: what their runs read; nil until it is asked for
	err   error                        // the first error of the tree, which ends the review
}

// failed keeps the first error. Lookups then go on as if there were nothing, and Make returns the error.
func (s *side) failed(err error) {
	if s.err == nil {
		s.err = err
	}
}

func newSide(tree Tree, rev Revision) *side {
	return &side{Tree: tree, rev: rev, books: map[string]*book{}, names: map[string]map[string]bool{},
		folders: map[string]map[string][]string{}, owners: map[string]string{}}
}

// call returns the name of a file in messages.
func (s *side) call(name string) string {
	if s.rev.Commit == "" {
		return name
	}
	return s.rev.Name + ":" + name
}

// book is a file that may be a notebook.
type book struct {
	path     string
	raw      []byte
	err      error  // it cannot be read, or is no text
	digest   string // of the bytes
	known    bool   // the rest is filled in
	kind     Kind   // "" of what is no notebook
	stripped region.Stripped
	jupyter  *ipynb.Notebook
	script   *notebooks.Notebook // a script with cells
	front    *notebooks.Front    // nil where it cannot be read; of an output, until frontMatter reads it
}

// book reads a file once. If that fails, for a missing file too, its err says why.
func (s *side) book(name string) *book {
	if b, ok := s.books[name]; ok {
		return b
	}
	b := &book{path: name}
	most := int64(maxMarkdown)
	if isJupyter(name) {
		most = maxJupyter
	}
	b.raw, b.err = s.Read(name, most)
	b.digest = region.DigestOf(b.raw)
	if isScript(name) && b.err == nil {
		b.readScript()
	}
	s.books[name] = b
	return b
}

// readScript reads a script with cells. Its digest is that of its Markdown, which its outputs name.
func (b *book) readScript() {
	if lang, _ := percent.LanguageOf(b.path); !percent.Marked(lang, b.raw) {
		return
	}
	nb, err := forms.Parse(b.path, b.raw)
	if err != nil && len(nb.Steps) == 0 {
		return
	}
	b.script = nb
	if md, err := render.Script(nb); err == nil {
		b.digest = region.DigestOf(md.Source)
	}
}

// look determines the kind of a file.
func (b *book) look() *book {
	if b.known {
		return b
	}
	b.known = true
	if b.err != nil {
		return b
	}
	if isJupyter(b.path) {
		b.kind = KindJupyter
		if b.jupyter, b.err = ipynb.Parse(b.path, b.raw); b.err == nil {
			if nb, _ := b.jupyter.Runnable(); nb != nil {
				b.front = &nb.Front
			}
		}
		return b
	}
	if b.err = notebooks.CheckText(b.path, b.raw); b.err != nil {
		return b
	}
	if isScript(b.path) {
		if b.script != nil && len(b.script.Steps) > 0 {
			b.kind, b.front = KindSource, &b.script.Front
		}
		b.stripped.Source = b.raw
		return b
	}
	b.stripped = region.Strip(b.path, b.raw)
	if b.stripped.IsOutput() {
		b.kind = KindOutput
		return b
	}
	if nb, _ := markdown.Parse(b.path, b.stripped.Source); nb != nil {
		b.front = &nb.Front
		if len(nb.Steps) > 0 || nb.Declares() {
			b.kind = KindSource
		}
	}
	return b
}

// frontMatter returns what the notebook says of itself, nil where it cannot be read.
func (b *book) frontMatter() *notebooks.Front {
	if b.front == nil && b.kind == KindOutput && b.jupyter == nil {
		if nb, _ := markdown.Parse(b.path, b.stripped.Source); nb != nil {
			b.front = &nb.Front
		}
	}
	return b.front
}

// manifest returns the manifest of the run that left the notebook, nil without one.
func (b *book) manifest() *notebooks.Manifest {
	switch {
	case b.jupyter == nil:
		return b.stripped.Manifest
	case b.jupyter.Rerun(): // papermill ran it since
		return nil
	}
	return b.jupyter.Manifest()
}

// sourceDigest returns the digest by which outputs identify the notebook.
func (b *book) sourceDigest() string {
	if b.jupyter != nil {
		return region.DigestOf(ipynb.Source(b.jupyter, false))
	}
	return b.digest
}

// mayBeOutput is a cheap check for an output notebook.
func (b *book) mayBeOutput() bool {
	return b.err == nil && bytes.Contains(b.raw, []byte("<!-- markmill:"))
}

// document returns a file for comparison. A missing one, of which b is nil, counts as an empty notebook.
func (s *side) document(b *book, name string) (doc *diff.Document, err error) {
	switch {
	case b == nil:
		return &diff.Document{Name: s.call(name), Form: "none"}, nil
	case b.err != nil:
		return nil, b.err
	case b.jupyter != nil:
		doc = documents.Jupyter(b.jupyter)
	case isScript(b.path):
		doc, err = documents.Script(b.path, b.raw)
	default:
		doc, err = documents.Markdown(b.path, b.raw, func(name string) ([]byte, error) {
			return s.Read(path.Join(path.Dir(b.path), name), maxPicture)
		})
		if err == nil { // the problems are told with the output
			doc.Notes = doc.Notes[len(b.stripped.Problems):]
		}
	}
	if err == nil {
		doc.Name = s.call(b.path)
	}
	return doc, err
}

// maxSiblings bounds the notebooks of a folder that are searched for the source of an output.
const maxSiblings = 1000

// folder maps digests to the notebooks in a folder, none if it has too many.
func (s *side) folder(dir string) map[string][]string {
	if got, ok := s.folders[dir]; ok {
		return got
	}
	names, err := s.In(dir)
	s.failed(err)
	names = slices.DeleteFunc(names, func(name string) bool { return !isText(name) })
	out := map[string][]string{}
	if len(names) <= maxSiblings {
		for _, name := range names {
			if b := s.book(path.Join(dir, name)); b.err == nil {
				out[b.digest] = append(out[b.digest], b.path)
			}
		}
	}
	s.folders[dir] = out
	return out
}

// alike returns the notebooks anywhere with the same stem: "runs/a.out.md" and "notebooks/a.md".
func (s *side) alike(name string) []string {
	if s.stems == nil {
		all, err := s.All(isText)
		s.failed(err)
		s.stems = map[string][]string{}
		for _, p := range all {
			s.stems[stem(p)] = append(s.stems[stem(p)], p)
		}
	}
	found := s.stems[stem(name)]
	return found[:min(len(found), maxAlike)]
}

// maxAlike bounds the files of one stem that are searched, because every folder may have a README.
const maxAlike = 50

func stem(name string) string {
	name = path.Base(name)
	return strings.TrimSuffix(strings.TrimSuffix(name, path.Ext(name)), ".out")
}

func folderOf(name string) string { return strings.TrimPrefix(path.Dir(name), ".") }

// besideOutput returns the default output path of a source: "a.out.md" for "a.md".
func besideOutput(source string) string {
	ext := path.Ext(source)
	if isScript(source) {
		return strings.TrimSuffix(source, ext) + ".out.md"
	}
	return strings.TrimSuffix(source, ext) + ".out" + ext
}

// besideSource returns the source name for an output name, "" if it is not an output name.
func besideSource(output string) string {
	ext := path.Ext(output)
	if base, ok := strings.CutSuffix(strings.TrimSuffix(output, ext), ".out"); ok {
		return base + ext
	}
	return ""
}

// beside returns the source with an output's name, such as "a.md" or "a.py" for "a.out.md", "" without one.
func (s *side) beside(output string) string {
	name := besideSource(output)
	if name == "" || s.isSource(name) {
		return name
	}
	if !isMarkdown(output) || s.there(name) {
		return ""
	}
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	for _, other := range slices.Sorted(maps.Keys(s.names[folderOf(output)])) {
		if strings.TrimSuffix(other, path.Ext(other)) == base && isScript(other) &&
			s.isSource(path.Join(folderOf(output), other)) {
			return path.Join(folderOf(output), other)
		}
	}
	return ""
}

// isSource reports whether a path is a source on this side.
func (s *side) isSource(name string) bool {
	return name != "" && s.there(name) && s.book(name).look().kind == KindSource
}

// isNotebook reports whether a path is a source or a Jupyter notebook on this side.
func (s *side) isNotebook(name string) bool {
	if !isJupyter(name) {
		return s.isSource(name)
	}
	return s.there(name) && s.book(name).look().jupyter != nil
}

// naming returns the files whose manifest may name a source.
func (s *side) naming(source string) []string {
	s.scan()
	return s.named[source]
}

// scan reads all notebooks once, because a run may write its output anywhere: which sources their manifests may name,
// and what their runs read.
func (s *side) scan() {
	if s.named != nil {
		return
	}
	all, err := s.All(func(name string) bool { return isMarkdown(name) || isJupyter(name) })
	s.failed(err)
	s.named, s.reads = map[string][]string{}, map[string]*notebooks.Inputs{}
	for _, p := range all {
		var raw []byte
		if b, ok := s.books[p]; ok {
			raw = b.raw
		} else if raw, err = s.Read(p, maxScanned); err != nil {
			continue // it is too large, or no text
		}
		for _, source := range namedSources(raw) {
			s.named[source] = append(s.named[source], p)
		}
		m := region.ManifestAtEnd(raw)
		if isJupyter(p) && bytes.Contains(raw, []byte(`"source_path"`)) {
			m = s.book(p).look().manifest()
		}
		if m != nil && m.Inputs != nil {
			s.reads[p] = m.Inputs
		}
	}
}

// maxScanned bounds the files that are searched for a manifest, in bytes.
const maxScanned = 64 << 20

// namedSources returns the values of all source_path members in a text.
func namedSources(raw []byte) []string {
	member := []byte(`"source_path":`)
	var out []string
	for {
		_, rest, ok := bytes.Cut(raw, member)
		if !ok {
			return slices.Compact(out)
		}
		raw = bytes.TrimLeft(rest, " \t")
		if len(raw) == 0 || raw[0] != '"' {
			continue
		}
		end := 1
		for end < len(raw) && raw[end] != '"' && raw[end] != '\n' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		var name string
		if end < len(raw) && codec.Unmarshal(raw[:end+1], &name) == nil && name != "" {
			out = append(out, path.Clean(name))
		}
	}
}

// digestFor returns the digest by which an output at a path identifies the notebook. Output in Markdown of a Jupyter
// notebook identifies the converted Markdown.
func (b *book) digestFor(output string) string {
	if b.jupyter == nil || isJupyter(output) {
		return b.sourceDigest()
	}
	nb, err := forms.Parse(b.path, ipynb.Source(b.jupyter, false))
	if err != nil {
		return ""
	}
	markdown.SetDefaultLanguage(nb, b.jupyter.Language())
	md, err := render.AsMarkdown(nb)
	if err != nil {
		return ""
	}
	return region.DigestOf(md.Source)
}

// there reports whether a file exists.
func (s *side) there(name string) bool {
	dir := folderOf(name)
	have, ok := s.names[dir]
	if !ok {
		have = map[string]bool{}
		names, err := s.In(dir)
		if err != nil {
			return false
		}
		for _, n := range names {
			have[n] = true
		}
		s.names[dir] = have
	}
	return have[path.Base(name)]
}
