package ipynb

import (
	"slices"
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
)

// Names in a notebook's metadata that hold Markmill's settings by the author or a conversion.
const (
	keyFront    = "front"    // of a notebook: the front matter
	keyLanguage = "language" // of a cell: the language of its code, below a cell magic
	keyBlock    = "block"    // of a cell: the text of the parameters block that became the cell
)

// kept lists what a conversion to Jupyter stores in cell metadata to restore it later; these are not step options.
var kept = []string{keyLanguage, keyBlock, "spelling"}

// matter finds the front matter: in the metadata, and in a raw cell on top, where Jupytext and Quarto put it.
func (nb *Notebook) matter(at *notebooks.Places) []notebooks.FrontMatter {
	var found []notebooks.FrontMatter
	if front := nb.Metadata.at(keyMarkmill, keyFront); front.Given() {
		line, col := at.Position(front.Span.Start)
		found = append(found, notebooks.FrontMatter{Text: front.Raw, At: notebooks.Span(front.Span), Strict: true,
			Place: func(l, c int) (int, int) {
				if l == 1 {
					c += col - 1
				}
				return line + l - 1, c
			}})
	}
	if len(nb.Cells) == 0 || nb.Cells[0].Type != "raw" {
		return found
	}
	c := &nb.Cells[0]
	text := strings.ReplaceAll(strings.TrimRight(c.Source, " \t\r\n"), "\r\n", "\n")
	inner, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return found
	}
	if inner, ok = strings.CutSuffix("\n"+inner, "\n---"); !ok {
		return found
	}
	return append(found, notebooks.FrontMatter{
		Text: []byte(strings.TrimPrefix(inner, "\n") + "\n"), At: notebooks.Span(c.Span),
		Place: c.place(at, 1)})
}

// place gives the places in the file of those of the source of a cell, some lines of it left out at its head.
func (c *Cell) place(at *notebooks.Places, skipped int) func(line, col int) (int, int) {
	places := lineOffsets(c.SourceAt)
	return func(l, col int) (int, int) {
		if l += skipped - 1; l >= len(places) {
			return at.Position(c.SourceAt.Span.End)
		}
		line, first := at.Position(places[l])
		return line, first + col - 1
	}
}

// contractKey finds the keys of a front matter that restrict a run.
var contractKey = lazyregexp.New(`(?m)^(?:allow|forbid|require|limits|secrets|forbidden_actions|` +
	`approval|mode|risk|sandbox|network)[ \t]*:`)

// head returns the text on top that may be a front matter which matter does not find: of a raw cell, or of a Markdown
// cell that would restrict the run. Other tools have a front matter in a Markdown cell, and it is theirs.
func (nb *Notebook) head(at *notebooks.Places, found []notebooks.FrontMatter) *notebooks.FrontMatter {
	if len(nb.Cells) == 0 {
		return nil
	}
	c := &nb.Cells[0]
	own := c.Type == "raw" && !slices.ContainsFunc(found,
		func(m notebooks.FrontMatter) bool { return m.At == notebooks.Span(c.Span) })
	if !own && (c.Type != "markdown" || !contractKey.MatchString(c.Source)) {
		return nil
	}
	return &notebooks.FrontMatter{
		Text: []byte(c.Source), At: notebooks.Span(c.Span), Place: c.place(at, 0)}
}

// lineOffsets returns the file offsets of the lines of a string, or of a list of strings.
func lineOffsets(v Value) []int {
	c := codec.NewCursor(v.Raw, 0)
	var places []int
	open := true // the next text begins a line
	text := func() error {
		begin := c.Offset()
		span, err := c.Skip()
		if open {
			places = append(places, v.Span.Start+begin+1)
			open = false
		}
		for at := begin + 1; at < span.End-1; {
			size, ends := 1, false
			if v.Raw[at] == '\\' {
				size, ends = 2, v.Raw[at+1] == 'n'
				if v.Raw[at+1] == 'u' {
					size, ends = 6, strings.EqualFold(string(v.Raw[at+2:at+6]), "000a")
				}
			}
			at += size
			switch {
			case ends && at < span.End-1:
				places = append(places, v.Span.Start+at)
			case ends:
				open = true
			}
		}
		return err
	}
	if c.Kind() == '[' {
		_, _ = c.Array(func() error { c.Kind(); return text() })
	} else {
		_ = text()
	}
	return places
}

// options returns the step options in a cell's metadata.
func (c *Cell) options(step *notebooks.Cell) {
	own := c.Metadata.at(keyMarkmill)
	if own.Raw == nil {
		return
	}
	step.Strict = true
	for _, m := range Members(own) {
		switch {
		case slices.Contains(results, m.Name):
		case m.Name == keyLanguage:
			if lang := m.Text(); lang != "" {
				step.Lang, step.Apart = lang, true
				step.Code, step.CodeLine = belowMagic(step.Code, step.CodeLine)
			}
		case m.Name == keyBlock:
			step.Block = m.Text()
		case slices.Contains(kept, m.Name):
		default:
			step.Options = append(step.Options, notebooks.Option{Name: m.Name, Value: m.Raw, At: m.Span.Start})
		}
	}
}

// belowMagic returns code without the cell magic in its first line.
func belowMagic(code string, line int) (string, int) {
	if !strings.HasPrefix(code, "%%") || len(code) < 3 || code[2] < utf8.RuneSelf &&
		strings.ContainsRune(" \t\n%", rune(code[2])) {
		return code, line
	}
	_, rest, _ := strings.Cut(code, "\n")
	return rest, line + 1
}
