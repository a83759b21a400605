package nbdime

import (
	"bytes"
	"sort"
	"strings"

	"markmill/notebooks/codec"
)

// node is a JSON value: raw is its canonical text, by which two are compared.
type node struct {
	raw    codec.Raw
	kind   byte // '{', '[', '"', or 0 for all others
	names  []string
	fields map[string]*node
	items  []*node
	text   string
	edited bool // raw is not what was read, or is not yet what the value is
}

func parse(raw codec.Raw) (*node, error) {
	canonical, err := codec.Marshal(raw)
	if err != nil {
		return nil, err
	}
	return read(codec.NewCursor(canonical, 0), canonical)
}

// read parses the canonical value at the cursor.
func read(c *codec.Cursor, src codec.Raw) (n *node, err error) {
	n = &node{}
	kind := c.Kind()
	span := codec.Span{Start: c.Offset()}
	switch kind {
	case '{':
		n.kind, n.fields = kind, map[string]*node{}
		span, err = c.Object(func(name []byte, _ codec.Span) error {
			child, err := read(c, src)
			n.fields[string(name)] = child
			n.names = append(n.names, string(name))
			return err
		})
		sort.Strings(n.names)
	case '[':
		n.kind = kind
		span, err = c.Array(func() error {
			child, err := read(c, src)
			n.items = append(n.items, child)
			return err
		})
	case '"':
		n.kind = kind
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

// is says that the member name is the text word.
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
	kept := n.names[:0]
	for _, other := range n.names {
		if other != name {
			kept = append(kept, other)
		}
	}
	n.names = kept
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
	if n == nil || n.kind != '{' {
		return nil
	}
	for _, mime := range n.names {
		if mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json") {
			continue
		}
		if err := n.fields[mime].join(); err != nil {
			return err
		}
	}
	return nil
}

// notebook makes a file what nbformat reads of it.
func notebook(raw codec.Raw) (*node, error) {
	n, err := parse(raw)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"orig_nbformat", "orig_nbformat_minor", "signature"} {
		n.get("metadata").drop(name)
	}
	cells := n.get("cells")
	if cells == nil {
		return n, n.settle()
	}
	for _, cell := range cells.items {
		cell.get("metadata").drop("trusted")
		if err := joinCell(cell); err != nil {
			return nil, err
		}
	}
	return n, n.settle()
}

func joinCell(cell *node) error {
	if err := cell.get("source").join(); err != nil {
		return err
	}
	if all := cell.get("attachments"); all != nil {
		for _, name := range all.names {
			if err := all.fields[name].joinBundle(); err != nil {
				return err
			}
		}
	}
	outputs := cell.get("outputs")
	if outputs == nil || !cell.is("cell_type", "code") {
		return nil
	}
	for _, o := range outputs.items {
		var err error
		switch {
		case o.is("output_type", "stream"):
			err = o.get("text").join()
		case o.is("output_type", "display_data"), o.is("output_type", "execute_result"):
			err = o.get("data").joinBundle()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle writes raw anew where something in it was edited, from the leaves up.
func (n *node) settle() error {
	for _, child := range n.fields {
		if err := child.settle(); err != nil {
			return err
		}
		n.edited = n.edited || child.edited
	}
	for _, child := range n.items {
		if err := child.settle(); err != nil {
			return err
		}
		n.edited = n.edited || child.edited
	}
	if !n.edited {
		return nil
	}
	var b bytes.Buffer
	switch n.kind {
	case '{':
		b.WriteByte('{')
		for i, name := range n.names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(codec.AppendText(nil, name, nil))
			b.WriteByte(':')
			b.Write(n.fields[name].raw)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(item.raw)
		}
		b.WriteByte(']')
	default:
		return nil
	}
	n.raw = b.Bytes()
	return nil
}
