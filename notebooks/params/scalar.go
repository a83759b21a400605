package params

import (
	"encoding/base64"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"

	"go.yaml.in/yaml/v4"
)

// Plain scalars of YAML 1.1, as PyYAML reads them (https://yaml.org/type/). Base 60 (12:30 for 750) is left out: it
// loses the spelling.
var (
	yamlNull  = lazyregexp.New(`^(~|null|Null|NULL|)$`)
	yamlTrue  = lazyregexp.New(`^(yes|Yes|YES|true|True|TRUE|on|On|ON)$`)
	yamlFalse = lazyregexp.New(`^(no|No|NO|false|False|FALSE|off|Off|OFF)$`)
	yamlInt   = lazyregexp.New(`^[-+]?(0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`)
	yamlFloat = lazyregexp.New(`^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|` +
		`[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)

	// What parameters blocks accept in addition, from YAML 1.2 and JSON, and what they reject.
	blockFloat = lazyregexp.New(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)
	blockOctal = lazyregexp.New(`^[-+]?0o[0-7]+$`)
	blockDate  = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}.*)?$`)
	unclearInt = lazyregexp.New(`^[-+]?0[0-9_]+$`)
)

func isPlain(n *yaml.Node) bool {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Kind == yaml.ScalarNode && n.Style&(quoted|yaml.TaggedStyle) == 0
}

func isNull(n *yaml.Node) bool {
	n = target(n)
	return isPlain(n) && yamlNull.MatchString(n.Value) || n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 &&
		n.ShortTag() == "!!null"
}

func (r *yamlReader) scalar(n *yaml.Node) (notebooks.Value, *notebooks.Error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return r.tagged(n)
	}
	if !isPlain(n) {
		return notebooks.Value{Type: notebooks.TypeString, Text: n.Value}, nil
	}
	text := n.Value
	switch {
	case yamlNull.MatchString(text):
		return notebooks.Value{Type: notebooks.TypeNull}, nil
	case yamlTrue.MatchString(text), yamlFalse.MatchString(text):
		return notebooks.Value{Type: notebooks.TypeBool, Bool: yamlTrue.MatchString(text)}, nil
	case r.block && unclearInt.MatchString(text):
		e := r.errorf(n, "%s is not clear: YAML 1.1 reads it as octal, YAML 1.2 as decimal", text)
		e.Hint = "write " + strconv.Quote(text) + " for the text, or the number without the leading zero"
		return notebooks.Value{}, e
	case yamlInt.MatchString(text), r.block && blockOctal.MatchString(text):
		if v, ok := yamlInteger(text); ok {
			return v, nil
		}
	case yamlFloat.MatchString(text), r.block && blockFloat.MatchString(text):
		v, err := readFloat(text)
		if err != nil {
			return notebooks.Value{}, r.errorf(n, "%v", err)
		}
		return v, nil
	case r.block && blockDate.MatchString(text):
		if _, ok := notebooks.Instant(text); ok {
			return notebooks.Value{Type: notebooks.TypeDate, Text: text}, nil
		}
	}
	return notebooks.Value{Type: notebooks.TypeString, Text: text}, nil
}

// tagged reads a scalar with an explicit tag.
func (r *yamlReader) tagged(n *yaml.Node) (notebooks.Value, *notebooks.Error) {
	var v notebooks.Value
	var err error
	switch n.ShortTag() {
	case "!!str", "!":
		return notebooks.Value{Type: notebooks.TypeString, Text: n.Value}, nil
	case "!!null":
		return notebooks.Value{Type: notebooks.TypeNull}, nil
	case "!!bool":
		v, err = readBool(n.Value)
	case "!!int":
		var ok bool
		if v, ok = yamlInteger(n.Value); !ok {
			v, err = readInt(n.Value)
		}
	case "!!float":
		v, err = readFloat(n.Value)
	case "!!timestamp":
		v, err = readDate(n.Value)
	case "!!binary":
		v, err = readBytes(n.Value)
	default:
		return notebooks.Value{}, r.unknownTag(n)
	}
	if err != nil {
		return notebooks.Value{}, r.errorf(n, "%v", err)
	}
	return v, nil
}

// yamlInteger reads YAML 1.1 integers of any size: 0b11, 0x1F, 017 (octal), 1_000; and 0o17.
func yamlInteger(text string) (notebooks.Value, bool) {
	if !yamlInt.MatchString(text) && !blockOctal.MatchString(text) {
		return notebooks.Value{}, false
	}
	digits := strings.TrimLeft(strings.ReplaceAll(text, "_", ""), "+-")
	base := 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		base, digits = 2, digits[2:]
	case strings.HasPrefix(digits, "0x"):
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0o"):
		base, digits = 8, digits[2:]
	case strings.HasPrefix(digits, "0") && len(digits) > 1:
		base = 8
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return notebooks.Value{}, false
	}
	if text[0] == '-' {
		n.Neg(n)
	}
	return notebooks.Value{Type: notebooks.TypeInt, Text: n.String()}, true
}

func readBytes(text string) (notebooks.Value, error) {
	compact := strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, text)
	raw, err := base64.StdEncoding.DecodeString(compact)
	if err != nil {
		return notebooks.Value{}, notA(text, "base64 text")
	}
	return notebooks.Value{Type: notebooks.TypeBytes, Text: string(raw)}, nil
}
