package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"markmill/notebooks/codec"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// frame is the data that pandas wrote to three of the files in testdata.
const frame = `{"columns":["i","f","b","s","t","z","d","u8","f4","c","dec","y","n","u64","B","I","inf","tm"],"data":[` +
	`[1,1.5,true,"x",{"$date":"2026-01-02T00:00:00"},{"$date":"2026-01-02T00:00:00Z"},{"$date":"2026-01-02"},1,0.1,"a","1.50",{"$bytes":"AP8="},null,1,true,1,{"$float":"inf"},"01:02:03"],` +
	`[-2,null,false,"ü\n",{"$date":"2026-01-02T03:04:05.000006"},{"$date":"2026-01-03T00:00:00Z"},{"$date":"1960-01-01"},2,0.2,"b","-0.05",{"$bytes":""},null,2,null,null,{"$float":"-inf"},"00:00:00.000005"],` +
	`[{"$int":"1152921504606846976"},1e+300,true,null,{"$date":"1969-12-31T23:59:59"},null,null,255,0.3,"a",null,null,null,{"$int":"9223372036854775809"},false,3,0.0,null]]}`

// TestRead reads what pandas wrote: with its defaults, in pages of the second version packed by gzip, and plain.
func TestRead(t *testing.T) {
	for _, name := range []string{"pandas.parquet", "v2.parquet", "plain.parquet"} {
		t.Run(name, func(t *testing.T) {
			table, err := Read(file(t, name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.Marshal(table)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != frame {
				t.Errorf("got  %s\nwant %s", got, frame)
			}
		})
	}
}

// TestReadLong reads dictionaries and runs over many rows.
func TestReadLong(t *testing.T) {
	table, err := Read(file(t, "long.parquet"))
	if err != nil || len(table.Data) != 5000 {
		t.Fatalf("%d rows, %v", len(table.Data), err)
	}
	for i, row := range table.Data {
		want := "null"
		if i%3 == 0 {
			want = strconv.FormatFloat(float64(i)*.5, 'f', 1, 64)
		}
		if string(row[0]) != strconv.Itoa(i) || string(row[1]) != `"word `+strconv.Itoa(i%7)+`"` ||
			string(row[2]) != want {
			t.Fatalf("row %d is %s", i, row)
		}
	}
}

// TestReadRefuses: Read reports what it does not understand and does not trust damaged files.
func TestReadRefuses(t *testing.T) {
	whole := file(t, "pandas.parquet")
	footer := append(bytes.Clone(whole[:len(whole)-8]), 0xff, 0xff, 0xff, 0x7f, 'P', 'A', 'R', '1')
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"lists", "lists or structures", file(t, "lists.parquet")},
		{"zstd", "packed by ZSTD", file(t, "zstd.parquet")},
		{"nothing", "no Parquet file", nil},
		{"text", "no Parquet file", []byte("PAR1 this is not one")},
		{"a footer beyond the file", "ends within", footer},
		{"cut", "no Parquet file", whole[:len(whole)/2]},
	} {
		if _, err := Read(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRoundTrip: Read returns what Write wrote, including nulls and odd names.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(0, 70).Draw(t, "rows")
		var columns []Column
		for range rapid.IntRange(1, 20).Draw(t, "columns") {
			c := Column{Name: rapid.String().Draw(t, "name"),
				Kind: Kind(rapid.IntRange(0, int(Instant)).Draw(t, "kind"))}
			for range rows {
				var v any
				if rapid.IntRange(0, 3).Draw(t, "null") > 0 {
					switch c.Kind {
					case Text:
						v = rapid.String().Draw(t, "text")
					case Bool:
						v = rapid.Bool().Draw(t, "bool")
					case Int:
						v = rapid.Int64Range(-exact, exact).Draw(t, "int")
					case Float:
						v = rapid.Float64Range(-1e300, 1e300).Draw(t, "float")
					case Date:
						v = time.Unix(86400*rapid.Int64Range(-700000, 2900000).Draw(t, "day"), 0).UTC()
					case DateTime, Instant:
						v = time.Unix(rapid.Int64Range(-9e9, 9e9).Draw(t, "second"),
							rapid.SampledFrom([]int64{0, 1000, 1}).Draw(t, "ns")).UTC()
					}
				}
				c.Values = append(c.Values, v)
			}
			columns = append(columns, c)
		}
		var b bytes.Buffer
		if err := Write(&b, columns); err != nil {
			t.Fatal(err)
		}
		table, err := Read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range columns {
			if table.Columns[i] != c.Name {
				t.Fatalf("column %d is %q, not %q", i, table.Columns[i], c.Name)
			}
			for n, v := range c.Values {
				var got any
				if err := codec.Unmarshal(table.Data[n][i], &got); err != nil {
					t.Fatal(err)
				}
				switch x := v.(type) {
				case int64:
					v = float64(x)
				case time.Time:
					layout := map[Kind]string{Date: time.DateOnly, DateTime: "2006-01-02T15:04:05.999999999",
						Instant: time.RFC3339Nano}[c.Kind]
					v, got = x.Format(layout), got.(map[string]any)["$date"]
				}
				if got != v && !(v == 0.0 && got == 0.0) {
					t.Fatalf("row %d of %q is %v, not %v", n, c.Name, got, v)
				}
			}
		}
	})
}

