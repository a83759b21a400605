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
}

func parse(raw codec.Raw) (*node, error) {
	canonical, err := codec.Marshal(raw)
	if err != nil {
		return nil, err
	}
	return read(canonical)
}

// read takes a canonical value apart.
func read(raw codec.Raw) (*node, error) {
	n := &node{raw: raw}
	switch raw[0] {
	case '{':
		n.kind = '{'
		var all map[string]codec.Raw
		if err := codec.Unmarshal(raw, &all); err != nil {
			return nil, err
		}
		n.fields = make(map[string]*node, len(all))
		for name, v := range all {
			child, err := read(v)
			if err != nil {
				return nil, err
			}
			n.fields[name] = child
			n.names = append(n.names, name)
		}
		sort.Strings(n.names)
	case '[':
		n.kind = '['
		var all []codec.Raw
		if err := codec.Unmarshal(raw, &all); err != nil {
			return nil, err
		}
		for _, v := range all {
			child, err := read(v)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, child)
		}
	case '"':
		n.kind = '"'
		if err := codec.Unmarshal(raw, &n.text); err != nil {
			return nil, err
		}
	}
	return n, nil
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
	*n = node{raw: text, kind: '"', text: b.String()}
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

// settle writes raw anew, from the leaves up.
func (n *node) settle() error {
	var b bytes.Buffer
	switch n.kind {
	case '{':
		b.WriteByte('{')
		for i, name := range n.names {
			if i > 0 {
				b.WriteByte(',')
			}
			key, err := codec.Marshal(name)
			if err != nil {
				return err
			}
			if err := n.fields[name].settle(); err != nil {
				return err
			}
			b.Write(key)
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
			if err := item.settle(); err != nil {
				return err
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
