package params

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// JSONNode returns the node tree of a text that is a strict JSON object or array, else nil. YAML is not a superset: in
// JSON 1e3 is a number, "\ud83d\ude0d" is one character, and tabs may indent.
func JSONNode(data []byte) *yaml.Node {
	start := bytes.TrimLeft(data, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' || !codec.Raw(data).IsValid() {
		return nil
	}
	w := &jsonWalk{dec: codec.NewDecoder(data), data: data, line: 1}
	return w.node()
}

type jsonWalk struct {
	dec       *codec.Decoder
	data      []byte
	seen      int // the offset that line and col refer to
	line, col int // col from 0
}

// node reads the next value; nil at the end of an object or list.
func (w *jsonWalk) node() *yaml.Node {
	before := int(w.dec.InputOffset())
	token, err := w.dec.ReadToken()
	if err != nil {
		return nil // unreachable: the text is valid
	}
	n := &yaml.Node{}
	n.Line, n.Column = w.place(before)
	switch kind := token.Kind(); kind {
	case '{', '[':
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
		if kind == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for c := w.node(); c != nil; c = w.node() {
			n.Content = append(n.Content, c)
		}
		return n
	case '}', ']':
		return nil
	case '"':
		n.Kind, n.Tag, n.Style, n.Value = yaml.ScalarNode, "!!str", yaml.DoubleQuotedStyle, token.String()
	case 'n':
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!null", token.String()
	case 't', 'f':
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!bool", token.String()
	default:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!int", token.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag, n.Style = "!!float", yaml.TaggedStyle
		}
	}
	return n
}

// place returns the position of the token after an offset. Offsets only grow, so the text is scanned once.
func (w *jsonWalk) place(offset int) (line, col int) {
	for offset < len(w.data) && strings.IndexByte(" \t\r\n,:", w.data[offset]) >= 0 {
		offset++
	}
	passed := w.data[w.seen:offset]
	w.seen = offset
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		w.line += bytes.Count(passed, []byte("\n"))
		w.col = 0
		passed = passed[i+1:]
	}
	w.col += utf8.RuneCount(passed)
	return w.line, w.col + 1
}

// givenJSON is the JSON form of Given. It includes the node: without it a parameter declared as a string would read 017
// as 17.
type givenJSON struct {
	Name   string     `json:"name"`
	Text   string     `json:"text,omitzero"`
	Value  codec.Raw  `json:"value,omitzero"` // as Value.Wire
	Raw    bool       `json:"raw,omitzero"`
	Source string     `json:"source,omitzero"`
	File   string     `json:"file,omitzero"`
	Line   int        `json:"line,omitzero"`
	Col    int        `json:"col,omitzero"`
	Node   *givenNode `json:"node,omitempty"`
}

// givenNode is a YAML node with its aliases resolved.
type givenNode struct {
	Kind    int          `json:"kind"`
	Style   int          `json:"style,omitzero"`
	Tag     string       `json:"tag,omitzero"`
	Value   string       `json:"value,omitzero"`
	Line    int          `json:"line,omitzero"`
	Col     int          `json:"col,omitzero"`
	Content []*givenNode `json:"content,omitempty"`
}

// MarshalJSON writes the whole value, secrets included, so that another process binds the same.
func (g Given) MarshalJSON() ([]byte, error) {
	j := givenJSON{Name: g.Name, Text: g.Text, Raw: g.Raw, Source: g.Source, File: g.File, Line: g.Line, Col: g.Col}
	if g.Value != nil {
		j.Value = g.Value.Wire()
	}
	if g.node != nil {
		j.Node = nodeToJSON(g.node)
	}
	return codec.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Given) UnmarshalJSON(data []byte) error {
	var j givenJSON
	if err := codec.Unmarshal(data, &j); err != nil {
		return err
	}
	*g = Given{Name: j.Name, Text: j.Text, Raw: j.Raw, Source: j.Source, File: j.File, Line: j.Line, Col: j.Col}
	if j.Value != nil {
		v, err := notebooks.ParseWire(j.Value)
		if err != nil {
			return err
		}
		g.Value = &v
	}
	if j.Node != nil {
		g.node = j.Node.yaml()
	}
	return nil
}

func nodeToJSON(n *yaml.Node) *givenNode {
	n = target(n)
	j := &givenNode{Kind: int(n.Kind), Style: int(n.Style), Tag: n.Tag, Value: n.Value, Line: n.Line, Col: n.Column}
	for _, c := range n.Content {
		j.Content = append(j.Content, nodeToJSON(c))
	}
	return j
}

func (j *givenNode) yaml() *yaml.Node {
	n := &yaml.Node{Kind: yaml.Kind(j.Kind), Style: yaml.Style(j.Style), Tag: j.Tag, Value: j.Value, Line: j.Line,
		Column: j.Col}
	for _, c := range j.Content {
		n.Content = append(n.Content, c.yaml())
	}
	return n
}
