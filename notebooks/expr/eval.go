package expr

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// node is a part of an expression: an operator, or one of the forms below.
type node struct {
	col   int
	op    string
	value any // of a literal, its value; of passed, the step; of a name, a name
	args  []*node
}

const (
	opLiteral = "literal"
	opName    = "name"
	opList    = "list"
	opIndex   = "index"
	opDefined = "defined"
	opPassed  = "passed"
	opNegate  = "negate"
)

func (n *node) eval(s Scope) (any, error) {
	switch n.op {
	case opLiteral:
		return n.value, nil
	case opName:
		return n.lookUp(s)
	case opDefined:
		return n.args[0].defined(s)
	case opPassed:
		passed, ok := s.Steps[n.value.(string)]
		if !ok {
			return nil, errorf(n.col, "there is no step %q", n.value)
		}
		return passed, nil
	case "!":
		b, err := n.args[0].truth(s, "not")
		return !b, err
	case "&&", "||":
		word := map[string]string{"&&": "and", "||": "or"}[n.op]
		left, err := n.args[0].truth(s, word)
		if err != nil || left == (n.op == "||") {
			return left, err
		}
		return n.args[1].truth(s, word)
	}
	args := make([]any, len(n.args))
	for i, arg := range n.args {
		var err error
		if args[i], err = arg.eval(s); err != nil {
			return nil, err
		}
	}
	if n.op == opList {
		return args, nil
	}
	return n.apply(args)
}

// apply applies an operator to values.
func (n *node) apply(args []any) (any, error) {
	switch n.op {
	case opIndex:
		return n.index(args[0], args[1])
	case opNegate:
		if i, ok := asInt(args[0]); ok {
			return new(big.Int).Neg(i), nil
		}
		if f, ok := args[0].(float64); ok {
			return -f, nil
		}
		return nil, errorf(n.col, "- needs a number, not %s", kindOf(args[0]))
	}
	left, right := args[0], args[1]
	switch n.op {
	case "+", "-", "*", "/":
		return n.arithmetic(left, right)
	case "in":
		return contains(n.col, left, right)
	case "==", "!=":
		if kindOf(left) != kindOf(right) && left != nil && right != nil {
			return nil, errorf(n.col, "%s and %s cannot be compared", kindOf(left), kindOf(right))
		}
		return equal(left, right) == (n.op == "=="), nil
	}
	return ordered(n.col, n.op, left, right)
}

// name is name, params.name or scraps.name.
type name struct{ root, name string }

func (n name) String() string {
	if n.root == "" {
		return n.name
	}
	return n.root + "." + n.name
}

func (n name) find(s Scope) (any, bool) {
	if v, ok := s.Scraps[n.name]; ok && n.root != "params" {
		return v, true
	}
	if n.root == "scraps" {
		return nil, false
	}
	v, ok := s.Params[n.name]
	return v, ok
}

func (n *node) lookUp(s Scope) (any, error) {
	name := n.value.(name)
	v, ok := name.find(s)
	if !ok {
		kind := map[string]string{"": "scrap or parameter", "scraps": "scrap", "params": "parameter"}[name.root]
		return nil, errorf(n.col, "there is no %s %q; defined(%s) asks whether there is", kind, name.name, name)
	}
	return v, nil
}

// defined asks for each part in turn: a part of what has no parts is not defined.
func (n *node) defined(s Scope) (any, error) {
	switch n.op {
	case opIndex:
		above, err := n.args[0].defined(s)
		if err != nil || above == false {
			return above, err
		}
		_, err = n.eval(s)
		return err == nil, nil
	case opName:
		_, found := n.value.(name).find(s)
		return found, nil
	}
	return nil, errorf(n.col, "defined takes a name")
}

func (n *node) index(whole, key any) (any, error) {
	at := n.args[1].col
	switch whole := whole.(type) {
	case map[string]any:
		name, ok := key.(string)
		if !ok {
			return nil, errorf(at, "the key of a map is text, not %s", kindOf(key))
		}
		item, ok := whole[name]
		if !ok {
			return nil, errorf(at, "the map has no key %q", name)
		}
		return item, nil
	case []any:
		i, ok := asInt(key)
		if !ok {
			return nil, errorf(at, "the place in a list is an integer, not %s", kindOf(key))
		}
		if !i.IsInt64() || i.Sign() < 0 || i.Int64() >= int64(len(whole)) {
			return nil, errorf(at, "the list has no place %s; it has %d", i, len(whole))
		}
		return whole[i.Int64()], nil
	}
	return nil, errorf(n.col, "%s has no parts", kindOf(whole))
}

