package forms

import (
	"bytes"
	"errors"
	"path"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/percent"
)

// IsJupyter says whether a source is a Jupyter notebook: by its name, or, of standard input ("-"), by what it begins
// with.
func IsJupyter(name string, src []byte) bool {
	if strings.EqualFold(path.Ext(strings.ReplaceAll(name, `\`, "/")), ".ipynb") {
		return true
	}
	return name == "-" && bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) && bytes.Contains(src, []byte(`"nbformat"`))
}

// IsPercent says whether a source is a script with cells of "%%": by its name, or, of standard input ("-"), by what it
// begins with.
func IsPercent(name string, src []byte) bool {
	if name == "-" {
		return percent.Looks(src)
	}
	_, ok := percent.LanguageOf(name)
	return ok
}

// Parse is notebooks.Parse for every form.
func Parse(name string, src []byte) (*notebooks.Notebook, error) {
	switch {
	case IsJupyter(name, src):
	case IsPercent(name, src):
		script, err := percent.Parse(name, src)
		if err != nil {
			return failed(name, src, percent.Form, err)
		}
		return script.Runnable()
	default:
		return notebooks.Parse(name, src)
	}
	nb, err := ipynb.Parse(name, src)
	if err != nil {
		return failed(name, src, ipynb.Form, err)
	}
	return nb.Runnable()
}

// failed is a notebook that could not be read at all.
func failed(name string, src []byte, form notebooks.Form, err error) (*notebooks.Notebook, error) {
	var one *notebooks.Error
	if errors.As(err, &one) {
		err = notebooks.ErrorList{one}
	}
	return &notebooks.Notebook{Name: name, Source: src, Form: form, ParamsAt: -1}, err
}

// Extension is the ending of the copies of a notebook.
func Extension(nb *notebooks.Notebook) string {
	switch nb.Form {
	case ipynb.Form:
		return ".ipynb"
	case percent.Form:
		if _, ok := percent.LanguageOf(nb.Name); ok {
			return path.Ext(strings.ReplaceAll(nb.Name, `\`, "/"))
		}
		return ".py"
	}
	return ".md"
}
