package render

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"markmill/render/plain"
	"markmill/render/safe"
)

// HTMLTables converts HTML that consists of tables, such as a DataFrame's, to Markdown tables. It returns "" for any
// other HTML. file holds the complete tables.
func HTMLTables(raw []byte, c *safe.Cleaner, file string) string {
	context := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragment(bytes.NewReader(bytes.ToValidUTF8(raw, []byte("\uFFFD"))), context)
	if err != nil {
		return ""
	}
	t := tableReader{clean: c, file: file}
	for _, n := range nodes {
		t.node(n, 0)
	}
	if !t.found || t.other {
		return ""
	}
	return strings.TrimRight(t.out.String(), "\n") + "\n"
}

// tableReader walks HTML.
type tableReader struct {
	clean *safe.Cleaner
	file  string
	out   bytes.Buffer
	found bool
	other bool // something is there that is no table and no line of text: a script, a picture, a form
}

// deepestTable bounds the nesting around a table.
const deepestTable = 64

func (t *tableReader) node(n *html.Node, depth int) {
	if depth > deepestTable {
		t.other = true
		return
	}
	switch n.Type {
	case html.TextNode:
		if words := strings.TrimSpace(n.Data); words != "" {
			fmt.Fprintf(&t.out, "%s\n\n", safe.Inline(t.clean.OneLine(words, 200)))
		}
		return
	case html.ElementNode:
	default:
		return
	}
	switch n.DataAtom {
	case atom.Style:
	case atom.Table:
		t.table(n)
	case atom.P, atom.Caption, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if words := t.clean.OneLine(lineOf(n), 200); words != "" {
			fmt.Fprintf(&t.out, "%s\n\n", safe.Inline(words))
		}
	case atom.Div, atom.Section, atom.Span, atom.Center, atom.Br, atom.Hr, atom.B, atom.Strong, atom.I, atom.Em:
		for c := range n.ChildNodes() {
			t.node(c, depth+1)
		}
	default:
		t.other = true
	}
}

// lineOf returns the text of an element of HTML on one line.
func lineOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode && d.Parent.DataAtom != atom.Style && d.Parent.DataAtom != atom.Script:
			b.WriteString(d.Data)
		case d.DataAtom == atom.Br:
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// table writes one table. A cell that spans columns or rows leaves the others empty. A nested table, script or
// picture makes a table unfit for Markdown.
func (t *tableReader) table(n *html.Node) {
	var rows [][]string
	head := 0              // rows of headings
	below := map[int]int{} // columns that a cell of an earlier row covers, and for how many rows yet
	caption := ""
	var walk func(n *html.Node, heads bool, depth int)
	walk = func(n *html.Node, heads bool, depth int) {
		if depth > deepestTable {
			t.other = true
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.DataAtom {
			case atom.Thead:
				walk(c, true, depth+1)
			case atom.Tbody, atom.Tfoot:
				walk(c, false, depth+1)
			case atom.Caption:
				caption = lineOf(c)
			case atom.Tr:
				if len(rows) > safe.MaxRows+maxHeads { // counted, and not shown
					rows = append(rows, nil)
					continue
				}
				row, allHeads := t.row(c, below)
				if heads || allHeads && head == len(rows) && len(rows) == 0 {
					head = len(rows) + 1
				}
				rows = append(rows, row)
			}
		}
	}
	walk(n, false, 0)
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	if columns == 0 || columns > safe.MaxColumns || head > maxHeads {
		t.other = true
		return
	}
	t.found = true
	if caption != "" {
		fmt.Fprintf(&t.out, "**%s**\n\n", safe.Inline(t.clean.OneLine(caption, 200)))
	}
	t.write(joinHeads(rows[:head], columns), columns)
	t.out.WriteString(strings.Repeat("| --- ", columns) + "|\n")
	body := rows[head:]
	for _, row := range body[:min(safe.MaxRows, len(body))] {
		t.write(row, columns)
	}
	t.out.WriteByte('\n')
	if gone := len(body) - safe.MaxRows; gone > 0 {
		fmt.Fprintf(&t.out, "… %s elided: %s\n\n", plain.Counted(gone, "row"), safe.CodeSpan(t.file))
	}
}

// maxHeads bounds the heading rows, which are joined into one.
const maxHeads = 8

// joinHeads joins heading rows: the words of a column, separated by slashes.
func joinHeads(rows [][]string, columns int) []string {
	out := make([]string, columns)
	for _, row := range rows {
		for i, cell := range row {
			switch {
			case cell == "" || out[i] == cell:
			case out[i] == "":
				out[i] = cell
			default:
				out[i] += " / " + cell
			}
		}
	}
	return out
}

// row returns the text of the cells of a row.
func (t *tableReader) row(n *html.Node, below map[int]int) (cells []string, heads bool) {
	heads = true
	covered := func() {
		for below[len(cells)] > 0 {
			below[len(cells)]--
			cells = append(cells, "")
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		covered()
		heads = heads && c.DataAtom == atom.Th
		words := lineOf(c)
		t.other = t.other || holdsMore(c)
		for k := range span(c, "colspan") {
			if rows := span(c, "rowspan"); rows > 1 {
				below[len(cells)] = rows - 1
			}
			if k > 0 && c.DataAtom != atom.Th { // a heading stands over all of its columns
				words = ""
			}
			cells = append(cells, words)
		}
		if len(cells) > safe.MaxColumns {
			t.other = true
			return cells, heads
		}
	}
	covered()
	return cells, heads
}

// span reads colspan and rowspan.
func span(n *html.Node, name string) int {
	for _, a := range n.Attr {
		if a.Key == name {
			if k, err := strconv.Atoi(strings.TrimSpace(a.Val)); err == nil && k > 0 {
				return min(k, 1000)
			}
		}
	}
	return 1
}

// holdsMore reports whether a cell holds content that a Markdown cell cannot.
func holdsMore(n *html.Node) bool {
	for d := range n.Descendants() {
		switch d.DataAtom {
		case atom.Table, atom.Img, atom.Svg, atom.Script, atom.Canvas, atom.Iframe, atom.Input, atom.Button,
			atom.Select, atom.Video, atom.Audio:
			return true
		}
	}
	return false
}

func (t *tableReader) write(cells []string, columns int) {
	for i := range columns {
		words := ""
		if i < len(cells) {
			words = cells[i]
		}
		fmt.Fprintf(&t.out, "| %s ", safe.Inline(t.clean.OneLine(words, 200)))
	}
	t.out.WriteString("|\n")
}
