package cmdtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// stripWith runs nbstripout's own main for each file with each set of options, in one process, and prints what it
// wrote; null where it refused.
const stripWith = `
import io, json, sys, warnings
from nbstripout import _nbstripout
warnings.simplefilter("ignore")
_nbstripout.check_output = lambda *args, **named: ""  # what git config says
class Kept(io.BytesIO):
    def close(self): pass
class Out: pass
asked, real, results = json.load(sys.stdin), sys.stdout, []
sys.stdin = None
for options in asked["options"]:
    for path in asked["files"]:
        out = Out()
        out.buffer = Kept()
        sys.argv = ["nbstripout", "-t", "-f", path, *options]
        sys.stdout = out
        try:
            _nbstripout.main()
            results.append(json.loads(out.buffer.getvalue()))
        except BaseException as problem:
            results.append(None)
        sys.stdout = real
json.dump(results, real)
`

// strip compares with nbstripout: the notebooks that are left are equal as values. Ids apart: ours stay, so nbstripout
// is told to keep them, or Markmill to number them.
func (p peers) strip(t *testing.T) {
	same := []string{"keep-output", "keep-count", "drop-empty-cells", "strip-init-cells",
		"extra-keys=metadata.kernelspec cell.metadata.tags metadata.language_info.version",
		"keep-metadata-keys=cell.metadata.collapsed",
		"drop-tagged-cells=parameters", "max-size=40", "keep-output-type=stream:stdout", "max-size=1k"}
	ours := [][]string{{}, {"--number-ids"}, {"--keep-output", "--keep-count"},
		{"--keep-output", "--drop-output-type=stream"}}
	theirs := [][]string{{"--keep-id"}, {}, {"--keep-id", "--keep-output", "--keep-count"},
		{"--keep-id", "--keep-output", "--drop-output-type=stream"}}
	for _, option := range same {
		ours = append(ours, []string{"--" + option})
		theirs = append(theirs, []string{"--" + option, "--keep-id"})
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "own.ipynb")
	write(t, own, stripNotebook)
	files := append([]string{own}, jupyterCorpus(t)...)
	asked, err := json.Marshal(map[string]any{"files": files, "options": theirs})
	if err != nil {
		t.Fatal(err)
	}
	out, words, err := peer(t, peerTime, func(c *exec.Cmd) { c.Dir, c.Stdin = dir, bytes.NewReader(asked) },
		p.python, "-c", stripWith)
	if err != nil {
		t.Fatalf("%v\n%s", err, words)
	}
	var want []map[string]any
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for i, options := range ours {
		for j, file := range files {
			want := want[i*len(files)+j]
			t.Run(fmt.Sprint(filepath.Base(file), options), func(t *testing.T) {
				out, _, err := finished(t, "", p.markmill, append([]string{"notebook", "strip", "--stdout", file},
					options...)...)
				if (err != nil) != (want == nil) {
					t.Fatalf("markmill: %v; did nbstripout take it: %t", err, want != nil)
				}
				if want == nil {
					return
				}
				var got map[string]any
				if err := json.Unmarshal(out, &got); err != nil {
					t.Fatal(err)
				}
				if unlike(got, options) {
					return
				}
				settleKnown(got, want)
				if !reflect.DeepEqual(joinLines(got), joinLines(want)) {
					a, _ := json.MarshalIndent(joinLines(got), "", " ")
					b, _ := json.MarshalIndent(joinLines(want), "", " ")
					t.Errorf("markmill:\n%s\nnbstripout:\n%s", a, b)
				}
			})
		}
	}
}

// zeppelin compares with nbstripout on notes of Zeppelin, too.
func (p peers) zeppelin(t *testing.T) {
	for i, note := range []string{zeppelinNote, `{"paragraphs": []}`, `{"cells": []}`, `[]`} {
		file := filepath.Join(t.TempDir(), "note.json")
		write(t, file, note)
		ours, _, refused := finished(t, "", p.markmill, "notebook", "strip", "-t", "--mode", "zeppelin", file)
		theirs, _, err := finished(t, "", p.python, "-m", "nbstripout", "-t", "-f", "-m", "zeppelin", file)
		var got, want any
		if err == nil {
			err = errors.Join(json.Unmarshal(ours, &got), json.Unmarshal(theirs, &want))
		}
		if (refused != nil) != (err != nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%d\nmarkmill: %v\n%s\nnbstripout: %v\n%s", i, refused, ours, err, theirs)
		}
	}
}

