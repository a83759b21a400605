package views

import (
	"bytes"
	"fmt"
	"io/fs"

	"markmill/cmd/internal/files"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/convert"
	"markmill/notebooks/ipynb"
	"markmill/render/html"
	"markmill/runs"
)

// SchemaOf names a document of --json and its version: "markmill.run/1". docs/schemas has the JSON Schema of each.
// Members are only ever added to a version.
func SchemaOf(document string) string { return "markmill." + document + "/1" }

// Document is an object for programs, indented, with schema as its first member. v may be the indented text of an
// object.
func Document(document string, v any) ([]byte, error) {
	text, isText := v.([]byte)
	if !isText {
		var err error
		if text, err = codec.Indent(v); err != nil {
			return nil, err
		}
	}
	members, isObject := bytes.CutPrefix(text, []byte("{\n"))
	if !isObject {
		return nil, fmt.Errorf("--json: %s is no object with members", document)
	}
	return fmt.Appendf(nil, "{\n  \"schema\": \"%s\",\n%s", SchemaOf(document), members), nil
}

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
