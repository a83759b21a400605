package cmdtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInterop runs Markmill beside the real Python programs whose files and options it takes over.
// MARKMILL_PEERS names the interpreter that has them; bench/setup makes one.
func TestInterop(t *testing.T) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		t.Skip("MARKMILL_PEERS names no interpreter with papermill and jupytext: run bench/setup")
	}
	// no run is kept among the user's
	t.Setenv("MARKMILL_DIR", t.TempDir())
	t.Setenv("PATH", filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH")) // the kernels of the peers
	p := peers{python: python, markmill: builtProgram(t)}
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{ // those that take long first: a core takes the next when it has done one
		{"corpus", p.corpus}, {"nbval", p.nbval}, {"jupyter", p.jupyter}, {"output", p.output},
		{"scrapbook", p.scrapbook},
		{"papermill options", p.papermillHelp}, {"papermill parameters", p.parameters}, {"jupytext cells", p.cells},
		{"jupytext forms", p.forms}, {"jupytext languages", p.languages}, {"jupytext by hand", p.oddities},
		{"jupytext pairs", p.pairs}, {"marimo", p.marimo}, {"jupyter server", p.server},
		{"convert", p.convert}, {"old nbformat", p.upgrade}, {"nbstripout", p.strip}, {"zeppelin", p.zeppelin},
		{"nbdime", p.nbdime},
		{"pre-commit", p.preCommit}, {"knitr", p.knitr}, {"widgets", p.widgets}, {"nbclient interrupts", p.interrupts},
		{"event loop", p.eventLoop}, {"kernel that ends", p.kernelEnds}, {"figures", p.figures}, {"checks", p.checks},
		{"processes", p.processes},
		{"secrets in tables", p.secretTable}, {"scraps of ours", p.ownScraps}, {"tables of scraps", p.tables},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t)
		})
	}
}

type peers struct{ python, markmill string }

// parameterNotebook prints what Python sees of each parameter. Jupytext makes the notebook that
// papermill runs out of this same text.
const parameterNotebook = `---
jupyter:
  kernelspec:
    display_name: Python 3
    language: python
    name: python3
---

` + "```python tags=[\"parameters\"]" + `
integer = 1
negative = 1
large = 1
fraction = 1.5
tiny = 1.5
truth = False
untruth = True
nothing = "something"
word = "a"
digits = "a"
quotes = "a"
lines = "a"
unicode = "a"
code = "a"
empty = "a"
some = []
none = [1]
nested = {}
typed_int = 0
typed_float = 0.5
typed_bool = False
typed_word = "a"
typed_equals = "a"
raw = "a"
maybe: "str | None" = "a"
optional: "Optional[str]" = "a"
union: "typing.Union[str, None]" = "a"
unless: str = None
` + "```" + `

` + "```python" + `
for name in ("integer negative large fraction tiny truth untruth nothing word digits quotes lines unicode code empty "
             "some none nested typed_int typed_float typed_bool typed_word typed_equals raw maybe optional union unless").split():
    print(name, ascii(globals()[name]))
` + "```" + `
`

// parameterValues holds values that papermill brings over whole; those that it loses are in the
// golden cases, with what should have come.
const parameterValues = `
integer: 7
negative: -3
large: 123456789012345678901234567890
fraction: 2.25
tiny: 1.0e-7
truth: true
untruth: false
nothing: null
word: hello world
digits: "007"
quotes: 'it''s "quoted" \ and $HOME and ` + "`date`" + ` and %d {x}'
lines: "one\ntwo\n\tthree"
unicode: "grüße 漢字 \U0001F600"
code: "\"); import os; os.abort() #"
empty: ""
some: [1, 2.5, "three", true, null]
none: []
nested: {a: {b: [1, {c: d}]}, "e f": ""}
`