func (n *node) truth(s Scope, word string) (bool, error) {
	v, err := n.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, errorf(n.col, "%q needs true or false, not %s", word, kindOf(v))
	}
	return b, nil
}

func (n *node) arithmetic(left, right any) (any, error) {
	if !isNumber(left) || !isNumber(right) {
		return nil, errorf(n.col, "%s needs two numbers, not %s and %s", n.op, kindOf(left), kindOf(right))
	}
	a, isInt := asInt(left)
	b, areInts := asInt(right)
	exact, x, y := isInt && areInts, asFloat(left), asFloat(right)
	switch {
	case n.op == "+" && exact:
		return new(big.Int).Add(a, b), nil
	case n.op == "-" && exact:
		return new(big.Int).Sub(a, b), nil
	case n.op == "*" && exact:
		return new(big.Int).Mul(a, b), nil
	case n.op == "+":
		return x + y, nil
	case n.op == "-":
		return x - y, nil
	case n.op == "*":
		return x * y, nil
	case y == 0:
		return nil, errorf(n.col, "division by zero")
	}
	return x / y, nil
}

// kindOf names what a value is, as messages and comparisons need it: integers and floats are
// numbers.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case int, int64, *big.Int, float64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return "a value of no known kind"
}

func isNumber(v any) bool { return kindOf(v) == "a number" }

func asInt(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case int:
		return big.NewInt(int64(v)), true
	case int64:
		return big.NewInt(v), true
	case *big.Int:
		return v, v != nil
	}
	return nil, false
}

func asFloat(v any) float64 {
	if i, ok := asInt(v); ok {
		f, _ := new(big.Float).SetInt(i).Float64()
		return f
	}
	f, _ := v.(float64)
	return f
}

// compareNumbers orders two numbers without rounding; false when one is NaN.
func compareNumbers(a, b any) (int, bool) {
	var exact [2]*big.Float
	for i, v := range []any{a, b} {
		if n, ok := asInt(v); ok {
			exact[i] = new(big.Float).SetInt(n)
			continue
		}
		f, _ := v.(float64)
		if math.IsNaN(f) {
			return 0, false
		}
		exact[i] = big.NewFloat(f)
	}
	return exact[0].Cmp(exact[1]), true
}

// equal reports whether two values are the same. Values of different kinds inside lists and maps
// are not.
func equal(a, b any) bool {
	if kindOf(a) != kindOf(b) {
		return false
	}
	switch a := a.(type) {
	case nil, bool, string:
		return a == b
	case []any:
		return slices.EqualFunc(a, b.([]any), equal)
	case map[string]any:
		return maps.EqualFunc(a, b.(map[string]any), equal)
	}
	c, ok := compareNumbers(a, b)
	return ok && c == 0
}

// ordered is <, <=, > and >= of two numbers or two texts (by code points).
func ordered(col int, operator string, a, b any) (bool, error) {
	c, known := 0, true
	x, isText := a.(string)
	y, areTexts := b.(string)
	switch {
	case isText && areTexts:
		c = strings.Compare(x, y)
	case isNumber(a) && isNumber(b):
		c, known = compareNumbers(a, b)
	default:
		return false, errorf(col, "%s orders two numbers or two texts, not %s and %s", operator, kindOf(a), kindOf(b))
	}
	holds := map[string]bool{"<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[operator]
	return known && holds, nil
}

// contains is "item in whole": an element of a list, a key of a map, a part of a text.
func contains(col int, item, whole any) (bool, error) {
	switch whole := whole.(type) {
	case []any:
		return slices.ContainsFunc(whole, func(v any) bool { return equal(item, v) }), nil
	case map[string]any:
		if key, ok := item.(string); ok {
			_, found := whole[key]
			return found, nil
		}
	case string:
		if part, ok := item.(string); ok {
			return strings.Contains(whole, part), nil
		}
	}
	return false, errorf(col, "%s cannot be in %s", kindOf(item), kindOf(whole))
}
