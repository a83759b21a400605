package runs_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/parquet"
	"markmill/runs/scrapbook"
)

func pandas(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("parquet/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func bundle(t testing.TB, text string) map[string]codec.Raw {
	t.Helper()
	out := map[string]codec.Raw{}
	if text == "" {
		return out
	}
	if err := codec.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRead reads outputs as scrapbook 0.5 and papermill 0.19 wrote them.
func TestRead(t *testing.T) {
	const data = `{"application/scrapbook.scrap.`
	for _, c := range []struct{ name, data, metadata, want string }{
		{"text", data + `text+json":{"data":"hello","encoder":"text","name":"n","version":1}}`,
			`{"scrapbook":{"data":true,"display":false,"name":"n"}}`,
			`{"name":"n","type":"text","value":"hello"}`},
		{"text that is none", data + `text+json":{"data":5,"encoder":"text","name":"n","version":1}}`, "",
			`{"name":"n","type":"text","value":"5"}`},
		{"JSON", data +
			`json+json":{"data":{"b":[1, null],"a":12345678901234567890},"encoder":"json","name":"n","version":1}}`, "",
			`{"name":"n","type":"json","value":{"a":12345678901234567890,"b":[1,null]}}`},
		{"a later version", data + `json+json":{"data":1,"encoder":"json","name":"n","version":9,"more":2}}`, "",
			`{"name":"n","type":"json","value":1}`},
		{"record", `{"application/papermill.record+json":{"n":[1]}}`, "", `{"name":"n","type":"json","value":[1]}`},
		{"record of an encoder", `{"application/papermill.record/arrow":{"n":"x"}}`, "",
			`{"encoder":"arrow","name":"n","type":"json","value":"x"}`},
		{"shown record", `{"text/plain":["a\n","b"]}`, `{"papermill":{"name":"n"}}`,
			`{"display":true,"name":"n","type":"text","value":"a\nb"}`},
		{"data frame", data + `pandas+json":{"data":"` + pandas(t, "lists.parquet") +
			`","encoder":"pandas","name":"n","version":1}}`, "", `{"encoder":"pandas","name":"n","type":"json"`},
		{"unknown encoder", data + `pickle+json":{"data":"gAS","encoder":"pickle","name":"n","version":1}}`, "",
			`{"encoder":"pickle","name":"n","type":"json","value":"gAS"}`},
		{"reference", data + `json+json":{"ref":"s3://b/k","encoder":"json","name":"n","version":2}}`, "",
			`{"encoder":"ref","name":"n","type":"json","value":"s3://b/k"}`},
		{"value that is shown", data +
			`json+json":{"data":1,"encoder":"json","name":"n","version":1},"text/plain":"1"}`,
			`{"scrapbook":{"data":true,"display":true,"name":"n"}}`,
			`{"display":true,"name":"n","type":"json","value":1}`},
		{"picture", `{"image/png":"iVBORw0K\n","text/plain":"P"}`,
			`{"scrapbook":{"data":false,"display":true,"name":"n"}}`,
			`{"display":true,"mime":"image/png","name":"n","type":"image"} "\x89PNG\r\n"`},
		{"page", `{"text/html":["<b>","x"],"text/plain":"P"}`, `{"scrapbook":{"data":false,"display":true,"name":"n"}}`,
			`{"display":true,"mime":"text/html","name":"n","type":"file"} "<b>x"`},
		{"null of ours",
			`{"application/vnd.markmill.scrap+json":{"data":null,"encoder":"json","name":"n","version":1}}`, "",
			`{"name":"n","type":"json","value":null}`},
		{"nothing", `{"text/plain":"x"}`, `{"other":{}}`, ""},
		{"not shown", `{"text/plain":"x"}`, `{"scrapbook":{"data":false,"display":false,"name":"n"}}`, ""},
		{"no name", data + `json+json":{"data":1,"encoder":"json","version":1}}`, "", ""},
		{"no object", data + `json+json":"x","application/papermill.record+json":[]}`,
			`{"scrapbook":"x","papermill":[]}`, ""},
		{"picture that is none", `{"image/png":"%"}`, `{"scrapbook":{"display":true,"name":"n"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []string
			for _, s := range scrapbook.Read(bundle(t, c.data), bundle(t, c.metadata)) {
				raw, err := codec.Marshal(s.ScrapData)
				if err != nil {
					t.Fatal(err)
				}
				line := string(raw)
				if s.Content != nil {
					line += " " + strings.ReplaceAll(strings.Trim(quoted(s.Content), " "), "\n", "")
				}
				lines = append(lines, line)
			}
			if got := strings.Join(lines, "\n"); got != c.want &&
				(c.name != "data frame" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func quoted(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		switch {
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\n':
			out.WriteString(`\n`)
		case c < 0x20 || c > 0x7e:
			out.WriteString(`\x` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		default:
			out.WriteByte(c)
		}
	}
	return `"` + out.String() + `"`
}

// TestPayload: values survive a round trip, with the expected encoder.
func TestPayload(t *testing.T) {
	for _, c := range []struct{ kind, value, encoder, back string }{
		{runs.ScrapText, `"x"`, "text", ""},
		{runs.ScrapJSON, `"5"`, "text", ""}, // scrapbook parses a string of its json encoder as JSON again
		{runs.ScrapJSON, `[1,{"a":null}]`, "json", ""},
		{runs.ScrapJSON, `{"$int":"1180591620717411303424"}`, "json", `1180591620717411303424`},
		{runs.ScrapJSON, `null`, "json", ""},
		{runs.ScrapTable, `{"columns":["a","b","c"],"data":[[1,"x",true],[null,"y",null]]}`, "pandas", ""},
		{runs.ScrapTable, `{"columns":["a"],"data":[[1],["x"],[[2]]]}`, "pandas",
			`{"columns":["a"],"data":[["1"],["x"],["[2]"]]}`},
		{runs.ScrapTable,
			`{"columns":["a","b","c"],"data":[[{"$date":"2026-01-31"},{"$date":"2026-01-31T10:00:00"},{"$date":"2026-01-31T10:00:00.5Z"}],[null,null,null]]}`, "pandas", ""},
		{runs.ScrapTable, `{"columns":["a","a"],"data":[[1,2]]}`, "json", ""},
		{runs.ScrapTable, `[{"a":1}]`, "json", ""},
	} {
		mime, payload := scrapbook.Payload(runs.ScrapData{Name: "n", Type: c.kind, Value: codec.Raw(c.value)})
		raw, err := codec.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		got := scrapbook.Read(map[string]codec.Raw{mime: raw}, nil)
		if c.back == "" {
			c.back = c.value
		}
		if payload["encoder"] != c.encoder || len(got) != 1 || !scrapbook.Same(got[0].Value, codec.Raw(c.back)) {
			t.Errorf("%s is written by %v and read as %+v", c.value, payload["encoder"], got)
		}
	}
}

// TestColumnOf: a column has one type, whatever its first value.
func TestColumnOf(t *testing.T) {
	for _, c := range []struct {
		cells string
		kind  parquet.Kind
		want  string
	}{
		{`[1, null, 2]`, parquet.Int, "1 <nil> 2"},
		{`[1, 0.5]`, parquet.Float, "1 0.5"},
		{`[0.5, 1]`, parquet.Float, "0.5 1"},
		{`[9007199254740993, 0.5]`, parquet.Text, "9007199254740993 0.5"},
		{`[true, null]`, parquet.Bool, "true <nil>"},
		{`[true, 1]`, parquet.Text, "true 1"},
		{`["a", {"b": [1]}]`, parquet.Text, `a {"b": [1]}`},
		{`[1, "nan", 2.5]`, parquet.Float, "1 NaN 2.5"},
		{`["nan", 1, "x"]`, parquet.Text, "nan 1 x"},
		{`["nan", "inf"]`, parquet.Text, "nan inf"},
		{`[{"$float":"-inf"}, 1]`, parquet.Float, "-Inf 1"},
		{`[{"$int":"9223372036854775807"}, 1]`, parquet.Int, "9223372036854775807 1"},
		{`[18446744073709551616, 1]`, parquet.Text, "18446744073709551616 1"},
		{`[1e400, 1]`, parquet.Text, "1e400 1"},
		{`[{"$date":"2026-01-31"}, null]`, parquet.Date, "2026-01-31 00:00:00 +0000 UTC <nil>"},
		{`[{"$date":"2026-01-31T10:00:00.25"}]`, parquet.DateTime, "2026-01-31 10:00:00.25 +0000 UTC"},
		{`[{"$date":"2026-01-31T10:00:00+02:00"}, {"$date":"2026-01-31T10:00:00Z"}]`, parquet.Instant,
			"2026-01-31 08:00:00 +0000 UTC 2026-01-31 10:00:00 +0000 UTC"},
		{`[{"$date":"2026-01-31"}, {"$date":"2026-01-31T10:00:00"}]`, parquet.Text, "2026-01-31 2026-01-31T10:00:00"},
		{`[{"$date":"2026-01-31"}, "soon"]`, parquet.Text, "2026-01-31 soon"},
		{`[{"$date":"2026-01-31T10:00:00.000000001"}, {"$date":"1066-10-14T09:00:00"}]`, parquet.Text,
			"2026-01-31T10:00:00.000000001 1066-10-14T09:00:00"},
		{`[{"$date":"10:00"}]`, parquet.Text, "10:00"},
		{`["2026-01-31"]`, parquet.Text, "2026-01-31"},
		{`[{"$duration":90,"text":"1m30s"}]`, parquet.Int, "90"},
		{`[null]`, parquet.Text, "<nil>"},
		{`[]`, parquet.Text, ""},
	} {
		var cells []codec.Raw
		if err := codec.Unmarshal([]byte(c.cells), &cells); err != nil {
			t.Fatal(err)
		}
		got := scrapbook.ColumnOf("n", cells)
		if text := words(got.Values); got.Kind != c.kind || text != c.want {
			t.Errorf("%s is of kind %d: %s; want %d: %s", c.cells, got.Kind, text, c.kind, c.want)
		}
	}
}

func words(values []any) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, " ")
}

// TestBytesThatAreNoText: invalid UTF-8 in a value is replaced.
func TestBytesThatAreNoText(t *testing.T) {
	for _, data := range []map[string]codec.Raw{
		{"application/scrapbook.scrap.text+json": codec.Raw(
			"{\"data\":\"\x83ello\",\"encoder\":\"text\",\"name\":\"n\",\"version\":1}")},
		{"application/json": codec.Raw("\"\x83ello\"")},
	} {
		list := scrapbook.Read(data, map[string]codec.Raw{"scrapbook": codec.Raw(`{"display":true,"name":"n"}`)})
		if len(list) != 1 || string(list[0].Value) != "\"\uFFFDello\"" {
			t.Errorf("%+v", list)
		}
	}
}

// FuzzRead: Read never fails, and every scrap fits on one line of the journal.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"application/scrapbook.scrap.text+json":{"data":"hello","encoder":"text","name":"n","version":1}}`),
		[]byte(`{"scrapbook":{"display":true,"name":"n"}}`))
	f.Add([]byte(`{"application/papermill.record+json":{"n": [1,
 2]}}`), []byte(`{"papermill":{"name":"m"}}`))
	f.Add(
		[]byte(
			`{"image/png":"AA==","application/scrapbook.scrap.pandas+json":{"data":"UEFSMQ==","encoder":"pandas","name":"n"}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, data, metadata []byte) {
		var a, b map[string]codec.Raw
		if codec.UnmarshalForeign(data, &a) != nil || codec.UnmarshalForeign(metadata, &b) != nil {
			return
		}
		for _, s := range scrapbook.Read(a, b) {
			if bytes.IndexByte(s.Value, '\n') >= 0 || s.Name == "" || !s.Value.IsValid() && s.Content == nil {
				t.Fatalf("%+v", s)
			}
		}
	})
}
