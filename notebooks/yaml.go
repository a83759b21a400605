package notebooks

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

const (
	maxYAMLDepth   = 1000    // lists and maps inside each other
	maxYAMLAliased = 100_000 // nodes that stand there only because an alias repeats them
)

// yamlReader turns YAML nodes into values. Texts that YAML 1.1 and 1.2 read differently are read
// as YAML 1.1, as papermill does, where that loses nothing.
type yamlReader struct {
	file   string
	offset int  // lines before the text in its file
	block  bool // a parameters block: dates are dates, 1e3 is a number, 017 must be made clear

	open    map[*yaml.Node]bool // collections around the place
	depth   int
	aliases int // aliases around the place
	aliased int
}

// pair is one entry of a mapping, merge keys resolved.
type pair struct{ key, value *yaml.Node }

// loadYAML reads one document of YAML or JSON. Without a document it is nil.
func (r *yamlReader) load(data []byte) (*yaml.Node, *Error) {
	if !utf8.Valid(data) {
		line, col := place(data, invalidUTF8(data))
		return nil, r.errorAt(KindInput, line, col, "the text is not UTF-8", "")
	}
	if root := jsonNode(data); root != nil {
		return root, nil
	}
	var docs []yaml.Node
	if err := yaml.Load(data, &docs, yaml.WithAllDocuments()); err != nil {
		return nil, r.syntaxError(data, err)
	}
	if len(docs) > 1 {
		return nil, r.errorAt(KindSyntax, docs[1].Line, docs[1].Column, "a second YAML document starts here; one is expected",
			"leave out the line ---")
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 {
		return nil, nil
	}
	return docs[0].Content[0], nil
}

// yamlHints say how the usual mistakes are mended, by words of the parser's messages.
var yamlHints = []struct{ words, hint string }{
	{"mapping values are not allowed", "begin the names of a mapping in one column, and put a text that holds a colon in quotes"},
	{"expected ',' or ']'", "close the list with ], or put a text that begins with [ in quotes"},
	{"expected ',' or '}'", "close the map with }, or put a text that begins with { in quotes"},
	{"did not find expected node content", "a value is missing here, or one comma is too many"},
	{"could not find expected ':'", "write name: value"},
	{"cannot start any token", "put the text in quotes, and indent with spaces"},
	{"found unexpected end of stream", "close the quote"},
	{"control characters are not allowed", "take it out, or write it as an escape in double quotes"},
	{"did not find expected key", "begin the names of a mapping in one column"},
}

func (r *yamlReader) syntaxError(data []byte, err error) *Error {
	e := &Error{Kind: KindSyntax, File: r.file, Msg: "this is not YAML: " + err.Error(), Err: err}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		mark := load.Mark
		if mark.Index >= len(strings.TrimRight(string(data), "\n")) && load.ContextMark.Line > 0 {
			mark = load.ContextMark // at the end of the text: where the open thing starts says more
		}
		e.Msg = "this is not YAML: " + load.Message
		if load.ContextMsg != "" {
			e.Msg += " (" + load.ContextMsg + ")"
		}
		if last, _ := place(data, len(data)); mark.Line > last {
			mark.Line, mark.Column = last, 0
		}
		if mark.Line == 0 { // of a byte that cannot be read only the offset is told
			mark.Line, mark.Column = place(data, min(mark.Index, len(data)))
		}
		e.Line, e.Col = mark.Line+r.offset, mark.Column
		for _, h := range yamlHints {
			if e.Hint == "" && strings.Contains(e.Msg, h.words) {
				e.Hint = h.hint
			}
		}
	}
	return e
}

func (r *yamlReader) errorAt(kind Kind, line, col int, msg, hint string) *Error {
	if line > 0 {
		line += r.offset
	}
	return &Error{Kind: kind, File: r.file, Line: line, Col: col, Msg: msg, Hint: hint}
}

func (r *yamlReader) errorf(n *yaml.Node, format string, args ...any) *Error {
	return r.errorAt(KindParameter, n.Line, n.Column, fmt.Sprintf(format, args...), "")
}