// The same text, the same options: Python must see the same values.
func (p peers) parameters(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "values.md")
	write(t, source, parameterNotebook)
	options := []string{
		"-y", parameterValues,
		"-p", "typed_int", "42", "-p", "typed_float", "6.5", "-p", "typed_bool", "True",
		"-p", "typed_word", "text", "-p", "typed_equals", "a=b", "-r", "raw", "007",
		"-p", "maybe", "None", "-p", "optional", "None", "-p", "union", "None", "-p", "unless", "None",
	}

	command(t, dir, p.python, "-m", "jupytext", "--quiet", "--to", "ipynb", source)
	theirs := filepath.Join(dir, "papermill.txt")
	p.papermillOnce(t, dir, append([]string{"--stdout-file", theirs, "values.ipynb", "papermill.ipynb"}, options...)...)

	ours := filepath.Join(dir, "markmill.txt")
	command(t, dir, p.markmill, append([]string{"run", "--stdout-file", ours,
		source, filepath.Join(dir, "markmill.md")}, options...)...)

	want, got := lines(t, theirs), lines(t, ours)
	if len(want) != 28 {
		t.Fatalf("papermill printed %d values, not 28:\n%s", len(want), strings.Join(want, "\n"))
	}
	if len(got) != len(want) {
		t.Fatalf("markmill printed %d values, papermill %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("papermill: %s\nmarkmill:  %s", want[i], got[i])
		}
	}
}

// readCells prints, for each file, the code cells that jupytext reads from it. Jupytext keeps
// another language than the notebook's own as a magic in the first line.
const readCells = `
import json, sys, jupytext
files = []
for path in sys.argv[1:]:
    notebook = jupytext.read(path)
    own = notebook.metadata.get("kernelspec", {}).get("language") or notebook.metadata.get("jupytext", {}).get("main_language") or "python"
    cells = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        language, source = own, cell.source
        if source.startswith("%%") and source[2:3].isalpha():
            magic, _, source = source.partition("\n")
            language = magic[2:].split()[0]
        cells.append({"lang": language, "code": source})
    files.append(cells)
json.dump(files, sys.stdout)
`

// otherKernels lets the steps of the corpus be planned that no kernel of Markmill's own runs.
const otherKernels = `
kernels:
  others:
    command: [cat, "{file}"]
    languages: [go, idl, julia, r, scheme, sos]
`

type readCell struct{ Lang, Code string }

// Every code cell that jupytext reads from a file is a step of it, and nothing else is.
func (p peers) cells(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "interop", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of our own: %v", err)
	}
	files = append(files, corpus(t)...)
	var theirs [][]readCell
	out := command(t, "", p.python, append([]string{"-c", readCells}, files...)...)
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	command(t, dir, "git", "init", "--quiet")
	write(t, filepath.Join(dir, "markmill.yaml"), otherKernels)
	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var ours struct{ Steps []readCell }
			absolute, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			out := command(t, dir, p.markmill, "check", "--show", "--json", absolute)
			if err := json.Unmarshal(out, &ours); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := theirs[i]
			if len(ours.Steps) != len(want) {
				t.Fatalf("%d steps, jupytext has %d code cells", len(ours.Steps), len(want))
			}
			for j, step := range ours.Steps {
				if language(step.Lang) != language(want[j].Lang) {
					t.Errorf("step %d is %q, jupytext has %q", j+1, step.Lang, want[j].Lang)
				}
				if code := strings.Trim(step.Code, "\n"); code != strings.Trim(want[j].Code, "\n") {
					t.Errorf("step %d is\n%s\njupytext has\n%s", j+1, code, want[j].Code)
				}
			}
		})
	}
}

// corpus returns the files of the shared corpus in which both programs see a notebook. Without a
// header jupytext takes every fence of a plain Markdown file for a cell; there Markmill asks for an id.
func corpus(t *testing.T) []string {
	shared := os.Getenv("MARKMILL_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	all, err := filepath.Glob(filepath.Join(shared, "corpus", "md", "jupytext*"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range all {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		header := bytes.Contains(source, []byte("\njupyter:\n"))
		other := bytes.Contains(source, []byte("```{code-cell}")) || filepath.Ext(name) == ".Rmd"
		if (header || other) && !strings.HasPrefix(name, "jupytext-pandoc--") {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		t.Log("the shared corpus is not beside the repository: only files of our own are compared")
	}
	return files
}

// language is the one name of a language that has several.
func language(word string) string {
	word = strings.ToLower(word)
	if strings.HasPrefix(word, "ipython") || word == "python3" {
		return "python"
	}
	return word
}

// command runs a program, which must succeed.
func command(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	stdout, stderr, err := finished(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, stdout, stderr)
	}
	return stdout
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(data), "\n"), "\n")
}
