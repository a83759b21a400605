package terminal

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"markmill/notebooks/diff"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/render/view"
)

// output prints one output. all prints it whole.
func (p Page) output(out *sheet, step string, o *diff.Output, all bool) {
	rule := "  " + paint("│", dim, p.Color) + " "
	if o.Name == diff.Stderr || o.Name == diff.Failure {
		rule = "  " + paint("│", red, p.Color) + " "
	}
	for _, d := range slices.Backward(o.Data) { // the richest that a terminal can show
		if !d.IsText() {
			continue
		}
		if tables := tablesOf(d); tables != "" {
			out.document([]byte(tables), rule)
			return
		}
	}
	best := -1
	for i, d := range o.Data {
		if d.IsText() && (best < 0 || d.MIME == "text/plain" || o.Data[best].MIME != "text/plain" &&
			d.MIME == "text/markdown") {
			best = i
		}
	}
	if best < 0 {
		if len(o.Data) > 0 {
			d := o.Data[len(o.Data)-1]
			where := d.File
			if where != "" && p.Record.Path != "" {
				where = path.Join(p.Record.Path, where)
			}
			out.text(rule, strings.TrimSpace(fmt.Sprintf("[%s] %s", shown(d.MIME), shown(where))), dim)
		}
		return
	}
	text := strings.TrimRight(o.Data[best].Text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	from, to := len(lines), len(lines)
	if !all && len(lines) > shownLines {
		from, to = shownLines/2, len(lines)-shownLines/2
	}
	for _, l := range lines[:from] {
		out.line(rule, plain.Line([]byte(l)), "")
	}
	if to > from {
		option := ""
		if o.Name == diff.Stderr {
			option = " --stderr"
		}
		out.text(rule, p.more(to-from, "line", step, option), dim)
		for _, l := range lines[to:] {
			out.line(rule, plain.Line([]byte(l)), "")
		}
	}
}

// mostTables bounds the Markdown that may be a table, in bytes.
const mostTables = 1 << 20

// tablesOf returns an output that consists of tables as Markdown, "" for another.
func tablesOf(d diff.Datum) string {
	text := d.Text
	switch {
	case d.MIME == "text/html":
		return render.HTMLTables([]byte(text), &safe.Cleaner{}, "HTML")
	case d.MIME != "text/markdown" || !strings.HasPrefix(text, "|") || len(text) > mostTables:
		return ""
	}
	for _, n := range view.Children(view.Parse([]byte(text))) {
		if n.Kind() != extast.KindTable &&
			(n.Kind() != ast.KindParagraph || !strings.HasPrefix(text[n.Lines().At(0).Start:], "… ")) {
			return ""
		}
	}
	return text
}

// document prints a document within the available width, each line behind a lead.
func (s *sheet) document(text []byte, lead string) {
	d := document{src: text, width: s.width, rows: shownRows, color: s.color}
	d.blocks(view.Parse(d.src), lead)
	s.printf("%s", d.String())
}
