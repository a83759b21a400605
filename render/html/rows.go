package html

import (
	"strconv"
	"strings"

	"markmill/render"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// mostCells bounds what Rows reads of a table.
const mostCells = 100_000

// Rows converts the first table of an HTML fragment to rows of text. ok is false without a table, and for nested
// tables. A cell that spans columns is followed by empty ones.
func Rows(fragment string) (rows [][]string, ok bool) {
	nodes, err := html.ParseFragment(strings.NewReader(fragment),
		&html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body})
	if err != nil {
		return nil, false
	}
	var table *html.Node
	for _, n := range nodes {
		if table = firstOf(n, atom.Table); table != nil {
			break
		}
	}
	if table == nil {
		return nil, false
	}
	for n := range table.Descendants() {
		if n.DataAtom == atom.Table {
			return nil, false
		}
	}
	cells := 0
	for n := range table.Descendants() {
		if n.DataAtom != atom.Tr {
			continue
		}
		var row []string
		for c := range n.ChildNodes() {
			if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
				continue
			}
			row = append(row, render.LineOf(c))
			span, _ := strconv.Atoi(attribute(c, "colspan"))
			for range min(span, 100) - 1 {
				row = append(row, "")
			}
		}
		if cells += len(row); cells > mostCells {
			return nil, false
		}
		rows = append(rows, row)
	}
	return rows, len(rows) > 0
}

// firstOf returns the first element of a kind, n included, nil without one.
func firstOf(n *html.Node, kind atom.Atom) *html.Node {
	if n.DataAtom == kind {
		return n
	}
	for d := range n.Descendants() {
		if d.DataAtom == kind {
			return d
		}
	}
	return nil
}
