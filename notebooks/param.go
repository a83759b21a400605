package notebooks

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"
)

// IsParamName says whether a text can name a parameter: letters, digits and underscores of any
// script, no digit first.
func IsParamName(name string) bool { return name != "" && proposeName(name) == name }

// proposeName is the nearest text that can name a parameter.
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

// badName is the error of a name that cannot be one; nil when it can.
func badName(name string) *Error {
	if IsParamName(name) {
		return nil
	}
	return &Error{Kind: KindParameter, Msg: fmt.Sprintf("%q cannot name a parameter: letters, digits and _ can, no digit first", name),
		Hint: fmt.Sprintf("call it %s", proposeName(name))}
}

// soft says that the type is only guessed from a literal of a code-language block: it says how -p
// is read, and forbids nothing.
func (p Param) soft() bool { return p.Code && p.Declared == "" }

// nullable says whether null is a value of the parameter, whatever its type.
func (p Param) nullable() bool {
	return p.Type == TypeAny || p.Type == "" || p.soft() || p.HasDefault && p.Default.Type == TypeNull ||
		p.Code && isOptional(p.Declared)
}

// Check says whether the parameter may have the value: its type, its enum, its bounds. The error
// is an *Error of KindParameter.
func (p Param) Check(v Value) error {
	if e := p.check(v); e != nil {
		return e
	}
	return nil
}

func (p Param) check(v Value) *Error {
	if v.Type == TypeNull && p.nullable() {
		return nil
	}
	if p.Type != TypeAny && p.Type != "" && v.Type != p.Type && !p.soft() {
		return p.errorf("%s", wrongType(v, p.Type))
	}
	if len(p.Enum) > 0 {
		names := make([]string, len(p.Enum))
		for i, e := range p.Enum {
			if e.Equal(v) {
				return nil
			}
			names[i] = e.show()
		}
		return p.errorf("%s is not one of %s", v.show(), strings.Join(names, ", "))
	}
	if p.Min != nil {
		if c, ok := compare(v, *p.Min); !ok || c < 0 {
			return p.errorf("%s is less than the least value, %s", v.show(), p.Min.show())
		}
	}
	if p.Max != nil {
		if c, ok := compare(v, *p.Max); !ok || c > 0 {
			return p.errorf("%s is more than the greatest value, %s", v.show(), p.Max.show())
		}
	}
	return nil
}

func (p Param) errorf(format string, args ...any) *Error {
	return &Error{Kind: KindParameter, Msg: fmt.Sprintf("parameter %q: ", p.Name) + fmt.Sprintf(format, args...)}
}

// wrongType says that a value is of another type than the expected. A secret's value is not shown.
func wrongType(v Value, t Type) string {
	if t == TypeSecret {
		return fmt.Sprintf("a %s is not %s", v.Type, article(t))
	}
	if v.Type == TypeNull {
		return fmt.Sprintf("null is not %s", article(t))
	}
	return fmt.Sprintf("%s is %s, not %s", v.show(), article(v.Type), article(t))
}

func article(t Type) string {
	if t == TypeInt {
		return "an int"
	}
	return "a " + string(t)
}

// show is a value in a message: JSON, cut when it is long.
func (v Value) show() string {
	text := []rune(string(v.JSON()))
	if len(text) > 60 {
		return string(text[:60]) + "…"
	}
	return string(text)
}

// compare orders two numbers, durations or dates; false when they have no order.
func compare(a, b Value) (int, bool) {
	switch {
	case a.Type == TypeDuration && b.Type == TypeDuration:
		return compareFloats(a.Float, b.Float)
	case a.Type == TypeDate && b.Type == TypeDate:
		x, ok1 := instant(a.Text)
		y, ok2 := instant(b.Text)
		return x.Compare(y), ok1 && ok2
	case !isOneOf(a.Type, TypeInt, TypeFloat) || !isOneOf(b.Type, TypeInt, TypeFloat):
		return 0, false
	}
	x, y := a.rational(), b.rational()
	if x == nil || y == nil { // NaN or an infinity
		return compareFloats(a.approximate(), b.approximate())
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

// rational is the exact value of a number; nil for NaN and the infinities.
func (v Value) rational() *big.Rat {
	if v.Type == TypeInt {
		r, _ := new(big.Rat).SetString(v.Text)
		return r
	}
	return new(big.Rat).SetFloat64(v.Float)
}

// approximate is a number as a finite double, or NaN or an infinity that really is one.
func (v Value) approximate() float64 {
	if v.Type == TypeFloat {
		return v.Float
	}
	f, _ := v.rational().Float64()
	return math.Max(-math.MaxFloat64, math.Min(math.MaxFloat64, f))
}
