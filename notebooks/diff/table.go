package diff

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
)

// CellValue is one changed value inside a scrap: its place, and the values before and after.
type CellValue struct {
	At     string    `json:"at"`              // "row us, column loss" of a table, else a path: "a.y[1]"
	Row    string    `json:"row,omitzero"`    // of a table: what its first column says, or its number
	Column string    `json:"column,omitzero"` // of a table
	Old    codec.Raw `json:"old,omitzero"`
	New    codec.Raw `json:"new,omitzero"`
}

// maxCellValues is how many changed values of a scrap are listed. Beyond it the scrap is compared by lines.
const maxCellValues = 100

// table is a value that holds rows with named columns.
type table struct {
	columns []string
	rows    []row
}

type row struct {
	name   string // no other row of the table has it
	fields map[string]any
}

// tableOf reads a table: {"columns": […], "data" or "rows": [[…]…]}, or a list of objects. nil where it is none.
func tableOf(v any) *table {
	t := &table{}
	switch x := v.(type) {
	case map[string]any:
		columns, _ := x["columns"].([]any)
		rows, ok := x["data"].([]any)
		if !ok {
			rows, ok = x["rows"].([]any)
		}
		if !ok || len(columns) == 0 {
			return nil
		}
		for _, c := range columns {
			t.columns = append(t.columns, plainText(c))
		}
		for _, r := range rows {
			cells, ok := r.([]any)
			if !ok || len(cells) != len(columns) {
				return nil
			}
			fields := map[string]any{}
			for i, c := range cells {
				fields[t.columns[i]] = c
			}
			t.rows = append(t.rows, row{fields: fields})
		}
	case []any:
		for _, r := range x {
			fields, ok := r.(map[string]any)
			if !ok {
				return nil
			}
			t.rows = append(t.rows, row{fields: fields})
			for name := range fields {
				if !slices.Contains(t.columns, name) {
					t.columns = append(t.columns, name)
				}
			}
		}
		slices.Sort(t.columns)
	}
	if len(t.rows) == 0 || len(t.columns) == 0 {
		return nil
	}
	return t
}

// key returns the first column whose values tell the rows of both tables apart; "" without one.
func key(a, b *table) string {
	for _, c := range a.columns {
		if distinct(a, c) && distinct(b, c) {
			return c
		}
	}
	return ""
}

func distinct(t *table, column string) bool {
	seen := map[string]bool{}
	for _, r := range t.rows {
		s, ok := r.fields[column].(string)
		if !ok || seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

// name names the rows by a column, or by their number.
func (t *table) name(column string) {
	for i := range t.rows {
		t.rows[i].name = strconv.Itoa(i + 1)
		if column != "" {
			t.rows[i].name = plainText(t.rows[i].fields[column])
		}
	}
}

func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(codec.RawOf(v))
}

// fieldOf is nil where an object has no such field.
func fieldOf(object map[string]any, name string) codec.Raw {
	v, ok := object[name]
	if !ok {
		return nil
	}
	return codec.RawOf(v)
}

// changesOf finds where two scraps differ: in tables by row and column, else by path. No values are listed where there
// are too many of them, or one whole is another.
func changesOf(a, b any) changes {
	found := changes{onlyNumbers: true}
	found.walk("", a, b)
	if p, q := tableOf(a), tableOf(b); p != nil && q != nil {
		found.values = tableValues(p, q)
	}
	if len(found.values) > maxCellValues || len(found.values) == 1 && found.values[0].At == "" {
		found.values = nil
	}
	return found
}

func tableValues(a, b *table) []CellValue {
	by := key(a, b)
	a.name(by)
	b.name(by)
	columns := slices.Clone(a.columns)
	for _, c := range b.columns {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	var out []CellValue
	for old, now := range matched(a.rows, b.rows, func(r *row) string { return r.name }) {
		name := cmp.Or(old, now).name
		switch {
		case now == nil:
			out = append(out, CellValue{At: "row " + name, Row: name, Old: codec.RawOf(old.fields)})
		case old == nil:
			out = append(out, CellValue{At: "row " + name, Row: name, New: codec.RawOf(now.fields)})
		default:
			for _, c := range columns {
				if was, is := fieldOf(old.fields, c), fieldOf(now.fields, c); !bytes.Equal(was, is) {
					out = append(out, CellValue{At: "row " + name + ", column " + c,
						Row: name, Column: c, Old: was, New: is})
				}
			}
		}
		if len(out) > maxCellValues {
			break
		}
	}
	return out
}

// changes are where two values differ.
type changes struct {
	values      []CellValue
	onlyNumbers bool    // nothing else differs
	most        float64 // the greatest relative change of a number
}

func (c *changes) add(at string, old, now codec.Raw) {
	if len(c.values) <= maxCellValues {
		c.values = append(c.values, CellValue{At: at, Old: old, New: now})
	}
}

func (c *changes) walk(at string, a, b any) {
	if len(c.values) > maxCellValues && !c.onlyNumbers {
		return
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := slices.AppendSeq(slices.Collect(maps.Keys(x)), maps.Keys(y))
		slices.Sort(names)
		for _, n := range slices.Compact(names) {
			old, was := x[n]
			now, is := y[n]
			to := strings.TrimPrefix(at+"."+n, ".")
			if was && is {
				c.walk(to, old, now)
			} else {
				c.onlyNumbers = false
				c.add(to, fieldOf(x, n), fieldOf(y, n))
			}
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			c.walk(at+"["+strconv.Itoa(i)+"]", x[i], y[i])
		}
		return
	case float64:
		y, ok := b.(float64)
		if !ok {
			break
		}
		if x != y {
			r, ok := relative(x, y)
			c.onlyNumbers = c.onlyNumbers && ok
			if math.Abs(r) > math.Abs(c.most) {
				c.most = r
			}
			c.add(at, codec.RawOf(x), codec.RawOf(y))
		}
		return
	}
	if old, now := codec.RawOf(a), codec.RawOf(b); !bytes.Equal(old, now) {
		c.onlyNumbers = false
		c.add(at, old, now)
	}
}
