package views

import (
	"io/fs"

	"markmill/cmd/internal/files"
	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/notebooks/ipynb"
	"markmill/render/html"
	"markmill/runs"
)

// Page makes the HTML page of a notebook of any form. beside is the folder of its pictures; nil shows none. run is the
// run that left it; nil where that is not known.
func Page(name string, src []byte, beside fs.FS, run *runs.Run) (*html.Made, error) {
	switch {
	case files.IsJupyter(name, src):
		nb, err := ipynb.Parse(name, src)
		if err != nil {
			return nil, err
		}
		return html.Jupyter(nb, beside, run), nil
	case files.IsScript(name, src):
		d, err := convert.Read(notebooks.FormPercent, name, src)
		if err != nil {
			return nil, err
		}
		if src, _, err = d.To(notebooks.FormNative, name+".md"); err != nil {
			return nil, err
		}
	}
	return html.Notebook(name, src, beside, run)
}
