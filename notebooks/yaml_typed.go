package notebooks

import "go.yaml.in/yaml/v4"

// typed reads a node as the declared type, so that 017, yes and 2024-01-02 stay the author's text
// where a string is declared. It does not take null; see Param.nullable.
func (r *yamlReader) typed(n *yaml.Node, t Type) (Value, *Error) {
	n = target(n)
	switch t {
	case TypeString, TypePath, TypeSecret, TypeDate, TypeDuration:
		return r.typedText(n, t)
	}
	v, err := r.value(n)
	if err != nil || v.Type == t || t == TypeAny {
		return v, err
	}
	if v.Type == TypeInt && t == TypeFloat || v.Type == TypeString && (isPlain(n) || t == TypeBytes) &&
		isOneOf(t, TypeInt, TypeFloat, TypeBool, TypeBytes) {
		// Numbers that YAML 1.1 does not know (1e3, 0o17), and a bool in another case.
		if v, err := readText(t, v.Text); err == nil {
			return v, nil
		}
	}
	return Value{}, r.mismatch(n, v, t)
}

// typedText takes any scalar as it is written.
func (r *yamlReader) typedText(n *yaml.Node, t Type) (Value, *Error) {
	if n.Kind != yaml.ScalarNode || isNull(n) || n.ShortTag() == "!!binary" {
		v, err := r.value(n)
		if err != nil {
			return Value{}, err
		}
		return Value{}, r.mismatch(n, v, t)
	}
	v, err := readText(t, n.Value)
	if err != nil {
		return Value{}, r.errorf(n, "%v", err)
	}
	return v, nil
}

func (r *yamlReader) mismatch(n *yaml.Node, v Value, t Type) *Error {
	e := r.errorf(n, "%s", wrongType(v, t))
	if v.Type == TypeNull && isOneOf(t, TypeString, TypeSecret) {
		e.Hint = `write "" for empty text, or the word in quotes`
	}
	return e
}

func isOneOf[T comparable](t T, types ...T) bool {
	for _, u := range types {
		if t == u {
			return true
		}
	}
	return false
}
