package documents

import (
	"fmt"
	"sort"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/render"
	"markmill/render/result"
)

// Files reads a file by its slash-separated path relative to the notebook. It is used for pictures, and may be nil.
type Files func(name string) ([]byte, error)

// Read reads a notebook of any form. The error is an *Error of package notebooks.
func Read(name string, src []byte, files Files) (*diff.Document, error) {
	switch formOf(name, src) {
	case notebooks.FormJupyter:
		nb, err := ipynb.Parse(name, src)
		if err != nil {
			return nil, err
		}
		return Jupyter(nb), nil
	case notebooks.FormPercent:
		return Script(name, src)
	}
	return Markdown(name, src, files)
}

// formOf detects a form by name, and by the first bytes if the name is unknown, as that of a copy that Git made.
func formOf(name string, src []byte) notebooks.Form {
	if notebooks.FormOfName(name) == "" {
		name = "-"
	}
	return forms.Detect(name, src)
}

// Markdown reads a source or an output notebook. Mistakes in the source are not errors: notebooks with mistakes can
// be compared, too.
func Markdown(name string, src []byte, files Files) (*diff.Document, error) {
	if err := notebooks.CheckText(name, src); err != nil {
		return nil, err
	}
	got := notebooks.Strip(name, src)
	nb, _ := notebooks.Parse(name, got.Source)
	doc := source(nb)
	for _, problem := range got.Problems {
		doc.Notes = append(doc.Notes, problem.Error())
	}
	if len(got.Regions) > 0 || got.Manifest != nil { // lines are those of the source, and not of the file
		for i := range doc.Cells {
			doc.Cells[i].Line = 0
		}
	}
	at := map[string]*diff.Cell{}
	for i := range doc.Cells {
		if c := &doc.Cells[i]; c.Kind == diff.Code {
			at[c.Label] = c
		}
	}
	steps := result.Steps(got)
	for _, r := range got.Regions {
		if c := at[r.ID]; c != nil {
			readRegion(c, string(r.Body), got.Manifest != nil && got.Manifest.Format >= 2, files)
			setResult(c, steps[notebooks.StepID(r.ID)])
		} else if r.ID != render.ParametersRegion {
			doc.Notes = append(doc.Notes, fmt.Sprintf("a region is of step %q, which the notebook has not", r.ID))
		}
	}
	if m := got.Manifest; m != nil {
		doc.Status = m.Status
		setParams(doc, m.Parameters)
	}
	return doc, nil
}

// setParams replaces defaults with the values that a run used.
func setParams(doc *diff.Document, params []notebooks.ManifestParam) {
	at := map[string]int{}
	for i, p := range doc.Params {
		at[p.Name] = i
	}
	for _, p := range params {
		if i, ok := at[p.Name]; ok {
			doc.Params[i].Value = canonical(p.Value)
		} else {
			doc.Params = append(doc.Params, diff.Param{Name: p.Name, Value: canonical(p.Value)})
		}
	}
}

// canonical normalizes JSON, and returns anything else unchanged.
func canonical(v codec.Raw) codec.Raw {
	if out, err := codec.Marshal(v); err == nil {
		return out
	}
	return v
}

// value marshals to JSON.
func value(v any) codec.Raw {
	out, err := codec.Marshal(v)
	if err != nil { // a text that is not UTF-8
		return codec.Raw("null")
	}
	return out
}

// piece is a part of the source that is not prose.
type piece struct {
	span notebooks.Span
	cell diff.Cell
}

