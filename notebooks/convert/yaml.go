package convert

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/markdown"
)

// maxNodes bounds the values of a mapping; an alias counts as everything it refers to.
const maxNodes = 100_000

// yamlMistake is a mistake at a place of a text of YAML, from 1.
type yamlMistake struct {
	line, col int
	msg       string
}

// yamlObject reads a mapping of YAML with the order of its names. An empty text is an empty object.
func yamlObject(text string) (Object, *yamlMistake) {
	node, line, col, msg := markdown.YAMLMapping([]byte(text))
	if msg != "" {
		return nil, &yamlMistake{max(line, 1), max(col, 1), msg}
	}
	if node == nil {
		return nil, nil
	}
	left := maxNodes
	raw, bad := jsonOf(node, &left)
	return objectOf(raw), bad
}

func jsonOf(n *yaml.Node, left *int) (codec.Raw, *yamlMistake) {
	if *left--; *left < 0 {
		return nil, &yamlMistake{n.Line, n.Column,
			fmt.Sprintf("there are more than %d values here, aliases counted as what they stand for", maxNodes)}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return jsonOf(n.Alias, left)
	case yaml.MappingNode:
		var o Object
		at := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := jsonOf(n.Content[i+1], left)
			if err != nil {
				return nil, err
			}
			o.setAt(at, n.Content[i].Value, v)
		}
		if len(o) == 0 {
			return codec.Raw("{}"), nil
		}
		return o.Raw(), nil
	case yaml.SequenceNode:
		b := []byte{'['}
		for i, item := range n.Content {
			v, err := jsonOf(item, left)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, v...)
		}
		return append(b, ']'), nil
	}
	return jsonScalar(n), nil
}

var jsonNumber = lazyregexp.New(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)

func jsonScalar(n *yaml.Node) codec.Raw {
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch n.Tag {
	case "!!null":
		return codec.Raw("null")
	case "!!bool":
		return codec.Raw(strings.ToLower(n.Value))
	case "!!int", "!!float":
		if jsonNumber.MatchString(n.Value) {
			return codec.Raw(n.Value)
		}
		text := strings.ReplaceAll(n.Value, "_", "")
		if i, ok := new(big.Int).SetString(text, 0); ok && n.Tag == "!!int" {
			return codec.Raw(i.String())
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return codec.Raw(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	if plain { // truth values of YAML 1.1, which Python's reader has
		switch strings.ToLower(n.Value) {
		case "yes", "on":
			return codec.Raw("true")
		case "no", "off":
			return codec.Raw("false")
		}
	}
	return quoted(n.Value)
}

// yamlText returns an object as YAML, one name a line. Readers of YAML 1.1 (Python's) and 1.2 (this program's) agree on
// it.
func yamlText(o Object, flowLists bool) string {
	if len(o) == 0 {
		return "{}\n"
	}
	b, err := yaml.Dump(yamlNode(o.Raw(), flowLists), yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return "" // cannot happen: the nodes were made here
	}
	return string(b)
}

func yamlNode(raw codec.Raw, flowLists bool) *yaml.Node {
	c := codec.NewCursor(raw, 0)
	switch c.Kind() {
	case '{':
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, f := range objectOf(raw) {
			n.Content = append(n.Content, yamlString(f.Name, false), yamlNode(f.Value, flowLists))
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case '[':
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		flow := flowLists
		_, _ = c.Array(func() error {
			kind := c.Kind()
			span, err := c.Skip()
			if kind == '{' {
				flow = false
			}
			n.Content = append(n.Content, yamlNode(span.Of(raw), flowLists))
			return err
		})
		if flow || len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
			for _, item := range n.Content {
				if item.Tag == "!!str" {
					*item = *yamlString(item.Value, true)
				}
			}
		}
		return n
	case '"':
		s, _ := c.String()
		return yamlString(s, false)
	case 't', 'f':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: string(raw)}
	case 'n':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	return yamlNumber(string(raw))
}

func yamlNumber(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text}
	switch text {
	case "NaN", "Infinity", "-Infinity":
		n.Tag, n.Value = "!!float", map[string]string{"NaN": ".nan", "Infinity": ".inf", "-Infinity": "-.inf"}[text]
	default:
		if mantissa, exp, ok := strings.Cut(strings.ToLower(text), "e"); ok { // YAML 1.1 wants the point and the sign
			if !strings.Contains(mantissa, ".") {
				mantissa += ".0"
			}
			if exp[0] != '-' && exp[0] != '+' {
				exp = "+" + exp
			}
			n.Value = mantissa + "e" + exp
		}
		if strings.Contains(n.Value, ".") {
			n.Tag = "!!float"
		}
	}
	return n
}

var (
	// What a plain scalar is read as in YAML 1.1 (PyYAML's resolver) or 1.2 that is no text.
	yamlOther = lazyregexp.New(`^(?:` +
		`(?i:yes|no|on|off|true|false|null|y|n)|~|<<|=|` +
		`[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|[-+]?\.(?i:inf|nan)|` +
		`[-+]?0b[01_]+|[-+]?[0-9][0-9_]*|[-+]?0x[0-9a-fA-F_]+|[-+]?0o[0-7_]+|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|` +
		`[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?.*` +
		`)$`)
	yamlPlain = lazyregexp.New(`^[^\s\-?:,\[\]{}#&*!|>'"%@` + "`" +
		`][^\x00-\x1f\x7f\x{85}\x{a0}\x{2028}\x{2029}\x{feff}]*$`)
)

// yamlString returns a text, in quotes where it would be read as something else.
func yamlString(s string, flow bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	isPlain := yamlPlain.MatchString(s) || len(s) > 1 && s[0] == '-' && s[1] != ' ' && yamlPlain.MatchString(s[1:])
	switch {
	case isPlain && !yamlOther.MatchString(s) && !strings.Contains(s, ": ") && !strings.Contains(s, " #") &&
		!strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ") && s != "---" &&
		!(flow && strings.ContainsAny(s, ",[]{}:")):
	case strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 || r == 0x7f || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff
	}):
		n.Style = yaml.DoubleQuotedStyle
	default:
		n.Style = yaml.SingleQuotedStyle
	}
	return n
}
