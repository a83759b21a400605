package html

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"markmill/render/digest"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/sheet"
	"markmill/render/view"
)

// document writes the document of a view. Every element is its own: no HTML of the document reaches the page.
type document struct {
	writer
	src     []byte
	island  func(n int, id string) (markup, []outlined) // what a page has for a fence of the language view.Island
	outline []outlined
	state   state // of the verdict
	place   int   // of the block that is written, from 1
	top     bool  // the first screen is open
}

func newDocument(src []byte) *document { return &document{src: src, state: unknown} }

// main writes the whole document.
func (d *document) main() markup {
	d.blocks(view.Parse(d.src), "notebook")
	d.endTop()
	return d.markup()
}

func (d *document) endTop() {
	if d.top {
		d.put("</section>\n")
		d.top = false
	}
}

// blocks writes the blocks below a node. id is that of the node, and begins those of the folds in it.
func (d *document) blocks(parent ast.Node, id string) {
	folds := 0
	for _, n := range view.Children(parent) {
		d.place++
		switch n := n.(type) {
		case *ast.Heading:
			d.heading(n)
		case *view.Fold:
			if sign, _ := view.Sign(n.Title); sign != "" {
				folds++
				if parent.Kind() == ast.KindDocument {
					d.endTop()
				}
			}
			d.fold(n, fmt.Sprintf("%s-%d", id, folds))
		case *ast.Paragraph:
			class := markup("dim")
			if d.place <= 2 {
				class = "lead"
			}
			d.put(`<p class="%s">%s</p>`+"\n", class, spans(view.Spans(n, d.src)))
		case *ast.List:
			d.list(n, id)
		case *ast.FencedCodeBlock:
			d.fence(n, id)
		case *extast.Table:
			d.table(n)
		}
	}
}

// heading writes the verdict, the title, or a heading.
func (d *document) heading(n *ast.Heading) {
	sign, rest := view.SignOf(view.Spans(n, d.src))
	words := spans(rest)
	switch {
	case d.place > 1:
		d.put("<h%d>%s</h%d>\n", n.Level, words, n.Level)
		return
	case sign != "":
		d.state = state(view.State(sign))
		words = sprintf(`<p class="verdict"><span class="sign">%s</span>%s</p>`, sign, words)
	default:
		words = sprintf("<h1>%s</h1>", words)
	}
	d.put(`<section class="top %s">%s`+"\n", markup(d.state), words)
	d.top = true
}

// fold writes what is folded: that of a sign is a part of its own, a patch a file.
func (d *document) fold(f *view.Fold, id string) {
	sign, title := view.Sign(f.Title)
	open := markup("")
	if f.Open {
		open = " open"
	}
	switch only := f.FirstChild(); {
	case sign != "":
		path, words, _ := strings.Cut(title, ": ")
		d.outline = append(d.outline, outlined{href: id, words: path, level: 2})
		d.put(`<details class="notebook %s" id="%s"%s><summary><span class="sign">%s</span> <code>%s</code> `+
			`<span class="dim">%s</span></summary>`+"\n", markup(view.State(sign)), id, open, sign, path, words)
	case only != nil && only.Kind() == ast.KindFencedCodeBlock && only.NextSibling() == nil:
		d.put(`<details class="file"%s><summary><code>%s</code></summary>`, open, title)
	default:
		d.put(`<details class="more"%s><summary>%s</summary>`+"\n", open, title)
	}
	d.blocks(f, id)
	d.put("</details>\n")
}

// spans writes a line. Code behind " · " is what shows more.
func spans(list []view.Span) markup {
	var w writer
	for i, s := range list {
		switch {
		case s.Code && i > 1 && strings.HasSuffix(list[i-1].Text, " · "):
			w.put(`<code class="dim">%s</code>`, s.Text)
		case s.Code:
			w.put("<code>%s</code>", s.Text)
		case s.Strong:
			w.put("<b>%s</b>", s.Text)
		default:
			w.put("%s", s.Text)
		}
	}
	return w.markup()
}

func (d *document) list(list *ast.List, id string) {
	element := markup("ul")
	if list.IsOrdered() {
		element = "ol"
	}
	d.put(`<%s class="findings">`+"\n", element)
	for _, item := range view.Children(list) {
		words := item.FirstChild()
		if words == nil {
			continue
		}
		sign, rest := view.SignOf(view.Spans(words, d.src))
		if sign != "" {
			d.put(`<li class="%s"><span class="sign">%s</span> `, markup(view.State(sign)), sign)
		} else {
			d.put("<li>")
		}
		d.put("%s", spans(rest))
		item.RemoveChild(item, words)
		d.blocks(item, id)
		d.put("</li>\n")
	}
	d.put("</%s>\n", element)
}