// source splits a notebook into cells: front matter, parameter blocks, steps, and the prose between them.
func source(nb *notebooks.Notebook) *diff.Document {
	doc := &diff.Document{Name: nb.Name, Form: string(nb.Form), Source: notebooks.DigestOf(nb.Source)}
	for _, p := range nb.Params {
		doc.Params = append(doc.Params, param(p))
	}
	var pieces []piece
	add := func(span notebooks.Span, cell diff.Cell) { pieces = append(pieces, piece{span, cell}) }
	if span := nb.Front.Span; span.End > span.Start {
		add(span, diff.Cell{ID: "front matter", Kind: diff.Raw, Lang: "yaml",
			Source: string(nb.Source[span.Start:span.End]), Line: lineOf(nb, span.Start)})
	}
	for i, span := range nb.Declared {
		cell := diff.Cell{ID: "parameters", Kind: diff.Raw, Lang: "yaml",
			Source: inFence(string(nb.Source[span.Start:span.End])), Line: lineOf(nb, span.Start) + 1}
		if i > 0 {
			cell.ID = fmt.Sprintf("parameters %d", i+1)
		}
		add(span, cell)
	}
	for _, s := range nb.Steps {
		add(s.Fence, stepCell(s))
	}
	sort.SliceStable(pieces, func(i, j int) bool { return pieces[i].span.Start < pieces[j].span.Start })
	at, texts := 0, 0
	prose := func(end int) {
		if at >= end {
			return
		}
		text := strings.Trim(strings.ReplaceAll(string(nb.Source[at:end]), "\r\n", "\n"), "\n")
		if strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")) == "" {
			return
		}
		texts++
		first := at
		for first < end && (nb.Source[first] == '\n' || nb.Source[first] == '\r') {
			first++
		}
		doc.Cells = append(doc.Cells, diff.Cell{Label: textLabel(text, texts), Kind: diff.Markdown, Lang: "markdown",
			Source: ended(text), Line: lineOf(nb, first)})
	}
	for _, p := range pieces {
		prose(p.span.Start)
		at = max(at, p.span.End)
		if p.cell.Label == "" {
			p.cell.Label = p.cell.ID
		}
		p.cell.Source = ended(strings.ReplaceAll(p.cell.Source, "\r\n", "\n"))
		doc.Cells = append(doc.Cells, p.cell)
	}
	prose(len(nb.Source))
	return doc
}

func lineOf(nb *notebooks.Notebook, at int) int {
	line, _ := nb.Position(at)
	return line
}

// inFence returns the text between the first and the last line.
func inFence(text string) string {
	_, text, _ = strings.Cut(text, "\n")
	text = strings.TrimSuffix(text, "\n")
	return text[:strings.LastIndexByte(text, '\n')+1]
}

// ended adds a missing final newline, so that appending a line does not change the one before.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// textLabel names prose by its first line.
func textLabel(text string, n int) string {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(strings.TrimLeft(line, "#> \t")), " ")
		if line == "" {
			continue
		}
		const most = 40
		if r := []rune(line); len(r) > most {
			line = strings.TrimRight(string(r[:most]), " ") + "…"
		}
		return line
	}
	return fmt.Sprintf("text-%d", n)
}

func param(p notebooks.Param) diff.Param {
	out := diff.Param{Name: p.Name, Type: string(p.Type)}
	if p.Declared != "" {
		out.Type = p.Declared
	}
	switch {
	case p.HasDefault:
		out.Value = canonical(p.Default.JSON())
	case p.DefaultSrc != "":
		out.Value = value(p.DefaultSrc)
	}
	return out
}

// stepCell is a step as its author wrote it.
func stepCell(s *notebooks.Step) diff.Cell {
	c := diff.Cell{Label: string(s.ID), Kind: diff.Code, Lang: s.Lang, Source: string(s.Code), Line: s.CodeLine,
		Tags: s.Tags}
	if s.Explicit {
		c.ID = string(s.ID)
	}
	option := func(name string, given bool, v any) {
		if given {
			c.Options = append(c.Options, diff.Field{Name: name, Value: value(v)})
		}
	}
	option("needs", len(s.Needs) > 0, s.Needs)
	option("if", s.If != "", s.If)
	option("expect-exit", s.ExpectExit != nil, s.ExpectExit)
	option("timeout (s)", s.Timeout != 0, s.Timeout.Seconds())
	option("retries", s.Retries != 0, s.Retries)
	option("cwd", s.Cwd != "", s.Cwd)
	option("kernel", s.Kernel != "", s.Kernel)
	option("normalize", len(s.Normalize) > 0, s.Normalize)
	option("output", s.Output != "", s.Output)
	option("env", len(s.Env) > 0, s.Env)
	return c
}
