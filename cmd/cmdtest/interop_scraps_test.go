package cmdtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gluedCells are what Python's scrapbook takes, as its users call it.
var gluedCells = []string{
	"#parameters\nalpha = 0.5\nwho = 'a'",
	"import scrapbook as sb\nimport pandas as pd",
	"sb.glue('str', 'hello')\nsb.glue('str_json_like', '{\"a\": 1}')\nsb.glue('int', 5)\nsb.glue('float', 1.5)\n" +
		"sb.glue('bool', True)\nsb.glue('empty', '')\nsb.glue('no_items', [])",
	"sb.glue('list', [1, 'a', None])\nsb.glue('dict', {'a': {'b': 1}})\nsb.glue('dict_int_key', {1: 'a'})\n" +
		"sb.glue('np_float', __import__('numpy').float64(3.5))",
	"sb.glue('df', pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [float('nan'), .5], 'd': " +
		"pd.to_datetime(['2026-01-02', None])}))",
	"sb.glue('df_named', pd.DataFrame({'a': [1, 2]}, index=pd.Index(['x', 'y'], name='day')))\nsb.glue('df_rows', " +
		"pd.DataFrame({'a': [1, 2, 3]})[lambda d: d.a != 2])",
	"sb.glue('df_display', pd.DataFrame({'a': [1]}), display=True)\nsb.glue('str_display', 'shown', 'text', True)",
	"sb.glue('html', __import__('IPython.display').display.HTML('<b>x</b>'))\nsb.glue('set', {1}, None, True)\n" +
		"sb.glue('only', 5, 'display')\nsb.glue('chosen', {'a': 1}, display=('text/plain',))",
	"class P:\n    def _repr_png_(self):\n        import base64\n        return " +
		"base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" +
		"AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')\n" +
		"    __repr__ = lambda self: 'P'\nsb.glue('picture', P(), 'display')",
	"sb.glue('json_str', '123', 'json')\nsb.glue('text_int', 5, 'text')\nsb.glue('dup', 1)\nsb.glue('dup', 2)",
}

// gluedValues are the scraps that `markmill notebook scraps --long` must show of them, as type and value.
var gluedValues = map[string]string{
	"str": `text "hello"`, "str_json_like": `text "{\"a\": 1}"`, "int": `json 5`, "float": `json 1.5`,
	"bool": `json true`, "empty": `text ""`, "no_items": `json []`,
	"list": `json [1,"a",null]`,
	"dict": `json {"a":{"b":1}}`, "dict_int_key": `json {"1":"a"}`, "np_float": `json 3.5`,
	"df":       `table {"columns":["a","b","c","d"],"data":[[1,"x",null,{"$date":"2026-01-02T00:00:00"}],[2,null,0.5,null]]}`,
	"df_named": `table {"columns":["a","day"],"data":[[1,"x"],[2,"y"]]}`,
	"df_rows":  `table {"columns":["a"],"data":[[1],[3]]}`, "df_display": `table {"columns":["a"],"data":[[1]]}`,
	"str_display": `text "shown"`, "html": `file "sha256:`, "set": `text "{1}"`, "only": `text "5"`,
	"chosen":   `json {"a":1}`,
	"picture":  `image "sha256:6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0"`,
	"json_str": `json 123`,
	"text_int": `text "5"`, "dup": `json 2`,
}

// readScrapbook prints what scrapbook reads of notebooks: each by itself, and their folder.
const readScrapbook = `
import json, os, sys
import pandas as pd, scrapbook as sb
def plain(value):
    return json.loads(value.to_json(orient="split", date_format="iso")) if isinstance(value, pd.DataFrame) else value
out = []
for path in sys.argv[1:]:
    nb = sb.read_notebook(path)
    frame = nb.scrap_dataframe
    out.append({"parameters": nb.parameters, "names": list(frame.name), "encoders": list(frame.encoder),
                "scraps": {name: [plain(s.data), s.encoder, sorted((s.display or {}).get("data", {}))] for name, s in nb.scraps.items()}})
book = sb.read_notebooks(os.path.dirname(sys.argv[1]))
out.append(sorted(book))
json.dump(out, sys.stdout, sort_keys=True)
`

