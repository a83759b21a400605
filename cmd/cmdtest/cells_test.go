package cmdtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"markmill/cmd/api"
	"markmill/notebooks"
	"markmill/notebooks/convert"
	"markmill/notebooks/diff"
	"markmill/notebooks/forms"
	"markmill/notebooks/region"
	"markmill/render/documents"
)

// TestSameCells reads real notebooks of every form as run, inspect, convert and diff do: the cells of code are the
// same.
func TestSameCells(t *testing.T) {
	files := []string{}
	add := func(pattern string) {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, folder := range []string{"testdata/cells", "testdata/interop", "../../examples"} {
		add(filepath.Join(filepath.FromSlash(folder), "*"))
	}
	if shared := os.Getenv("MARKMILL_SHARED"); shared != "" {
		add(filepath.Join(shared, "corpus", "*", "*"))
	}
	read := map[notebooks.Form]int{}
	for _, file := range files {
		name := filepath.ToSlash(file)
		if notebooks.FormOfName(name) == "" || strings.HasSuffix(name, ".sh") || strings.HasSuffix(name, "README.md") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if form := notebooks.FormOfName(name); form.Markdown() {
				src = region.Strip(name, src).Source
			}
			nb, err := forms.Parse(name, src)
			if err != nil {
				t.Skip(err)
			}
			read[nb.Form]++
			seesSameCells(t, nb)
		})
	}
	for _, form := range []notebooks.Form{notebooks.FormNative, notebooks.FormJupytext, notebooks.FormMyST,
		notebooks.FormQuarto,
		notebooks.FormRunme, notebooks.FormPercent, notebooks.FormJupyter} {
		if read[form] == 0 {
			t.Errorf("no notebook of the form %s was read", form)
		}
	}
}

// seesSameCells compares what the other commands see of a notebook with the steps of a run.
func seesSameCells(t *testing.T, nb *notebooks.Notebook) {
	t.Helper()
	var want, inspected, compared []string
	for _, s := range nb.Steps {
		want = append(want, string(s.ID)+"\n"+ended(string(s.Code)))
	}
	for _, s := range api.NewInspected(nb, nil).Steps {
		inspected = append(inspected, s.ID+"\n"+ended(s.Code))
	}
	if !slices.Equal(inspected, want) {
		t.Errorf("inspect has %q\nrun has %q", inspected, want)
	}
	doc, err := documents.Read(nb.Name, nb.Source, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range doc.Cells {
		if c.Kind == diff.Code {
			compared = append(compared, c.Label+"\n"+ended(c.Source))
		}
	}
	if !slices.Equal(compared, want) {
		t.Errorf("diff has %q\nrun has %q", compared, want)
	}
	run, err := convert.ReadRun(nb)
	if err != nil {
		t.Fatal(err)
	}
	if code := convertedCode(run); len(code) != len(nb.Steps) || !inOrder(code, nb.Steps) {
		t.Errorf("a converted run has %q\nrun has %q", code, want)
	}
	d, err := convert.Read("", nb.Name, nb.Source)
	if err != nil {
		t.Fatal(err)
	}
	// Examples that do not run, and that the other tool takes for cells, may stand between the steps.
	if code := convertedCode(d); !inOrder(code, nb.Steps) {
		t.Errorf("convert has %q\nrun has %q", code, want)
	}
}

func ended(code string) string {
	return strings.Trim(strings.ReplaceAll(code, "\r\n", "\n"), "\n") + "\n"
}

// convertedCode returns the code of a document, without the blocks of YAML that declare parameters.
func convertedCode(d *convert.Document) []string {
	var code []string
	for i := range d.Cells {
		if c := &d.Cells[i]; c.Type == "code" && !c.Declares() {
			code = append(code, ended(c.Source))
		}
	}
	return code
}

// inOrder reports whether each step is one of the cells, in their order. A cell may have a magic or options before the
// code of its step.
func inOrder(cells []string, steps []*notebooks.Step) bool {
	for _, s := range steps {
		i := slices.IndexFunc(cells, func(cell string) bool { return strings.HasSuffix(cell, ended(string(s.Code))) })
		if i < 0 {
			return false
		}
		cells = cells[i+1:]
	}
	return true
}
