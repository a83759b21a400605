package diff

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
)

func (c *comparing) scraps(step string, a, b []Scrap) {
	inA, inB := scrapsByName(a), scrapsByName(b)
	for i := range a {
		old := &a[i]
		new := inB[old.Name]
		if new == nil {
			c.d.Scraps = append(c.d.Scraps, ScrapChange{Step: step, Cell: c.cell, Name: old.Name, Type: old.Type, What: Removed,
				Old: old.Value, OldDigest: old.Digest})
			continue
		}
		if bytes.Equal(old.Value, new.Value) && old.Digest == new.Digest {
			continue
		}
		c.d.Scraps = append(c.d.Scraps, c.scrap(step, old, new))
	}
	for j := range b {
		if s := &b[j]; inA[s.Name] == nil {
			c.d.Scraps = append(c.d.Scraps, ScrapChange{Step: step, Cell: c.cell, Name: s.Name, Type: s.Type, What: Added,
				New: s.Value, NewDigest: s.Digest})
		}
	}
}

// scrapsByName finds the first scrap of each name.
func scrapsByName(list []Scrap) map[string]*Scrap {
	out := make(map[string]*Scrap, len(list))
	for i := range list {
		if s := &list[i]; out[s.Name] == nil {
			out[s.Name] = s
		}
	}
	return out
}

func (c *comparing) scrap(step string, old, new *Scrap) ScrapChange {
	ch := ScrapChange{Step: step, Cell: c.cell, Name: old.Name, Type: new.Type, What: Edited, Old: old.Value,
		New: new.Value, OldDigest: old.Digest, NewDigest: new.Digest}
	if old.Value == nil || new.Value == nil {
		return ch
	}
	tolerance, own := c.opt.Tolerances[old.Name]
	if !own {
		tolerance = c.opt.Tolerance
	}
	x, isNumber := numberOf(old.Value)
	y, isNumber2 := numberOf(new.Value)
	if isNumber && isNumber2 {
		if d := y - x; !math.IsInf(d, 0) {
			ch.Difference = &d
		}
		if r, ok := relative(x, y); ok {
			ch.Relative = &r
			ch.Within = math.Abs(r) <= tolerance
		}
		return ch
	}
	var p, q any
	if codec.Unmarshal(old.Value, &p) != nil || codec.Unmarshal(new.Value, &q) != nil {
		return ch
	}
	var most float64
	if onlyNumbers(p, q, &most) {
		ch.Relative = &most
		ch.Within = math.Abs(most) <= tolerance
	}
	ch.Values = cellValues(p, q)
	if a, b := readable(p, old.Value), readable(q, new.Value); strings.Count(a, "\n")+strings.Count(b, "\n") > 2 {
		ch.Text = compareText(a, b, nil)
	}
	return ch
}

// relative is the change from x to y as a part of x; false where x is 0 or it is no finite number.
func relative(x, y float64) (float64, bool) {
	r := (y - x) / math.Abs(x)
	return r, x != 0 && !math.IsNaN(r) && !math.IsInf(r, 0)
}

// numberOf reads a JSON number, or a string that holds nothing but one.
func numberOf(v codec.Raw) (float64, bool) {
	text := string(v)
	if len(text) > 1 && text[0] == '"' {
		var s string
		if codec.Unmarshal(v, &s) != nil {
			return 0, false
		}
		text = strings.TrimSpace(s)
	}
	if text == "" || strings.IndexByte("-+.0123456789", text[0]) < 0 || strings.ContainsAny(text, "xX_pP") {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
}

// onlyNumbers says that two values differ in numbers only; most becomes the greatest relative change.
func onlyNumbers(a, b any, most *float64) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		if !ok || x == y {
			return ok
		}
		r, ok := relative(x, y)
		if ok && math.Abs(r) > math.Abs(*most) {
			*most = r
		}
		return ok
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !onlyNumbers(x[i], y[i], most) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			w, ok := y[k]
			if !ok || !onlyNumbers(x[k], w, most) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}

// readable is a value as lines: a string as it is, anything else as indented JSON.
func readable(v any, raw codec.Raw) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := codec.Indent(raw)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
