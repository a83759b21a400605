package convert

import (
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/markdown"
	"markmill/notebooks/percent"
)

// page is a notebook in a text form: a header, and a part for each cell.
type page struct {
	header string
	cells  []string
}

func (p *page) String() string { return p.header + strings.Join(p.cells, "") }

// writers write the text forms. Each cell of the document has its part, which may be empty.
var writers = map[notebooks.Form]func(*Document) (*page, error){
	notebooks.FormNative: writeNative, notebooks.FormJupytext: writeJupytext, notebooks.FormMyST: writeMyST,
	notebooks.FormQuarto: writeQuarto, notebooks.FormRMarkdown: writeJupytext, notebooks.FormPercent: writePercent,
	notebooks.FormLight: writeLight,
}

// representation says to Jupytext which of its forms a file is.
func (d *Document) representation(ext, name, version string) Object {
	o := d.Metadata.object(keyJupytext)
	r := o.object("text_representation")
	if r.text("format_name") != name || r.text("extension") != ext {
		r = Object{{"extension", quoted(ext)}, {"format_name", quoted(name)}, {"format_version", quoted(version)}}
	}
	o.setObject("text_representation", r)
	return o
}

// textMetadata returns the notebook's metadata that a text holds: not the state of widgets and what a run noted, which
// belong to outputs.
func (d *Document) textMetadata() Object {
	return d.Metadata.without(keyMarkmill, "widgets", "papermill")
}

// frontCell returns the header in a raw first cell, where Jupytext keeps it; false if there is none.
func (d *Document) frontCell() (inner string, ok bool) {
	if len(d.Cells) == 0 || d.rawFront || d.Cells[0].Type != "raw" ||
		len(d.Cells[0].Metadata.without(keyMarkmill)) > 0 ||
		len(d.Cells[0].Attachments) > 0 {
		return "", false
	}
	inner, ok = strings.CutPrefix(d.Cells[0].Source, "---\n")
	if !ok {
		return "", false
	}
	if inner, ok = strings.CutSuffix("\n"+inner, "\n---"); !ok || inner == "" {
		return "", false
	}
	inner = strings.TrimPrefix(inner, "\n")
	for _, l := range strings.Split(inner, "\n") {
		if ruleLine.MatchString(l) || jupyterLine.MatchString(l) {
			return "", false
		}
	}
	return inner, true
}

// jupytextHeader returns the front matter of Jupytext's Markdown and scripts, without comment signs; own are the
// metadata of the notebook.
func (d *Document) jupytextHeader(own Object) (header string, fromCell bool) {
	var b strings.Builder
	b.WriteString("---\n")
	inner, fromCell := d.frontCell()
	var stands Object
	if fromCell {
		b.WriteString(inner + "\n")
		stands, _ = yamlObject(inner)
	}
	b.WriteString(d.frontYAML(stands))
	b.WriteString(yamlText(Object{{"jupyter", sorted(own).Raw()}}, false))
	b.WriteString("---\n")
	return b.String(), fromCell
}

// frontYAML returns the front matter in a notebook's metadata, without the keys that are already written.
func (d *Document) frontYAML(stands Object) string {
	var front Object
	for _, f := range d.Metadata.own().object(keyFront) {
		if !stands.Has(f.Name) {
			front = append(front, f)
		}
	}
	if len(front) == 0 {
		return ""
	}
	return yamlText(front, true)
}

