package forms

import (
	"bytes"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/percent"
	"markmill/notebooks/region"
)

// Detect returns the form of a source: by the extension of its name, or for standard input ("-") by its first bytes.
// For Markdown, whose forms share an extension, it is notebooks.FormNative; Parse finds which one it is.
func Detect(name string, src []byte) notebooks.Form {
	if form := notebooks.FormOfName(name); form != "" {
		return form
	}
	switch {
	case name != "-":
	case bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) && bytes.Contains(src, []byte(`"nbformat"`)):
		return notebooks.FormJupyter
	case percent.Looks(src):
		return notebooks.FormPercent
	}
	return notebooks.FormNative
}

// IsJupyter reports whether a source is a Jupyter notebook.
func IsJupyter(name string, src []byte) bool { return Detect(name, src) == notebooks.FormJupyter }

// IsPercent reports whether a source is a script with cells.
func IsPercent(name string, src []byte) bool { return Detect(name, src) == notebooks.FormPercent }

// readers is the one table of the forms that are not Markdown; markdown.Parse reads that.
var readers = map[notebooks.Form]func(name string, src []byte) (runnable, error){
	notebooks.FormJupyter: func(name string, src []byte) (runnable, error) { return ipynb.Parse(name, src) },
	notebooks.FormPercent: func(name string, src []byte) (runnable, error) { return percent.Parse(name, src) },
}

// runnable is a file that has been read, with its cells of code as steps.
type runnable interface {
	Runnable() (*notebooks.Notebook, error)
}

// Parse is markdown.Parse for every form.
func Parse(name string, src []byte) (*notebooks.Notebook, error) {
	form := Detect(name, src)
	if notebooks.IsPointer(src) {
		return &notebooks.Notebook{Name: name, Source: src, Form: form, ParamsAt: -1}, notebooks.ErrorList{{
			Kind: notebooks.KindInput, File: name, Msg: notebooks.PointerWords, Hint: notebooks.PointerHint}}
	}
	read, ok := readers[form]
	if !ok {
		return markdown.Parse(name, src)
	}
	file, err := read(name, src)
	if err != nil {
		if one, ok := errors.AsType[*notebooks.Error](err); ok {
			err = notebooks.ErrorList{one}
		}
		return &notebooks.Notebook{Name: name, Source: src, Form: form, ParamsAt: -1}, err
	}
	return file.Runnable()
}

// Manifest returns the manifest of the run that left an output notebook; nil for any other notebook.
func Manifest(name string, src []byte) (*notebooks.Manifest, error) {
	if !IsJupyter(name, src) {
		return region.Strip(name, src).Manifest, nil
	}
	nb, err := ipynb.Parse(name, src)
	if err != nil {
		return nil, err
	}
	return nb.Manifest(), nil
}

// Source returns a notebook without what runs left in it. With given it also leaves out a Jupyter notebook's cells with
// the values of an earlier run. If regions are damaged it returns the source and an ErrorList.
func Source(name string, src []byte, given bool) ([]byte, error) {
	switch Detect(name, src) {
	case notebooks.FormPercent: // no run leaves anything in a script
		return src, nil
	case notebooks.FormJupyter:
		nb, err := ipynb.Parse(name, src)
		if err != nil {
			return nil, err
		}
		return ipynb.Source(nb, given), nil
	}
	got := region.Strip(name, src)
	if len(got.Problems) > 0 {
		return got.Source, got.Problems
	}
	return got.Source, nil
}

// Extension returns the extension of the copies of a notebook.
func Extension(nb *notebooks.Notebook) string {
	switch nb.Form {
	case notebooks.FormJupyter:
		return ".ipynb"
	case notebooks.FormPercent:
		if _, ok := percent.LanguageOf(nb.Name); ok {
			return path.Ext(strings.ReplaceAll(nb.Name, `\`, "/"))
		}
		return ".py"
	}
	return ".md"
}

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
