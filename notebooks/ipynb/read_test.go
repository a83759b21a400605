package ipynb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
)

// corpus returns the notebooks of this repository, and those of many tools where they are beside it, or where
// MARKMILL_SHARED names their folder.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	patterns := []string{"testdata/own/*.ipynb", "../../cmd/cmdtest/testdata/*/*.ipynb"}
	if root := os.Getenv("MARKMILL_SHARED"); root != "" {
		patterns = append(patterns, filepath.Join(root, "corpus/ipynb/*.ipynb"))
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		patterns = append(patterns, filepath.Join(dir, "shared/corpus/ipynb/*.ipynb"))
	}
	out := map[string][]byte{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(file)] = src
		}
	}
	if len(out) < 6 {
		t.Fatalf("only %d notebooks", len(out))
	}
	return out
}

// TestParseAgreesWithJSON compares the parts of each cell with what the standard library reads.
func TestParseAgreesWithJSON(t *testing.T) {
	for name, src := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			nb, err := Parse(name, src)
			if err != nil {
				t.Fatal(err)
			}
			if nb.NBFormat < 4 {
				t.Skip("an old form")
			}
			var want struct {
				Cells []struct {
					ID, Cell_type string
					Source        any
					Metadata      struct{ Tags []string }
					Outputs       []struct {
						Output_type, Name string
						Text              any
						Data              map[string]any
						Ename, Evalue     string
						Traceback         []string
					}
				}
			}
			if err := json.Unmarshal(src, &want); err != nil {
				t.Fatal(err)
			}
			if len(nb.Cells) != len(want.Cells) {
				t.Fatalf("%d cells, not %d", len(nb.Cells), len(want.Cells))
			}
			for i, cell := range nb.Cells {
				w := want.Cells[i]
				got := fmt.Sprint(cell.ID, cell.Type, cell.Source, cell.Tags)
				if expected := fmt.Sprint(w.ID, w.Cell_type, text(w.Source), w.Metadata.Tags); got != expected {
					t.Errorf("cell %d is\n%s\nnot\n%s", i, got, expected)
				}
				if len(cell.Outputs) != len(w.Outputs) {
					t.Fatalf("cell %d has %d outputs, not %d", i, len(cell.Outputs), len(w.Outputs))
				}
				for j, out := range cell.Outputs {
					w := w.Outputs[j]
					got := fmt.Sprint(out.Type, out.Name, out.Text(), out.Ename,
						out.Evalue, out.Traceback, len(out.Data))
					expected := fmt.Sprint(w.Output_type, w.Name, text(w.Text), w.Ename,
						w.Evalue, w.Traceback, len(w.Data))
					if got != expected {
						t.Errorf("output %d of cell %d is\n%s\nnot\n%s", j, i, got, expected)
					}
					for _, datum := range out.Data {
						if _, isText := w.Data[datum.MIME].(map[string]any); !isText &&
							datum.Text() != text(w.Data[datum.MIME]) {
							t.Errorf("%s is %q, not %q", datum.MIME, datum.Text(), text(w.Data[datum.MIME]))
						}
					}
				}
			}
		})
	}
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, line := range v {
			b.WriteString(fmt.Sprint(line))
		}
		return b.String()
	}
	return ""
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"nothing", "", `n:1:1: the file is empty, and a notebook is a JSON object with cells; one without cells is ` +
			`{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`},
		{"space", " \n ", `n:1:1: the file is empty, and a notebook is a JSON object with cells; one without cells ` +
			`is {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`},
		{"a list", "[]", `n:1:1: expected a notebook: a JSON object that begins with {, found '['; an .ipynb is ` +
			`a file that Jupyter saved; a Markdown notebook ends in .md`},
		{"an object of another kind", "{}",
			`n:1:1: this JSON object is no notebook: it has no "nbformat"; a notebook has "nbformat": 4`},
		{"no cells", `{"nbformat":4}`,
			`n:1:1: the notebook has no list of cells; a notebook without cells has "cells": []`},
		{"a form of the future", `{"cells":[],"nbformat":5}`,
			`n:1:24: nbformat 5 is not known; 4 is, and 3 and 2 are read`},
		{"cut", "{\"cells\": [\n {\"cell_type\": \"co",
			`n:2:16: the notebook is not JSON: expected a quote at the end of this text, found the end of the file; ` +
				`the file was cut: take a whole copy of it`},
		{"cut where a cell begins", "{\"cells\": [\n",
			"n:2:1: a cell must be an object; the file was cut: take a whole copy of it"},
		{"no comma", "{\"cells\": []\n\"nbformat\": 4}",
			`n:2:1: the notebook is not JSON: expected a comma or }, found '"'; mend it there, or ` +
				`save the notebook in Jupyter again`},
		{"a comma too many", "{\"cells\": [],}",
			`n:1:14: the notebook is not JSON: expected a name in quotes, found '}'; mend it there, or ` +
				`save the notebook in Jupyter again`},
		{"more after the end", "{\"cells\": [], \"nbformat\": 4}\n{}",
			`n:2:1: the notebook is not JSON: expected the end of the file, found '{'; mend it there, or ` +
				`save the notebook in Jupyter again`},
		{"a conflict", "{\"cells\": [\n<<<<<<< HEAD\n",
			"n:2:1: a cell must be an object; these are the conflict lines of a merge: take one side of each"},
		{"a conflict elsewhere", "{\"cells\": [],\n<<<<<<< HEAD\n",
			"n:2:1: the notebook is not JSON: expected a name in quotes, found '<'; these are the conflict lines " +
				"of a merge: take one side of each"},
		{"not UTF-8", "{\"cells\": [\"\xff\"]}", `n:1:13: byte 0xff is not UTF-8; save the file as UTF-8`},
		{"a line in a text", "{\"cells\": [], \"a\": \"b\nc\"}",
			`n:1:22: the notebook is not JSON: expected an escape (\n, \t, \u0000) or the quote that ends the text, ` +
				`found '\n'; mend it there, or save the notebook in Jupyter again`},
		{"cells that are none", `{"cells":{},"nbformat":4}`, `n:1:10: the cells must be a list`},
		{"a cell without a type", `{"cells":[{}],"nbformat":4}`,
			`n:1:11: this cell has no cell_type; it is code, markdown or raw`},
		{"a source of numbers", `{"cells":[{"cell_type":"code","source":7}],"nbformat":4}`,
			`n:1:40: the source of a cell must be a text or a list of texts`},
		{"a line that is a number", `{"cells":[{"cell_type":"code","source":[7]}],"nbformat":4}`,
			`n:1:41: a line of a list of lines must be a text`},
		{"é before it", `{"é":[],"cells":1}`, `n:1:17: the cells must be a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("n", []byte(c.src))
			var located *notebooks.Error
			if !errors.As(err, &located) || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestParseAcceptsWhatJupyterAccepts(t *testing.T) {
	const src = "\ufeff" + `{"cells":[
 {"cell_type":"code","id":"a","source":["x\n","y"],"metadata":{"tags":["t",1],"nan":NaN},"outputs":[
  {"output_type":"stream","name":"stdout","text":"\u00e9\ud83d\ude00\ud800"}, {"output_type":"error","evalue":null,` +
		`"traceback":[1]}],"execution_count":NaN},
 {"cell_type":"markdown","id":"a","source":[]},
 {"cell_type":"raw","sour\u0063e":"r","unknown":[-Infinity,1e5,{"a":{}}]}
],"metadata":{},"nbformat":4}`
	nb, err := Parse("n", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if len(nb.Cells) != 3 || nb.Cells[0].Source != "x\ny" || !nb.Cells[0].Tagged("t") || nb.Cells[2].Source != "r" {
		t.Errorf("got %+v", nb.Cells)
	}
	if got := nb.Cells[0].Outputs[0].Text(); got != "é😀\ufffd" {
		t.Errorf("got %q", got)
	}
	if len(nb.Warnings) != 1 || nb.Warnings[0].Error() != `n:4:31: the id "a" is also that of cell 1; Jupyter gives `+
		`one of them a new id when it opens the file` {
		t.Errorf("got %v", nb.Warnings)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"cells":[{"cell_type":"code","source":["a\n"],"outputs":[{"output_type":"stream","text":"x"}],` +
		`"metadata":{"tags":["a"]}}],"nbformat":4}`))
	f.Add([]byte(`{"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":"a"}]}],"nbformat":3}`))
	f.Add([]byte(`{"cells":[],"nbformat":4,"a":[1.5e3,NaN,"\ud83d\ude00"]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		nb, err := Parse("n", src)
		if err != nil {
			var located *notebooks.Error
			if !errors.As(err, &located) || located.Line == 0 {
				t.Fatalf("%v says not where", err)
			}
			return
		}
		if !bytes.Equal(Apply(nb.Source, nil), src) {
			t.Fatal("the notebook changed")
		}
		for _, cell := range nb.Cells {
			if got := cell.Span.Of(src); got[0] != '{' || got[len(got)-1] != '}' {
				t.Fatalf("a cell is %q", got)
			}
			_ = cell.SourceAt.Text()
		}
		once, err := Strip{}.Apply(nb)
		if err != nil {
			return
		}
		if nb, err = Parse("n", once); err != nil {
			t.Fatalf("%q, stripped, is %q: %v", src, once, err)
		}
		if again, err := (Strip{}).Apply(nb); err != nil || !bytes.Equal(again, once) {
			t.Fatalf("%q, stripped, is %q and then %q, %v", src, once, again, err)
		}
	})
}
