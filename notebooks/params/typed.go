package params

import (
	"slices"

	"markmill/notebooks"

	"go.yaml.in/yaml/v4"
)

// typed reads a node as the declared type, so that 017, yes and 2024-01-02 keep their spelling where a string is
// declared. It does not accept null; see Param.nullable.
func (r *yamlReader) typed(n *yaml.Node, t notebooks.Type) (notebooks.Value, *notebooks.Error) {
	n = target(n)
	switch t {
	case notebooks.TypeString, notebooks.TypePath, notebooks.TypeSecret, notebooks.TypeDate, notebooks.TypeDuration:
		return r.typedText(n, t)
	}
	v, err := r.value(n)
	if err != nil || v.Type == t || t == notebooks.TypeAny {
		return v, err
	}
	if v.Type == notebooks.TypeInt && t == notebooks.TypeFloat || v.Type == notebooks.TypeString && (isPlain(n) ||
		t == notebooks.TypeBytes) &&
		isOneOf(t, notebooks.TypeInt, notebooks.TypeFloat, notebooks.TypeBool, notebooks.TypeBytes) {
		// Numbers that YAML 1.1 does not know (1e3, 0o17), and a bool in another case.
		if v, err := readText(t, v.Text); err == nil {
			return v, nil
		}
	}
	return notebooks.Value{}, r.mismatch(n, v, t)
}

// typedText accepts any scalar as spelled.
func (r *yamlReader) typedText(n *yaml.Node, t notebooks.Type) (notebooks.Value, *notebooks.Error) {
	if n.Kind != yaml.ScalarNode || isNull(n) || n.ShortTag() == "!!binary" {
		v, err := r.value(n)
		if err != nil {
			return notebooks.Value{}, err
		}
		return notebooks.Value{}, r.mismatch(n, v, t)
	}
	v, err := readText(t, n.Value)
	if err != nil {
		return notebooks.Value{}, r.errorf(n, "%v", err)
	}
	return v, nil
}

func (r *yamlReader) mismatch(n *yaml.Node, v notebooks.Value, t notebooks.Type) *notebooks.Error {
	e := r.errorf(n, "%s", wrongType(v, t))
	if v.Type == notebooks.TypeNull && isOneOf(t, notebooks.TypeString, notebooks.TypeSecret) {
		e.Hint = `write "" for empty text, or the word in quotes`
	}
	return e
}

func isOneOf[T comparable](t T, types ...T) bool { return slices.Contains(types, t) }
