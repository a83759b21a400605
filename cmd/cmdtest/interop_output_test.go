package cmdtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"markmill/cmd/markmill/verify"
	"markmill/notebooks/forms"
)

// readOutputs opens each notebook as Jupyter's programs do, and prints what scrapbook finds in it.
const readOutputs = `
import json, os, sys, warnings
import nbconvert, nbformat
from jupyter_server.services.contents.filemanager import FileContentsManager
import scrapbook
warnings.simplefilter("ignore")
books = []
for path in sys.argv[1:]:
    nb = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(nb)
    page, _ = nbconvert.HTMLExporter().from_notebook_node(nb)
    folder, name = os.path.split(os.path.abspath(path))
    model = FileContentsManager(root_dir=folder).get(name, content=True)
    assert model["type"] == "notebook" and not model.get("message"), model.get("message")
    book = scrapbook.read_notebook(path)
    books.append({"cells": len([c for c in nb.cells if c.source]), "page": len(page), "parameters": book.parameters,
        "scraps": {name: scrap.data.to_dict("split") if scrap.encoder == "pandas" else scrap.data for name, scrap in book.scraps.items()},
        "shown": {name: sorted(scrap.display["data"]) for name, scrap in book.scraps.items() if scrap.display}})
json.dump(books, sys.stdout)
`

type book struct {
	// Cells are those with a source: a blank line at the end of R Markdown is an empty cell to Jupytext, and in the
	// output notebook a region of output follows instead.
	Cells, Page        int
	Parameters, Scraps map[string]any
	Shown              map[string][]string
}

func (p peers) books(t *testing.T, paths ...string) []book {
	t.Helper()
	var books []book
	out := command(t, "", p.python, append([]string{"-c", readOutputs + endAtOnce}, paths...)...)
	if err := json.Unmarshal(out, &books); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return books
}

// gluing leaves one of everything, with parameters of YAML.
const gluing = `---
title: Everything
---

# Everything

` + "```yaml {.parameters}" + `
x: 1      # a number
name: a   # a word
` + "```" + `

` + "```python {#show}" + `
import base64, sys
class Picture:
    def _repr_png_(self): return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
class Page:
    def _repr_html_(self): return "<script>alert(1)</script>"
print("hello", x, name)
print("careful", file=sys.stderr)
display(Picture(), Page())
glue("text", "007"); glue("json", {"a": [1, None, True]}); glue("number", x); glue("nothing", None)
x
` + "```" + `

` + "```bash {#change .test}" + `
printf 'a\377b\000\033[31mred\033[0m\n'
echo "changed" > new.txt
printf 'a,b\n1,2\n' | glue --table --display table -
glue --file file new.txt
` + "```" + `

` + "```python {#fails .allow-failure}" + `
1/0
` + "```" + `

` + "```bash {#exits}" + `
exit 3
` + "```" + `

` + "```python {#never}" + `
print("never")
` + "```" + `
`

