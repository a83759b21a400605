package documents_test

import (
	"encoding/base64"
	"testing"

	"markmill/notebooks/diff"
	"markmill/render/documents"
)

// TestJupyterIsRead reads what is specific to Jupyter notebooks.
func TestJupyterIsRead(t *testing.T) {
	src := `{"cells":[
 {"cell_type":"markdown","id":"m","metadata":{},"source":["# A title\n","text"],` +
		`"attachments":{"p.png":{"image/png":"aGk="}}},
 {"cell_type":"code","id":"c","execution_count":3,"metadata":{"tags":["parameters"],"collapsed":true,` +
		`"own":1},"source":"x = 1","outputs":[
  {"output_type":"stream","name":"stderr","text":["\u001b[31mred\u001b[0m\r","done\n"]},
  {"output_type":"display_data","metadata":{},"data":{"image/png":"` +
		base64.StdEncoding.EncodeToString([]byte("png")) +
		`","text/plain":"<Figure>","application/json":{"b":1,"a":[2]}}},
  {"output_type":"display_data","metadata":{},"data":{"application/scrapbook.scrap.json+json":{"name":"loss",` +
		`"data":0.5,"encoder":"json","version":1}}},
  {"output_type":"error","ename":"E","evalue":"v","traceback":["one","\u001b[1mE\u001b[0m: v"]}]},
 {"cell_type":"raw","metadata":{},"source":"raw"}],
 "metadata":{"language_info":{"name":"julia","version":"1"},"papermill":{"parameters":{"n":7}}},` +
		`"nbformat":4,"nbformat_minor":5}`
	doc, err := documents.Read("x.ipynb", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Status != "fail" || len(doc.Params) != 1 || doc.Params[0].Name != "n" || string(doc.Params[0].Value) != "7" {
		t.Errorf("status %q, parameters %+v", doc.Status, doc.Params)
	}
	if m := doc.Cells[0]; m.Label != "A title" || m.Kind != diff.Markdown || m.ID != "m" || !m.GeneratedID ||
		len(m.Options) != 1 {
		t.Errorf("%+v", m)
	}
	c := doc.Cells[1]
	if c.Lang != "julia" || c.Status != "fail" || c.Words != "E" || c.Count != 3 || len(c.Tags) != 1 ||
		c.Source != "x = 1\n" {
		t.Errorf("%+v", c)
	}
	if len(c.Options) != 2 || !c.Options[0].Volatile || c.Options[0].Name != "collapsed" || c.Options[1].Volatile {
		t.Errorf("metadata %+v", c.Options)
	}
	if len(c.Scraps) != 1 || c.Scraps[0].Name != "loss" || string(c.Scraps[0].Value) != "0.5" {
		t.Errorf("scraps %+v", c.Scraps)
	}
	if len(c.Outputs) != 3 {
		t.Fatalf("%d outputs: %+v", len(c.Outputs), c.Outputs)
	}
	if d := c.Outputs[0].Data[0]; c.Outputs[0].Name != diff.Stderr || d.Text != "done\n" {
		t.Errorf("a stream is not what a terminal shows: %q", d.Text)
	}
	shown := c.Outputs[1].Data
	if len(shown) != 3 || shown[0].MIME != "text/plain" ||
		shown[1].Text != "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}\n" || string(shown[2].Bytes) != "png" ||
		shown[2].IsText() {
		t.Errorf("%+v", shown)
	}
	if c.Outputs[2].Name != diff.Failure || c.Outputs[2].Data[0].Text != "one\nE: v\n" {
		t.Errorf("%+v", c.Outputs[2])
	}
	if doc.Cells[2].Kind != diff.Raw {
		t.Errorf("%+v", doc.Cells[2])
	}
}
