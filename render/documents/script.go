package documents

import (
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/percent"
	"markmill/notebooks/region"
)

// Script reads a percent script. Mistakes of the author are no error here.
func Script(name string, src []byte) (*diff.Document, error) {
	s, err := percent.Parse(name, src)
	if err != nil {
		return nil, err
	}
	nb, _ := s.Runnable()
	doc := &diff.Document{Name: name, Form: string(percent.Form), Source: region.DigestOf(src)}
	for _, p := range nb.Params {
		doc.Params = append(doc.Params, param(p))
	}
	if s.Header.Given {
		doc.Cells = append(doc.Cells, diff.Cell{ID: "front matter", Label: "front matter", Kind: diff.Raw, Lang: "yaml",
			Source: diff.Ended(s.Header.Text),
			Line:   lineOf(nb, s.Header.At.Start)})
	}
	steps, texts := 0, 0
	for i := range s.Cells {
		c := &s.Cells[i]
		out := diff.Cell{Kind: diff.CellKind(c.Kind), Lang: "markdown", Source: diff.Ended(c.Source), Line: c.CodeLine,
			Tags: c.Tags()}
		if c.Kind == percent.Code {
			out = stepCell(nb.Steps[steps])
			steps++
		} else {
			texts++
			out.Label = textLabel(c.Source, texts)
		}
		if c.Title != "" {
			out.Options = append(out.Options, diff.Field{Name: "title", Value: codec.RawOf(c.Title)})
		}
		doc.Cells = append(doc.Cells, out)
	}
	return doc, nil
}
