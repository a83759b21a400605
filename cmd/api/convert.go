package api

import (
	"bytes"
	"fmt"
	"strings"

	"markmill/cmd/internal/files"
	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
	"markmill/render/documents"
)

// Convert writes a notebook of any form in another form; "" is the form of Markdown that it was converted from, or else
// Markmill's own. name is that of the notebook, to that of the file to be written. An output notebook in Markdown keeps
// its outputs when it becomes a Jupyter notebook; read gives the files that it names, and nil gives none. lost says
// what the form has no place for.
func Convert(name, to string, src []byte, form notebooks.Form, read documents.Files) (
	out []byte, lost []string, err error) {
	if files.IsJupyter(name, src) {
		nb, err := ipynb.Parse(name, src)
		if err != nil {
			return nil, nil, err
		}
		if nb.Manifest() != nil && form != notebooks.FormJupyter {
			lost = append(lost, "the outputs and what the run noted")
			src = ipynb.Source(nb, false)
		}
	} else if bytes.Contains(src, []byte("<!-- markmill:")) && !files.IsScript(name, src) {
		got := region.Strip(name, src)
		switch {
		case len(got.Problems) > 0:
			return nil, nil, got.Problems
		case got.Manifest != nil && form == notebooks.FormJupyter:
			out, missing, err := documents.JupyterOf(name, src, read)
			for _, m := range missing {
				lost = append(lost, fmt.Sprintf("not in %s, and so not here: %s", name, m))
			}
			return out, lost, err
		case len(got.Regions) > 0:
			lost = append(lost, fmt.Sprintf("the outputs: %d regions", len(got.Regions)))
		}
		src = got.Source
	}
	d, err := convert.Read("", name, src)
	if err != nil {
		return nil, nil, err
	}
	if form == "" {
		form = d.FormFor(to)
	}
	out, more, err := d.To(form, to)
	for _, l := range more {
		lost = append(lost, l.String())
	}
	for i := range lost {
		lost[i] = fmt.Sprintf("not in %s: %s", form.Title(), lost[i])
	}
	if nb, err := forms.Parse(name, src); err == nil {
		for _, w := range nb.Warnings {
			if markdown.IsAlmost(w) || strings.HasPrefix(w.Msg, markdown.Inside) {
				lost = append(lost, fmt.Sprintf("line %d: %s; %s", w.Line, w.Msg, w.Hint))
			}
		}
	}
	return out, lost, err
}
