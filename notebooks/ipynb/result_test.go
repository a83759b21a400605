package ipynb

import (
	"bytes"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/region"
)

// sources are notebooks in every spelling that must survive unchanged.
var sources = map[string]string{
	"pretty": "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n" +
		"   \"id\": \"a\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"1\"\n   ]\n  },\n  {\n" +
		"   \"cell_type\": \"markdown\",\n   \"id\": \"b\",\n   \"metadata\": {\n    \"tags\": []\n   },\n" +
		"   \"source\": []\n  }\n ],\n \"metadata\": {\n  \"kernelspec\": {\"name\": \"python3\"}\n },\n" +
		" \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n",
	"one line": `{"nbformat":4,"nbformat_minor":4,"metadata":{},"cells":[{"cell_type":"code",` +
		`"metadata":{"x": 1.50},"source":"1","outputs":[],"execution_count":null},{"cell_type":"raw",` +
		`"metadata":{},"source":"r"}]}`,
	"no cells": "{\"cells\": [],\n  \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 2}",
	"space": "{\r\n\t\"cells\": [ {\"cell_type\": \"code\",\"outputs\": [ ] , \"execution_count\": 7, " +
		"\"metadata\": { }, \"source\": [ ] } ,\r\n\r\n" +
		" {\"cell_type\": \"code\",\"outputs\":[],\"execution_count\":null,\"metadata\":null,\"source\":\"x\"} ], " +
		"\"metadata\": null, \"nbformat\": 4, \"nbformat_minor\": 5}",
	"nothing needed": `{"cells": [{"cell_type": "code", "source": "1"}], "metadata": {}, "nbformat": 4}`,
	"no metadata":    `{"cells": [], "nbformat": 4}`,
	"metadata of ours": "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n" +
		"   \"metadata\": {\n    \"markmill\": {\n     \"block\": \"x: 1\"\n    },\n    \"tags\": [\n" +
		"     \"parameters\"\n    ]\n   },\n   \"outputs\": [],\n   \"source\": \"x = 1\"\n  }\n ],\n" +
		" \"metadata\": {\"markmill\": {\"form\": \"markmill\"}},\n \"nbformat\": 4,\n \"nbformat_minor\": 4\n}\n",
	"empty metadata": "{\"cells\": [ ], \"metadata\": {\n }, \"nbformat\": 4, \"nbformat_minor\": 5}",
}

// resultOf returns a result that uses every field.
func resultOf(t *testing.T, nb *Notebook) Result {
	t.Helper()
	r := Result{Cells: map[int]CellResult{}}
	m := notebooks.Manifest{Source: region.DigestOf(nb.Source), Status: "pass"}
	runnable, err := nb.Runnable()
	if err != nil {
		t.Fatal(err)
	}
	steps, n := runnable.Steps, 0
	for i, c := range nb.Cells {
		got := CellResult{Metadata: []Setting{{keyMarkmill, codec.Raw(`{"result":{"status":"pass"}}`)},
			{keyPapermill, codec.Raw(`{"status":"completed"}`)}},
			Outputs: codec.Raw(`[{"name":"stdout","output_type":"stream","text":["a\n","\u001b[0m\"é"]}]`),
			Count:   i + 1}
		if c.Type == "code" {
			m.Regions = append(m.Regions, notebooks.ManifestRegion{ID: string(steps[n].ID),
				Digest: RegionDigest(got.Outputs, got.Count)})
			n++
		} else {
			got.Outputs, got.Count = nil, 0
		}
		r.Cells[i] = got
	}
	for _, before := range []int{0, 0, len(nb.Cells) / 2, len(nb.Cells)} {
		r.Added = append(r.Added, AddedCell{Before: before, ID: "added", Source: "# Parameters\nx = 1\n",
			Tags: []string{notebooks.TagInjected}, CellResult: CellResult{Outputs: codec.Raw("[]")}})
	}
	set, err := ManifestSetting(m)
	if err != nil {
		t.Fatal(err)
	}
	r.Metadata = []Setting{set, {keyPapermill, codec.Raw(`{"parameters":{"x":12345678901234567890}}`)}}
	return r
}