const zeppelinNote = `{"paragraphs": [
  {"text": "%md", "results": {"code": "SUCCESS", "msg": [{"type": "TEXT", "data": "é"}]}, "result": 1, "n": 1.50},
  {"results": null}, {"results": {}}, {"results": []}, {}],
 "name": "results", "config": {"results": 1}, "results": {"a": 1}}
`

// unlike says whether nbstripout does here what it cannot mean: it takes every code cell of nbformat 3 for an empty
// one, and does not know how 3 names streams.
func unlike(nb map[string]any, options []string) bool {
	return nb["nbformat"].(float64) < 4 && (slices.Contains(options, "--drop-empty-cells") ||
		slices.Contains(options, "--keep-output-type=stream:stdout"))
}

// settleKnown takes away where Markmill means to differ: nbformat makes ids up where 4.5 wants one and there is none,
// and nbstripout leaves the counts in the outputs of nbformat 3.
func settleKnown(ours, theirs map[string]any) {
	missing := false
	cells, _ := ours["cells"].([]any)
	for _, cell := range cells {
		missing = missing || cell.(map[string]any)["id"] == nil
	}
	for _, nb := range []map[string]any{ours, theirs} {
		cells, _ := nb["cells"].([]any)
		for _, cell := range cells {
			if missing {
				delete(cell.(map[string]any), "id")
			}
		}
		sheets, _ := nb["worksheets"].([]any)
		for _, sheet := range sheets {
			for _, cell := range sheet.(map[string]any)["cells"].([]any) {
				outputs, _ := cell.(map[string]any)["outputs"].([]any)
				for _, out := range outputs {
					delete(out.(map[string]any), "prompt_number")
				}
			}
		}
	}
}

// joinLines makes one text of each list of texts: nbformat writes them as it likes.
func joinLines(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = joinLines(value)
		}
	case []any:
		var b strings.Builder
		for i, value := range v {
			if text, ok := value.(string); ok {
				b.WriteString(text)
				continue
			}
			for ; i < len(v); i++ {
				v[i] = joinLines(v[i])
			}
			return v
		}
		return b.String()
	}
	return v
}

// jupyterCorpus are the notebooks of the shared corpus.
func jupyterCorpus(t *testing.T) []string {
	shared := os.Getenv("MARKMILL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "corpus", "ipynb", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if files[i], err = filepath.Abs(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Log("the shared corpus is not beside the repository: only a notebook of our own is compared")
	}
	return files
}

const stripNotebook = `{"cells":[
{"cell_type":"code","id":"first","metadata":{"collapsed":true,"scrolled":"auto","tags":["parameters"],"deep":{"a":{"b":1,"c":2}}},"execution_count":3,
 "outputs":[{"output_type":"stream","name":"stdout","text":["grüße\n","😀"]},{"output_type":"stream","name":"stderr","text":"x"},
 {"output_type":"execute_result","execution_count":3,"metadata":{},"data":{"text/plain":"1","application/json":{"a":[1,2.50,true,null]}}}],"source":["a = 1\n","a"]},
{"cell_type":"code","id":"second","metadata":{"keep_output":true},"execution_count":4,"outputs":[{"output_type":"error","ename":"E","evalue":"v","traceback":["a","b"]}],"source":""},
{"cell_type":"code","id":"third","metadata":{"init_cell":true,"ExecuteTime":{"start_time":"x"}},"execution_count":5,"outputs":[{"output_type":"stream","name":"stdout","text":""}],"source":" \n"},
{"cell_type":"code","id":"fourth","metadata":{"tags":["keep_output"],"execution":{}},"execution_count":null,"outputs":[{"output_type":"display_data","metadata":{},"data":{}}],"source":"b"},
{"cell_type":"markdown","id":"fifth","metadata":{"heading_collapsed":true,"hidden":true,"trusted":true},"source":["# T\n","x"],"attachments":{"a.png":{"image/png":"AA=="}}},
{"cell_type":"raw","id":"sixth","metadata":{},"source":[]}
],"metadata":{"kernelspec":{"name":"python3","display_name":"P","language":"python"},"language_info":{"name":"python","version":"3"},"widgets":{"a":{}},"signature":"s","orig_nbformat":4},
"nbformat":4,"nbformat_minor":5}
`
