package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Kind is what the values of a column are.
type Kind int

// The kinds of a column that is written. A value that is missing is nil in each.
const (
	Text  Kind = iota // string, UTF-8
	Bool              // bool
	Int               // int64
	Float             // float64
)

// Column is one column of a table, with a value a row.
type Column struct {
	Name   string
	Kind   Kind
	Values []any
}

// Numbers of the format for what is written and read.
const (
	typeBool  = 0
	typeInt32 = 1
	typeInt64 = 2
	typeInt96 = 3
	typeFloat = 4
	typeReal  = 5 // DOUBLE
	typeBytes = 6
	typeFixed = 7

	encodingPlain      = 0
	encodingPlainDict  = 2
	encodingRLE        = 3
	encodingDictionary = 8

	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2

	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3

	logicalString = 1
	magic         = "PAR1"
)

// groupRows is how many rows stand in one row group.
const groupRows = 1 << 16

var physical = map[Kind]int{Text: typeBytes, Bool: typeBool, Int: typeInt64, Float: typeReal}

// Write writes a table. Every column has as many values as the others. No compression: these are tables of scraps.
func Write(w io.Writer, columns []Column) error {
	rows := 0
	for i, c := range columns {
		if i == 0 {
			rows = len(c.Values)
		}
		if len(c.Values) != rows {
			return fmt.Errorf("column %q has %d values, the first has %d", c.Name, len(c.Values), rows)
		}
	}
	f := fileWriter{w: w, columns: columns}
	f.put([]byte(magic))
	for from := 0; from < rows; from += groupRows {
		f.group(from, min(from+groupRows, rows))
	}
	f.footer(rows)
	return f.err
}

type fileWriter struct {
	w       io.Writer
	at      int
	err     error
	columns []Column
	groups  []group
}

// group is a row group as it was written.
type group struct {
	rows   int
	chunks []chunk
}

type chunk struct{ at, size, values int }

func (f *fileWriter) put(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
		f.at += len(b)
	}
}

func (f *fileWriter) group(from, to int) {
	g := group{rows: to - from}
	for _, c := range f.columns {
		page, err := pageOf(c, from, to)
		if err != nil {
			f.err = err
			return
		}
		var head thriftWriter
		head.begin()
		head.i32(1, pageData)
		head.i32(2, len(page))
		head.i32(3, len(page))
		head.structure(5, func() {
			head.i32(1, to-from)
			head.i32(2, encodingPlain)
			head.i32(3, encodingRLE)
			head.i32(4, encodingRLE)
		})
		head.end()
		g.chunks = append(g.chunks, chunk{f.at, len(head.b) + len(page), to - from})
		f.put(head.b)
		f.put(page)
	}
	f.groups = append(f.groups, g)
}

// pageOf is which values there are, and those values.
func pageOf(c Column, from, to int) ([]byte, error) {
	var levels, values []byte
	var bits, packed byte
	for i := from; i < to; {
		run, there := i, c.Values[i] != nil
		for run < to && (c.Values[run] != nil) == there {
			run++
		}
		levels = binary.AppendUvarint(levels, uint64(run-i)<<1)
		if levels = append(levels, 0); there {
			levels[len(levels)-1] = 1
		}
		i = run
	}
	for _, v := range c.Values[from:to] {
		if v == nil {
			continue
		}
		ok := true
		switch c.Kind {
		case Text:
			var s string
			if s, ok = v.(string); ok {
				values = append(binary.LittleEndian.AppendUint32(values, uint32(len(s))), s...)
			}
		case Int:
			var n int64
			n, ok = v.(int64)
			values = binary.LittleEndian.AppendUint64(values, uint64(n))
		case Float:
			var n float64
			n, ok = v.(float64)
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(n))
		case Bool:
			var b bool
			if b, ok = v.(bool); b {
				packed |= 1 << bits
			}
			if bits++; bits == 8 {
				values, bits, packed = append(values, packed), 0, 0
			}
		}
		if !ok {
			return nil, fmt.Errorf("column %q has a %T", c.Name, v)
		}
	}
	if bits > 0 {
		values = append(values, packed)
	}
	page := binary.LittleEndian.AppendUint32(nil, uint32(len(levels)))
	page = append(append(page, levels...), values...)
	if len(page) > math.MaxInt32 {
		return nil, fmt.Errorf("column %q has more than 2 GiB in %d rows", c.Name, to-from)
	}
	return page, nil
}

func (f *fileWriter) footer(rows int) {
	var t thriftWriter
	t.begin()
	t.i32(1, 2)
	t.list(2, thriftStruct, 1+len(f.columns))
	t.begin()
	t.text(4, "schema")
	t.i32(5, len(f.columns))
	t.end()
	for _, c := range f.columns {
		t.begin()
		t.i32(1, physical[c.Kind])
		t.i32(3, 1) // optional
		t.text(4, c.Name)
		if c.Kind == Text {
			t.i32(6, 0) // UTF8, for old readers
			t.structure(10, func() { t.structure(logicalString, func() {}) })
		}
		t.end()
	}
	t.i64(3, rows)
	t.list(4, thriftStruct, len(f.groups))
	for _, g := range f.groups {
		f.describe(&t, g)
	}
	t.text(6, "markmill")
	t.end()
	f.put(t.b)
	f.put(binary.LittleEndian.AppendUint32(nil, uint32(len(t.b))))
	f.put([]byte(magic))
}

func (f *fileWriter) describe(t *thriftWriter, g group) {
	total := 0
	t.begin()
	t.list(1, thriftStruct, len(g.chunks))
	for i, c := range g.chunks {
		total += c.size
		t.begin()
		t.i64(2, c.at)
		t.structure(3, func() {
			t.i32(1, physical[f.columns[i].Kind])
			t.list(2, thriftI32, 2)
			t.varint(encodingPlain)
			t.varint(encodingRLE)
			t.list(3, thriftBinary, 1)
			t.bytes(f.columns[i].Name)
			t.i32(4, codecNone)
			t.i64(5, c.values)
			t.i64(6, c.size)
			t.i64(7, c.size)
			t.i64(9, c.at)
		})
		t.end()
	}
	t.i64(2, total)
	t.i64(3, g.rows)
	t.end()
}
