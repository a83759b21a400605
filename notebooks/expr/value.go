package expr

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

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
