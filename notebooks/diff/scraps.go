package diff

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
)

func (c *comparing) scraps(step string, a, b []Scrap) {
	for old, new := range matched(a, b, func(s *Scrap) string { return s.Name }) {
		s := cmp.Or(old, new)
		ch := ScrapChange{Step: step, Cell: c.cell, Name: s.Name, Type: s.Type}
		switch {
		case new == nil:
			ch.What, ch.Old, ch.OldDigest = Removed, old.Value, old.Digest
		case old == nil:
			ch.What, ch.New, ch.NewDigest = Added, new.Value, new.Digest
		case bytes.Equal(old.Value, new.Value) && old.Digest == new.Digest:
			continue
		default:
			ch = c.scrap(step, old, new)
		}
		c.d.Scraps = append(c.d.Scraps, ch)
	}
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
	found := changesOf(p, q)
	if found.onlyNumbers {
		ch.Relative = &found.most
		ch.Within = math.Abs(found.most) <= tolerance
	}
	ch.Values = found.values
	if a, b := readable(p, old.Value), readable(q, new.Value); strings.Count(a, "\n")+strings.Count(b, "\n") > 2 {
		ch.Text = compareText(a, b, nil)
	}
	return ch
}

// relative returns the change from x to y as a part of x; false where x is 0 or it is no finite number.
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

// readable returns a value as lines: a string as it is, anything else as indented JSON.
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