// sorted returns an object with its names in order, inside of it too.
func sorted(o Object) Object {
	out := o.without()
	slices.SortFunc(out, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	for i := range out {
		if v := out[i].Value; v[0] == '{' && len(objectOf(v)) > 0 {
			out[i].Value = sorted(objectOf(v)).Raw()
		}
	}
	return out
}

func writeJupytext(d *Document) (*page, error) {
	m := d.jupytext()
	ext, name, version := ".md", "markdown", "1.3"
	if m.rmd {
		ext, name, version = ".Rmd", "rmarkdown", "1.2"
	}
	own := d.textMetadata()
	own.setObject(keyJupytext, d.representation(ext, name, version))
	header, fromCell := d.jupytextHeader(own)
	p := &page{header: header, cells: make([]string, len(d.Cells))}
	if len(d.Cells) > 0 && !(fromCell && len(d.Cells) == 1) {
		p.header += "\n"
	}
	lang := d.Language()
	m.main = lang
	marked := make([]bool, len(d.Cells))
	for i := range d.Cells {
		c := &d.Cells[i]
		switch {
		case i == 0 && fromCell:
		case c.Type == "code":
			p.cells[i] = m.code(d, c, lang)
		default:
			p.cells[i], marked[i] = m.other(d, c)
		}
	}
	for i := range d.Cells {
		if i == 0 && fromCell || i == len(d.Cells)-1 {
			continue
		}
		p.cells[i] += "\n"
		plain := func(i int) bool { return d.Cells[i].Type != "code" && !marked[i] }
		if plain(i) && plain(i+1) && !(m.atHeading && strings.HasPrefix(p.cells[i+1], "#")) {
			p.cells[i] += "\n"
		}
	}
	return p, nil
}

// code returns a cell of code.
func (m *jupytext) code(d *Document, c *Cell, main string) string {
	fields := d.fields(c)
	source, lang := c.Source, cmp.Or(fields.text("language"), main)
	fields = fields.without("language")
	if l, args, rest, ok := magic(c.Source, main); ok {
		lang, source = l, rest
		if args != "" {
			fields.Set("magic_args", quoted(args))
		}
	} else if m.rmd && percent.Active(fields.Get, "Rmd") {
		source = markdown.CommentMagics(source, lang)
	}
	fence := fenceFor(source)
	if m.rmd {
		if !percent.Active(fields.Get, "Rmd") {
			fields.Set("eval", []byte("false"))
		}
		return fence + "{" + chunkText(fenceLanguage(lang), fields) + "}\n" + source + "\n" + fence + "\n"
	}
	return fence + optionText(fenceLanguage(lang), fields) + "\n" + source + "\n" + fence + "\n"
}

var (
	edgeBlank = lazyregexp.New(`^\s*(?:\n|$)|\n\s*$`)
	codeSpan  = lazyregexp.New("(?m)^```.*`") // which Jupytext takes for a fence
)

// other returns a cell of Markdown, or a raw one, between comments where it must be.
func (m *jupytext) other(d *Document, c *Cell) (text string, marked bool) {
	region, fields := d.region(c)
	if c.Type == "markdown" && len(fields) == 0 && region == "region" && !edgeBlank.MatchString(c.Source) &&
		!codeSpan.MatchString(c.Source) {
		t := textOfCell(c.Source)
		if got, n := m.cell(t, 0); n == len(t.lines) && got.Type == "markdown" && got.Source == c.Source &&
			!strings.ContainsRune(c.Source, '\r') {
			return c.Source + "\n", false
		}
	}
	return regionText(region, fields, c.Source), true
}

// attributeOrder are the attributes of a step, which text forms write among the metadata of a cell.
var attributeOrder = []string{"timeout", "cwd", "kernel", "needs", "if", "expect-exit", "retries", "backend",
	"attempts", "normalize", "env", "output"}

func isAttribute(name string) bool {
	return slices.Contains(attributeOrder, name) || strings.HasPrefix(name, "env.")
}

// fields returns the metadata of a cell as a text form writes them: with the attributes of Markmill's among them, and
// without what runs leave.
func (d *Document) fields(c *Cell) Object {
	fields := c.Metadata.without(keyMarkmill, "execution", "ExecuteTime", "papermill")
	own := c.Metadata.own()
	if d.named() && c.ID != "" && !fields.Has("name") && c.Type == "code" {
		fields = append(Object{{"name", quoted(c.ID)}}, fields...)
	}
	for _, f := range own {
		if isAttribute(f.Name) {
			fields.Set(f.Name, f.Value)
		}
	}
	return fields
}

// named reports whether the ids of cells are names that an author gave.
func (d *Document) named() bool {
	return d.Form == notebooks.FormNative || d.Metadata.own().text(keyForm) == string(notebooks.FormNative)
}

// nest copies the attributes of Markmill's from among the metadata to where a run of a Jupyter notebook looks for them.
func (d *Document) nest() {
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Type != "code" {
			continue
		}
		own := c.Metadata.own()
		for _, f := range c.Metadata {
			if isAttribute(f.Name) {
				own.Set(f.Name, f.Value)
			}
		}
		c.Metadata = c.Metadata.without()
		c.Metadata.setObject(keyMarkmill, own)
		if name := c.Metadata.text("name"); name != "" && c.ID == "" {
			c.ID = name
		}
	}
}
