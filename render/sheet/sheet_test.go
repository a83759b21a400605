package sheet

import (
	"bytes"
	"strings"
	"testing"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render/documents"
	"markmill/runs"
	"markmill/runs/parquet"
)

func scrap(name, kind, value string) documents.StepScrap {
	return documents.StepScrap{Step: "s", ScrapData: runs.ScrapData{Name: name, Type: kind, Value: codec.Raw(value)}}
}

func param(name, value string) diff.Param { return diff.Param{Name: name, Value: codec.Raw(value)} }

func sheetOf(list []*documents.Recorded, o Options) *Sheet {
	b := New(o)
	for _, r := range list {
		b.Add(r)
	}
	return b.Sheet()
}

// TestNames: column names are unique, whatever parameters and scraps are called.
func TestNames(t *testing.T) {
	list := []*documents.Recorded{
		{Name: "a", Status: "pass", Params: []diff.Param{param("x", "1"), param("status", `"p"`), param("own", "2")},
			Scraps: []documents.StepScrap{scrap("x", "json", "3"), scrap("run", "text", `"r"`),
				scrap("params.x", "json", "4"),
				scrap("t", "table", `{"columns":["a"],"data":[]}`)}},
		{Name: "b", Scraps: []documents.StepScrap{scrap("own", "json", "5")}},
	}
	s := sheetOf(list, Options{Params: true})
	var out bytes.Buffer
	if err := s.Write(&out, "csv"); err != nil {
		t.Fatal(err)
	}
	want := "notebook,run,status,params.x,params.status,params.own,x,scraps.run,scraps.params.x,own\n" +
		"a,,pass,1,p,2,3,r,4,\nb,,,,,,,,,5\n"
	if out.String() != want || s.Left != 1 {
		t.Errorf("got\n%swant\n%s%d left", &out, want, s.Left)
	}
	s = sheetOf(list, Options{Params: true, Long: true, Keep: func(name string) bool { return name != "x" }})
	if got := strings.Join(s.Columns, " "); got != "notebook run status x params.status own step name type value" ||
		len(s.Rows) != 4 {
		t.Errorf("%d rows of %s", len(s.Rows), got)
	}
}

// TestRowsShareNoMemory: a row does not keep the notebook, which may be far larger, in memory.
func TestRowsShareNoMemory(t *testing.T) {
	for _, o := range []Options{{Params: true}, {Params: true, Long: true}} {
		source := codec.Raw(`[1,"a"]`)
		b := New(o)
		b.Add(&documents.Recorded{Name: "n", Params: []diff.Param{{Name: "p", Value: source[1:2]}},
			Scraps: []documents.StepScrap{{ScrapData: runs.ScrapData{Name: "s",
				Type: runs.ScrapJSON, Value: source[3:6]}}}})
		clear(source)
		s := b.Sheet()
		for i, cell := range s.Rows[0] {
			if len(cell) > 0 && !cell.IsValid() {
				t.Errorf("%+v: the cell of %s became %q", o, s.Columns[i], cell)
			}
		}
	}
}

// TestHostile: text that a terminal, a page or a spreadsheet would act on is inert, and unchanged in CSV.
func TestHostile(t *testing.T) {
	s := &Sheet{Columns: []string{"=n", "v"}, Rows: [][]codec.Raw{{codec.Raw(`"=1\u001b[2J|<b>\u202e"`),
		codec.Raw("-1")}, {codec.Raw(`"+x"`), codec.Raw(`"-1"`)}}}
	text := func(write func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, format := range []string{"table", "markdown"} {
		if got := text(func(b *bytes.Buffer) error {
			return s.Write(b,
				format)
		}); strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("%s: %q", format, got)
		}
	}
	if got := text(func(b *bytes.Buffer) error { return s.Write(b, "markdown") }); !strings.Contains(got, `\|\<b\>`) {
		t.Errorf("%q", got)
	}
	if got := text(func(b *bytes.Buffer) error {
		return s.Write(b,
			"csv")
	}); got != "=n,v\n=1\x1b[2J|<b>\u202e,-1\n+x,-1\n" {
		t.Errorf("%q", got)
	}
	if got := text(func(b *bytes.Buffer) error { return s.WriteSpreadsheet(b) }); got != "\ufeff'=n,v\r\n"+
		"'=1\x1b[2J|<b>\u202e,-1\r\n'+x,'-1\r\n" {
		t.Errorf("%q", got)
	}
}

// TestForms writes values that JSON cannot represent, missing values, and an empty sheet.
func TestForms(t *testing.T) {
	s := &Sheet{Columns: []string{"a", "b"}, Rows: [][]codec.Raw{{codec.Raw(`{"$int":"1180591620717411303424"}`), nil},
		{codec.Raw(`{"$float":"nan"}`), codec.Raw(`{"x": [1]}`)}}}
	for format, want := range map[string]string{
		"json": "[\n{\"a\":1180591620717411303424,\"b\":null},\n{\"a\":\"nan\",\"b\":{\"x\":[1]}}\n]\n",
		"csv":  "a,b\n1180591620717411303424,\nnan,\"{\"\"x\"\":[1]}\"\n",
	} {
		var b bytes.Buffer
		if err := s.Write(&b, format); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s", format, err, &b)
		}
	}
	for format, want := range map[string]string{"table": "", "markdown": "", "json": "[]\n", "jsonl": "",
		"csv": "notebook,run,status\n"} {
		var b bytes.Buffer
		if err := sheetOf(nil, Options{}).Write(&b, format); err != nil || b.String() != want {
			t.Errorf("%s of nothing: %v %q", format, err, &b)
		}
	}
	var b bytes.Buffer
	if err := sheetOf(nil, Options{}).Write(&b, "parquet"); err != nil {
		t.Fatal(err)
	}
	if table, err := parquet.Read(b.Bytes()); err != nil || len(table.Columns) != 3 {
		t.Errorf("%+v, %v", table, err)
	}
}

// Notebooks that have no column in common are tables of their own, and a check is its state.
func TestPartsOfATable(t *testing.T) {
	raw := func(s string) codec.Raw { return codec.Raw(s) }
	s := &Sheet{Columns: []string{"notebook", "status", "a", "b", "check:disk"}, Rows: [][]codec.Raw{
		{raw(`"x1"`), raw(`"pass"`), raw("1"), nil, raw(`{"state":"ok","value":3}`)},
		{raw(`"y"`), raw(`"pass"`), nil, raw("2"), nil},
		{raw(`"z"`), raw(`"fail"`), nil, nil, nil},
		{raw(`"x2"`), raw(`"pass"`), raw("3"), nil, nil},
	}}
	var b strings.Builder
	if err := s.Write(&b, "table"); err != nil {
		t.Fatal(err)
	}
	want := "notebook  status  a  check:disk\nx1        pass    1  ok\nx2        pass    3\n\n" +
		"notebook  status  b\ny         pass    2\n\nnotebook  status\nz         fail\n"
	if got := b.String(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}
