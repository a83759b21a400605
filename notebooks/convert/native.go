package convert

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/markdown"
)

// Markmill's own form: the steps of a run are the cells of code. The front matter is a raw cell on top, as Jupytext and
// Quarto have it, and in the metadata, where a run of a Jupyter notebook finds it.

// keyForeign is the key of a front matter that holds the metadata which a Jupyter notebook had.
const keyForeign = "x-jupyter"

var foreignLine = lazyregexp.New(`^x-jupyter\s*:\s*$`)

func readNative(d *Document, t *text, nb *notebooks.Notebook) error {
	from := 0
	if span := nb.Front.Span; span.End > 0 && strings.HasPrefix(strings.TrimPrefix(t.src, "\ufeff"), "---") {
		header, next := t.frontMatter()
		if _, bad := yamlObject(header); bad != nil {
			return d.problem(1+bad.line, bad.col, bad.msg, "")
		}
		if _, err := d.readHeader(t, foreignLine); err != nil {
			return err
		}
		from = next
	}
	d.Metadata.setOwn(keyForm, quoted(string(notebooks.FormNative)))
	main := nativeLanguage(nb)
	for _, p := range nb.Parts() {
		if p.Kind != notebooks.PartParameters && p.Kind != notebooks.PartStep {
			continue
		}
		first, next := t.line(p.Span.Start), t.line(p.Span.End)
		d.Cells = append(d.Cells, t.prose(from, first)...)
		from = next
		if p.Kind == notebooks.PartParameters {
			d.Cells = append(d.Cells, d.parametersCell(t, first, next, main))
		} else {
			d.Cells = append(d.Cells, nativeCell(nb, p.Step, main, t.at(first)))
		}
	}
	d.Cells = append(d.Cells, t.prose(from, len(t.lines))...)
	if main != "" && len(d.Metadata.object(keyKernelspec)) == 0 {
		o := d.Metadata.object(keyJupytext)
		if kernelSpecs[main] == "" {
			o.Set("main_language", quoted(main))
			d.Metadata.setObject(keyJupytext, o)
		} else {
			d.Metadata.Set(keyKernelspec, codec.Raw(kernelSpecs[main]))
		}
	}
	return nil
}

// nativeLanguage returns the language of the notebook: python if any step is Python, otherwise the most frequent one.
func nativeLanguage(nb *notebooks.Notebook) string {
	counts := map[string]int{}
	best := ""
	for _, s := range nb.Steps {
		lang := usualLanguage(s.Lang)
		if counts[lang]++; best == "" || counts[lang] > counts[best] {
			best = lang
		}
	}
	if counts["python"] > 0 {
		return "python"
	}
	return best
}

// separate are languages for which IPython starts a program of its own, as a step does.
var separate = map[string]bool{"bash": true, "sh": true, "perl": true, "ruby": true}

func nativeCell(nb *notebooks.Notebook, s *notebooks.Step, main string, at int) Cell {
	c := Cell{Type: "code", Source: strings.TrimSuffix(string(s.Code), "\n"), at: at}
	if s.Explicit {
		c.ID = string(s.ID)
	}
	if tags := markdown.TypedTags(nb, s); len(tags) > 0 {
		c.Metadata.Set("tags", textList(tags))
	}
	for _, a := range s.Attributes() {
		c.Metadata.setOwn(a.Name, attributeRaw(a.Value))
	}
	if lang := usualLanguage(s.Lang); lang != main {
		c.Metadata.setOwn(keyLanguage, quoted(lang))
		if separate[lang] {
			c.Source = withMagic(lang, "", c.Source, main)
		} else {
			c.Source = withMagic("script", lang, c.Source, main)
		}
	}
	return c
}

// attributeRaw returns the value of a step's attribute as JSON; nil for one that JSON cannot hold.
func attributeRaw(value any) codec.Raw {
	switch v := value.(type) {
	case string:
		return quoted(v)
	case []string:
		return textList(v)
	case time.Duration:
		return quoted(durationText(v))
	}
	raw, err := codec.Marshal(value)
	if err != nil {
		return nil
	}
	return raw
}

