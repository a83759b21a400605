package ipynb

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks"
)

func TestStripRemovesNothingElse(t *testing.T) {
	const src = `{ "nbformat":4,"nbformat_minor":5, "zeta" : 1.50e+03,
	"metadata": {"widgets": {"a":{}}, "kernelspec": {"name" : "python3"}},
	"cells": [
		{"outputs": [{"output_type":"stream","name":"stdout","text":"x"}],
		 "cell_type":"code", "source":"\u00e9", "execution_count" : 7,
		 "metadata": {"scrolled": true, "collapsed":false}, "id":"Ab-1"},
		{"cell_type":"code","source":[],"metadata":{"a":1 , "scrolled":true},"outputs":[],"execution_count":null}
	] }`
	const want = `{ "nbformat":4,"nbformat_minor":5, "zeta" : 1.50e+03,
	"metadata": {"kernelspec": {"name" : "python3"}},
	"cells": [
		{"outputs": [],
		 "cell_type":"code", "source":"\u00e9", "execution_count" : null,
		 "metadata": {}, "id":"Ab-1"},
		{"cell_type":"code","source":[],"metadata":{"a":1},"outputs":[],"execution_count":null}
	] }`
	if got := stripped(t, Strip{}, src); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestStripOptions(t *testing.T) {
	const head, tail = `{"cells":[`, `],"metadata":{"keep":{"a":1,"b":2},"keep_output":false},"nbformat":4}`
	for _, c := range []struct {
		name      string
		how       Strip
		cells     string
		want      string // of the cells; the rest must be unchanged unless the case says otherwise
		wantOther string
	}{
		{"outputs stay", Strip{KeepOutput: true},
			`{"cell_type":"code","outputs":[{"output_type":"execute_result","execution_count":3}],"execution_count":3}`,
			`{"cell_type":"code","outputs":[{"output_type":"execute_result",` +
				`"execution_count":null}],"execution_count":null}`,
			""},
		{"counts stay", Strip{KeepOutput: true, KeepCount: true},
			`{"cell_type":"code","outputs":[{"output_type":"execute_result","execution_count":3}],"execution_count":3}`,
			`{"cell_type":"code","outputs":[{"output_type":"execute_result",` +
				`"execution_count":3}],"execution_count":3}`, ""},
		{"ids as numbers, of the cells that stay", Strip{NumberIDs: true, DropEmptyCells: true},
			`{"cell_type":"raw","id":"x","source":[" ","\n"]},{"cell_type":"raw","id":"y","source":"a"},` +
				`{"cell_type":"raw","id":"1","source":"a"}`,
			`{"cell_type":"raw","id":"0","source":"a"},{"cell_type":"raw","id":"1","source":"a"}`, ""},
		{"the last cell", Strip{DropEmptyCells: true},
			`{"cell_type":"raw","source":"a"} , {"cell_type":"raw","source":""}`,
			`{"cell_type":"raw","source":"a"}`, ""},
		{"all cells", Strip{DropEmptyCells: true},
			`{"cell_type":"raw","source":""}, {"cell_type":"raw","source":""}`, ``,
			""},
		{"cells by tag", Strip{DropTaggedCells: []string{"b", "c"}},
			`{"cell_type":"raw","metadata":{"tags":["a","b"]}},{"cell_type":"raw","metadata":{"tags":["a"]}},` +
				`{"cell_type":"raw","metadata":{"tags":["c"]}}`,
			`{"cell_type":"raw","metadata":{"tags":["a"]}}`, ""},
		{"a tag keeps outputs", Strip{},
			`{"cell_type":"code","metadata":{"tags":["keep_output"]},"outputs":[{"output_type":"error"}]},` +
				`{"cell_type":"code","outputs":[{"output_type":"error"}]}`,
			`{"cell_type":"code","metadata":{"tags":["keep_output"]},"outputs":[{"output_type":"error"}]},` +
				`{"cell_type":"code","outputs":[]}`, ""},
		{"metadata keeps outputs, or not", Strip{KeepOutput: true},
			`{"cell_type":"code","metadata":{"keep_output":true},"outputs":[{"output_type":"error"}]},` +
				`{"cell_type":"code","metadata":{"keep_output":0},"outputs":[{"output_type":"error"}]}`,
			`{"cell_type":"code","metadata":{"keep_output":true},"outputs":[{"output_type":"error"}]},` +
				`{"cell_type":"code","metadata":{"keep_output":0},"outputs":[]}`, ""},
		{"what Python takes for true, or not", Strip{},
			`{"cell_type":"code","metadata":{"keep_output":" "},"outputs":[{}]},{"cell_type":"code",` +
				`"metadata":{"keep_output":0.00},"outputs":[{}]},{"cell_type":"code",` +
				`"metadata":{"keep_output":[ ]},"outputs":[{}]}`,
			`{"cell_type":"code","metadata":{"keep_output":" "},"outputs":[{}]},{"cell_type":"code",` +
				`"metadata":{"keep_output":0.00},"outputs":[]},{"cell_type":"code",` +
				`"metadata":{"keep_output":[ ]},"outputs":[]}`, ""},
		{"an initialization cell", Strip{}, `{"cell_type":"code","metadata":{"init_cell":true},"outputs":[{}]}`,
			`{"cell_type":"code","metadata":{"init_cell":true},"outputs":[{}]}`, ""},
		{"an initialization cell, stripped", Strip{StripInitCells: true},
			`{"cell_type":"code","metadata":{"init_cell":true},"outputs":[{}]}`,
			`{"cell_type":"code","metadata":{"init_cell":true},"outputs":[]}`, ""},
		{"types that stay", Strip{KeepOutputTypes: []string{"stream:stderr", "error"}},
			`{"cell_type":"code","outputs":[{"output_type":"stream","name":"stdout"},{"output_type":"stream",` +
				`"name":"stderr"}, {"output_type":"error"},{"output_type":"display_data"}]}`,
			`{"cell_type":"code","outputs":[{"output_type":"stream","name":"stderr"}, {"output_type":"error"}]}`, ""},
		{"types that go", Strip{KeepOutput: true, DropOutputTypes: []string{"stream"}},
			`{"cell_type":"code","outputs":[{"output_type":"stream","name":"stdout"},{"output_type":"error"}]}`,
			`{"cell_type":"code","outputs":[{"output_type":"error"}]}`, ""},
		{"small outputs stay", Strip{MaxSize: 21}, // the words stream and stdout, and the text
			`{"cell_type":"code","outputs":[{"output_type":"stream","name":"stdout","text":["é\n2345678",""]},` +
				`{"output_type":"stream","name":"stdout","text":"1234567890"}]}`,
			`{"cell_type":"code","outputs":[{"output_type":"stream","name":"stdout","text":["é\n2345678",""]}]}`, ""},
		{"more keys", Strip{ExtraKeys: []string{"metadata.keep.b", "cell.metadata.x.y", "cell.metadata.x.z",
			"cell.attachments"}},
			`{"cell_type":"raw","attachments":{},"metadata":{"x":{"y":1,"z":2,"w":3},"x.y":1}}`,
			`{"cell_type":"raw","metadata":{"x":{"y":1,"w":3}}}`,
			`],"metadata":{"keep":{"a":1},"keep_output":false},"nbformat":4}`},
		{"fewer keys", Strip{KeepMetadataKeys: []string{"cell.metadata.collapsed"}},
			`{"cell_type":"raw","metadata":{"collapsed":true,"hidden":true}}`,
			`{"cell_type":"raw","metadata":{"collapsed":true}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.wantOther
			if want == "" {
				want = tail
			}
			if got := stripped(t, c.how, head+c.cells+tail); got != head+c.want+want {
				t.Errorf("got  %s\nwant %s", got, head+c.want+want)
			}
		})
	}
}

func TestStripOldFormat(t *testing.T) {
	const src = `{"metadata":{"signature":"sha256:1"},"nbformat":3,"worksheets":[{"cells":[
{"cell_type":"code","input":"a","outputs":[{"output_type":"pyout","text":"1","prompt_number":2}],` +
		`"prompt_number":2,"collapsed":false},
{"cell_type":"heading","level":2,"source":"b"}]},{"cells":[{"cell_type":"code","input":[],"outputs":[]}]}]}`
	const want = `{"metadata":{},"nbformat":3,"worksheets":[{"cells":[
{"cell_type":"code","input":"a","outputs":[],"prompt_number":null,"collapsed":false},
{"cell_type":"heading","level":2,"source":"b"}]},{"cells":[]}]}`
	if got := stripped(t, Strip{DropEmptyCells: true}, src); got != want {
		t.Errorf("got %s", got)
	}
}

func TestStripRejects(t *testing.T) {
	const src = "{\"cells\":[\n{\"cell_type\":\"code\",\"metadata\":{\"keep_output\":false," +
		"\"tags\":[\"keep_output\"]}}],\"nbformat\":4}"
	nb, err := Parse("n", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Strip{}.Apply(nb)
	var located *notebooks.Error
	if !errors.As(err, &located) || err.Error() != "n:2:47: keep_output is false here, and the cell has the tag "+
		"keep_output; take one of the two out" {
		t.Errorf("got %v", err)
	}
	for _, key := range []string{"a", "metadata", "metadata.", "other.a", "cell.metadata", "cell.source"} {
		if (Strip{ExtraKeys: []string{key}}).Check() == nil {
			t.Errorf("the key %q was accepted", key)
		}
	}
}

func stripped(t *testing.T, how Strip, src string) string {
	t.Helper()
	nb, err := Parse("n", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	got, err := how.Apply(nb)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// TestStripKeepsTheRest: in real notebooks, everything but outputs, counts and volatile metadata keeps its meaning, and
// a second strip changes nothing.
func TestStripKeepsTheRest(t *testing.T) {
	for name, src := range corpus(t) {
		nb, err := Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Strip{}).Apply(nb); err != nil || nb.NBFormat < 4 {
			continue // its metadata says both that it keeps its outputs and that it does not
		}
		once := stripped(t, Strip{}, string(src))
		if again := stripped(t, Strip{}, once); again != once {
			t.Errorf("the second strip changes %s", name)
		}
		if before, after := bare(t, src), bare(t, []byte(once)); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: %v is now %v", name, before, after)
		}
		for i, line := range strings.Split(once, "\n") {
			if !bytes.Contains(src, []byte(strings.TrimRight(line, ",\r"))) && !strings.Contains(line, "null") &&
				!strings.Contains(line, "[]") && !strings.Contains(line, "{}") {
				t.Errorf("%s:%d: %q was not in the source", name, i+1, line)
			}
		}
	}
}

// bare returns a notebook without anything that strip may remove.
func bare(t *testing.T, src []byte) map[string]any {
	t.Helper()
	var nb map[string]any
	if err := json.Unmarshal(src, &nb); err != nil {
		t.Fatal(err)
	}
	book := nb["metadata"].(map[string]any)
	for _, key := range []string{"signature", "widgets", "orig_nbformat", "orig_nbformat_minor"} {
		delete(book, key)
	}
	for _, cell := range nb["cells"].([]any) {
		cell := cell.(map[string]any)
		delete(cell, "outputs")
		delete(cell, "execution_count")
		metadata := cell["metadata"].(map[string]any)
		for _, key := range []string{"collapsed", "ExecuteTime", "execution", "heading_collapsed", "hidden", "scrolled",
			"trusted"} {
			delete(metadata, key)
		}
	}
	return nb
}

// TestApplyIsSplicing compares Apply with a naive implementation.
func TestApplyIsSplicing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,3}`), 1, 6).Draw(t, "items")
		gone := rapid.SliceOfN(rapid.Bool(), len(items), len(items)).Draw(t, "gone")
		src := []byte(`{"cells":[],"nbformat":4,"metadata":{`)
		var kept []string
		var keys []string
		seen := map[string]bool{}
		first := true
		for i, item := range items {
			if seen[item] {
				continue
			}
			seen[item] = true
			if !first {
				src = append(src, " , "...)
			}
			first = false
			src = append(src, `"`+item+`" : "`+item+`"`...)
			if gone[i] {
				keys = append(keys, "metadata."+item)
			} else {
				kept = append(kept, item)
			}
		}
		src = append(src, "}}"...)
		nb, err := Parse("n", src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Strip{ExtraKeys: keys}.Apply(nb)
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ Metadata map[string]string }
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if len(back.Metadata) != len(kept) {
			t.Fatalf("%s has not %v", got, kept)
		}
		for _, item := range kept {
			if back.Metadata[item] != item {
				t.Fatalf("%s has not %v", got, kept)
			}
		}
	})
}