// scrapbook runs a notebook that imports the real package: with papermill, over ipykernel and over the built-in kernel
// of Python. Outputs must be the same, the package must read the same of each, and markmill notebook scraps the values
// of all.
func (p peers) scrapbook(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "in.ipynb")
	write(t, source, jupyterNotebook(gluedCells))
	made := filepath.Join(dir, "made")
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(made, "papermill.ipynb"), filepath.Join(made, "ipykernel.ipynb"),
		filepath.Join(made, "python.ipynb")}
	p.papermillOnce(t, dir, source, files[0], "-p", "alpha", "0.75")
	command(t, dir, p.markmill, "run", "--no-progress-bar", "-k", "jupyter:python3", source, files[1], "-p", "alpha",
		"0.75")
	command(t, dir, p.markmill, "run", "--no-progress-bar", "-k", "python", source, files[2], "-p", "alpha", "0.75")
	command(t, dir, p.markmill, "verify", files[2])

	var cells [][]json.RawMessage
	if err := json.Unmarshal(command(t, dir, p.python, append([]string{"-c", cellsOf}, files...)...),
		&cells); err != nil {
		t.Fatal(err)
	}
	for i := range cells[0] {
		for k, who := range []string{"ipykernel", "python"} {
			if want, got := string(cells[0][i]), string(cells[k+1][i]); want != got {
				t.Errorf("cell %d:\npapermill %s\n%s %s", i+1, want, who, got)
			}
		}
	}
	var read []json.RawMessage
	if err := json.Unmarshal(command(t, dir, p.python,
		append([]string{"-W", "ignore", "-c", readScrapbook + endAtOnce}, files...)...), &read); err != nil {
		t.Fatal(err)
	}
	for i := range files[1:] {
		if string(read[i+1]) != string(read[0]) {
			t.Errorf("scrapbook reads\n%s of papermill's, and of ours\n%s", read[0], read[i+1])
		}
	}
	if got := string(read[3]); got != `["ipykernel", "papermill", "python"]` {
		t.Errorf("scrapbook finds %s in the folder", got)
	}

	found := map[string]int{}
	for line := range strings.Lines(string(command(t, dir, p.markmill, "notebook", "scraps", "--long", "--format",
		"jsonl",
		made))) {
		var s struct {
			Notebook, Status, Name, Type string
			Alpha                        float64
			Value                        json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		found[s.Name]++
		if got := s.Type + " " + string(s.Value); !strings.HasPrefix(got, gluedValues[s.Name]) || s.Status != "pass" ||
			s.Alpha != .75 {
			t.Errorf("%s: %s (%s, alpha %v) is %s, not %s", s.Notebook, s.Name, s.Status, s.Alpha, got,
				gluedValues[s.Name])
		}
	}
	for name := range gluedValues {
		if found[name] != 3 {
			t.Errorf("%s is in %d notebooks, not in 3", name, found[name])
		}
	}
}

// endAtOnce ends Python without taking its libraries down: a thread of pyarrow's that is still there then aborts the
// process now and then, after all was printed (https://github.com/apache/arrow/issues/34314).
const endAtOnce = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"

// secretTable: a secret in a table that scrapbook packed is in no file that the run leaves, and the table stands masked
// in the output notebook.
func (p peers) secretTable(t *testing.T) {
	for _, kernel := range []string{"python", "jupyter:python3"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.md"),
			"```yaml {.parameters}\ntoken: {type: secret}\n```\n\n```python {#table}\nimport pandas as pd, scrapbook "+
				"as sb\n"+
				"sb.glue('keys', pd.DataFrame({'n': [1], 'key': [token]}))\nsb.glue('open', pd.DataFrame({'n': "+
				"[1]}))\n```\n")
		out := filepath.Join(dir, "out.ipynb")
		command(t, dir, p.markmill, "run", "-k", kernel, "in.md", out, "-p", "token=pZr7-hunter-8812")
		got := string(command(t, dir, p.python, "-W", "ignore", "-c",
			"import scrapbook as sb\nfor s in sb.read_notebook('out.ipynb').scraps.values(): "+
				"print(s.data.values.tolist())"+
				endAtOnce))
		if got != "[[1, '***']]\n[[1]]\n" && got != "[[1]]\n[[1, '***']]\n" {
			t.Errorf("%s: the tables are %s", kernel, got)
		}
		raw := string(command(t, dir, p.markmill, "notebook", "scraps", "--long", "--format", "jsonl", out))
		if strings.Contains(raw, "hunter") || !strings.Contains(raw, `[1,"***"]`) {
			t.Errorf("%s: the scraps are %s", kernel, raw)
		}
	}
}

