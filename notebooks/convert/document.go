package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"sort"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/markdown"
)

// Document is a notebook of any form as a list of cells.
type Document struct {
	Name     string         // of the file, for messages
	Form     notebooks.Form // that it was read of
	Metadata Object         // of the notebook, as Jupyter has it
	Cells    []Cell

	crlf     bool           // all its lines end with CR LF
	examples bool           // some of its cells of code are not steps of a run of it
	hidden   bool           // some steps of a run of it are in cells of text
	to       notebooks.Form // that it is written in
	out      string         // the name of the file that it is written to
	rawFront bool           // a raw cell on top stays one
	source   string         // the text that was read
	header   string         // of a text form, the text before the first cell
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
	keySpelling   = "spelling" // how the text was written, where this package would write it otherwise
	keyLanguage   = "language" // of code that Markmill runs with another kernel than the notebook's
	keyBlock      = "block"    // the text of the parameters block that became the cell
	keyKernelspec = "kernelspec"
	keyJupytext   = "jupytext"
)

// own returns Markmill's values in the metadata of a cell or a notebook.
func (o Object) own() Object { return o.object(keyMarkmill) }

// setOwn sets one of them; nil removes it.
func (o *Object) setOwn(name string, value codec.Raw) {
	own := o.own()
	if value == nil {
		own = own.without(name)
	} else {
		own.Set(name, value)
	}
	o.setObject(keyMarkmill, own)
}

// Language returns the language of the notebook's code, in lower case; python where nothing says it.
func (d *Document) Language() string {
	spec := d.Metadata.object(keyKernelspec)
	lang := cmp.Or(d.Metadata.object(keyJupytext).text("main_language"), spec.text("language"),
		d.Metadata.object("language_info").text("name"))
	if lang == "" {
		lang = map[string]string{"ir": "r", "bash": "bash"}[spec.text("name")]
	}
	return usualLanguage(cmp.Or(lang, "python"))
}

// tags returns the tags of a cell.
func (c *Cell) tags() []string { return c.Metadata.texts("tags") }

// Read reads a notebook of a form; "" finds out which one it is. Every step of a run is a cell of code: where the form
// takes one for text, all cells are read as those of Markmill's own form. The errors are *notebooks.Error or a
// notebooks.ErrorList.
func Read(form notebooks.Form, name string, src []byte) (*Document, error) {
	d, nb, err := readForm(form, name, src)
	if err != nil || !d.hidden {
		return d, err
	}
	own, err := textOfSource(src).readNative(d, nb)
	if err == nil { // it is written back in its form
		own.Form = d.Form
		own.Metadata.setOwn(keyForm, nil)
	}
	return own, err
}

// readForm reads a notebook by the rules of its form alone. nb is what a run sees of a Markdown notebook.
func readForm(form notebooks.Form, name string, src []byte) (d *Document, nb *notebooks.Notebook, err error) {
	detect := form == ""
	if detect {
		form = forms.Detect(name, src)
	}
	if form == notebooks.FormJupyter {
		d, err = readJupyter(name, src)
		return d, nil, err
	}
	if err := notebooks.CheckText(name, src); err != nil {
		return nil, nil, err
	}
	t := textOfSource(src)
	if !form.Script() {
		if nb, err = markdown.ParseAs(form, name, []byte(t.src)); err != nil {
			return nil, nil, err
		}
		if detect {
			form = conversionForm(nb)
		}
	}
	d, err = t.read(&Document{Name: name, Form: form}, nb)
	return d, nb, err
}

// read reads the text as the form of the document. nb is the same Markdown as a run parses it; cells are made of its
// fences.
func (t *text) read(d *Document, nb *notebooks.Notebook) (*Document, error) {
	d.crlf, d.source = t.crlf, t.src
	if nb != nil {
		t.fences = map[int]int{}
		for _, f := range nb.Fences {
			t.fences[t.line(f.Span.Start)] = t.line(f.Span.End)
		}
	}
	read, ok := readers[d.Form]
	if !ok {
		return nil, fmt.Errorf("there is no form %q", d.Form)
	}
	if err := read(d, t, nb); err != nil {
		return nil, err
	}
	d.cut(t)
	return d, nil
}

// readers read the text forms: they fill metadata and cells, and where each cell begins.
var readers = map[notebooks.Form]func(*Document, *text, *notebooks.Notebook) error{
	notebooks.FormNative:    readNative,
	notebooks.FormJupytext:  readJupytext,
	notebooks.FormMyST:      readMyST,
	notebooks.FormQuarto:    readQuarto,
	notebooks.FormRMarkdown: readJupytext,
	notebooks.FormPercent:   readPercent,
	notebooks.FormLight:     readPercent,
}

// cut assigns each cell its part of the text.
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
	lines []blocks.Line
	crlf  bool

	fences map[int]int // of Markdown, at the top level: from the first line to the line after it
}

func textOfSource(src []byte) *text {
	t := &text{}
	if n := bytes.Count(src, []byte("\n")); n > 0 && n == bytes.Count(src, []byte("\r\n")) &&
		n == bytes.Count(src, []byte("\r")) {
		t.crlf = true
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	}
	t.src = string(src)
	t.lines = blocks.Lines(t.src)
	return t
}

// textOfCell returns a Markdown cell's text as text, to find out how it would be read.
func textOfCell(source string) *text {
	t := textOfSource([]byte(source + "\n"))
	fences, _ := blocks.Scan([]byte(t.src), 0)
	t.fences = map[int]int{}
	for _, f := range fences {
		if f.Inside == "" {
			t.fences[t.line(f.Span.Start)] = t.line(f.Span.End)
		}
	}
	return t
}

// line returns the index of the line that begins at an offset; at the end of the text, how many there are.
func (t *text) line(offset int) int {
	return sort.Search(len(t.lines), func(i int) bool { return t.lines[i].At >= offset })
}

// trimmed returns the range of lines without leading and trailing empty ones.
func (t *text) trimmed(first, next int) (int, int) {
	for first < next && blankLine.MatchString(t.lines[first].Text) {
		first++
	}
	for next > first && blankLine.MatchString(t.lines[next-1].Text) {
		next--
	}
	return first, next
}

// frontMatter returns the YAML between two lines of --- at the head; next is the line after it.
func (t *text) frontMatter() (yaml string, next int) {
	if len(t.lines) == 0 || !ruleLine.MatchString(t.lines[0].Text) {
		return "", 0
	}
	for i := 1; i < len(t.lines); i++ {
		if ruleLine.MatchString(t.lines[i].Text) {
			return join(t.lines[1:i]) + "\n", i + 1
		}
	}
	return "", 0
}

// at returns the offset of a line, or the end.
func (t *text) at(i int) int {
	if i < len(t.lines) {
		return t.lines[i].At
	}
	return len(t.src)
}

// join returns the text of some lines.
func join(lines []blocks.Line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.Text)
	}
	return b.String()
}

// problem returns an error at a position of the text, from 1.
func (d *Document) problem(line, col int, msg, hint string) error {
	return &notebooks.Error{Kind: notebooks.KindSyntax, File: d.Name, Line: line, Col: col, Msg: msg, Hint: hint}
}