func TestWriteRefuses(t *testing.T) {
	for _, columns := range [][]Column{
		{{Name: "a", Values: []any{"x"}}, {Name: "b"}},
		{{Name: "a", Kind: Int, Values: []any{math.Pi}}},
	} {
		if err := Write(&bytes.Buffer{}, columns); err == nil {
			t.Errorf("%v was written", columns)
		}
	}
}

// forged returns a file of one integer column with one page that claims the given compression and size. With codec -1
// the page has its own header.
func forged(t testing.TB, packed format.CompressionCodec, size int, page []byte) []byte {
	t.Helper()
	head := format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(size),
		CompressedPageSize: int32(len(page))}
	head.DataPageHeader.Set(format.DataPageHeader{NumValues: 10, Encoding: format.Plain,
		DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	about := format.FileMetaData{Version: 2, NumRows: 10,
		Schema: []format.SchemaElement{{Name: "schema", NumChildren: thrift.New(int32(1))},
			{Name: "a", Type: thrift.New(format.Int64), RepetitionType: thrift.New(format.Optional)}},
		RowGroups: []format.RowGroup{{NumRows: 10,
			Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{Type: format.Int64,
				Encoding: []format.Encoding{format.Plain}, PathInSchema: []string{"a"}, Codec: packed, NumValues: 10,
				DataPageOffset: 4}}}}}}
	var f fileWriter
	b := append([]byte(magic), page...)
	if packed >= 0 {
		b = append(append([]byte(magic), f.marshal(&head)...), page...)
	}
	if footer := f.marshal(&about); f.err == nil {
		return ended(b, footer)
	}
	t.Fatal(f.err)
	return nil
}

func ended(b, footer []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(append(b, footer...), uint32(len(footer))), magic...)
}

// allocated returns how many bytes Read allocates.
func allocated(b []byte) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(b)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// TestHostile: a file's claims cost no more memory than the file. Whole-file readers allocate gigabytes or crash on
// each of these.
func TestHostile(t *testing.T) {
	list := binary.AppendUvarint([]byte{0x15, 2, 0x19, 0xFC}, 1<<26) // the schema has 67 million elements
	levels := append(binary.AppendUvarint(nil, 1<<31-2), 1)          // one bit for a thousand million rows
	run := append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	run = append(run, make([]byte, 80)...)
	snappy := append(binary.AppendUvarint(nil, 1<<27), 0, 'x')
	header := binary.AppendUvarint([]byte{0x15, 0, 0x15, 10, 0x15, 10, 0x2c, 0x15, 20, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c,
		0x18}, 1<<30)
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"a list that is not there", "ends within", ended([]byte(magic), list)},
		{"a long list of nothing", "more than are read",
			ended([]byte(magic), append(binary.AppendUvarint([]byte{0x15, 2, 0x19, 0xFC}, 1<<17),
				make([]byte, 1<<17)...))},
		{"four million structures in each other", "nested too deep",
			ended([]byte(magic), bytes.Repeat([]byte{0xFC}, 1<<22))},
		{"four million lists in each other", "nested too deep",
			ended([]byte(magic), append([]byte{0xF9}, bytes.Repeat([]byte{0x19}, 1<<22)...))},
		{"a page of Snappy that says 128 MiB", "damaged", forged(t, format.Snappy, 1<<27, snappy)},
		{"a statistic of 1 GiB", "ends within", forged(t, -1, 0, header)},
		{"a run of levels", "", forged(t, format.Uncompressed, len(run), run)},
	} {
		got, err := allocated(c.file)
		if got > 1<<20 || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d bytes of %d, %v", c.name, got, len(c.file), err)
		}
	}
}

// FuzzRead: whatever the bytes, Read returns or fails with an error and allocates only for bytes that are there.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"pandas.parquet", "v2.parquet", "plain.parquet", "lists.parquet", "zstd.parquet"} {
		f.Add(file(f, name))
	}
	f.Add(forged(f, format.Snappy, 90, []byte{90, 0, 0}))
	f.Add(ended([]byte(magic), []byte{0x15, 2, 0x19, 0xFC, 0xFF, 0xFF, 0x03}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, _ := allocated(b); got > 1<<28+1000*uint64(len(b)) {
			t.Fatalf("%d bytes for a file of %d", got, len(b))
		}
		table, err := Read(b)
		if err != nil {
			return
		}
		for _, row := range table.Data {
			for _, cell := range row {
				if !cell.IsValid() {
					t.Fatalf("a cell is %q", cell)
				}
			}
		}
	})
}
