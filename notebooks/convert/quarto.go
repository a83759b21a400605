package convert

import (
	"cmp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
)

// Quarto: options are lines of #| before the code. As with quarto convert, those that Quarto knows stay with the code
// in a Jupyter notebook, where Quarto reads them, and the others are metadata of the cell.

func readQuarto(d *Document, t *text, nb *notebooks.Notebook) error {
	first, err := d.readHeader(t, jupyterLine)
	if err != nil {
		return err
	}
	languages := map[string]int{}
	main := ""
	from := first
	for i := range nb.Fences {
		f := &nb.Fences[i]
		inner, ok := strings.CutPrefix(f.Info, "{")
		if !ok {
			continue
		}
		if inner, ok = strings.CutSuffix(inner, "}"); !ok || strings.HasPrefix(inner, "{") {
			continue
		}
		lang, fields := chunkOptions(strings.TrimSpace(inner))
		if !notebooks.IsLanguage(lang) {
			continue
		}
		line := t.line(f.Span.Start)
		d.Cells = append(d.Cells, t.prose(from, line)...)
		from = t.line(f.Span.End)
		c := Cell{Type: "code", Source: strings.TrimSuffix(string(f.Code), "\n"), Metadata: fields, at: t.at(line)}
		c.Metadata.Set("language", quoted(usualLanguage(lang)))
		if err := d.takeOptions(&c, line); err != nil {
			return err
		}
		if languages[usualLanguage(lang)]++; main == "" || languages[usualLanguage(lang)] > languages[main] {
			main = usualLanguage(lang)
		}
		d.Cells = append(d.Cells, c)
	}
	d.Cells = append(d.Cells, t.prose(from, len(t.lines))...)
	d.quartoKernel(t, main)
	d.takeLanguages()
	d.takeSteps(nb)
	return nil
}

// quartoKernel finds the kernel: the header's (jupyter: python3), or else the one of the most frequent language.
func (d *Document) quartoKernel(t *text, main string) {
	if len(d.Metadata.object(keyKernelspec)) > 0 {
		return
	}
	header, _ := t.frontMatter()
	name := ""
	if o, bad := yamlObject(header); bad == nil {
		name = o.text("jupyter")
	}
	lang := main
	if lang == "" && strings.HasPrefix(name, "python") {
		lang = "python"
	}
	switch {
	case name != "" && lang != "":
		d.Metadata.setObject(keyKernelspec, Object{{"display_name", quoted(name)}, {"language", quoted(lang)},
			{"name", quoted(name)}})
	case kernelSpecs[lang] != "":
		d.Metadata.Set(keyKernelspec, []byte(kernelSpecs[lang]))
	}
}

// optionMark returns what begins the lines of options in a language.
func optionMark(lang string) string {
	switch usualLanguage(lang) {
	case "c++", "c", "go", "rust", "javascript", "js", "node", "typescript", "ts", "java", "scala", "csharp", "fsharp",
		"kotlin", "groovy", "php":
		return "//|"
	case "sql", "lua", "haskell":
		return "--|"
	case "matlab", "octave":
		return "%|"
	}
	return "#|"
}

// optionLines counts the lines of options that the code of a cell begins with, and gives their YAML and their mark.
func optionLines(source string) (n int, yaml, mark string) {
	length, text, mark := markdown.QuartoOptions([]byte(source + "\n"))
	return strings.Count((source + "\n")[:length], "\n"), string(text), mark
}

// takeOptions moves the options that Quarto does not know into the metadata.
func (d *Document) takeOptions(c *Cell, line int) error {
	lines := strings.Split(c.Source, "\n")
	n, text, _ := optionLines(c.Source)
	if n == 0 {
		return nil
	}
	all, bad := yamlObject(text)
	if bad != nil {
		return d.problem(line+1+bad.line, bad.col+3, "the options of the cell cannot be read: "+bad.msg,
			"write them as YAML, key: value")
	}
	gone := map[int]bool{}
	for _, o := range all {
		if quartoKey(o.Name) {
			continue
		}
		// Only options on lines of their own are moved.
		for i := range lines[:n] {
			_, rest, _ := strings.Cut(lines[i], "|")
			if !strings.HasPrefix(strings.TrimPrefix(rest, " "), o.Name+":") {
				continue
			}
			for gone[i] = true; i+1 < n && continues(lines[i+1]); i++ {
				gone[i+1] = true
			}
		}
		if o.Name == "id" {
			c.ID = textOf(o.Value)
		} else {
			c.Metadata.Set(o.Name, o.Value)
		}
	}
	c.ID = cmp.Or(c.ID, all.text("label"))
	var left []string
	for i, l := range lines {
		if !gone[i] {
			left = append(left, l)
		}
	}
	c.Source = strings.Join(left, "\n")
	return nil
}

// continues reports whether a line of options continues the value of the line before.
func continues(line string) bool {
	_, rest, _ := strings.Cut(line, "|")
	rest = strings.TrimPrefix(rest, " ")
	return rest == "" || rest[0] == ' ' || rest[0] == '-' || rest[0] == '\t'
}

// quartoKey reports whether an option of a cell is Quarto's, or knitr's.
func quartoKey(key string) bool {
	switch key {
	case "label", "eval", "echo", "include", "output", "results", "error", "warning", "message", "cache", "freeze",
		"classes", "panel", "column", "layout", "renderings", "asis", "file", "filename", "ojs_define", "context",
		"engine.opts", "dependson":
		return true
	}
	prefixes := []string{"fig-", "fig.", "tbl-", "lst-", "out.", "code-", "layout-", "cap-", "html-"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

func writeQuarto(d *Document) (*page, error) {
	own := d.textMetadata()
	if j := own.object(keyJupytext).without("text_representation"); len(j) > 0 || own.Has(keyJupytext) {
		own.setObject(keyJupytext, j)
	}
	inner, fromCell := d.frontCell()
	header := "---\n"
	front := Object(nil)
	if fromCell {
		header += inner + "\n"
		front, _ = yamlObject(inner)
	}
	header += d.frontYAML(front)
	if !front.Has("jupyter") && len(own) > 0 {
		header += yamlText(Object{{"jupyter", sorted(own).Raw()}}, false)
	}
	p := &page{header: header + "---\n", cells: make([]string, len(d.Cells))}
	if p.header == "---\n---\n" {
		p.header = ""
	}
	main := d.Language()
	for i := range d.Cells {
		if c := &d.Cells[i]; c.Type == "code" {
			p.cells[i] = d.quartoCode(c, main)
		}
	}
	d.between(p, fromCell)
	return p, nil
}

func (d *Document) quartoCode(c *Cell, main string) string {
	fields := d.fields(c)
	source, lang := c.Source, cmp.Or(fields.text("language"), main)
	fields = fields.without("language", "name")
	if l, args, rest, ok := magic(c.Source, main); ok && args == "" && notebooks.IsLanguage(l) {
		lang, source = l, rest
	}
	n, text, mark := optionLines(source)
	var given Object
	if n > 0 {
		given, _ = yamlObject(text)
	} else {
		mark = optionMark(lang)
	}
	if c.ID != "" && given.text("label") != c.ID {
		fields = append(Object{{"id", quoted(c.ID)}}, fields...)
	}
	fence := fenceFor(source)
	var b strings.Builder
	b.WriteString(fence + "{" + lang + "}\n")
	for _, f := range fields {
		if quartoKey(f.Name) {
			continue
		}
		for line := range strings.Lines(yamlText(Object{f}, true)) {
			b.WriteString(mark + " " + line)
		}
	}
	b.WriteString(source + "\n" + fence + "\n")
	return b.String()
}
