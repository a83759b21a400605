package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"markmill/notebooks/codec"
)

const magic = "PAR1"

// maxCells bounds the tables that Read accepts: a few bytes can encode any number of equal values.
const maxCells = 1 << 21

// Table is a table in the form of a scrap.
type Table struct {
	Columns []string      `json:"columns"`
	Data    [][]codec.Raw `json:"data"`
}

// Read reads a file whose columns are flat. Values are JSON as scraps hold them: values that JSON cannot express are
// objects with one key, {"$date":"2026-01-31"} (docs/format.md, Scraps).
func Read(file []byte) (table Table, err error) {
	defer func() { // the library may panic on damaged bytes
		if r := recover(); r != nil {
			table, err = Table{}, fmt.Errorf("is damaged: %v", r)
		}
	}()
	if len(file) < 12 || string(file[:4]) != magic || string(file[len(file)-4:]) != magic {
		return table, errors.New("is no Parquet file")
	}
	size := binary.LittleEndian.Uint32(file[len(file)-8:])
	if int64(size) > int64(len(file)-12) {
		return table, errShort
	}
	var about format.FileMetaData
	if _, err := decode(file[len(file)-8-int(size):len(file)-8], &about); err != nil {
		return table, err
	}
	leaves, err := leavesOf(about.Schema)
	if err != nil {
		return table, err
	}
	rows := about.NumRows
	if rows < 0 || rows > maxCells || rows*int64(max(len(leaves), 1)) > maxCells {
		return table, fmt.Errorf("has %d rows of %d columns, more than are read", rows, len(leaves))
	}
	for _, l := range leaves {
		table.Columns = append(table.Columns, l.name)
	}
	table.Data = make([][]codec.Raw, 0, min(int(rows), len(file)))
	for _, g := range about.RowGroups {
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
func (t *Table) group(file []byte, leaves []leaf, g format.RowGroup) error {
	if len(g.Columns) != len(leaves) || g.NumRows < 0 || g.NumRows > maxCells ||
		(g.NumRows+int64(len(t.Data)))*int64(max(len(leaves), 1)) > maxCells {
		return errors.New("a row group is damaged")
	}
	from := len(t.Data)
	for range g.NumRows {
		t.Data = append(t.Data, make([]codec.Raw, len(leaves)))
	}
	for i, c := range g.Columns {
		cells, err := leaves[i].chunk(file, c.MetaData, int(g.NumRows))
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
	format.SchemaElement
	name     string
	kind     format.Type
	optional bool
}

func leavesOf(schema []format.SchemaElement) ([]leaf, error) {
	var out []leaf
	for i, e := range schema {
		if i == 0 {
			if int(e.NumChildren.V) != len(schema)-1 {
				return nil, errors.New("has columns that hold lists or structures")
			}
			continue
		}
		l := leaf{e, strings.ToValidUTF8(e.Name, "\uFFFD"), e.Type.V, e.RepetitionType.V == format.Optional}
		if e.NumChildren.V > 0 || !e.Type.Valid || e.RepetitionType.V > format.Optional {
			return nil, fmt.Errorf("column %q holds lists or structures", l.name)
		}
		out = append(out, l)
	}
	return out, nil
}

// chunk reads a column of a row group, page by page.
func (l leaf) chunk(file []byte, about format.ColumnMetaData, rows int) ([]codec.Raw, error) {
	at := about.DataPageOffset
	if dict := about.DictionaryPageOffset; dict > 0 && dict < at {
		at = dict
	}
	var dictionary []codec.Raw
	cells := make([]codec.Raw, 0, min(rows, 1024))
	for len(cells) < rows {
		if at < 4 || at >= int64(len(file)) {
			return nil, errShort
		}
		p := page{codec: about.Codec, left: rows - len(cells)}
		n, err := decode(file[at:], &p.head)
		if err != nil {
			return nil, err
		}
		at += int64(n)
		size := int64(p.head.CompressedPageSize)
		if size < 0 || size > int64(len(file))-at {
			return nil, errShort
		}
		p.body = file[at : at+size]
		at += size
		switch p.head.Type {
		case format.DictionaryPage:
			if dictionary, err = l.dictionary(p); err != nil {
				return nil, err
			}
		case format.DataPage, format.DataPageV2:
			got, err := l.cells(p, dictionary)
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

// utf8Text returns the bytes of a text as JSON.
func utf8Text(b []byte) (codec.Raw, error) {
	if !utf8.Valid(b) {
		b = []byte(strings.ToValidUTF8(string(b), "\uFFFD"))
	}
	return codec.Marshal(string(b))
}
