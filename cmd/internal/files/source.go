package files

import (
	"os"
	"path/filepath"

	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
)

// Source reads a notebook without the outputs of earlier runs. If values are given, it also drops the cells with the
// values of an earlier run from a Jupyter notebook. It returns an error if outputs were edited.
func Source(notebook string, given bool) ([]byte, error) {
	src, err := os.ReadFile(notebook)
	if err != nil {
		return nil, err
	}
	if notebooks.IsJupyterName(notebook) {
		nb, err := Jupyter(notebook, src)
		if err != nil {
			return nil, err
		}
		return ipynb.Source(nb, given), nil
	}
	return forms.Source(filepath.ToSlash(notebook), src, given)
}