func durationText(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func writeNative(d *Document) (*page, error) {
	p := &page{cells: make([]string, len(d.Cells))}
	main := d.Language()
	inHeader := d.nativeHeader(p)
	between := *d
	between.Cells = append([]Cell(nil), d.Cells...)
	for i := range d.Cells {
		c := &d.Cells[i]
		if block, ok := c.block(main); ok {
			p.cells[i] = blockFence(block)
			between.Cells[i].Type = "code" // whatever it is in Jupyter
		} else if c.Type == "code" {
			p.cells[i] = d.nativeCode(c, main)
		}
	}
	between.between(p, inHeader)
	return p, nil
}

// nativeHeader writes the front matter, and reports whether the first cell is in it.
func (d *Document) nativeHeader(p *page) bool {
	front := d.Metadata.own().object(keyFront).without()
	if params := front.object("params"); len(params) > 0 { // blocks declare theirs
		for i := range d.Cells {
			if block, ok := d.Cells[i].block(d.Language()); ok {
				names, _ := yamlObject(block)
				for _, f := range names {
					params = params.without(f.Name)
				}
			}
		}
		front.setObject("params", params)
	}
	inner, fromCell := d.frontCell()
	var stands Object
	if fromCell {
		var bad *yamlMistake
		stands, bad = yamlObject(inner)
		fromCell = bad == nil
		for _, f := range stands {
			fromCell = fromCell && (markdown.FrontKey(f.Name) || markdown.ForeignKey(f.Name)) && f.Name != keyForeign
		}
	}
	var b strings.Builder
	if fromCell {
		b.WriteString(inner + "\n")
		for _, f := range stands {
			front = front.without(f.Name)
		}
	}
	if len(front) > 0 {
		b.WriteString(yamlText(front, true))
	}
	if rest := d.otherMetadata(); len(rest) > 0 {
		b.WriteString(yamlText(Object{{keyForeign, rest.Raw()}}, true))
	}
	if b.Len() > 0 || fromCell {
		p.header = "---\n" + b.String() + "---\n"
	}
	return fromCell
}

// otherMetadata returns the notebook's metadata that the steps do not say by themselves.
func (d *Document) otherMetadata() Object {
	rest := d.textMetadata()
	own := d.Metadata.own().text(keyForm) == string(notebooks.FormNative) || d.Form == notebooks.FormNative
	lang := d.Language()
	if spec := kernelSpecs[lang]; spec != "" && own && same(rest.Get(keyKernelspec), codec.Raw(spec)) {
		rest = rest.without(keyKernelspec)
	}
	if info := rest.object("language_info"); own && len(info) == 1 {
		rest = rest.without("language_info")
	}
	if own {
		rest = rest.without(keyJupytext)
	}
	return rest
}

func (d *Document) nativeCode(c *Cell, main string) string {
	source, lang := c.Source, main
	own := c.Metadata.own()
	if l := own.text(keyLanguage); l != "" {
		if head, rest, _ := strings.Cut(c.Source, "\n"); head == "%%"+l || head == "%%script "+l {
			lang, source = l, rest
		}
	} else if l, args, rest, ok := magic(c.Source, main); ok && args == "" && separate[l] && main == "python" {
		lang, source = l, rest
	}
	if l := c.Metadata.text("language"); l != "" {
		lang = usualLanguage(l)
	}
	var b strings.Builder
	fence := fenceFor(source)
	b.WriteString(fence + lang + " {")
	id := cmp.Or(c.ID, c.Metadata.text("name"))
	words := []string{}
	tags := append(append([]string(nil), c.tags()...), own.texts("tags")...)
	if notebooks.IsID(id) {
		words = append(words, "#"+id)
	} else if !slices.ContainsFunc(tags, func(t string) bool { return steps[t] }) {
		words = append(words, ".step")
	}
	for _, t := range tags {
		if t != "" && !strings.ContainsAny(t, " \t}\"'`=") && strings.IndexFunc(t, unicode.IsControl) < 0 {
			words = append(words, "."+t)
		}
	}
	for _, name := range attributeOrder {
		if v := own.Get(name); v != nil {
			words = append(words, attributeText(Field{name, v})...)
		}
	}
	for _, f := range own {
		if strings.HasPrefix(f.Name, "env.") {
			words = append(words, attributeText(f)...)
		}
	}
	b.WriteString(strings.Join(words, " ") + "}\n")
	if source != "" {
		b.WriteString(source + "\n")
	}
	b.WriteString(fence + "\n")
	return b.String()
}

// steps are tags that make a step by themselves, whatever the language.
var steps = map[string]bool{
	"parameters": true, "injected-parameters": true, "test": true, "review": true, "setup": true, "finally": true,
	"skip": true, "raises-exception": true, "allow-failure": true, "no-change": true, "volatile": true,
	"skip-execution": true,
}

// attributeText returns an attribute as braces have it.
func attributeText(f Field) []string {
	switch f.Value[0] {
	case '"':
		return []string{f.Name + "=" + attributeValue(textOf(f.Value))}
	case '[':
		return []string{f.Name + "=" + attributeValue(strings.Join(Object{f}.texts(f.Name), " "))}
	case '{':
		var out []string
		for _, g := range objectOf(f.Value) {
			out = append(out, f.Name+"."+g.Name+"="+attributeValue(textOf(g.Value)))
		}
		return out
	}
	return []string{f.Name + "=" + string(f.Value)}
}

func attributeValue(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n}\"'`\\") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
