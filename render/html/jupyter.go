package html

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// jupyterPage is the page of a Jupyter notebook.
type jupyterPage struct {
	book
	nb     *ipynb.Notebook
	lang   string
	counts map[state][]int // cells by how they ended
	order  bool            // the cells were run in their order
	steps  map[notebooks.StepID]*notebooks.ManifestStep
	names  map[int]string // of code cells, by place: as the steps of a run are called
}

// Jupyter renders the page of a Jupyter notebook, with its outputs. files and run are as Notebook has them.
func Jupyter(nb *ipynb.Notebook, files fs.FS, run *runs.Run) *Made {
	p := jupyterPage{book: book{page: newStyledPage(nb.Name, files), run: run,
		steps: map[notebooks.StepID]string{}}, nb: nb, counts: map[state][]int{}, order: true,
		lang: nb.NamedLanguage(), names: nb.StepNames()}
	if !nb.Rerun() {
		p.manifest = nb.Manifest()
	}
	p.steps = result.StepsOf(p.manifest)
	p.write()
	cells := 0
	for _, list := range p.counts {
		cells += len(list)
	}
	st, words := p.verdict()
	return p.made(st, words, plain.Counted(cells, "code cell"), "", p.top(st, words, "", "", p.rows(), ""))
}

// write writes the cells. It parses all Markdown first, because a link may lead to a heading in a later cell.
func (p *jupyterPage) write() {
	trees := make([]ast.Node, len(p.nb.Cells))
	for i := range p.nb.Cells {
		c := &p.nb.Cells[i]
		if name := p.names[i]; name != "" {
			p.anchors.used["#"+name] = true
		}
		if c.Type == "markdown" {
			src := []byte(strings.ToValidUTF8(c.Source, "\uFFFD"))
			trees[i] = p.parse(src, headingIDs{p.anchors})
			p.findTitle(trees[i], src)
		}
	}
	p.nameAsTitle()
	last := 0
	for i := range p.nb.Cells {
		switch c := &p.nb.Cells[i]; c.Type {
		case "markdown":
			if p.manifest != nil && c.Verdict() { // it stands at the top of the page
				continue
			}
			p.proseCell(c, trees[i])
		case "code":
			p.codeCell(c, i, &last)
		default:
			p.body.put("<div class=\"prose\">%s</div>\n", p.code("", c.Source))
		}
	}
}

// proseCell writes a Markdown cell, with the pictures that are attached to it.
func (p *jupyterPage) proseCell(c *ipynb.Cell, root ast.Node) {
	src := []byte(strings.ToValidUTF8(c.Source, "\uFFFD"))
	p.pictures.attached = attachments(c)
	var nodes []ast.Node
	for _, n := range nodesOf(root) {
		if !p.isTitle(n, src) {
			p.heading(n, src)
			nodes = append(nodes, n)
		}
	}
	if len(nodes) > 0 {
		p.body.put("<div class=\"prose\">%s</div>\n", p.prose(nodes, src))
	}
	p.pictures.attached = nil
}

func attachments(c *ipynb.Cell) map[string][]byte {
	out := map[string][]byte{}
	for _, file := range ipynb.Members(c.Attachments) {
		for _, form := range ipynb.Members(file.Value) {
			if data, err := decodeData(";base64," + form.Value.Text()); err == nil {
				out[file.Name] = data
			}
		}
	}
	return out
}

// codeCell writes a code cell.
func (p *jupyterPage) codeCell(c *ipynb.Cell, i int, last *int) {
	label := p.names[i]
	st := unknown
	count := 0
	if c.Count.Given() && codec.Unmarshal(c.Count.Raw, &count) == nil && count > 0 {
		st = changed
		p.order = p.order && count > *last
		*last = count
	}
	why := ""
	for k := range c.Outputs {
		if o := &c.Outputs[k]; o.Type == "error" {
			st, why = failed, o.Ename
		}
	}
	var broke []*notebooks.ManifestBlocker
	if s := p.steps[notebooks.StepID(label)]; s != nil {
		res := outcomeOf(p.manifest, s)
		broke, st = res.broke, res.state
		why = cmp.Or(why, s.Reason)
	}
	p.counts[st] = append(p.counts[st], i)
	sign := signs[st]
	if st == changed {
		sign = "·"
	}
	var words []string
	if why != "" {
		words = append(words, cleanLine(why))
	}
	if count > 0 {
		words = append(words, fmt.Sprintf("[%d]", count))
	}
	p.begin(stepLine{id: label, lang: p.lang, state: st, sign: sign, tags: c.Tags, words: words}, c.Source,
		c.Hides() || c.Tagged(notebooks.TagHideInput))
	p.broke(broke)
	if m := p.outputs(c); m != "" {
		p.body.put(`<div class="result">%s</div>`, m)
	}
	p.end(label)
}

// outputs writes the outputs of a cell. Consecutive pieces of one stream are joined.
func (p *jupyterPage) outputs(c *ipynb.Cell) markup {
	var w writer
	for k := 0; k < len(c.Outputs); k++ {
		o := &c.Outputs[k]
		switch o.Type {
		case "stream":
			var all strings.Builder
			all.WriteString(o.Text())
			for k+1 < len(c.Outputs) && c.Outputs[k+1].Type == "stream" && c.Outputs[k+1].Name == o.Name {
				k++
				all.WriteString(c.Outputs[k].Text())
			}
			class := markup("out")
			if o.Name == "stderr" {
				class = "err"
			}
			w.put("%s", p.output(class, all.String(), false))
		case "error":
			words := strings.Join(o.Traceback, "\n")
			if strings.TrimSpace(words) == "" {
				words = o.Ename + ": " + o.Evalue
			}
			w.put("%s", p.output("err", words, true))
		default:
			w.put("%s", p.result(o))
		}
	}
	return w.markup()
}

