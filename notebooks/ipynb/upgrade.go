package ipynb

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
)

// What nbformat 3 and 2 call otherwise than 4, as nbformat's own converters (v4/convert.py, v3/convert.py) have it.
var (
	oldForms = map[string]string{
		"text": "text/plain", "html": "text/html", "svg": "image/svg+xml", "png": "image/png", "jpeg": "image/jpeg",
		"latex": "text/latex", "json": "application/json", "javascript": "application/javascript", "pdf": "application/pdf",
	}
	oldOutputs = map[string]string{"pyout": "execute_result", "pyerr": "error"}
)

// lineEnds are the line ends of Python's splitlines.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// worksheets reads the sheets of an old notebook, one after the other.
func (r *reader) worksheets(g *group) error {
	if r.c.Kind() != '[' {
		return &misfit{r.c.Offset(), "the worksheets must be a list", ""}
	}
	_, err := r.c.Array(func() error {
		if r.c.Kind() != '{' {
			return &misfit{r.c.Offset(), "a worksheet must be an object", ""}
		}
		_, err := r.c.Object(func(name []byte, _ codec.Span) error {
			if string(name) == "cells" {
				r.old = true
				defer func() { r.old = false }()
				return r.cells(g)
			}
			_, err := r.c.Skip()
			return err
		})
		return err
	})
	return err
}

// upgrade makes of an old cell what 4 has for it.
func upgrade(cell *Cell, level Value) {
	switch cell.Type {
	case "heading":
		n, err := strconv.Atoi(string(level.Raw))
		if err != nil {
			n = 1
		}
		cell.Type = "markdown"
		var words []string
		for text := cell.Source; text != ""; {
			n := pythonLine(text)
			words = append(words, strings.TrimRight(text[:n], lineEnds))
			text = text[n:]
		}
		cell.Source = strings.Repeat("#", max(1, n)) + " " + strings.Join(words, " ")
	case "html":
		cell.Type = "markdown"
	}
}

// upgradeOutput makes of an old output what 4 has for it; old are the forms that stood beside its other names.
func upgradeOutput(out *Output, old []Datum) {
	if name, ok := oldOutputs[out.Type]; ok {
		out.Type = name
		if out.TextAt.Raw != nil && out.Type == "execute_result" {
			out.Data = append(out.Data, Datum{"text/plain", out.TextAt})
			out.TextAt = Value{}
		}
		out.Data = append(out.Data, old...)
		return
	}
	if out.Type == "display_data" && out.Data == nil {
		if out.TextAt.Raw != nil {
			out.Data = append(out.Data, Datum{"text/plain", out.TextAt})
			out.TextAt = Value{}
		}
		out.Data = append(out.Data, old...)
	}
	if out.Type == "stream" && out.Name == "" {
		out.Name = "stdout"
	}
}

// Upgraded is an old notebook as one of nbformat 4.5, as nbformat's converters make it; a notebook of nbformat 4 is as
// it is. The cells are called by their places. The language, which old files have with each cell, is in the metadata.
func (nb *Notebook) Upgraded() ([]byte, error) {
	if nb.NBFormat == 4 {
		return nb.Source, nil
	}
	metadata := settings{}
	metadata.take(nb.Metadata, "name", "signature")
	if lang := nb.cellLanguage(); lang != "" && nb.Language() == "" {
		name, err := codec.Marshal(map[string]string{"name": lang})
		if err != nil {
			return nil, err
		}
		metadata.set("language_info", name)
	}
	d := Draft{Metadata: metadata.object()}
	for i := range nb.Cells {
		cell, err := nb.Cells[i].upgraded()
		if err != nil {
			return nil, err
		}
		cell.ID = "cell-" + strconv.Itoa(i+1) // as its step was called before
		d.Cells = append(d.Cells, cell)
	}
	return d.Bytes()
}

// cellLanguage is the language that all cells of an old file have; "" where they differ.
func (nb *Notebook) cellLanguage() string {
	lang := ""
	for i := range nb.Cells {
		switch c := &nb.Cells[i]; {
		case c.Type != "code" || c.Language == "":
		case lang != "" && lang != c.Language:
			return ""
		default:
			lang = c.Language
		}
	}
	return lang
}

func (c *Cell) upgraded() (DraftCell, error) {
	metadata := settings{}
	metadata.take(c.Metadata)
	out := DraftCell{Type: c.Type, Source: c.Source}
	if c.Type != "code" {
		out.Metadata = metadata.object()
		return out, nil
	}
	if c.Collapsed.Raw != nil {
		metadata.set("collapsed", c.Collapsed.Raw)
	}
	out.Metadata = metadata.object()
	if c.Count.Given() {
		count, err := strconv.Atoi(string(c.Count.Raw))
		if err == nil {
			out.Count = count
		}
	}
	var list []map[string]any
	for i := range c.Outputs {
		list = append(list, c.Outputs[i].upgraded())
	}
	if list == nil {
		return out, nil
	}
	var err error
	out.Outputs, err = codec.Marshal(list)
	return out, err
}

// upgraded is the output as nbformat 4 has it; its names were read as those of 4 already.
func (out *Output) upgraded() map[string]any {
	o := map[string]any{"output_type": out.Type}
	switch out.Type {
	case "stream":
		o["name"], o["text"] = out.Name, out.Text()
		return o
	case "error":
		o["ename"], o["evalue"], o["traceback"] = out.Ename, out.Evalue, append([]string{}, out.Traceback...)
		return o
	case "execute_result":
		o["execution_count"] = codec.Raw("null")
		if out.Count.Given() {
			o["execution_count"] = out.Count.Raw
		}
	}
	data := map[string]any{}
	for _, d := range out.Data {
		text, err := joined(codec.NewCursor(d.Raw, 0), d.bare)
		switch raw := codec.Raw(text); {
		case err != nil:
			data[d.MIME] = d.Raw
		case d.MIME == "application/json" && raw.IsValid():
			data[d.MIME] = raw
		default:
			data[d.MIME] = text
		}
	}
	metadata := settings{}
	for _, m := range Members(out.Metadata) {
		if mime, ok := oldForms[m.Name]; ok {
			m.Name = mime
		}
		metadata.set(m.Name, m.Raw)
	}
	o["data"], o["metadata"] = data, metadata.object()
	return o
}

// settings is an object in the making; of a name that is given twice the last counts.
type settings map[string]codec.Raw

func (s settings) set(name string, value codec.Raw) { s[name] = value }

// take takes the members of an object over, but for some.
func (s settings) take(object Value, but ...string) {
	for _, m := range Members(object) {
		if !slices.Contains(but, m.Name) {
			s[m.Name] = m.Raw
		}
	}
}

// object spells the values as they were, also where no strict reader takes them.
func (s settings) object() codec.Raw {
	raw := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(s)) {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(codec.AppendText(raw, name, nil), ':'), s[name]...)
	}
	return append(raw, '}')
}
