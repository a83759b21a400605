package forms

import (
	"path"
	"path/filepath"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
)

// MadeOf returns the path of the source of an output notebook, from its manifest; "" for any other notebook, and for
// one whose own text was edited since: that is a notebook of its own.
func MadeOf(name string, src []byte) string {
	var m *notebooks.Manifest
	var source []byte
	if IsJupyter(name, src) {
		nb, err := ipynb.Parse(name, src)
		if err != nil || nb.Rerun() {
			return ""
		}
		m, source = nb.Manifest(), ipynb.Source(nb, false)
	} else {
		got := region.Strip(name, src)
		m, source = got.Manifest, got.Source
	}
	if m == nil || m.Source != region.DigestOf(source) || path.Clean(m.SourcePath) != m.SourcePath ||
		!filepath.IsLocal(filepath.FromSlash(m.SourcePath)) {
		return ""
	}
	return m.SourcePath
}
