package convert

import (
	"fmt"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// readJupyter reads Jupyter's file, of any nbformat.
func readJupyter(name string, src []byte) (*Document, error) {
	nb, err := ipynb.Parse(name, src)
	if err != nil {
		return nil, err
	}
	old := nb.NBFormat < 4
	if old {
		if src, err = nb.Upgraded(); err != nil {
			return nil, err
		}
		if nb, err = ipynb.Parse(name, src); err != nil {
			return nil, err
		}
	}
	d := &Document{Name: name, Form: notebooks.FormJupyter, Metadata: objectOf(nb.Metadata.Raw), source: string(src)}
	at := notebooks.Notebook{Source: src}
	for i := range nb.Cells {
		c := &nb.Cells[i]
		cell := Cell{Type: c.Type, ID: c.ID, Source: c.Source, Metadata: objectOf(c.Metadata.Raw), at: c.Span.Start}
		switch c.Type {
		case "code", "markdown", "raw":
		default:
			line, col := at.Position(c.Span.Start)
			return nil, d.problem(line, col, fmt.Sprintf("%q is no type of cell", c.Type),
				"it is code, markdown or raw")
		}
		if old || ipynb.MadeID(c.ID, c.Type, c.Source) {
			cell.ID = ""
		}
		if len(ipynb.Members(c.Attachments)) > 0 && c.Type != "code" {
			cell.Attachments = c.Attachments.Raw
		}
		if c.Type == "code" && len(c.Outputs) > 0 {
			cell.Outputs = c.OutputsAt.Raw
		}
		if c.Type == "code" {
			cell.Count, _ = strconv.Atoi(string(c.Count.Raw))
		}
		d.Cells = append(d.Cells, cell)
	}
	return d, nil
}

// Jupyter returns the document as a Jupyter notebook that does not say how the text was spelled: To adds that.
func (d *Document) Jupyter() ([]byte, error) {
	draft := ipynb.Draft{Metadata: d.jupyterMetadata().Raw()}
	for i := range d.Cells {
		c := &d.Cells[i]
		draft.Cells = append(draft.Cells, ipynb.DraftCell{Type: c.Type, ID: c.ID, Source: c.Source,
			Metadata:    validCell(c.Metadata).Raw(),
			Attachments: c.Attachments, Outputs: c.Outputs, Count: c.Count})
	}
	b, err := draft.Bytes()
	if err != nil {
		return nil, d.problem(1, 1, err.Error(), "")
	}
	return b, nil
}

// validCell gives the metadata of a cell the kinds that nbformat wants of them.
func validCell(o Object) Object {
	tags := o.Get("tags")
	if tags == nil {
		return o
	}
	var list []string
	if tags[0] == '"' {
		list = []string{textOf(tags)}
	} else {
		list = o.texts("tags")
	}
	var once []string
	have := map[string]bool{}
	for _, t := range list {
		if t != "" && !have[t] && !strings.Contains(t, ",") {
			once = append(once, t)
			have[t] = true
		}
	}
	if raw := textList(once); !same(raw, tags) {
		o = o.without()
		o.Set("tags", raw)
	}
	return o
}

// kernelSpecs are the specs of Jupyter's own kernels, for notebooks that name only a language.
var kernelSpecs = map[string]string{
	"python": `{"display_name":"Python 3","language":"python","name":"python3"}`,
	"r":      `{"display_name":"R","language":"R","name":"ir"}`,
	"bash":   `{"display_name":"Bash","language":"bash","name":"bash"}`,
}

// jupyterMetadata returns the metadata with what nbformat requires, and with the language that a text form leaves to be
// guessed.
func (d *Document) jupyterMetadata() Object {
	o := d.Metadata.without()
	if d.Form == notebooks.FormJupyter {
		return o
	}
	lang := d.Language()
	spec := o.object(keyKernelspec)
	if len(spec) > 0 {
		if spec.text("name") == "" {
			spec.Set("name", quoted(lang))
		}
		if spec.text("display_name") == "" {
			spec.Set("display_name", quoted(spec.text("name")))
		}
		o.setObject(keyKernelspec, spec)
	} else if d.Form == notebooks.FormNative && kernelSpecs[lang] != "" {
		o.Set(keyKernelspec, codec.Raw(kernelSpecs[lang]))
		return o
	}
	if info := o.object("language_info"); spec.text("language") == "" && info.text("name") == "" {
		info.Set("name", quoted(lang))
		o.setObject("language_info", info)
	}
	return o
}
