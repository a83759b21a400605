package params

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
)

// IsName reports whether a text is a valid parameter name: letters, digits and underscores of any script, not starting
// with a digit.
func IsName(name string) bool { return name != "" && proposeName(name) == name }

// proposeName returns the nearest valid parameter name.
func proposeName(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case c == '_' || unicode.IsLetter(c) || c != unicode.ReplacementChar && unicode.IsDigit(c):
			if b.Len() == 0 && unicode.IsDigit(c) {
				b.WriteByte('_')
			}
			b.WriteRune(c)
		case unicode.Is(unicode.M, c) && b.Len() > 0:
			b.WriteRune(c) // a combining mark belongs to its letter
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// badName returns the error for an invalid name, or nil.
func badName(name string) *notebooks.Error {
	if IsName(name) {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindParameter,
		Msg:  fmt.Sprintf("%q cannot name a parameter: letters, digits and _ can, no digit first", name),
		Hint: fmt.Sprintf("call it %s", proposeName(name))}
}

// isSoft reports whether the type is only inferred from a literal in a code block: it decides how -p is read, but
// restricts nothing.
func isSoft(p notebooks.Param) bool { return p.Code && p.Declared == "" }

// isNullable reports whether the parameter may be null, whatever its type.
func isNullable(p notebooks.Param) bool {
	_, optional := annotatedMembers(p.Declared)
	return p.Type == notebooks.TypeAny || p.Type == "" || isSoft(p) ||
		p.HasDefault && p.Default.Type == notebooks.TypeNull || p.Code && optional
}

// checkValue returns an error of KindParameter unless the value fits the parameter's type, enum and bounds.
func checkValue(p notebooks.Param, v notebooks.Value) *notebooks.Error {
	if v.Type == notebooks.TypeNull && isNullable(p) {
		return nil
	}
	if p.Type != notebooks.TypeAny && p.Type != "" && v.Type != p.Type && !isSoft(p) {
		return errorOf(p, "%s", wrongType(v, p.Type))
	}
	if len(p.Enum) > 0 {
		names := make([]string, len(p.Enum))
		for i, e := range p.Enum {
			if e.Equal(v) {
				return nil
			}
			names[i] = show(e)
		}
		return errorOf(p, "%s is not one of %s", show(v), strings.Join(names, ", "))
	}
	if p.Min != nil {
		if c, ok := compare(v, *p.Min); !ok || c < 0 {
			return errorOf(p, "%s is less than the least value, %s", show(v), show(*p.Min))
		}
	}
	if p.Max != nil {
		if c, ok := compare(v, *p.Max); !ok || c > 0 {
			return errorOf(p, "%s is more than the greatest value, %s", show(v), show(*p.Max))
		}
	}
	return nil
}

func errorOf(p notebooks.Param, format string, args ...any) *notebooks.Error {
	return &notebooks.Error{Kind: notebooks.KindParameter,
		Msg: fmt.Sprintf("parameter %q: ", p.Name) + fmt.Sprintf(format, args...)}
}

// wrongType returns the error for a value of another type than expected. It does not show a secret.
func wrongType(v notebooks.Value, t notebooks.Type) string {
	if t == notebooks.TypeSecret {
		return fmt.Sprintf("a %s is not %s", v.Type, article(t))
	}
	if v.Type == notebooks.TypeNull {
		return fmt.Sprintf("null is not %s", article(t))
	}
	return fmt.Sprintf("%s is %s, not %s", show(v), article(v.Type), article(t))
}

func article(t notebooks.Type) string {
	if t == notebooks.TypeInt {
		return "an int"
	}
	return "a " + string(t)
}

// show formats a value for a message: JSON, cut when it is long.
func show(v notebooks.Value) string { return notebooks.Cut(string(v.JSON()), 60) }

// compare orders two numbers, durations or dates; ok is false if they have no order.
func compare(a, b notebooks.Value) (int, bool) {
	switch {
	case a.Type == notebooks.TypeDuration && b.Type == notebooks.TypeDuration:
		return compareFloats(a.Float, b.Float)
	case a.Type == notebooks.TypeDate && b.Type == notebooks.TypeDate:
		x, ok1 := notebooks.Instant(a.Text)
		y, ok2 := notebooks.Instant(b.Text)
		return x.Compare(y), ok1 && ok2
	case !isOneOf(a.Type, notebooks.TypeInt, notebooks.TypeFloat) ||
		!isOneOf(b.Type, notebooks.TypeInt, notebooks.TypeFloat):
		return 0, false
	}
	x, y := rational(a), rational(b)
	if x == nil || y == nil { // NaN or an infinity
		return compareFloats(approximate(a), approximate(b))
	}
	return x.Cmp(y), true
}

func compareFloats(a, b float64) (int, bool) {
	switch {
	case a < b:
		return -1, true
	case a > b:
		return 1, true
	}
	return 0, a == b
}

// rational returns the exact value of a number; nil for NaN and the infinities.
func rational(v notebooks.Value) *big.Rat {
	if v.Type == notebooks.TypeInt {
		r, _ := new(big.Rat).SetString(v.Text)
		return r
	}
	return new(big.Rat).SetFloat64(v.Float)
}

// approximate returns a number as a finite double, or NaN or an infinity that really is one.
func approximate(v notebooks.Value) float64 {
	if v.Type == notebooks.TypeFloat {
		return v.Float
	}
	f, _ := rational(v).Float64()
	return math.Max(-math.MaxFloat64, math.Min(math.MaxFloat64, f))
}

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
