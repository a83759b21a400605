package convert

import (
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/markdown"
)

// MyST: cells of code and raw ones are directives in fences, with options before their text; +++ parts cells of
// Markdown, with metadata as JSON behind it.

var blockBreak = lazyregexp.New(`^ {0,3}\+\+\+(.*)$`)

func readMyST(d *Document, t *text, nb *notebooks.Notebook) error {
	first, err := d.mystHeader(t)
	if err != nil {
		return err
	}
	r := mystReader{Document: d, text: t, start: first, part: -1}
	from, lexer := first, ""
	for _, f := range nb.Fences {
		line, next := t.line(f.Span.Start), t.line(f.Span.End)
		if err := r.breaks(from, line); err != nil {
			return err
		}
		from = next
		word, rest, _ := strings.Cut(f.Info, "}")
		kind := map[string]string{"{code-cell": "code", "{raw-cell": "raw"}[word]
		if kind == "" {
			continue
		}
		r.prose(line)
		r.start = next
		if rest = strings.TrimSpace(rest); kind == "code" && lexer == "" {
			lexer = rest
		}
		if err := r.directive(kind, f, line); err != nil {
			return err
		}
	}
	if err := r.breaks(from, len(t.lines)); err != nil {
		return err
	}
	r.prose(len(t.lines))
	if lexer != "" && len(d.Metadata.object("language_info")) == 0 {
		o := d.Metadata.object(keyJupytext)
		o.Set("default_lexer", quoted(lexer))
		d.Metadata.setObject(keyJupytext, o)
	}
	d.takeSteps(nb)
	return nil
}

// mystHeader reads the front matter, which is the notebook's metadata. It returns the index of the line after it.
func (d *Document) mystHeader(t *text) (next int, err error) {
	header, next := t.frontMatter()
	if next == 0 {
		return 0, nil
	}
	o, bad := yamlObject(header)
	if bad != nil {
		return 0, d.problem(1+bad.line, bad.col, "the header cannot be read: "+bad.msg, "write it as YAML, key: value")
	}
	if jupyter := o.object("jupyter"); len(jupyter) > 0 { // where Jupytext puts names that are not valid at the root
		o = o.without("jupyter")
		for _, f := range jupyter {
			if f.Name == keyJupytext {
				inner := o.object(keyJupytext)
				for _, g := range objectOf(f.Value) {
					inner.Set(g.Name, g.Value)
				}
				f.Value = inner.Raw()
			}
			o.Set(f.Name, f.Value)
		}
	}
	if first := rawFields(o, header); first != "" {
		d.Cells = append(d.Cells, Cell{Type: "raw", Source: "---\n" + first + "---", at: t.at(next)})
		for _, name := range leftOut(o) {
			o = o.without(name)
		}
	}
	d.Metadata = o
	d.keepFront(o)
	return next, nil
}

// leftOut returns the names of fields of the header that were a raw cell on top, as Jupytext notes them.
func leftOut(o Object) (names []string) {
	for word := range strings.SplitSeq(o.object(keyJupytext).text("root_level_metadata_filter"), ",") {
		if name, ok := strings.CutPrefix(word, "-"); ok && o.Has(name) {
			names = append(names, name)
		}
	}
	return names
}

// rawFields returns the lines of these fields.
func rawFields(o Object, header string) string {
	var b strings.Builder
	names, in := leftOut(o), false
	for line := range strings.Lines(header) {
		if !strings.ContainsAny(line[:1], " \t-\n") {
			name, _, _ := strings.Cut(line, ":")
			in = slices.Contains(names, name)
		}
		if in {
			b.WriteString(line)
		}
	}
	return b.String()
}

// mystReader reads the cells of a document.
type mystReader struct {
	*Document
	*text
	start    int    // line at which the next cell of Markdown begins
	part     int    // line of the +++ before it; -1 without one
	metadata Object // behind that +++
}

// prose adds the cell of Markdown that ends before a line.
func (r *mystReader) prose(end int) {
	first, next := r.trimmed(r.start, end)
	text := strings.TrimRight(join(r.lines[first:next]), " \t\n\f\v")
	if text != "" {
		if r.part >= 0 {
			first = r.part
		}
		r.Cells = append(r.Cells, Cell{Type: "markdown", Source: text, Metadata: r.metadata, at: r.at(first)})
	}
	r.metadata, r.part = nil, -1
}

// breaks reads the lines of +++ between two fences.
func (r *mystReader) breaks(first, next int) error {
	for i := first; i < next; i++ {
		found := blockBreak.FindStringSubmatch(r.lines[i].Text)
		if found == nil {
			continue
		}
		r.prose(i)
		r.start, r.part = i+1, i
		text := strings.TrimSpace(found[1])
		if text == "" {
			continue
		}
		raw := codec.Raw(text)
		if !raw.IsValid() || raw.Kind() != '{' {
			return r.problem(i+1, 1, "the text after +++ is not a JSON object",
				`write +++ {"name": "value"}, or +++ alone`)
		}
		r.metadata = objectOf(raw)
	}
	return nil
}

