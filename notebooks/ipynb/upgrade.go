package ipynb

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
)

// Names in nbformat 3 and 2 that differ from 4, as in nbformat's converters (v4/convert.py, v3/convert.py).
var (
	oldForms = map[string]string{
		"text": "text/plain", "html": "text/html", "svg": "image/svg+xml", "png": "image/png", "jpeg": "image/jpeg",
		"latex": "text/latex", "json": "application/json",
		"javascript": "application/javascript", "pdf": "application/pdf",
	}
	oldOutputs = map[string]string{"pyout": "execute_result", "pyerr": "error"}
)

// lineEnds are the line ends of Python's splitlines.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// worksheets reads the sheets of an old notebook, one after the other.
func (r *reader) worksheets(g *group) error {
	r.old = true
	defer func() { r.old = false }()
	_, err := r.list("the worksheets", func() error {
		_, err := r.members("a worksheet", func(name string) error {
			if name == "cells" {
				return r.cells(g)
			}
			_, err := r.c.Skip()
			return err
		})
		return err
	})
	return err
}

// upgrade converts an old cell to nbformat 4.
func upgrade(cell *Cell, level Value) {
	switch cell.Type {
	case "heading":
		n, err := strconv.Atoi(string(level.Raw))
		if err != nil {
			n = 1
		}
		cell.Type = "markdown"
		var words []string
		for _, line := range PythonLines(cell.Source) {
			words = append(words, strings.TrimRight(line, lineEnds))
		}
		cell.Source = strings.Repeat("#", max(1, n)) + " " + strings.Join(words, " ")
	case "html":
		cell.Type = "markdown"
	}
}

// upgradeOutput converts an old output to nbformat 4; old are the representations beside its other names.
func upgradeOutput(out *Output, old []Datum) {
	name, renamed := oldOutputs[out.Type]
	if renamed {
		out.Type = name
	}
	if renamed || out.Type == "display_data" && out.Data == nil {
		if out.TextAt.Raw != nil && out.Type != "error" {
			out.Data = append(out.Data, Datum{"text/plain", out.TextAt})
			out.TextAt = Value{}
		}
		out.Data = append(out.Data, old...)
	}
	if out.Type == "stream" && out.Name == "" {
		out.Name = "stdout"
	}
}

// Upgraded returns an old notebook as one of nbformat 4.5, as nbformat's converters make it; a notebook of nbformat 4
// is as it is. The cells are called by their places. The language, which old files have with each cell, is in the
// metadata.
func (nb *Notebook) Upgraded() ([]byte, error) {
	if nb.NBFormat == 4 {
		return nb.Source, nil
	}
	metadata := settings{}
	metadata.take(nb.Metadata)
	delete(metadata, "name")
	delete(metadata, "signature")
	if lang := nb.cellLanguage(); lang != "" && nb.Language() == "" {
		name, err := codec.Marshal(map[string]string{"name": lang})
		if err != nil {
			return nil, err
		}
		metadata["language_info"] = name
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

// cellLanguage returns the language that all cells of an old file have; "" where they differ.
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
	if c.Type == "code" && c.Collapsed.Raw != nil {
		metadata["collapsed"] = c.Collapsed.Raw
	}
	out := DraftCell{Type: c.Type, Source: c.Source, Metadata: metadata.object()}
	if c.Type != "code" {
		return out, nil
	}
	if count, err := strconv.Atoi(string(c.Count.Raw)); err == nil {
		out.Count = count
	}
	list := []map[string]any{}
	for i := range c.Outputs {
		list = append(list, c.Outputs[i].upgraded())
	}
	var err error
	out.Outputs, err = codec.Marshal(list)
	return out, err
}

// upgraded returns the output as nbformat 4 has it; its names were read as those of 4 already.
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
		metadata[m.Name] = m.Raw
	}
	o["data"], o["metadata"] = data, metadata.object()
	return o
}

// settings is an object under construction; the last of duplicate names wins.
type settings map[string]codec.Raw

// take copies the members of an object.
func (s settings) take(object Value) {
	for _, m := range Members(object) {
		s[m.Name] = m.Raw
	}
}

// object spells the values as they were, also where no strict reader takes them.
func (s settings) object() codec.Raw {
	var parts [][]byte
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, append(append(codec.AppendText(nil, name, nil), ':'), s[name]...))
	}
	return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
}
