package html

import (
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// statusWords returns the words for a status, and the state that gives its color.
func statusWords(s string) (state, string) {
	known, ok := map[string]state{"pass": passed, "fail": failed, "blocked": timedOut, "partial": timedOut,
		"interrupted": failed}[s]
	if !ok {
		known = unknown
	}
	return known, string(cleanLine(result.StatusWords(s)))
}

func verdictSign(s state, words string) markup {
	switch words {
	case "blocked":
		return "⊘"
	case "partial":
		return "◐"
	}
	return signs[s]
}

// runRows writes what a reader should know besides the verdict.
func (p *page) runRows(w *writer, m *notebooks.Manifest) {
	if m == nil {
		return
	}
	for _, words := range result.Notices(m) {
		w.put(`<tr><th>Note</th><td>%s</td></tr>`, p.sentence(words))
	}
}

// outlineOf renders the outline: steps and headings.
func outlineOf(list []outlined, words string) markup {
	if len(list) == 0 {
		return ""
	}
	var w writer
	w.put(`<nav aria-label="Outline"><details><summary>%s</summary><ol>`, words)
	for _, o := range list {
		if o.level > 0 {
			w.put(`<li class="h"><a href="#%s">%s</a></li>`, o.href, cleanLine(o.words))
			continue
		}
		w.put(`<li class="%s"><a href="#%s"><span class="sign">%s</span>%s</a></li>`, markup(o.state), o.href, o.sign,
			cleanLine(o.words))
	}
	w.put("</ol></details></nav>\n")
	return w.markup()
}

// summary renders the summary: verdict, parameters, tests, change, scraps.
func (p *notebookPage) summary(st state, words string) markup {
	var lead, warning, rows, below writer
	if d := p.nb.Front.Description; d != "" {
		lead.put(`<p class="lead">%s</p>`, cleanLine(d))
	}
	if len(p.problems) > 0 {
		warning.put(`<div class="warn"><p>This file is not as its run left it.</p><ul>`)
		for _, e := range p.problems {
			warning.put("<li>%s</li>", cleanLine(e.Error()))
		}
		warning.put("</ul></div>")
	}
	lanes := p.lanes()
	if lanes == "" || len(p.results) > 0 { // else the page is of a comparison alone, and no step is of interest
		p.stepRows(&rows)
	}
	if len(p.results) > 0 {
		p.changeRow(&rows)
		dataRow(&rows, p.manifest)
	}
	p.paramRows(&rows, p.nb.Params, p.used)
	var scraps []scrap
	for _, s := range p.nb.Steps {
		if r := p.results[s.ID]; r != nil {
			for _, c := range r.scraps {
				c.step = string(s.ID)
				scraps = append(scraps, c)
			}
		}
	}
	p.scrapRows(&rows, scraps)
	if f := p.nb.Front.Span; f.End > f.Start {
		p.line = 1
		below.put(`<details class="more front"><summary>front matter</summary>%s</details>`,
			p.code("yaml", string(p.nb.Source[f.Start:f.End])))
	}
	return p.top(st, words, lead.markup(), warning.markup(), rows.markup(), below.markup()+lanes)
}

// lanes renders the comparison of attempts; "" without one.
func (p *notebookPage) lanes() markup {
	if p.manifest == nil || p.manifest.Lanes == nil {
		return ""
	}
	return newDocument([]byte(strings.Join(result.Lanes(p.manifest.Lanes), "\n"))).main()
}

// stepRows link to the steps that did not pass, and to the tests.
func (p *notebookPage) stepRows(w *writer) {
	const most = 12
	var notPassed, tests writer
	n, from := 0, ""
	for _, s := range p.nb.Steps {
		st, r := unknown, p.results[s.ID]
		if r != nil {
			st = r.state
		}
		ref := sprintf(`<a class="ref %s" href="#%s">%s %s</a> `, markup(st), stepPrefix+string(s.ID), signs[st],
			cleanLine(string(s.ID)))
		if n < most && st != passed {
			notPassed.put("%s", ref)
			n++
		}
		if r != nil && (s.Has(notebooks.TagTest) || r.tests != nil) {
			tests.put("%s", ref)
			if r.tests != nil && (from == "" || r.tests.From == notebooks.Printed) {
				from = r.tests.From
			}
		}
	}
	switch from {
	case notebooks.Printed:
		tests.put(`<span class="dim">printed: the counts are those that the steps printed, as any program could</span>`)
	case notebooks.Reported:
		tests.put(`<span class="dim">reported: the counts are those of the runners’ own reports</span>`)
	}
	switch {
	case len(p.results) == 0:
		w.put("<tr><th>Steps</th><td>%s</td></tr>", plain.Counted(len(p.nb.Steps), "step"))
	case n > 0:
		w.put("<tr><th>Steps</th><td>%s</td></tr>", notPassed.markup())
	}
	if refs := tests.markup(); refs != "" {
		w.put("<tr><th>Tests</th><td>%s</td></tr>", refs)
	}
}

// dataRow lists what the run wrote and Git ignores.
func dataRow(w *writer, m *notebooks.Manifest) {
	if m == nil {
		return
	}
	list := listed{heading: "Data", noun: "file", columns: 4}
	for _, row := range result.DataRows(m) {
		if list.more() {
			size := ""
			if row.Verb == "wrote" {
				size = plain.Size(row.Bytes)
			}
			list.put(`<tr><td>%s</td><td><code>%s</code></td><td>%s</td><td>%s</td></tr>`, row.Verb, cleanLine(row.Path),
				size, cleanLine(row.Words))
		}
	}
	list.end(w)
}

// changeRow lists the changed files, each with the steps that changed it.
func (p *notebookPage) changeRow(w *writer) {
	type change struct {
		fileChange
		steps []string
	}
	var files []*change
	at := map[string]*change{}
	for _, s := range p.nb.Steps {
		r := p.results[s.ID]
		if r == nil {
			continue
		}
		for _, f := range r.files {
			c := at[f.Path]
			if c == nil {
				c = &change{fileChange: fileChange{FilePatch: f.FilePatch}}
				at[f.Path] = c
				files = append(files, c)
			}
			c.added, c.deleted = c.added+f.added, c.deleted+f.deleted
			c.steps = append(c.steps, string(s.ID))
		}
	}
	if len(files) == 0 {
		return
	}
	var list writer
	list.put(`<table class="list">`)
	for i, c := range files {
		if i == maxListed {
			list.put(`<tr><td colspan="3" class="dim">… and %s</td></tr>`, plain.Counted(len(files)-i, "file"))
			break
		}
		list.put(`<tr><td><code>%s</code>%s</td><td>%s</td><td>`, cleanLine(c.Path), c.note(),
			plusMinus(c.added, c.deleted))
		for _, id := range c.steps {
			list.put(`<a class="ref" href="#%s">%s</a> `, stepPrefix+id, cleanLine(id))
		}
		list.put("</td></tr>")
	}
	list.put("</table>")
	w.put(`<tr><th>Change</th><td>%s</td></tr>`, list.markup())
}

// maxListed bounds the rows of a list at the top.
const maxListed = 100

// paramRows lists the parameters that are declared with the values used, else their defaults, and then other values.
func (p *page) paramRows(w *writer, declared []notebooks.Param, values []notebooks.ManifestParam) {
	used, given := map[string]codec.Raw{}, map[string]markup{}
	for _, m := range values {
		if used[m.Name] = m.Value; m.Given {
			given[m.Name] = ` <span class="tag">given</span>`
		}
	}
	list := listed{heading: "Parameters", noun: "parameter", columns: 3}
	row := func(name string, value markup, help string) {
		if list.more() {
			list.put(`<tr><td><code>%s</code></td><td>%s</td><td class="dim">%s</td></tr>`, cleanLine(name), value,
				cleanLine(help))
		}
	}
	for _, param := range declared {
		value := markup(`<span class="dim">required</span>`)
		v, ok := used[param.Name]
		switch {
		case ok:
			value = p.value(v) + given[param.Name]
		case param.HasDefault:
			value = p.value(param.Default.JSON())
		case param.DefaultSrc != "":
			value = sprintf("<code>%s</code>", cleanLine(param.DefaultSrc))
		case !param.Required:
			value = `<span class="dim">none</span>`
		}
		delete(used, param.Name)
		row(param.Name, value, param.Help)
	}
	for _, m := range values {
		if v, left := used[m.Name]; left {
			row(m.Name, p.value(v)+given[m.Name], "")
		}
	}
	list.end(w)
}

// scrapRows writes what checks found, and the scraps.
func (p *page) scrapRows(w *writer, scraps []scrap) {
	for _, list := range []*listed{{heading: "Checks", noun: "check", columns: 3},
		{heading: "Scraps", noun: "scrap", columns: 3}} {
		for _, c := range scraps {
			name, check := strings.CutPrefix(c.name, runs.CheckPrefix)
			if check != (list.noun == "check") || !list.more() {
				continue
			}
			list.put(`<tr><td><code>%s</code></td><td>%s</td><td>`, cleanLine(name), p.scrapValue(c.name, c.value))
			if c.step != "" {
				list.put(`<a class="ref" href="#%s">%s</a>`, stepPrefix+c.step, cleanLine(c.step))
			}
			list.put("</td></tr>")
		}
		list.end(w)
	}
}

// listed is a list at the top of a page, of at most maxListed rows.
type listed struct {
	writer
	heading, noun string
	columns, rows int
}

// more counts a row, and says whether there is room for it.
func (l *listed) more() bool {
	l.rows++
	return l.rows <= maxListed
}

// end writes the list, unless it is empty.
func (l *listed) end(w *writer) {
	if l.rows > maxListed {
		l.put(`<tr><td colspan="%d" class="dim">… and %s</td></tr>`, l.columns, plain.Counted(l.rows-maxListed, l.noun))
	}
	if l.rows > 0 {
		w.put(`<tr><th>%s</th><td><table class="list">%s</table></td></tr>`, l.heading, l.markup())
	}
}