// holds checks the invariants of a source and its output.
func holds(t *testing.T, name string, text []byte) (output []byte) {
	t.Helper()
	nb, err := Parse(name, text)
	if err != nil || nb.NBFormat != 4 {
		return nil
	}
	source := Source(nb, false)
	bare, err := Parse(name, source)
	if err != nil {
		t.Fatalf("%s: the source is no notebook: %v\n%s", name, err, source)
	}
	if again := Source(bare, false); !bytes.Equal(again, source) {
		t.Errorf("%s: the source of the source differs:\n%s\n%s", name, source, again)
	}
	if _, err := bare.Runnable(); err != nil {
		return nil // invalid attributes: no run can have a result
	}
	output, err = bare.With(resultOf(t, bare))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	after, err := Parse(name, output)
	if err != nil {
		t.Fatalf("%s: the output is no notebook: %v\n%s", name, err, output)
	}
	if len(after.Cells) != len(bare.Cells)+4 {
		t.Errorf("%s: %d cells, want %d", name, len(after.Cells), len(bare.Cells)+4)
	}
	if back := Source(after, false); !bytes.Equal(back, source) {
		t.Errorf("%s: the source of the output differs:\n%q\n%q", name, source, back)
	}
	if m := after.Manifest(); m == nil {
		t.Errorf("%s: no manifest", name)
	} else if found := after.Damage(); found != nil {
		t.Errorf("%s: damage in what was just written: %v", name, found)
	}
	return output
}

func TestSourceOfAnOutput(t *testing.T) {
	for name, text := range sources {
		if holds(t, name, []byte(text)) == nil {
			t.Errorf("%s: not read", name)
		}
	}
}

// TestSourceRemoves: what other tools left is removed, and what the author wrote stays.
func TestSourceRemoves(t *testing.T) {
	text := `{"cells": [{"cell_type": "markdown", "metadata": {"tags": ["papermill-error-cell-tag"]}, "source": "!"},
 {"cell_type": "code", "metadata": {"tags": ["injected-parameters"], "papermill": {}}, "source": "x = 1", "outputs": ` +
		`[{"output_type": "stream", "name": "stdout", "text": ""}], "execution_count": 3}],
 "metadata": {"papermill": {"version": "2"}, "mine": {"papermill": 1}}, "nbformat": 4, "nbformat_minor": 4}`
	nb, err := Parse("n", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"cells": [{"cell_type": "code", "metadata": {"tags": ["injected-parameters"]}, "source": "x = 1", ` +
		`"outputs": [], "execution_count": null}],
 "metadata": {"mine": {"papermill": 1}}, "nbformat": 4, "nbformat_minor": 4}`
	if got := string(Source(nb, false)); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := string(Source(nb, true)); strings.Contains(got, "injected") || !strings.Contains(got, `"cells": []`) {
		t.Errorf("the cell of injected parameters remains:\n%s", got)
	}
}

func TestDamage(t *testing.T) {
	output := string(holds(t, "pretty", []byte(sources["pretty"])))
	for _, c := range []struct{ old, new, want string }{
		{`"a\n"`, `"b\n"`, "outputs of this cell were edited"},
		{`"execution_count": 1`, `"execution_count": 2`, "outputs of this cell were edited"},
		{`"1"`, `"2"`, "its cells or its metadata were edited"},
		{`"python3"`, `"ir"`, "its cells or its metadata were edited"},
		{"\n", "\r\n", "another notebook"}, // line ends are part of the source
	} {
		text := strings.Replace(output, c.old, c.new, 1)
		if text == output {
			t.Fatalf("%q is not there", c.old)
		}
		nb, err := Parse("n", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if found := nb.Damage(); len(found) == 0 || !strings.Contains(found.Error(), c.want) {
			t.Errorf("%q → %q: %v, want %q", c.old, c.new, found, c.want)
		}
	}
}

func TestSourceOfTheCorpus(t *testing.T) {
	for name, text := range corpus(t) {
		holds(t, name, text)
	}
}

func FuzzSource(f *testing.F) {
	for _, text := range sources {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { holds(t, "n", text) })
}
