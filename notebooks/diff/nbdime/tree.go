package nbdime

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// node is a JSON value: raw is its canonical text, by which two are compared.
type node struct {
	raw    codec.Raw
	kind   byte // of codec.Cursor
	names  []string
	fields map[string]*node
	items  []*node
	text   string
	edited bool // raw is not what was read, or is not yet what the value is
}

// read parses the canonical value at the cursor.
func read(c *codec.Cursor, src codec.Raw) (n *node, err error) {
	n = &node{}
	n.kind = c.Kind()
	span := codec.Span{Start: c.Offset()}
	switch n.kind {
	case '{':
		n.fields = map[string]*node{}
		span, err = c.Object(func(name []byte, _ codec.Span) error {
			child, err := read(c, src)
			n.fields[string(name)] = child
			n.names = append(n.names, string(name))
			return err
		})
		slices.Sort(n.names)
	case '[':
		span, err = c.Array(func() error {
			child, err := read(c, src)
			n.items = append(n.items, child)
			return err
		})
	case '"':
		n.text, err = c.String()
		span.End = c.Offset()
	default:
		span, err = c.Skip()
	}
	n.raw = span.Of(src)
	return n, err
}

func (n *node) get(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	return n.fields[name]
}

// is reports whether the member name is the text word.
func (n *node) is(name, word string) bool {
	v := n.get(name)
	return v != nil && v.kind == '"' && v.text == word
}

// drop takes a member out.
func (n *node) drop(name string) {
	if n.get(name) == nil {
		return
	}
	delete(n.fields, name)
	n.edited = true
	n.names = slices.DeleteFunc(n.names, func(other string) bool { return other == name })
}

// join makes one text of a list of texts, as nbformat does when it reads (nbformat/v4/rwbase.py).
func (n *node) join() error {
	if n == nil || n.kind != '[' {
		return nil
	}
	var b strings.Builder
	for _, line := range n.items {
		if line.kind != '"' {
			return nil
		}
		b.WriteString(line.text)
	}
	text, err := codec.Marshal(b.String())
	if err != nil {
		return err
	}
	*n = node{raw: text, kind: '"', text: b.String(), edited: true}
	return nil
}

func (n *node) joinBundle() error {
	if n == nil {
		return nil
	}
	var err error
	for mime, form := range n.fields {
		if !(ipynb.Datum{MIME: mime}).JSON() {
			err = cmp.Or(err, form.join())
		}
	}
	return err
}

// notebook makes a file what nbformat reads of it.
func notebook(raw codec.Raw) (*node, error) {
	raw, err := codec.Marshal(raw)
	if err != nil {
		return nil, err
	}
	n, err := read(codec.NewCursor(raw, 0), raw)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"orig_nbformat", "orig_nbformat_minor", "signature"} {
		n.get("metadata").drop(name)
	}
	if cells := n.get("cells"); cells != nil {
		for _, cell := range cells.items {
			cell.get("metadata").drop("trusted")
			if err := joinCell(cell); err != nil {
				return nil, err
			}
		}
	}
	n.settle()
	return n, nil
}

func joinCell(cell *node) error {
	err := cell.get("source").join()
	if all := cell.get("attachments"); all != nil {
		for _, bundle := range all.fields {
			err = cmp.Or(err, bundle.joinBundle())
		}
	}
	outputs := cell.get("outputs")
	if outputs == nil || !cell.is("cell_type", "code") {
		return err
	}
	for _, o := range outputs.items {
		switch {
		case o.is("output_type", "stream"):
			err = cmp.Or(err, o.get("text").join())
		case o.is("output_type", "display_data"), o.is("output_type", "execute_result"):
			err = cmp.Or(err, o.get("data").joinBundle())
		}
	}
	return err
}

// settle writes raw anew where something in it was edited, from the leaves up.
func (n *node) settle() {
	for _, child := range slices.AppendSeq(n.items, maps.Values(n.fields)) {
		child.settle()
		n.edited = n.edited || child.edited
	}
	if !n.edited || n.kind == '"' {
		return
	}
	var parts [][]byte
	for _, name := range n.names {
		parts = append(parts, slices.Concat(codec.AppendText(nil, name, nil), []byte(":"), n.fields[name].raw))
	}
	for _, item := range n.items {
		parts = append(parts, item.raw)
	}
	ends := map[byte]string{'{': "{}", '[': "[]"}[n.kind]
	n.raw = slices.Concat([]byte(ends[:1]), bytes.Join(parts, []byte(",")), []byte(ends[1:]))
}
