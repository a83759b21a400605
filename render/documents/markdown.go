package documents

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/percent"
	"markmill/notebooks/region"
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
	got := region.Strip(name, src)
	nb, _ := markdown.Parse(name, got.Source)
	doc := source(nb)
	for _, problem := range got.Problems {
		doc.Notes = append(doc.Notes, problem.Error())
	}
	if len(got.Regions) > 0 || got.Manifest != nil { // lines are those of the source, and not of the file
		for i := range doc.Cells {
			doc.Cells[i].Line = 0
		}
	}
	at, steps := codeCells(doc), result.Steps(got)
	for _, r := range got.Regions {
		if c := at[r.ID]; c != nil {
			readRegion(c, string(r.Body), files)
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

// codeCells finds the code cells of a document by their labels.
func codeCells(doc *diff.Document) map[string]*diff.Cell {
	at := map[string]*diff.Cell{}
	for i := range doc.Cells {
		if c := &doc.Cells[i]; c.Kind == diff.Code {
			at[c.Label] = c
		}
	}
	return at
}

// setParams replaces defaults with the values that a run used.
func setParams(doc *diff.Document, params []notebooks.ManifestParam) {
	for _, p := range params {
		i := slices.IndexFunc(doc.Params, func(own diff.Param) bool { return own.Name == p.Name })
		if i < 0 {
			i = len(doc.Params)
			doc.Params = append(doc.Params, diff.Param{Name: p.Name})
		}
		doc.Params[i].Value = canonical(p.Value)
	}
}

// canonical normalizes JSON, and returns anything else unchanged.
func canonical(v codec.Raw) codec.Raw {
	if out, err := codec.Marshal(v); err == nil {
		return out
	}
	return v
}

// source splits a notebook into cells: front matter, parameter blocks, steps, and the prose between them.
func source(nb *notebooks.Notebook) *diff.Document {
	doc := &diff.Document{Name: nb.Name, Form: string(nb.Form), Source: region.DigestOf(nb.Source)}
	for _, p := range nb.Params {
		doc.Params = append(doc.Params, param(p))
	}
	declared, texts := 0, 0
	for _, p := range nb.Parts() {
		text, at := nb.Text(p), p.Span.Start
		cell := diff.Cell{Kind: diff.Raw, Lang: "yaml", Source: text, Line: lineOf(nb, at)}
		switch p.Kind {
		case notebooks.PartFrontMatter:
			cell.ID, cell.Label = "front matter", "front matter"
		case notebooks.PartParameters:
			declared++
			cell.ID = "parameters"
			if declared > 1 {
				cell.ID = fmt.Sprintf("parameters %d", declared)
			}
			cell.Label, cell.Source, cell.Line = cell.ID, inFence(text), cell.Line+1
		case notebooks.PartStep:
			cell = stepCell(p.Step)
		case notebooks.PartText:
			prose := strings.Trim(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
			if strings.TrimSpace(strings.TrimPrefix(prose, "\ufeff")) == "" {
				continue
			}
			texts++
			at += len(text) - len(strings.TrimLeft(text, "\r\n"))
			cell = diff.Cell{Label: textLabel(prose, texts), Kind: diff.Markdown, Lang: "markdown", Source: prose,
				Line: lineOf(nb, at)}
		}
		cell.Source = diff.Ended(strings.ReplaceAll(cell.Source, "\r\n", "\n"))
		doc.Cells = append(doc.Cells, cell)
	}
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
		out.Value = codec.RawOf(p.DefaultSrc)
	}
	return out
}

// stepCell returns a step as its author wrote it.
func stepCell(s *notebooks.Step) diff.Cell {
	c := diff.Cell{Label: string(s.ID), Kind: diff.Code, Lang: s.Lang, Source: string(s.Code), Line: s.CodeLine,
		Tags: s.Tags}
	if s.Explicit {
		c.ID = string(s.ID)
	}
	option := func(name string, given bool, v any) {
		if given {
			c.Options = append(c.Options, diff.Field{Name: name, Value: codec.RawOf(v)})
		}
	}
	option("needs", len(s.Needs) > 0, s.Needs)
	option("if", s.If != "", s.If)
	option("expect-exit", s.ExpectExit != nil, s.ExpectExit)
	option("timeout (s)", s.Timeout != 0, s.Timeout.Seconds())
	option("retries", s.Retries != 0, s.Retries)
	option("backend", s.Backend != "", s.Backend)
	option("attempts", s.Attempts != 0, s.Attempts)
	option("cwd", s.Cwd != "", s.Cwd)
	option("kernel", s.Kernel != "", s.Kernel)
	option("normalize", len(s.Normalize) > 0, s.Normalize)
	option("output", s.Output != "", s.Output)
	option("env", len(s.Env) > 0, s.Env)
	return c
}

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