// What a run of a Markdown notebook leaves as a Jupyter notebook is one for Jupyter's own programs, and its scraps are
// scrapbook's.
func (p peers) output(t *testing.T) {
	dir := t.TempDir()
	source, out := filepath.Join(dir, "all.md"), filepath.Join(dir, "all.ipynb")
	write(t, source, gluing)
	if _, _, err := finished(t, "", p.markmill, "run", source, out, "-p", "x", "5"); err == nil {
		t.Fatal("a run with a step that fails has passed")
	}
	got := p.books(t, out)[0]
	want := book{Cells: got.Cells, Page: got.Page, Parameters: map[string]any{"x": 5.0},
		Scraps: map[string]any{"text": "007", "json": map[string]any{"a": []any{1.0, nil, true}}, "number": 5.0,
			"file":  got.Scraps["file"],
			"table": map[string]any{"columns": []any{"a", "b"}, "data": []any{[]any{"1", "2"}}, "index": []any{0.0}}},
		Shown: map[string][]string{"table": {"application/scrapbook.scrap.pandas+json", "text/markdown", "text/plain"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("scrapbook reads %+v, want %+v", got, want)
	}
	if file, _ := got.Scraps["file"].(map[string]any); file["digest"] == nil {
		t.Errorf("the scrap of a file is %v", got.Scraps["file"])
	}
	p.again(t, dir)
	p.timings(t, dir)
	p.corpusOutputs(t, dir)
}

// timed runs a notebook with nbclient, and prints under which names each cell has times: ours first, then nbclient's.
const timed = `
import datetime, json, sys, nbformat
from nbclient import NotebookClient
ours = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(ours)
theirs = nbformat.read(sys.argv[2], as_version=4)
NotebookClient(theirs, record_timing=True, kernel_name="python3").execute()
order = ["iopub.status.busy", "iopub.execute_input", "iopub.status.idle", "shell.execute_reply"]
for notebook in (ours, theirs):
    cells = [c.metadata.get("execution") for c in notebook.cells if c.cell_type == "code"]
    for times in filter(None, cells):
        read = {name: datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ") for name, text in times.items()}
        assert read[order[0]] <= read[order[1]] <= read[order[2]], times
        assert 0.3 <= (read[order[2]] - read[order[0]]).total_seconds(), times # what the cell sleeps
    print(json.dumps([sorted(times) if times else times for times in cells]))
took, cell = ours.metadata.papermill, next(c for c in ours.cells if c.cell_type == "code").metadata.papermill
assert took.duration >= cell.duration >= 0.3 and took.start_time < took.end_time, (took, cell)
`

// With --timings a Jupyter notebook has nbclient's times, which strip takes out; without, it has none.
func (p peers) timings(t *testing.T, dir string) {
	source, out, again := filepath.Join(dir, "slow.md"), filepath.Join(dir, "slow.ipynb"), filepath.Join(dir,
		"twice.ipynb")
	write(t, source, "```python {#slow}\nimport time; time.sleep(0.3)\n```\n")
	command(t, dir, p.markmill, "convert", source, out)
	bare := command(t, dir, p.markmill, "notebook", "strip", "--stdout", out)
	command(t, dir, p.markmill, "run", out, again, "--timings")
	shown := strings.Split(strings.TrimSpace(string(command(t, dir, p.python, "-c", timed, again, out))), "\n")
	if len(shown) != 2 || shown[0] != shown[1] || !strings.Contains(shown[0], "shell.execute_reply") {
		t.Errorf("the metadata of the cells have\n%s", strings.Join(shown, "\n"))
	}
	command(t, dir, p.markmill, "verify", again)
	if left := command(t, dir, p.markmill, "notebook", "strip", "--stdout", again); !bytes.Equal(left, bare) {
		t.Errorf("strip leaves\n%s", left)
	}
	command(t, dir, p.markmill, "run", out, again)
	if b, err := os.ReadFile(again); err != nil || bytes.Contains(b, []byte("iopub")) {
		t.Errorf("times without --timings: %v\n%s", err, b)
	}
}

// again runs an output notebook as an input, by papermill and by Markmill: the injected cell is replaced.
func (p peers) again(t *testing.T, dir string) {
	source, out := filepath.Join(dir, "plain.md"), filepath.Join(dir, "plain.ipynb")
	write(t, source, "# T\n\n```yaml {.parameters}\nx: 1\ny: 2\n```\n\n```python {#show}\nprint(x, y)\n```\n")
	command(t, dir, p.markmill, "run", source, out, "-p", "x", "5")
	p.papermillOnce(t, dir, out, "papermill.ipynb", "-p", "x", "7")
	command(t, dir, p.markmill, "run", out, "markmill.ipynb", "-p", "x", "7")
	for _, name := range []string{"papermill", "markmill"} {
		var nb struct {
			Cells []struct {
				Source   []string
				Metadata struct{ Tags []string }
				Outputs  []struct{ Text []string }
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, name+".ipynb"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &nb); err != nil {
			t.Fatal(err)
		}
		var injected, printed []string
		for _, c := range nb.Cells {
			if strings.Join(c.Metadata.Tags, " ") == "injected-parameters" {
				injected = append(injected, strings.Join(c.Source, ""))
			}
			for _, o := range c.Outputs {
				printed = append(printed, strings.Join(o.Text, ""))
			}
		}
		if len(injected) != 1 || !strings.Contains(injected[0], "x = 7\n") || strings.Join(printed, "") != "7 2\n" {
			t.Errorf("%s: injected %q, printed %q", name, injected, printed)
		}
	}
}

// corpusOutputs runs every Markdown notebook of the corpus that runs here, and those of the examples that need no
// repository.
func (p peers) corpusOutputs(t *testing.T, dir string) {
	shared := os.Getenv("MARKMILL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "corpus", "md", "*.*md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Log("the shared corpus is not beside the repository: only files of our own are run")
	}
	files = append(files, filepath.Join("..", "..", "examples", "system-health.md"))
	var outputs, direct []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if nb, _ := forms.Parse(file, source); len(nb.Steps) == 0 {
			continue
		}
		base := filepath.Join(dir, filepath.Base(file))
		_, words, err := finished(t, "", p.markmill, "run", "--execution-timeout", "20", file, base+".ipynb")
		if _, gone := os.Stat(base + ".ipynb"); gone != nil {
			first, _, _ := strings.Cut(string(words), "\n")
			t.Logf("%s does not run here: %v: %s", filepath.Base(file), err, first)
			continue
		}
		command(t, dir, p.markmill, "verify", base+".ipynb")
		outputs = append(outputs, base+".ipynb")
		// as it would stand in the record
		command(t, dir, p.markmill, "convert", runOf(t, p, base+".ipynb"), base+".output.md")
		command(t, dir, p.markmill, "convert", base+".output.md", base+".converted.ipynb")
		direct = append(direct, base+".converted.ipynb")
	}
	ours, converted := p.books(t, outputs...), p.books(t, direct...)
	for i := range ours {
		if ours[i].Cells != converted[i].Cells || !reflect.DeepEqual(ours[i].Parameters, converted[i].Parameters) ||
			!reflect.DeepEqual(ours[i].Scraps, converted[i].Scraps) {
			t.Errorf("%s: the run leaves %+v, and the conversion of its Markdown %+v", outputs[i], ours[i],
				converted[i])
		}
	}
	t.Logf("%d notebooks of Markdown", len(ours))
}

// runOf is the run directory of the run that left an output notebook.
func runOf(t *testing.T, p peers, output string) string {
	var v verify.Verified
	out := command(t, "", p.markmill, "verify", "--json", output)
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(os.Getenv("MARKMILL_DIR"), "runs", string(v.Run))
}