// ownGlue is a notebook of ours that glues of every kind.
const ownGlue = "```sh {#shell}\nglue word 'he said \"7\"'\nglue --json loss 0.25\nglue --json many '[1, {\"a\": " +
	"null}]'\nglue --json nothing null\nprintf 'a,b\\n1,x\\n2,=y\\n' | glue --table --display sheet\n```\n\n" +
	"```python {#tables}\nimport pandas as pd, pyarrow as pa\nglue('frame', pd.DataFrame({'i': [1, 2], 'f': [0.5, " +
	"None], 's': ['x', None], 'b': [True, False]}))\n" +
	"glue('arrow', pa.table({'i': [1, None], 's': ['x', 'y']}))\nglue('rows', [{'a': 1}, {'b': 'z'}], 'table')\n" +
	"glue('days', pd.DataFrame({'d': pd.to_datetime(['2026-01-02T03:04:05', None]), 'z': " +
	"pd.to_datetime(['2026-01-02', '2026-01-03'], utc=True)}))\nglue('big', 2**70)\n" +
	"import base64\nglue('dot', " +
	"base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" +
	"AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))\n```\n"

// ownScraps: scrapbook reads what our own glue recorded, tables as data frames.
func (p peers) ownScraps(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "own.md"), ownGlue)
	out := filepath.Join(dir, "own.ipynb")
	command(t, dir, p.markmill, "run", "own.md", out)
	var read []struct {
		Scraps map[string]json.RawMessage `json:"scraps"`
	}
	raw := command(t, dir, p.python, "-W", "ignore", "-c",
		strings.Replace(readScrapbook, "out.append(sorted(book))", "", 1)+endAtOnce, out)
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"word": `["he said \"7\"", "text", []]`, "loss": `[0.25, "json", []]`, "many": `[[1, {"a": null}], "json", []]`,
		"sheet": `[{"columns": ["a", "b"], "data": [["1", "x"], ["2", "=y"]], "index": [0, 1]}, "pandas", ["application/scrapbook.scrap.pandas+json", "text/markdown", "text/plain"]]`,
		"frame": `[{"columns": ["i", "f", "s", "b"], "data": [[1, 0.5, "x", true], [2, null, null, false]], "index": [0, 1]}, "pandas", []]`,
		"arrow": `[{"columns": ["i", "s"], "data": [[1.0, "x"], [null, "y"]], "index": [0, 1]}, "pandas", []]`,
		"rows":  `[{"columns": ["a", "b"], "data": [[1.0, null], [null, "z"]], "index": [0, 1]}, "pandas", []]`,
		"days":  `[{"columns": ["d", "z"], "data": [["2026-01-02T03:04:05.000", "2026-01-02T00:00:00.000Z"], [null, "2026-01-03T00:00:00.000Z"]], "index": [0, 1]}, "pandas", []]`,
		"big":   `[1180591620717411303424, "json", []]`,
		"dot":   `[null, "display", ["image/png"]]`,
	} {
		if got := string(read[0].Scraps[name]); got != want {
			t.Errorf("%s is %s, not %s", name, got, want)
		}
	}
}

// readTables prints what pandas and pyarrow read of a Parquet file and a CSV file.
const readTables = `
import json, sys
import pandas as pd, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
frame, sheet = pd.read_parquet(sys.argv[1]), pd.read_csv(sys.argv[2])
print(json.dumps([[f"{f.name} {f.type}" for f in table.schema], table.to_pylist(), json.loads(frame.to_json(orient="values")), json.loads(sheet.to_json(orient="values"))], default=str))
`