// maxHTML bounds HTML results, in bytes.
const maxHTML = 4 << 20

// result writes the richest representation that a page can show without running code.
func (p *jupyterPage) result(o *ipynb.Output) markup {
	forms := map[string]ipynb.Datum{}
	for _, d := range o.Data {
		forms[d.MIME] = d
	}
	for _, mime := range []string{"image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp"} {
		if d, ok := forms[mime]; ok {
			data := []byte(d.Text())
			if mime != "image/svg+xml" {
				var err error
				if data, err = decodeData(";base64," + d.Text()); err != nil {
					continue
				}
			}
			if pictureType(data) == "" {
				continue
			}
			return sprintf("<figure>%s</figure>", p.pictures.embed(data, "", ""))
		}
	}
	lost := markup("")
	if d, ok := forms["text/html"]; ok {
		if src := d.Text(); len(src) <= maxHTML {
			s := sanitizer{page: p.page}
			m := s.sanitize(src)
			p.budget.left -= len(m)
			if p.budget.left > 0 && len(m) < maxPage/4 && strings.TrimSpace(visible(m)) != "" {
				return sprintf(`<div class="prose">%s</div>`, m)
			}
		}
		lost = `<p class="cut">An HTML result is not shown: it needs scripts, or is too large.</p>`
	}
	if d, ok := forms["text/markdown"]; ok {
		src := []byte(strings.ToValidUTF8(d.Text(), "\uFFFD"))
		return sprintf(`<div class="prose">%s</div>`, p.prose(nodesOf(p.parse(src, nil)), src))
	}
	if d, ok := forms["text/latex"]; ok && formulas(d.Text(), false) != nil {
		s := sanitizer{page: p.page}
		s.words(d.Text())
		return sprintf(`<div class="prose"><p>%s</p></div>`, s.markup())
	}
	drawn := slices.IndexFunc(o.Data, func(d ipynb.Datum) bool { return strings.HasPrefix(d.MIME, "application/vnd.") })
	if drawn >= 0 && lost == "" {
		lost = sprintf(`<p class="cut">A result of type <code>%s</code> is not shown: a program of its own draws it.</p>`,
			cleanLine(o.Data[drawn].MIME))
	}
	for _, mime := range []string{"text/plain", "text/latex"} {
		if d, ok := forms[mime]; ok {
			return lost + p.output("out", d.Text(), false)
		}
	}
	if len(o.Data) > 0 && drawn < 0 { // JSON, or something that only its own program shows
		d := o.Data[0]
		if pretty, err := codec.Indent(d.Value.Raw); err == nil && d.JSON() {
			return p.code("json", string(pretty))
		}
		return sprintf(`<p class="cut">A result of type <code>%s</code> is not shown.</p>`, cleanLine(d.MIME))
	}
	return lost
}

// visible returns the text of markup, with a word for each picture.
func visible(m markup) string {
	var b strings.Builder
	rest := string(m)
	for rest != "" {
		before, after, _ := strings.Cut(rest, "<")
		b.WriteString(before)
		if strings.HasPrefix(after, "img") {
			b.WriteString("picture")
		}
		_, rest, _ = strings.Cut(after, ">")
	}
	return b.String()
}

// verdict returns the status from the manifest, or inferred from outputs without one.
func (p *jupyterPage) verdict() (state, string) {
	switch {
	case p.manifest != nil:
		return statusWords(p.manifest.Status)
	case len(p.counts[failed]) > 0:
		return failed, plain.Counted(len(p.counts[failed]), "cell") + " failed"
	case len(p.counts[changed]) > 0:
		return unknown, "With outputs"
	}
	return unknown, "Not run"
}

// manifestRows writes tests, change, parameters and scraps from the manifest.
func (p *jupyterPage) manifestRows(w *writer) {
	m := p.manifest
	if m == nil {
		return
	}
	dataRow(w, m)
	p.paramRows(w, nil, m.Parameters)
	var scraps []scrap
	for _, s := range m.Scraps {
		scraps = append(scraps, scrap{name: s.Name, value: s.Value})
	}
	p.scrapRows(w, scraps)
}

// rows writes the facts at the top.
func (p *jupyterPage) rows() markup {
	var w writer
	w.put(`<tr><th>Cells</th><td>`)
	for _, c := range []struct {
		state state
		words string
	}{{failed, "failed"}, {timedOut, "timed out"}, {passed, "passed"}, {skipped, "skipped"}, {changed, "run"},
		{unknown, "not run"}} {
		if n := len(p.counts[c.state]); n > 0 {
			w.put(`<span class="count %s">%d %s</span> `, markup(c.state), n, markup(c.words))
		}
		if c.state == failed {
			for k, i := range p.counts[failed] {
				if k < 12 {
					w.put(`<a class="ref" href="#%s">%s</a> `, stepPrefix+p.names[i], cleanLine(p.names[i]))
				}
			}
		}
	}
	w.put("%s</td></tr>", plain.Counted(len(p.nb.Cells), "cell"))
	p.manifestRows(&w)
	if !p.order {
		w.put(`<tr><th>Order</th><td>The cells were not run from top to bottom: what they show may not come of what ` +
			`stands here.</td></tr>`)
	}
	if kernel := p.nb.MetadataText("kernelspec", "display_name"); kernel+p.lang != "" {
		w.put(`<tr><th>Kernel</th><td>%s <span class="dim">%s</span></td></tr>`, cleanLine(kernel), cleanLine(p.lang))
	}
	return w.markup()
}
