package documents

import (
	"fmt"
	"strings"
	"testing"

	"markmill/runs"
)

func told(r *Recorded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", r.Status)
	for _, p := range r.Params {
		fmt.Fprintf(&b, " %s=%s", p.Name, p.Value)
	}
	for _, s := range r.Scraps {
		fmt.Fprintf(&b, "\n%s %s %s %s%s", s.Step, s.Name, s.Type, s.Value, s.Opaque)
		if s.Display {
			b.WriteString(" shown")
		}
	}
	return b.String()
}

func cell(outputs string) string {
	return `{"cells":[{"cell_type":"code","execution_count":1,"metadata":{},"outputs":[` + outputs +
		`],"source":""}],"metadata":{%s},"nbformat":4,"nbformat_minor":4}`
}

// TestScrapsOf reads notebooks that papermill and Jupyter ran.
func TestScrapsOf(t *testing.T) {
	const value = `{"output_type":"display_data","data":{"application/scrapbook.scrap.json+json":{"name":"n",` +
		`"data":%s,"encoder":"json","version":1}},"metadata":{}}`
	const shown = `{"output_type":"display_data","data":{"text/plain":"5"},` +
		`"metadata":{"scrapbook":{"name":"n","display":true}}}`
	const manifest = `"markmill":{"manifest":{"parameters":[{"name":"a","value":1}],"regions":[],` +
		`"source":"","status":"fail"}},`
	for _, c := range []struct{ name, outputs, metadata, want string }{
		{"the last counts", fmt.Sprintf(value, "1") + "," + fmt.Sprintf(value, "2"), ``, "pass:\ncell-1 n json 2"},
		{"what is shown leaves the value", fmt.Sprintf(value, "1") + "," + shown, ``, "pass:\ncell-1 n json 1 shown"},
		{"a value takes the place of what is shown", shown + "," + fmt.Sprintf(value, "1"),
			``, "pass:\ncell-1 n json 1"},
		{"papermill", shown, `"papermill":{"parameters":{"z":1,"a":"x"},"exception":null,"end_time":"x"}`,
			"pass: z=1 a=\"x\"\ncell-1 n text \"5\" shown"},
		{"papermill, failed", "", `"papermill":{"parameters":{},"exception":true,"end_time":"x"}`, "fail:"},
		{"papermill, running", "", `"papermill":{"parameters":{},"exception":null,"end_time":null}`, "pending:"},
		{"papermill, odd", "", `"papermill":{"parameters":[],"exception":"x","end_time":5}`, "pending:"},
		{"papermill, after Markmill", "", manifest +
			`"papermill":{"parameters":{"a":"x"},"exception":null,"start_time":"x","end_time":"y"}`, "pass: a=\"x\""},
		{"Markmill, after papermill", "", manifest +
			`"papermill":{"parameters":{"a":"x"},"exception":null,"start_time":null,"end_time":null}`, "fail: a=1"},
		{"an error", `{"output_type":"error","ename":"E","evalue":"","traceback":[]}`, ``, "fail:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ScrapsOf("a.ipynb", []byte(fmt.Sprintf(cell(c.outputs), c.metadata)))
			if err != nil {
				t.Fatal(err)
			}
			if told(got) != c.want {
				t.Errorf("got %s\nwant %s", told(got), c.want)
			}
		})
	}
	source, err := ScrapsOf("a.ipynb", []byte(`{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":4}`))
	if err != nil || source.Status != "" {
		t.Errorf("a source: %+v, %v", source, err)
	}
	if _, err := ScrapsOf("a.ipynb", []byte(`{"cells":`)); err == nil {
		t.Error("half a notebook was read")
	}
}

// TestElidedScrap: a value omitted from an output notebook is reported and has no value.
func TestElidedScrap(t *testing.T) {
	r := &Recorded{}
	for _, s := range readScraps(`{"long": {"elided": "5,000 bytes"}, "t": {"columns":["a"],"data":[[1]]}, "w": "x", ` +
		`"p": {"file":"steps/x.png","mime":"image/png","digest":"sha256:ab"}}`) {
		r.add("s", ofBlock(s), false)
	}
	want := ":\ns long elided \"5,000 bytes\"elided: 5,000 bytes; the record of the run has it\ns t table " +
		"{\"columns\":[\"a\"],\"data\":[[1]]}\ns w text \"x\"\ns p image null"
	if got := told(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.Scraps[3].Type != runs.ScrapImage || r.Scraps[3].Digest != "sha256:ab" {
		t.Errorf("%+v", r.Scraps[3])
	}
}

// FuzzScrapsOf: any file is read or rejected.
func FuzzScrapsOf(f *testing.F) {
	f.Add("a.ipynb",
		[]byte(fmt.Sprintf(cell(`{"output_type":"display_data",`+
			`"data":{"application/papermill.record+json":{"n":[1]}},"metadata":{"papermill":{"name":"n"}}}`),
			`"papermill":{"parameters":{"a":1}}`)))
	f.Add("a.md", []byte("```sh {#a}\nglue x 1\n```\n"))
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		got, err := ScrapsOf(name, src)
		if (got == nil) == (err == nil) {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}
