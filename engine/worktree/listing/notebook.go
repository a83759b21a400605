package listing

import (
	"bytes"
	"path"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// Kind is what a file is to Markmill.
type Kind int

// Kinds of files.
const (
	Other    Kind = iota
	Notebook      // that can be run
	Output        // what a run left of one
)

// MayBeNotebook reports whether a file of that name may be a notebook or what a run left of one.
func MayBeNotebook(name string) bool {
	return notebooks.IsMarkdownName(name) || notebooks.IsJupyterName(name)
}

// KindOf tells notebooks from other files.
func KindOf(name string, text []byte) Kind {
	switch {
	case notebooks.IsJupyterName(name):
		if nb, err := ipynb.Parse(name, text); err == nil && nb.Manifest() != nil {
			return Output
		}
		return Notebook
	case bytes.Contains(text, []byte("<!-- markmill:")):
		if region.Strip(name, text).IsOutput() {
			return Output
		}
	case !bytes.Contains(text, []byte("{")): // no fence has attributes
		return Other
	}
	nb, err := markdown.Parse(name, text)
	if nb == nil || err != nil && len(nb.Steps) == 0 || len(nb.Steps) == 0 && !nb.Declares() {
		return Other
	}
	return Notebook
}

// OwnerOfFolder is what the name of the output begins with whose pictures a folder of that name holds; ok is false for
// other folders.
func OwnerOfFolder(name string) (stem string, ok bool) {
	return strings.CutSuffix(path.Base(name), "_files")
}
