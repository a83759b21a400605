package params

import (
	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

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