// tables: what markmill notebook scraps writes is read by pandas and pyarrow, with one type a column.
func (p peers) tables(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"),
		"```yaml {.parameters}\nn: 1\nmode: fast\n```\n\n```sh {#a}\nglue --json f 1\nglue --json mixed 1\nglue "+
			"--json b true\nglue text 'a, \"b\"\nc'\nglue --json big 9007199254740993\n```\n")
	for _, run := range [][]string{{"1"}, {"2"}} {
		command(t, dir, p.markmill, "run", "a.md", "out/"+run[0]+".md", "-p", "n", run[0])
	}
	write(t, filepath.Join(dir, "b.md"),
		"```sh {#a}\nglue --json f 0.5\nglue --json mixed '{\"a\": [1]}'\nglue --json nan '{\"$float\":\"nan\"}'\n"+
			"glue --json day '{\"$date\":\"2026-01-31\"}'\nglue --json at '{\"$date\":\"2026-01-31T10:00:00.25\"}'\n"+
			"glue --json when '{\"$date\":\"2026-01-31T10:00:00+02:00\"}'\n```\n")
	command(t, dir, p.markmill, "run", "b.md", "out/3.md")
	command(t, dir, p.markmill, "notebook", "scraps", "out", "-o", "all.parquet")
	command(t, dir, p.markmill, "notebook", "scraps", "out", "-o", "all.csv")
	got := strings.TrimSpace(string(command(t, dir, p.python, "-c", readTables+endAtOnce, "all.parquet", "all.csv")))
	want := `[["notebook string", "run string", "status string", "n int64", "mode string", "b bool", "big int64", "f double", "mixed string", "text string", "at timestamp[us]", "day date32[day]", "nan double", "when timestamp[us, tz=UTC]"], ` +
		`[{"notebook": "out/1.md", "run": null, "status": "pass", "n": 1, "mode": "fast", "b": true, "big": 9007199254740993, "f": 1.0, "mixed": "1", "text": "a, \"b\"\nc", "at": null, "day": null, "nan": null, "when": null}, ` +
		`{"notebook": "out/2.md", "run": null, "status": "pass", "n": 2, "mode": "fast", "b": true, "big": 9007199254740993, "f": 1.0, "mixed": "1", "text": "a, \"b\"\nc", "at": null, "day": null, "nan": null, "when": null}, ` +
		`{"notebook": "out/3.md", "run": null, "status": "pass", "n": null, "mode": null, "b": null, "big": null, "f": 0.5, "mixed": "{\"a\":[1]}", "text": null, "at": "2026-01-31 10:00:00.250000", "day": "2026-01-31", "nan": NaN, "when": "2026-01-31 08:00:00+00:00"}], ` +
		`[["out/1.md", null, "pass", 1.0, "fast", true, 9007199254740992.0, 1.0, "1", "a, \"b\"\nc", null, null, null, null], ["out/2.md", null, "pass", 2.0, "fast", true, 9007199254740992.0, 1.0, "1", "a, \"b\"\nc", null, null, null, null], ` +
		`["out/3.md", null, "pass", null, null, null, null, 0.5, "{\"a\":[1]}", null, 1769853600250, 1769817600000, null, 1769846400000]], ` +
		`[["out/1.md", null, "pass", 1.0, "fast", true, 9007199254740992.0, 1.0, "1", "a, \"b\"\nc", null, null, null, null], ["out/2.md", null, "pass", 2.0, "fast", true, 9007199254740992.0, 1.0, "1", "a, \"b\"\nc", null, null, null, null], ` +
		`["out/3.md", null, "pass", null, null, null, null, 0.5, "{\"a\":[1]}", null, "2026-01-31T10:00:00.25", "2026-01-31", null, "2026-01-31T10:00:00+02:00"]]]`
	if got != want {
		t.Errorf("pandas and pyarrow read\n%s\nnot\n%s", got, want)
	}
}
