package convert

import (
	"bytes"
	"fmt"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Document is a notebook as its cells, whatever form it was read of.
type Document struct {
	Name     string         // of the file, for messages
	Form     notebooks.Form // that it was read of
	Metadata Object         // of the notebook, as Jupyter has it
	Cells    []Cell

	crlf     bool           // all its lines end with CR LF
	stray    bool           // some of its cells of code are no steps of a run of it, or steps are no cells of it
	to       notebooks.Form // that it is written in
	out      string         // the name of the file that it is written to
	rawFront bool           // a raw cell on top stays one
	source   string         // the text that was read
	header   string         // of a text form, what stands before the first cell
}

// Cell is one cell.
type Cell struct {
	Type        string // code, markdown or raw
	ID          string // "" without one
	Source      string // of code in another language than the notebook's, below a magic: %%bash
	Metadata    Object
	Attachments codec.Raw
	Outputs     codec.Raw
	Count       int

	at   int    // where it begins in the text that was read
	text string // all of it there, up to the next cell
}

// Names in the metadata.
const (
	keyMarkmill   = "markmill" // of a notebook: form, front; of a cell: what a fence of Markmill's has as attributes
	keyForm       = "form"     // the text form that names steps by the ids of cells
	keyFront      = "front"    // the front matter
	keySpelling   = "spelling" // how the text was written where it was not as it is written here
	keyLanguage   = "language" // of code that Markmill runs with another kernel than the notebook's
	keyBlock      = "block"    // the text of the parameters block that a cell stands for
	keyKernelspec = "kernelspec"
	keyJupytext   = "jupytext"
)

// own are the values of a cell, or of a notebook, that are Markmill's.
func (o Object) own() Object { return o.object(keyMarkmill) }

// setOwn sets one of them; nil takes it out.
func (o *Object) setOwn(name string, value codec.Raw) {
	own := o.own()
	if value == nil {
		own = own.without(name)
	} else {
		own.Set(name, value)
	}
	o.setObject(keyMarkmill, own)
}

// Language is the language of the notebook's code, in lower case; python where nothing says it.
func (d *Document) Language() string {
	for _, lang := range []string{d.Metadata.object(keyJupytext).text("main_language"), d.Metadata.object(keyKernelspec).text("language"),
		d.Metadata.object("language_info").text("name")} {
		if lang != "" {
			return usualLanguage(lang)
		}
	}
	switch name := d.Metadata.object(keyKernelspec).text("name"); {
	case name == "ir":
		return "r"
	case name == "bash":
		return "bash"
	}
	return "python"
}

// tags are the tags of a cell.
func (c *Cell) tags() []string { return c.Metadata.texts("tags") }

func wordSet(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// Read reads a notebook of a form. The errors are *notebooks.Error or a notebooks.ErrorList.
func Read(form notebooks.Form, name string, src []byte) (*Document, error) {
	if form == notebooks.FormJupyter {
		return readJupyter(name, src)
	}
	if err := notebooks.CheckText(name, src); err != nil {
		return nil, err
	}
	d := &Document{Name: name, Form: form}
	t := textOfSource(src)
	d.crlf, d.source = t.crlf, t.src
	read, ok := readers[form]
	if !ok {
		return nil, fmt.Errorf("there is no form %q", form)
	}
	if err := read(d, t); err != nil {
		return nil, err
	}
	d.cut(t)
	return d, nil
}

// readers read the text forms: they fill metadata and cells, and where each cell begins.
var readers = map[notebooks.Form]func(*Document, *text) error{
	notebooks.FormNative:    readNative,
	notebooks.FormJupytext:  readJupytext,
	notebooks.FormMyST:      readMyST,
	notebooks.FormQuarto:    readQuarto,
	notebooks.FormRMarkdown: readJupytext,
	notebooks.FormPercent:   readPercent,
}

// cut gives each cell its part of the text.
func (d *Document) cut(t *text) {
	end := len(t.src)
	for i := len(d.Cells) - 1; i >= 0; i-- {
		c := &d.Cells[i]
		c.text = t.src[c.at:end]
		end = c.at
	}
	d.header = t.src[:end]
}

// text is a source and its lines.
type text struct {
	src   string // with LF alone, if all its lines ended with CR LF
	lines []line
	crlf  bool
}

// line is one line, without its end.
type line struct {
	text string
	at   int // offset in the source
}

func textOfSource(src []byte) *text {
	t := &text{}
	if n := bytes.Count(src, []byte("\n")); n > 0 && n == bytes.Count(src, []byte("\r\n")) && n == bytes.Count(src, []byte("\r")) {
		t.crlf = true
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	}
	t.src = string(src)
	at := 0
	if strings.HasPrefix(t.src, "\ufeff") {
		at = len("\ufeff")
	}
	for at < len(t.src) {
		end, next := len(t.src), len(t.src)
		if n := strings.IndexByte(t.src[at:], '\n'); n >= 0 {
			end, next = at+n, at+n+1
		}
		t.lines = append(t.lines, line{strings.TrimSuffix(t.src[at:end], "\r"), at})
		at = next
	}
	return t
}

// at is the offset of a line, or the end.
func (t *text) at(i int) int {
	if i < len(t.lines) {
		return t.lines[i].at
	}
	return len(t.src)
}

// join is the text of some lines.
func join(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return b.String()
}

// sourceLines are the lines of a cell; an empty text has one.
func sourceLines(source string) []string { return strings.Split(source, "\n") }

// problem is an error at a place of the text, from 1.
func (d *Document) problem(line, col int, msg, hint string) error {
	return &notebooks.Error{Kind: notebooks.KindSyntax, File: d.Name, Line: line, Col: col, Msg: msg, Hint: hint}
}
