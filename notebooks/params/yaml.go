package params

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
)

const (
	maxYAMLDepth   = 1000    // nested lists and maps
	maxYAMLAliased = 100_000 // nodes repeated by aliases
)

// yamlReader converts YAML nodes to values. Texts that YAML 1.1 and 1.2 read differently are read as YAML 1.1, as
// papermill does, if that loses nothing.
type yamlReader struct {
	file   string
	offset int  // lines before the text in its file
	block  bool // a parameters block: dates are dates, 1e3 is a number, 017 must be made clear

	open    map[*yaml.Node]bool // enclosing collections
	depth   int
	aliases int // enclosing aliases
	aliased int
}

// pair is one entry of a mapping, merge keys resolved.
type pair struct{ key, value *yaml.Node }

// load reads one document of YAML or JSON. It returns nil without a document.
func (r *yamlReader) load(data []byte) (*yaml.Node, *notebooks.Error) {
	if !utf8.Valid(data) {
		line, col := place(data, notebooks.InvalidUTF8(data))
		return nil, r.errorAt(notebooks.KindInput, line, col, "the text is not UTF-8", "")
	}
	if root := JSONNode(data); root != nil {
		return root, nil
	}
	var docs []yaml.Node
	if err := yaml.Load(data, &docs, yaml.WithAllDocuments()); err != nil {
		return nil, r.syntaxError(data, err)
	}
	if len(docs) > 1 {
		return nil, r.errorAt(notebooks.KindSyntax, docs[1].Line, docs[1].Column,
			"a second YAML document starts here; one is expected", "leave out the line ---")
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 {
		return nil, nil
	}
	return docs[0].Content[0], nil
}

// yamlHints maps words of the parser's messages to fixes for common mistakes.
var yamlHints = []struct{ words, hint string }{
	{"mapping values are not allowed",
		"begin the names of a mapping in one column, and put a text that holds a colon in quotes"},
	{"expected ',' or ']'", "close the list with ], or put a text that begins with [ in quotes"},
	{"expected ',' or '}'", "close the map with }, or put a text that begins with { in quotes"},
	{"did not find expected node content", "a value is missing here, or one comma is too many"},
	{"could not find expected ':'", "write name: value"},
	{"cannot start any token", "put the text in quotes, and indent with spaces"},
	{"found unexpected end of stream", "close the quote"},
	{"control characters are not allowed", "take it out, or write it as an escape in double quotes"},
	{"did not find expected key", "begin the names of a mapping in one column"},
}

func (r *yamlReader) syntaxError(data []byte, err error) *notebooks.Error {
	e := &notebooks.Error{Kind: notebooks.KindSyntax, File: r.file, Msg: "this is not YAML: " + err.Error(), Err: err}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		mark := load.Mark
		if mark.Index >= len(strings.TrimRight(string(data), "\n")) && load.ContextMark.Line > 0 {
			mark = load.ContextMark // at the end of the text: the start of the open construct says more
		}
		e.Msg = "this is not YAML: " + load.Message
		if load.ContextMsg != "" {
			e.Msg += " (" + load.ContextMsg + ")"
		}
		if last, _ := place(data, len(data)); mark.Line > last {
			mark.Line, mark.Column = last, 0
		}
		if mark.Line == 0 { // for an unreadable byte only the offset is known
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

func (r *yamlReader) errorAt(kind notebooks.Kind, line, col int, msg, hint string) *notebooks.Error {
	if line > 0 {
		line += r.offset
	}
	return &notebooks.Error{Kind: kind, File: r.file, Line: line, Col: col, Msg: msg, Hint: hint}
}

func (r *yamlReader) errorf(n *yaml.Node, format string, args ...any) *notebooks.Error {
	return r.errorAt(notebooks.KindParameter, n.Line, n.Column, fmt.Sprintf(format, args...), "")
}

// value reads a node without a declared type.
func (r *yamlReader) value(n *yaml.Node) (notebooks.Value, *notebooks.Error) {
	if r.aliases > 0 {
		if r.aliased++; r.aliased > maxYAMLAliased {
			return notebooks.Value{}, r.errorf(n, "the aliases repeat more than %d values", maxYAMLAliased)
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
			return notebooks.Value{}, err
		}
		defer leave()
		if n.Kind == yaml.MappingNode {
			return r.mapping(n)
		}
		return r.sequence(n)
	}
	return notebooks.Value{}, r.errorf(n, "a value is expected")
}

func (r *yamlReader) enter(n *yaml.Node) (leave func(), err *notebooks.Error) {
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

func (r *yamlReader) sequence(n *yaml.Node) (notebooks.Value, *notebooks.Error) {
	if tag := n.ShortTag(); tag != "!!seq" {
		return notebooks.Value{}, r.unknownTag(n)
	}
	list := notebooks.Value{Type: notebooks.TypeList}
	for _, c := range n.Content {
		v, err := r.value(c)
		if err != nil {
			return notebooks.Value{}, err
		}
		list.List = append(list.List, v)
	}
	return list, nil
}

// mapping reads a map, or a !!set as the ordered list of its members.
func (r *yamlReader) mapping(n *yaml.Node) (notebooks.Value, *notebooks.Error) {
	tag := n.ShortTag()
	if tag != "!!map" && tag != "!!set" {
		return notebooks.Value{}, r.unknownTag(n)
	}
	pairs, err := r.pairs(n, func(key *yaml.Node) (string, *notebooks.Error) {
		k, err := r.key(key)
		return string(k.Wire()), err
	})
	if err != nil {
		return notebooks.Value{}, err
	}
	m, members := notebooks.Value{Type: notebooks.TypeMap}, notebooks.Value{Type: notebooks.TypeList}
	for _, p := range pairs {
		k, err := r.key(p.key)
		if err != nil {
			return notebooks.Value{}, err
		}
		v, err := r.value(p.value)
		if err != nil {
			return notebooks.Value{}, err
		}
		m.Entries = append(m.Entries, notebooks.Entry{Key: k, Value: v})
		members.List = append(members.List, k)
	}
	if tag == "!!set" {
		return members, nil
	}
	return m, nil
}

func (r *yamlReader) key(n *yaml.Node) (notebooks.Value, *notebooks.Error) {
	k, err := r.value(n)
	if err == nil && (k.Type == notebooks.TypeList || k.Type == notebooks.TypeMap) {
		err = r.errorf(n, "a %s cannot be a key", k.Type)
	}
	return k, err
}

// pairs returns the entries of a mapping: those from merge keys first, then its own, in PyYAML's order. A duplicate key
// is an error that names both lines.
func (r *yamlReader) pairs(n *yaml.Node, identity func(*yaml.Node) (string, *notebooks.Error)) ([]pair,
	*notebooks.Error) {
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

// merge returns the entries that "<<: value" adds: those of a map, or of a list of maps, where earlier maps win.
func (r *yamlReader) merge(n *yaml.Node, identity func(*yaml.Node) (string, *notebooks.Error)) ([]pair,
	*notebooks.Error) {
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

func (r *yamlReader) unknownTag(n *yaml.Node) *notebooks.Error {
	e := r.errorf(n, "the tag %s is not known", n.Tag)
	e.Hint = "leave it out, or use one of !!str !!int !!float !!bool !!null !!binary !!timestamp !!seq !!map !!set"
	return e
}

// target returns the node that an alias refers to.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// place returns the line and column, from 1 and in characters, of an offset.
func place(data []byte, offset int) (line, col int) {
	before := string(data[:offset])
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}
