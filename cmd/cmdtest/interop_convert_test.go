package cmdtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// jupytextCells prints the cells that Jupytext's own reader sees in each file, and whether nbformat's validator takes a
// Jupyter notebook.
const jupytextCells = `
import json, os, sys, warnings, jupytext, nbformat
warnings.simplefilter("ignore")
files = {}
for arg in sys.argv[1:]:
    fmt, path = arg.split("=", 1)
    try:
        if fmt == "ipynb":
            notebook = nbformat.read(path, as_version=4)
            nbformat.validate(notebook)
        else:
            with open(path, encoding="utf-8", newline="") as f:
                notebook = jupytext.reads(f.read(), fmt=fmt or os.path.splitext(path)[1])
        files[path] = {"cells": [{"type": c.cell_type, "source": c.source, "metadata": c.metadata} for c in notebook.cells]}
    except Exception as e:
        files[path] = {"error": "%s: %s" % (type(e).__name__, str(e).split("\n")[0])}
json.dump(files, sys.stdout)
`

type peerCell struct {
	Type, Source string
	Metadata     map[string]any
}

type peerFile struct {
	Cells []peerCell
	Error string
}

// convertForms are the forms of text, the ending of a file of each and what Jupytext calls it. Jupytext reads Quarto
// with Quarto's own program.
var convertForms = []struct{ form, ending, jupytext string }{
	{"jupytext", ".md", "md"}, {"myst", ".md", "md:myst"}, {"rmd", ".Rmd", "Rmd"}, {"percent", ".py",
		"py:percent"}, {"light", ".py", "py:light"},
}

// convert takes every notebook of the corpus to every form that Jupytext reads, and every text to Jupyter: Jupytext's
// reader sees the same cells, and nbformat's validator takes what goes back.
func (p peers) convert(t *testing.T) {
	dir := t.TempDir()
	var sources []string
	for _, pattern := range []string{"ipynb/*.ipynb", "md/*.*md"} {
		files, err := filepath.Glob(filepath.Join(sharedCorpus(), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, files...)
	}
	own, err := filepath.Glob(filepath.Join("testdata", "interop", "*"))
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, own...)
	type pair struct{ name, fmt, source, written, back string }
	var pairs []pair
	args := []string{"-c", jupytextCells}
	refused := 0
	var plain []string
	for n, file := range sources {
		base := filepath.Base(file)
		stem := filepath.Join(dir, fmt.Sprintf("%d", n))
		if filepath.Ext(file) != ".ipynb" {
			to := stem + ".ipynb"
			if out, err := tryCommand(t, p.markmill, "convert", file, to); err != nil {
				t.Logf("%s: %s", base, out)
				refused++
				continue
			}
			// Pandoc's divs, which Jupytext reads where the program is installed, are no cells here.
			if plainMarkdown(t, file) || strings.HasPrefix(base, "jupytext-pandoc--") {
				plain = append(plain, to)
				args = append(args, "ipynb="+to)
				continue
			}
			pairs = append(pairs, pair{base, "", file, to, ""})
			args = append(args, "="+file, "ipynb="+to)
			continue
		}
		args = append(args, "ipynb="+file)
		for _, f := range convertForms {
			to := stem + "-" + f.form + f.ending
			back := to + ".ipynb"
			if out, err := tryCommand(t, p.markmill, "convert", "--to", f.form, file, to); err != nil {
				t.Errorf("%s to %s: %s", base, f.form, out)
				continue
			}
			command(t, "", p.markmill, "convert", to, back)
			pairs = append(pairs, pair{f.form + "/" + base, f.jupytext, file, to, back})
			args = append(args, f.jupytext+"="+to, "ipynb="+back)
		}
	}
	if len(pairs) == 0 {
		t.Fatal("nothing was compared")
	}
	var read map[string]peerFile
	if err := json.Unmarshal(command(t, "", p.python, args...), &read); err != nil {
		t.Fatal(err)
	}
	for _, file := range plain {
		if read[file].Error != "" {
			t.Errorf("%s: %s", file, read[file].Error)
		}
	}
	compared, notValid := map[string]int{}, 0
	for _, q := range pairs {
		t.Run(q.name, func(t *testing.T) {
			want, got := read[q.source], read[q.written]
			if want.Error != "" { // not accepted by the peers themselves
				notValid++
				t.Skip(want.Error)
			}
			kind := "texts"
			if q.back != "" {
				kind = strings.SplitN(q.name, "/", 2)[0]
				if back := read[q.back]; back.Error != "" {
					t.Errorf("nbformat refuses what was converted back: %s", back.Error)
				}
			}
			if got.Error != "" {
				t.Fatal(got.Error)
			}
			compared[kind]++
			sameCells(t, want.Cells, got.Cells, q.back == "")
		})
	}
	t.Logf("%d files: compared %v, not taken by the peers themselves %d, plain Markdown %d, not parsed %d",
		len(sources),
		compared, notValid, len(plain), refused)
}

// plainMarkdown says whether a file has no header of Jupytext's: it takes every fence for a cell there, and Markmill
// those that say that they are steps.
func plainMarkdown(t *testing.T, file string) bool {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Ext(file) == ".md" && !bytes.Contains(src, []byte("\njupyter:\n")) &&
		!bytes.Contains(src, []byte("```{code-cell}"))
}

// ofJupytext are what Jupytext keeps of how a text is to be written again, what belongs to outputs, and Markmill's own.
var ofJupytext = []string{"lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker", "markmill", "execution",
	"ExecuteTime", "papermill", "trusted", "comment_questions", "active"}

func sameCells(t *testing.T, want, got []peerCell, exact bool) {
	t.Helper()
	if !exact { // MyST has no place for empty Markdown
		empty := func(c peerCell) bool { return c.Type == "markdown" && strings.TrimSpace(c.Source) == "" }
		want, got = slices.DeleteFunc(want, empty), slices.DeleteFunc(got, empty)
	}
	if len(want) != len(got) {
		t.Fatalf("%d cells, and there should be %d\n%s\n%s", len(got), len(want), peerTypes(got), peerTypes(want))
	}
	for i := range want {
		a, b := want[i], got[i]
		if a.Type != b.Type || strings.Trim(a.Source, " \t\n") != strings.Trim(b.Source, " \t\n") {
			t.Errorf("cell %d is %s\n%q\nand should be %s\n%q", i+1, b.Type, b.Source, a.Type, a.Source)
			continue
		}
		if x, y := peerFields(a.Metadata), peerFields(b.Metadata); x != y {
			t.Errorf("cell %d has %s, and should have %s", i+1, y, x)
		}
	}
}

func peerTypes(cells []peerCell) string {
	var b strings.Builder
	for _, c := range cells {
		first, _, _ := strings.Cut(c.Source, "\n")
		fmt.Fprintf(&b, "  %s %.40q\n", c.Type, first)
	}
	return b.String()
}

func peerFields(m map[string]any) string {
	var names []string
	for name, v := range m {
		empty := fmt.Sprint(v) == "map[]" || fmt.Sprint(v) == "[]"
		if !slices.Contains(ofJupytext, name) && !empty {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		v, _ := json.Marshal(m[name])
		fmt.Fprintf(&b, "%s=%s ", name, v)
	}
	return b.String()
}

// tryCommand is command for one that may fail.
func tryCommand(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	out, words, err := finished(t, "", name, args...)
	return string(words) + string(out), err
}
