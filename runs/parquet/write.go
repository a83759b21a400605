package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Kind is the type of a column's values.
type Kind int

// The kinds of a written column. A missing value is nil in each.
const (
	Text     Kind = iota // string, UTF-8
	Bool                 // bool
	Int                  // int64
	Float                // float64
	Date                 // time.Time, midnight UTC
	DateTime             // time.Time, a local date and time given as UTC
	Instant              // time.Time
)

// Column is one column of a table, with one value per row.
type Column struct {
	Name   string
	Kind   Kind
	Values []any
}

// groupRows is the number of rows in a row group.
const groupRows = 1 << 16

// physical returns how values of a kind are stored.
var physical = map[Kind]format.Type{Text: format.ByteArray, Bool: format.Boolean, Int: format.Int64,
	Float: format.Double,
	Date:  format.Int32, DateTime: format.Int64, Instant: format.Int64}

// Write writes a table. All columns have the same length. It does not compress: tables of scraps are small.
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
	f := fileWriter{w: w, columns: columns, about: format.FileMetaData{Version: 2, NumRows: int64(rows),
		CreatedBy: "markmill"}}
	f.put([]byte(magic))
	f.schema()
	for from := 0; from < rows; from += groupRows {
		f.group(from, min(from+groupRows, rows))
	}
	f.footer()
	return f.err
}

type fileWriter struct {
	w       io.Writer
	at      int64
	err     error
	columns []Column
	fine    []bool // time columns stored in nanoseconds
	about   format.FileMetaData
}

func (f *fileWriter) put(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
		f.at += int64(len(b))
	}
}

// marshal encodes a structure of the metadata.
func (f *fileWriter) marshal(v any) []byte {
	b, err := thrift.Marshal(compact, v)
	if f.err == nil {
		f.err = err
	}
	return b
}

func (f *fileWriter) schema() {
	f.about.Schema = append(f.about.Schema, format.SchemaElement{Name: "schema",
		NumChildren: thrift.New(int32(len(f.columns)))})
	f.fine = make([]bool, len(f.columns))
	for i, c := range f.columns {
		e := format.SchemaElement{Name: c.Name, Type: thrift.New(physical[c.Kind]),
			RepetitionType: thrift.New(format.Optional)}
		switch c.Kind {
		case Text:
			e.ConvertedType = thrift.New(deprecated.UTF8) // for old readers
			e.LogicalType.Value = new(format.StringType)
		case Date:
			e.ConvertedType = thrift.New(deprecated.Date)
			e.LogicalType.Value = new(format.DateType)
		case DateTime, Instant:
			about := &format.TimestampType{IsAdjustedToUTC: c.Kind == Instant,
				Unit: format.TimeUnit{Value: new(format.MicroSeconds)}}
			if f.fine[i] = Fine(c.Values); f.fine[i] {
				about.Unit.Value = new(format.NanoSeconds)
			}
			e.LogicalType.Value = about
		}
		f.about.Schema = append(f.about.Schema, e)
	}
}

// Fine reports whether times need more than microseconds. Such a column reaches from 1678 to 2261.
func Fine(values []any) bool {
	for _, v := range values {
		if t, ok := v.(time.Time); ok && t.Nanosecond()%1000 != 0 {
			return true
		}
	}
	return false
}

func (f *fileWriter) group(from, to int) {
	g := format.RowGroup{NumRows: int64(to - from), Ordinal: int16(len(f.about.RowGroups))}
	for i, c := range f.columns {
		page, nulls, err := pageOf(c, f.fine[i], from, to)
		if err != nil {
			f.err = err
			return
		}
		stats := format.Statistics{NullCount: int64(nulls)}
		head := format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(len(page)),
			CompressedPageSize: int32(len(page))}
		head.DataPageHeader.Set(format.DataPageHeader{NumValues: int32(to - from), Encoding: format.Plain,
			DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: format.RLE, Statistics: stats})
		about := format.ColumnMetaData{Type: physical[c.Kind], Encoding: []format.Encoding{format.Plain, format.RLE},
			PathInSchema: []string{c.Name},
			Codec:        format.Uncompressed, NumValues: int64(to - from), DataPageOffset: f.at, Statistics: stats}
		f.put(f.marshal(&head))
		f.put(page)
		about.TotalCompressedSize = f.at - about.DataPageOffset
		about.TotalUncompressedSize = about.TotalCompressedSize
		g.TotalByteSize += about.TotalCompressedSize
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: about})
	}
	f.about.RowGroups = append(f.about.RowGroups, g)
}

// pageOf returns which rows have values, and the values.
func pageOf(c Column, fine bool, from, to int) (page []byte, nulls int, err error) {
	var levels, values []byte
	var bits, packed byte
	for i := from; i < to; {
		run, there := i, c.Values[i] != nil
		for run < to && (c.Values[run] != nil) == there {
			run++
		}
		levels = binary.AppendUvarint(levels, uint64(run-i)<<1)
		if levels = append(levels, 1); !there {
			levels[len(levels)-1] = 0
			nulls += run - i
		}
		i = run
	}
	for _, v := range c.Values[from:to] {
		ok := true
		switch x := v.(type) {
		case nil:
		case string:
			ok = c.Kind == Text
			values = append(binary.LittleEndian.AppendUint32(values, uint32(len(x))), x...)
		case int64:
			ok = c.Kind == Int
			values = binary.LittleEndian.AppendUint64(values, uint64(x))
		case float64:
			ok = c.Kind == Float
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(x))
		case bool:
			if ok = c.Kind == Bool; x {
				packed |= 1 << bits
			}
			if bits++; bits == 8 {
				values, bits, packed = append(values, packed), 0, 0
			}
		case time.Time:
			switch {
			case c.Kind == Date:
				values = binary.LittleEndian.AppendUint32(values, uint32(int32(x.Unix()/86400)))
			case fine:
				values = binary.LittleEndian.AppendUint64(values, uint64(x.UnixNano()))
			default:
				ok = c.Kind == DateTime || c.Kind == Instant
				values = binary.LittleEndian.AppendUint64(values, uint64(x.UnixMicro()))
			}
		default:
			ok = false
		}
		if !ok {
			return nil, 0, fmt.Errorf("column %q has a %T", c.Name, v)
		}
	}
	if bits > 0 {
		values = append(values, packed)
	}
	page = binary.LittleEndian.AppendUint32(nil, uint32(len(levels)))
	page = append(append(page, levels...), values...)
	if len(page) > math.MaxInt32 {
		return nil, 0, fmt.Errorf("column %q has more than 2 GiB in %d rows", c.Name, to-from)
	}
	return page, nulls, nil
}

func (f *fileWriter) footer() {
	b := f.marshal(&f.about)
	f.put(b)
	f.put(binary.LittleEndian.AppendUint32(nil, uint32(len(b))))
	f.put([]byte(magic))
}
