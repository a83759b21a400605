package convert

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/markdown"
)

// To writes the document in a form, to a file of the given name. It reads the result back: what is missing from it is
// returned as losses, and a cell whose text would be read as something else is an error.
func (d *Document) To(form notebooks.Form, name string) ([]byte, []Loss, error) {
	if form == notebooks.FormJupyter {
		b, err := d.toJupyter()
		return b, nil, err
	}
	w := *d
	w.to, w.out = form, name
	var failed error
	for try := range 3 {
		// A kept spelling may not fit if other cells changed, and a raw first cell may not be front matter in this
		// form.
		w.rawFront = try == 2
		out, err := w.page(try == 0)
		if err != nil {
			return nil, nil, err
		}
		losses, err := w.check(out)
		if err == nil {
			return out, losses, nil
		}
		failed = err
	}
	return nil, nil, failed
}

// page returns the text. With spelled, unchanged cells keep the text they had before they were converted.
func (d *Document) page(spelled bool) ([]byte, error) {
	p, err := writers[d.to](d)
	if err != nil {
		return nil, err
	}
	crlf := d.crlf
	if spelled {
		crlf = d.respell(p) || crlf
	}
	out := []byte(p.String())
	if crlf {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	return out, nil
}

// toJupyter writes a Jupyter notebook, keeping the text's spelling where writing it back would differ.
func (d *Document) toJupyter() ([]byte, error) {
	if d.Form == notebooks.FormJupyter {
		return d.Jupyter()
	}
	bare, err := d.Jupyter()
	if err != nil {
		return nil, err
	}
	back, err := readJupyter(d.Name, bare)
	if err != nil {
		return nil, err
	}
	back.to, back.out = d.Form, d.Name
	p, err := writers[d.Form](back)
	if err != nil {
		return nil, err
	}
	kept := *d
	kept.Cells = append([]Cell(nil), d.Cells...)
	kept.Metadata = d.Metadata.without()
	kept.keepSpelling(p)
	return kept.Jupyter()
}

// check reads what was written.
func (d *Document) check(out []byte) ([]Loss, error) {
	name := d.out
	if name == "" || name == "-" {
		name = d.Name
	}
	back, err := Read(d.to, name, out)
	if err != nil {
		return nil, d.unreadable(err)
	}
	losses, err := d.compare(back)
	if own, nb, failed := readForm(d.to, name, out); err != nil && failed == nil && own.hidden {
		return nil, d.holdsStep(own, nb)
	}
	return losses, err
}

// holdsStep returns the error for a text cell in which a run finds a step. own are the form's cells.
func (d *Document) holdsStep(own *Document, nb *notebooks.Notebook) error {
	for i := range min(len(d.Cells), len(own.Cells)) {
		c, start := &d.Cells[i], own.Cells[i].at
		for _, s := range nb.Steps {
			if c.Type != "code" && s.Fence.Start >= start && s.Fence.Start < start+len(own.Cells[i].text) {
				line, col := d.position(c.at)
				return d.problem(line, col,
					fmt.Sprintf("cell %d cannot be written as %s: a run would take the fence in its text "+
						"that begins %q for a step", i+1, d.to.Title(), firstLine(string(s.Code))),
					"take the id or tag off the fence")
			}
		}
	}
	return fmt.Errorf("%s cannot be written as %s: a run would take text for a step", d.Name, d.to.Title())
}

// unreadable returns the error for a text that cannot be read, naming the offending cell if possible.
func (d *Document) unreadable(err error) error {
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Type == "code" {
			continue
		}
		var list notebooks.ErrorList
		if _, err := markdown.Parse("cell.md", []byte("\n"+c.Source)); errors.As(err, &list) {
			line, col := d.position(c.at)
			return d.problem(line, col, fmt.Sprintf("cell %d cannot be written as %s: %s",
				i+1, d.to.Title(), list[0].Msg),
				list[0].Hint)
		}
	}
	return fmt.Errorf("%s cannot be written as %s: what comes out cannot be read: %w", d.Name, d.to.Title(), err)
}

