package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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

// frame is what pandas was given for the three files of testdata that hold one.
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
		if string(row[0]) != strconv.Itoa(i) || string(row[1]) != `"word `+strconv.Itoa(i%7)+`"` || string(row[2]) != want {
			t.Fatalf("row %d is %s", i, row)
		}
	}
}

// TestReadRefuses: what is not understood is told, and nothing is believed that a damaged file says of itself.
func TestReadRefuses(t *testing.T) {
	whole := file(t, "pandas.parquet")
	footer := append(bytes.Clone(whole[:len(whole)-8]), 0xff, 0xff, 0xff, 0x7f, 'P', 'A', 'R', '1')
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"lists", "lists or structures", file(t, "lists.parquet")},
		{"zstd", "codec 6", file(t, "zstd.parquet")},
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

// TestRoundTrip: what is written is read back, nulls and odd names too.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(0, 70).Draw(t, "rows")
		var columns []Column
		for range rapid.IntRange(1, 20).Draw(t, "columns") {
			c := Column{Name: rapid.String().Draw(t, "name"), Kind: Kind(rapid.IntRange(0, 3).Draw(t, "kind"))}
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
				if n, ok := v.(int64); ok {
					v = float64(n)
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

// FuzzRead: no bytes make Read fail otherwise than by an error, or make room for what is not there.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"pandas.parquet", "v2.parquet", "plain.parquet", "lists.parquet", "zstd.parquet"} {
		f.Add(file(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
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

// FuzzUnsnap: Snappy's data is never believed.
func FuzzUnsnap(f *testing.F) {
	f.Add([]byte{5, 0x10, 'h', 'e', 'l', 'l', 'o'}, 5)
	f.Add([]byte{8, 0x00, 'a', 0x0d, 1}, 8)
	f.Add(binary.AppendUvarint(nil, 1<<40), 1<<20)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		if size < 0 || size > 1<<20 {
			return
		}
		if out, err := unsnap(b, size); err == nil && len(out) != size {
			t.Fatalf("%d bytes, not %d", len(out), size)
		}
	})
}