func (d *document) fence(n *ast.FencedCodeBlock, id string) {
	switch text := linesOf(n, d.src); string(n.Language(d.src)) {
	case view.Island:
		if at, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && d.island != nil {
			m, outline := d.island(at, id)
			d.put("%s", m)
			d.outline = append(d.outline, outline...)
		}
	case "diff":
		d.put("<pre>%s</pre>", diffLines(shortLines(text)))
	default:
		d.put("<pre>\n%s</pre>", cleanLines(shortLines(text)))
	}
}

// A cell of more than wideCell bytes is wrapped, and on a narrow screen each of a table of fewColumns.
const (
	wideCell   = 40
	fewColumns = 5
)

// table writes a table. In the name of a column, the kind of it and of those beside it may stand before " · ".
func (d *document) table(n *extast.Table) {
	class := markup("grid")
	if len(n.Alignments) <= fewColumns {
		class += " few"
	}
	d.put(`<div class="%s" tabindex="0" role="region" aria-label="Table"><table>`+"\n<thead><tr>", class)
	rows := view.Children(n)
	columns := make([]markup, len(n.Alignments)) // their classes
	last := ""
	for k, c := range view.Children(rows[0]) {
		kind, name, found := strings.Cut(view.Text(view.Spans(c, d.src)), " · ")
		if !found {
			kind, name = "", kind
		}
		if n.Alignments[k] == extast.AlignRight {
			columns[k] = "num"
		}
		above := markup("")
		if kind != last {
			columns[k] += " first"
			above = sprintf(`<span class="group">%s</span>`, kind)
		}
		d.put(`<th scope="col" class="%s">%s%s</th>`, columns[k], above, name)
		last = kind
	}
	d.put("</tr></thead><tbody>\n")
	for _, row := range rows[1:] {
		d.put("<tr>")
		for k, c := range view.Children(row) {
			list := view.Spans(c, d.src)
			text := view.Text(list)
			class := columns[k] + " " + markup(view.State(text))
			if k > 0 && len(text) > wideCell && !view.IsStrip(text) {
				class += "why"
			}
			content := cellContent(text, spans(list))
			if name, when, ok := strings.Cut(text, " · "); ok && k == 0 {
				content = sprintf(`<span class="name">%s</span><span class="dim">%s</span>`, name, when)
			}
			d.put(`<td class="%s">%s</td>`, class, content)
		}
		d.put("</tr>\n")
	}
	d.put("</tbody></table></div>\n")
}

// cellContent writes a cell: a strip of bars, or a value with its mark.
func cellContent(text string, content markup) markup {
	if view.IsStrip(text) {
		var w writer
		w.put(`<span class="strip" role="img" aria-label="%s">`, text)
		for _, bar := range text {
			w.put(`<i class="%s"></i>`, markup(view.State(string(bar))))
		}
		return w.markup() + "</span>"
	}
	for mark, sign := range sheet.Signs {
		if value, ok := strings.CutSuffix(text, " "+sign); ok {
			return sprintf(`<span class="mark %s" title="%s">%s<i aria-hidden="true">%s</i><b class="unseen"> %s</b></span>`,
				markup(mark), string(mark), cleanLine(value), sign, string(mark))
		}
	}
	return content
}

// Review renders the page of a review: its document, with the comparison of each notebook by cells.
func Review(v *review.View) []byte {
	shared := newPage("", nil) // what bounds a page bounds all comparisons together
	text, compared := v.Page()
	d := newDocument(text)
	d.island = func(n int, id string) (markup, []outlined) {
		p := diffPage{page: shared, d: compared[n].Diff, prefix: id + "-" + stepPrefix, part: true}
		return p.main(), p.outline
	}
	main := d.main()
	short, _, _ := strings.Cut(v.Verdict, " · ")
	pill := sprintf(`<span class="pill %s">%s %s</span>`, markup(d.state), v.Sign, cleanLine(short))
	list := outlineOf(d.outline, plain.Counted(len(v.Folds), "notebook"))
	return sides("Review: ", v.Base, v.Head, pill, list, main)
}

// Compared renders the page of a comparison of runs.
func Compared(t *sheet.Compared) []byte {
	title, text := t.Page()
	return frame(title, sprintf(`<span class="doc">%s</span>`, title), "", newDocument(text).main(), "")
}

// Digest renders the page of a digest.
func Digest(d *digest.Digest) []byte {
	return frame("Digest", `<span class="doc">Digest</span>`, "", newDocument([]byte(d.Markdown())).main(), "")
}