// directive adds the cell of a fence that begins at a line.
func (r *mystReader) directive(kind string, f notebooks.Part, line int) error {
	f.Form = notebooks.FormMyST // of a raw cell, too
	length, options := markdown.Options(&f)
	metadata, bad := yamlObject(string(options))
	if bad != nil {
		if strings.HasPrefix(string(f.Code), "---") {
			bad.line++
		}
		return r.problem(line+1+bad.line, bad.col, "the options of the cell cannot be read: "+bad.msg,
			"write them as YAML, key: value")
	}
	code := strings.TrimSuffix(string(f.Code[length:]), "\n")
	if first, rest, _ := strings.Cut(code, "\n"); blankLine.MatchString(first) {
		code = rest
	}
	r.Cells = append(r.Cells, Cell{Type: kind, Source: code, Metadata: metadata, at: r.at(line)})
	return nil
}

func writeMyST(d *Document) (*page, error) {
	own := d.textMetadata()
	lexer := own.object("language_info").text("pygments_lexer")
	jupytext := d.representation(".md", "myst", "0.13")
	lexer = cmp.Or(lexer, jupytext.text("default_lexer"))
	own.setObject(keyJupytext, jupytext.without("default_lexer"))
	own = forMyST(own)
	p := &page{header: "---\n" + d.frontYAML(own) + yamlText(own, true) + "---\n", cells: make([]string, len(d.Cells))}
	last := "" // type of the cell before
	for i := range d.Cells {
		c := &d.Cells[i]
		fields := d.fields(c)
		var b strings.Builder
		switch c.Type {
		case "markdown":
			if len(fields) > 0 {
				b.WriteString("+++ " + spaced(fields.Raw()) + "\n\n")
			} else if last == "markdown" {
				b.WriteString("+++\n\n")
			}
			b.WriteString(strings.TrimRight(c.Source, " \t\n") + "\n")
		default:
			fence := fenceFor(c.Source)
			b.WriteString(fence + "{" + c.Type[:min(4, len(c.Type))] + "-cell}")
			if lexer != "" && c.Type == "code" {
				b.WriteString(" " + lexer)
			}
			b.WriteString("\n" + options(fields))
			if len(fields) == 0 && (strings.HasPrefix(c.Source, "---") ||
				strings.HasPrefix(strings.TrimLeft(c.Source, " \t"), ":") || strings.HasPrefix(c.Source, "\n")) {
				b.WriteString("\n")
			}
			if c.Source != "" {
				b.WriteString(c.Source + "\n")
			}
			b.WriteString(fence + "\n")
		}
		last = c.Type
		p.cells[i] = b.String()
	}
	p.space()
	return p, nil
}

// forMyST returns a header that Jupytext can read: without null, and with names that are not valid at the root moved
// under jupyter.
func forMyST(o Object) Object {
	var root, inner Object
	for _, f := range o {
		switch {
		case string(f.Value) == "null":
			continue
		case f.Value[0] == '{' && len(objectOf(f.Value)) > 0:
			if f.Value = forMyST(objectOf(f.Value)).Raw(); f.Value == nil {
				continue
			}
		}
		if fieldName.MatchString(f.Name) {
			root = append(root, f)
		} else {
			inner = append(inner, f)
		}
	}
	if len(inner) > 0 {
		root = append(root, Field{"jupyter", inner.Raw()})
	}
	return root
}

// space puts an empty line between the parts.
func (p *page) space() {
	last := &p.header
	for i := range p.cells {
		if p.cells[i] == "" {
			continue
		}
		if *last != "" {
			*last += "\n"
		}
		last = &p.cells[i]
	}
}

// options are metadata before the text of a directive: lines of :name: value where each fits one line, else YAML
// between ---.
func options(fields Object) string {
	if len(fields) == 0 {
		return ""
	}
	text := yamlText(fields, true)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if c := line[0] | 0x20; c < 'a' || c > 'z' {
			return "---\n" + text + "---\n"
		}
		b.WriteString(":" + line)
	}
	return b.String() + "\n"
}

// keepFront keeps the keys of a front matter that are Markmill's.
func (d *Document) keepFront(all Object) {
	var front Object
	for _, f := range all {
		if markdown.FrontKey(f.Name) && f.Name != "title" && f.Name != "description" {
			front = append(front, f)
		}
	}
	if len(front) > 0 {
		d.Metadata.setOwn(keyFront, front.Raw())
	}
}
