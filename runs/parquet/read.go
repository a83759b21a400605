package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"markmill/notebooks/codec"
)

// maxCells bounds a table that is read: a few bytes can stand for any number of equal values.
const maxCells = 1 << 21

// Table is a table as a scrap has one.
type Table struct {
	Columns []string      `json:"columns"`
	Data    [][]codec.Raw `json:"data"`
}

// Read reads a file whose columns are flat. Values are JSON as scraps hold them: what JSON has no word for is an object of
// one key, {"$date":"2026-01-31"} (docs/format.md, Scraps).
func Read(file []byte) (table Table, err error) {
	if len(file) < 12 || string(file[:4]) != magic || string(file[len(file)-4:]) != magic {
		return table, errors.New("is no Parquet file")
	}
	size := binary.LittleEndian.Uint32(file[len(file)-8:])
	if int64(size) > int64(len(file)-12) {
		return table, errShort
	}
	about, err := (&thriftReader{b: file[len(file)-8-int(size) : len(file)-8]}).structure(0)
	if err != nil {
		return table, err
	}
	leaves, err := leavesOf(about.list(2))
	if err != nil {
		return table, err
	}
	rows, _ := about.number(3)
	if rows < 0 || rows*int64(max(len(leaves), 1)) > maxCells || rows > maxCells {
		return table, fmt.Errorf("has %d rows of %d columns, more than are read", rows, len(leaves))
	}
	for _, l := range leaves {
		table.Columns = append(table.Columns, l.name)
	}
	table.Data = make([][]codec.Raw, 0, min(int(rows), len(file)))
	for _, g := range about.list(4) {
		if err := table.group(file, leaves, g); err != nil {
			return Table{}, err
		}
	}
	if int64(len(table.Data)) != rows {
		return Table{}, fmt.Errorf("has %d rows and says %d", len(table.Data), rows)
	}
	return table, nil
}

// group adds the rows of a row group.
func (t *Table) group(file []byte, leaves []leaf, about any) error {
	g, _ := about.(fields)
	rows, _ := g.number(3)
	chunks := g.list(1)
	if len(chunks) != len(leaves) || rows < 0 || (rows+int64(len(t.Data)))*int64(max(len(leaves), 1)) > maxCells {
		return errors.New("a row group is damaged")
	}
	from := len(t.Data)
	for range rows {
		t.Data = append(t.Data, make([]codec.Raw, len(leaves)))
	}
	for i, c := range chunks {
		f, _ := c.(fields)
		cells, err := leaves[i].chunk(file, f.inner(3), int(rows))
		if err != nil {
			return fmt.Errorf("column %q: %w", leaves[i].name, err)
		}
		for n, cell := range cells {
			t.Data[from+n][i] = cell
		}
	}
	return nil
}

// leaf is a column of the schema.
type leaf struct {
	name     string
	kind     int // physical type
	width    int // of values of a fixed width
	optional bool
	logical  fields // its logical type: the one field that is set
	old      int64  // the converted type, -1 without one
	scale    int64
}

func leavesOf(schema []any) ([]leaf, error) {
	var out []leaf
	for i, e := range schema {
		f, _ := e.(fields)
		if i == 0 {
			if n, _ := f.number(5); n != int64(len(schema)-1) {
				return nil, errors.New("has columns that hold lists or structures")
			}
			continue
		}
		l := leaf{name: strings.ToValidUTF8(f.text(4), "\uFFFD"), logical: f.inner(10), old: -1}
		kind, given := f.number(1)
		repeated, _ := f.number(3)
		if inner, _ := f.number(5); inner > 0 || !given || repeated > 1 {
			return nil, fmt.Errorf("column %q holds lists or structures", l.name)
		}
		l.kind, l.optional = int(kind), repeated == 1
		width, _ := f.number(2)
		l.width = int(width)
		if old, ok := f.number(6); ok {
			l.old = old
		}
		l.scale, _ = f.number(7)
		out = append(out, l)
	}
	return out, nil
}

// chunk reads a column of a row group: its pages, one after the other.
func (l leaf) chunk(file []byte, about fields, rows int) ([]codec.Raw, error) {
	at, _ := about.number(9)
	if dict, ok := about.number(11); ok && dict > 0 && dict < at {
		at = dict
	}
	codecID, _ := about.number(4)
	var dictionary []codec.Raw
	cells := make([]codec.Raw, 0, min(rows, 1024))
	for len(cells) < rows {
		if at < 4 || at >= int64(len(file)) {
			return nil, errShort
		}
		r := &thriftReader{b: file, at: int(at)}
		head, err := r.structure(0)
		if err != nil {
			return nil, err
		}
		size, _ := head.number(3)
		if size < 0 || size > int64(len(file)-r.at) {
			return nil, errShort
		}
		p := page{head: head, body: file[r.at : r.at+int(size)], codec: int(codecID), left: rows - len(cells)}
		at = int64(r.at) + size
		switch kind, _ := head.number(1); kind {
		case pageDictionary:
			if dictionary, err = l.dictionary(p); err != nil {
				return nil, err
			}
		case pageData, pageDataV2:
			got, err := l.page(p, dictionary, kind == pageDataV2)
			if err != nil {
				return nil, err
			}
			if len(got) == 0 {
				return nil, errors.New("a page is empty")
			}
			cells = append(cells, got...)
		}
	}
	return cells, nil
}

// utf8Text is bytes of a text, as JSON.
func utf8Text(b []byte) (codec.Raw, error) {
	if !utf8.Valid(b) {
		b = []byte(strings.ToValidUTF8(string(b), "\uFFFD"))
	}
	return codec.Marshal(string(b))
}