// value reads a node whose type nobody declared.
func (r *yamlReader) value(n *yaml.Node) (Value, *Error) {
	if r.aliases > 0 {
		if r.aliased++; r.aliased > maxYAMLAliased {
			return Value{}, r.errorf(n, "the aliases repeat more than %d values", maxYAMLAliased)
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		r.aliases++
		defer func() { r.aliases-- }()
		return r.value(n.Alias)
	case yaml.ScalarNode:
		return r.scalar(n)
	case yaml.SequenceNode, yaml.MappingNode:
		leave, err := r.enter(n)
		if err != nil {
			return Value{}, err
		}
		defer leave()
		if n.Kind == yaml.MappingNode {
			return r.mapping(n)
		}
		return r.sequence(n)
	}
	return Value{}, r.errorf(n, "a value is expected")
}

func (r *yamlReader) enter(n *yaml.Node) (leave func(), err *Error) {
	if r.open[n] {
		return nil, r.errorf(n, "the value contains itself through an alias")
	}
	if r.depth >= maxYAMLDepth {
		return nil, r.errorf(n, "the value is nested deeper than %d", maxYAMLDepth)
	}
	if r.open == nil {
		r.open = make(map[*yaml.Node]bool)
	}
	r.open[n] = true
	r.depth++
	return func() { delete(r.open, n); r.depth-- }, nil
}

func (r *yamlReader) sequence(n *yaml.Node) (Value, *Error) {
	if tag := n.ShortTag(); tag != "!!seq" {
		return Value{}, r.unknownTag(n)
	}
	list := Value{Type: TypeList}
	for _, c := range n.Content {
		v, err := r.value(c)
		if err != nil {
			return Value{}, err
		}
		list.List = append(list.List, v)
	}
	return list, nil
}

// mapping reads a map, or a !!set as the list of its members in order.
func (r *yamlReader) mapping(n *yaml.Node) (Value, *Error) {
	tag := n.ShortTag()
	if tag != "!!map" && tag != "!!set" {
		return Value{}, r.unknownTag(n)
	}
	pairs, err := r.pairs(n, func(key *yaml.Node) (string, *Error) {
		k, err := r.key(key)
		return string(k.Wire()), err
	})
	if err != nil {
		return Value{}, err
	}
	m, members := Value{Type: TypeMap}, Value{Type: TypeList}
	for _, p := range pairs {
		k, err := r.key(p.key)
		if err != nil {
			return Value{}, err
		}
		v, err := r.value(p.value)
		if err != nil {
			return Value{}, err
		}
		m.Entries = append(m.Entries, Entry{Key: k, Value: v})
		members.List = append(members.List, k)
	}
	if tag == "!!set" {
		return members, nil
	}
	return m, nil
}

func (r *yamlReader) key(n *yaml.Node) (Value, *Error) {
	k, err := r.value(n)
	if err == nil && (k.Type == TypeList || k.Type == TypeMap) {
		err = r.errorf(n, "a %s cannot be a key", k.Type)
	}
	return k, err
}

// pairs is the entries of a mapping: first what its merge keys bring, then its own, as PyYAML
// orders them. A key given twice is an error that names both lines.
func (r *yamlReader) pairs(n *yaml.Node, identity func(*yaml.Node) (string, *Error)) ([]pair, *Error) {
	var merged, own []pair
	ids := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			more, err := r.merge(value, identity)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		id, err := identity(key)
		if err != nil {
			return nil, err
		}
		if first := ids[id]; first != nil {
			return nil, r.errorf(key, "%q is given twice, first in line %d, column %d; keep one", key.Value,
				first.Line+r.offset, first.Column)
		}
		ids[id] = key
		own = append(own, pair{key, value})
	}
	if merged == nil {
		return own, nil
	}
	var out []pair
	for _, p := range merged {
		id, err := identity(p.key)
		if err != nil {
			return nil, err
		}
		if ids[id] == nil {
			ids[id] = p.key
			out = append(out, p)
		}
	}
	return append(out, own...), nil
}

// merge is what "<<: value" brings: the entries of a map, or of a list of maps, of which the
// earlier win.
func (r *yamlReader) merge(n *yaml.Node, identity func(*yaml.Node) (string, *Error)) ([]pair, *Error) {
	n = target(n)
	leave, err := r.enter(n)
	if err != nil {
		return nil, err
	}
	defer leave()
	switch n.Kind {
	case yaml.MappingNode:
		more, err := r.pairs(n, identity)
		if r.aliased += len(more); err == nil && r.aliased > maxYAMLAliased {
			err = r.errorf(n, "the merge keys repeat more than %d values", maxYAMLAliased)
		}
		return more, err
	case yaml.SequenceNode:
		var all []pair
		for _, c := range n.Content {
			if target(c).Kind != yaml.MappingNode {
				return nil, r.errorf(c, "a merge key (<<) takes a map or a list of maps")
			}
			more, err := r.merge(c, identity)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	}
	return nil, r.errorf(n, "a merge key (<<) takes a map or a list of maps")
}

func (r *yamlReader) unknownTag(n *yaml.Node) *Error {
	e := r.errorf(n, "the tag %s is not known", n.Tag)
	e.Hint = "leave it out, or use one of !!str !!int !!float !!bool !!null !!binary !!timestamp !!seq !!map !!set"
	return e
}

// target is the node that an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// invalidUTF8 is the offset of the first byte that is not UTF-8.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// place is the line and column, from 1 and in characters, of an offset.
func place(data []byte, offset int) (line, col int) {
	before := string(data[:offset])
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}