// position returns the line and column of an offset of what was read.
func (d *Document) position(offset int) (line, col int) {
	at := notebooks.Notebook{Source: []byte(d.source)}
	return at.Position(min(offset, len(d.source)))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return notebooks.Cut(s, 39)
}

// conversionForm returns the form of a Markdown notebook as conversions distinguish them.
func conversionForm(nb *notebooks.Notebook) notebooks.Form {
	if named := notebooks.FormOfName(nb.Name); named.Markdown() && named != notebooks.FormNative {
		return named
	}
	switch nb.Form {
	case notebooks.FormJupytext, notebooks.FormMyST, notebooks.FormQuarto:
		return nb.Form
	}
	return notebooks.FormNative
}

// FormFor returns the form of a file by its name, where several forms share its extension.
func (d *Document) FormFor(name string) notebooks.Form {
	if !notebooks.FormOfName(name).Script() {
		return d.MarkdownForm()
	}
	written := d.Metadata.object(keyJupytext).object("text_representation").text("format_name")
	if _, spelled := d.Metadata.spelling(notebooks.FormLight); spelled || d.Form == notebooks.FormLight ||
		written == "light" {
		return notebooks.FormLight
	}
	return notebooks.FormPercent
}

// MarkdownForm returns the form that a .md file of the notebook has: the one that it was converted from, as its
// metadata say, or else Markmill's own.
func (d *Document) MarkdownForm() notebooks.Form {
	switch own := d.Metadata.own(); {
	case d.Form == notebooks.FormNative, own.text(keyForm) == string(notebooks.FormNative):
		return notebooks.FormNative
	case d.Form == notebooks.FormJupytext || d.Form == notebooks.FormMyST:
		return d.Form
	}
	switch d.Metadata.object(keyJupytext).object("text_representation").text("format_name") {
	case "markdown":
		return notebooks.FormJupytext
	case "myst":
		return notebooks.FormMyST
	}
	for _, form := range []notebooks.Form{notebooks.FormJupytext, notebooks.FormMyST} {
		if _, ok := d.Metadata.spelling(form); ok {
			return form
		}
	}
	return notebooks.FormNative
}

// A text form has many spellings of a cell, and one that is written here. Where the author's is another one, a Jupyter
// notebook keeps it in the cell's metadata, with the digest of the text that this package would write: a cell that was
// changed since is written anew.

// spelling is how one part of a text was written.
type spelling struct {
	Form string `json:"form"`           // its option
	Of   string `json:"of"`             // digest of the part as this package writes it
	Text string `json:"text,omitempty"` // the part as it was
	CRLF bool   `json:"crlf,omitzero"`  // of a header: all lines of the text end so
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func (o Object) spelling(form notebooks.Form) (s spelling, ok bool) {
	raw := o.own().Get(keySpelling)
	if raw == nil || codec.UnmarshalForeign(raw, &s) != nil {
		return s, false
	}
	return s, s.Form == form.Option()
}

// keepSpelling keeps the parts of the text that differ from the page that would be written.
func (d *Document) keepSpelling(p *page) {
	keep := func(o *Object, written, was string, crlf bool) {
		if written == was && !crlf {
			return
		}
		s := spelling{Form: d.Form.Option(), Of: digest(written), Text: was, CRLF: crlf}
		raw, err := codec.Marshal(s)
		if err != nil {
			return // cannot happen: these are strings
		}
		*o = o.without()
		o.setOwn(keySpelling, raw)
	}
	keep(&d.Metadata, p.header, d.header, d.crlf)
	for i := range d.Cells {
		keep(&d.Cells[i].Metadata, p.cells[i], d.Cells[i].text, false)
	}
}

// respell restores the kept spellings, and reports whether lines end with CR LF.
func (d *Document) respell(p *page) (crlf bool) {
	if s, ok := d.Metadata.spelling(d.to); ok {
		crlf = s.CRLF
		if s.Of == digest(p.header) {
			p.header = s.Text
		}
	}
	for i := range d.Cells {
		if s, ok := d.Cells[i].Metadata.spelling(d.to); ok && s.Of == digest(p.cells[i]) {
			p.cells[i] = s.Text
		}
	}
	return crlf
}
