package diff

import (
	"bytes"
	"fmt"
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
	rows    []map[string]any
	names   []string // of the rows; they differ from each other
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
			row := map[string]any{}
			for i, c := range cells {
				row[t.columns[i]] = c
			}
			t.rows = append(t.rows, row)
		}
	case []any:
		for _, r := range x {
			row, ok := r.(map[string]any)
			if !ok {
				return nil
			}
			t.rows = append(t.rows, row)
			for name := range row {
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

// key is the first column whose values tell the rows of both tables apart; "" without one.
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
		s, ok := r[column].(string)
		if !ok || seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

// name names the rows by a column, or by their number.
func (t *table) name(column string) {
	for i, r := range t.rows {
		if column == "" {
			t.names = append(t.names, strconv.Itoa(i+1))
		} else {
			t.names = append(t.names, plainText(r[column]))
		}
	}
}

func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(rawOf(v))
}

func rawOf(v any) codec.Raw {
	raw, err := codec.Marshal(v)
	if err != nil {
		return codec.Raw("null")
	}
	return raw
}

// cellValues lists the values in which two scraps differ. It is nil where there are too many of them, or one whole is
// another.
func cellValues(a, b any) []CellValue {
	var out []CellValue
	if p, q := tableOf(a), tableOf(b); p != nil && q != nil {
		out = tableValues(p, q)
	} else {
		pathValues("", a, b, &out)
	}
	if len(out) > maxCellValues || len(out) == 1 && out[0].At == "" {
		return nil
	}
	return out
}

func tableValues(a, b *table) []CellValue {
	by := key(a, b)
	a.name(by)
	b.name(by)
	var out []CellValue
	add := func(row, column string, old, now any, was, is bool) {
		v := CellValue{At: "row " + row, Row: row, Column: column}
		if column != "" {
			v.At += ", column " + column
		}
		if was {
			v.Old = rawOf(old)
		}
		if is {
			v.New = rawOf(now)
		}
		if !was || !is || !bytes.Equal(v.Old, v.New) {
			out = append(out, v)
		}
	}
	inB := map[string]int{}
	for j, n := range b.names {
		inB[n] = j
	}
	columns := slices.Clone(a.columns)
	for _, c := range b.columns {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	met := map[string]bool{}
	for i, n := range a.names {
		met[n] = true
		j, ok := inB[n]
		if !ok {
			add(n, "", a.rows[i], nil, true, false)
			continue
		}
		for _, c := range columns {
			old, was := a.rows[i][c]
			now, is := b.rows[j][c]
			if was || is {
				add(n, c, old, now, was, is)
			}
		}
	}
	for j, n := range b.names {
		if !met[n] {
			add(n, "", nil, b.rows[j], false, true)
		}
		if len(out) > maxCellValues {
			break
		}
	}
	return out
}

// pathValues lists the values in which two values differ, by their paths.
func pathValues(at string, a, b any, out *[]CellValue) {
	if len(*out) > maxCellValues {
		return
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		var names []string
		for n := range x {
			names = append(names, n)
		}
		for n := range y {
			if _, both := x[n]; !both {
				names = append(names, n)
			}
		}
		slices.Sort(names)
		for _, n := range names {
			old, was := x[n]
			now, is := y[n]
			to := strings.TrimPrefix(at+"."+n, ".")
			switch {
			case was && is:
				pathValues(to, old, now, out)
			case was:
				*out = append(*out, CellValue{At: to, Old: rawOf(old)})
			default:
				*out = append(*out, CellValue{At: to, New: rawOf(now)})
			}
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			pathValues(fmt.Sprintf("%s[%d]", at, i), x[i], y[i], out)
		}
		return
	}
	if old, now := rawOf(a), rawOf(b); !bytes.Equal(old, now) {
		*out = append(*out, CellValue{At: at, Old: old, New: now})
	}
}
