package convert

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
)

// corpus returns the notebooks and texts of this repository, and those of many tools where they are beside it, or where
// MARKMILL_SHARED names their folder.
func corpus(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	patterns := []string{"../ipynb/testdata/own/*.ipynb", "../../cmd/cmdtest/testdata/*/*.ipynb"}
	if folder == "md" {
		patterns = []string{"../../examples/*.md", "../../examples/*/*.md", "../../render/testdata/*.md",
			"../../cmd/cmdtest/testdata/*/*.md", "../../cmd/cmdtest/testdata/*/*.qmd", "../../docs/*.md"}
	}
	if root := os.Getenv("MARKMILL_SHARED"); root != "" {
		patterns = append(patterns, filepath.Join(root, "corpus", folder, "*"))
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		patterns = append(patterns, filepath.Join(dir, "shared", "corpus", folder, "*"))
	}
	out := map[string][]byte{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Ext(file) == ".tsv" {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(file)] = src
		}
	}
	return out
}

// text forms, with the name of a file of each.
var textForms = []struct {
	form notebooks.Form
	name string
}{{notebooks.FormNative, "out.md"}, {notebooks.FormJupytext, "out.md"}, {notebooks.FormMyST, "out.md"},
	{notebooks.FormQuarto, "out.qmd"}, {notebooks.FormRMarkdown, "out.Rmd"}, {notebooks.FormPercent, "out.py"}}

// TestThereAndBack converts every text of the corpus to a Jupyter notebook and back.
func TestThereAndBack(t *testing.T) {
	read := 0
	for name, src := range corpus(t, "md") {
		t.Run(name, func(t *testing.T) {
			d, err := Read("", name, src)
			if err != nil {
				t.Skip(err)
			}
			read++
			thereAndBack(t, d, src)
		})
	}
	t.Logf("%d texts", read)
	if read < 40 {
		t.Errorf("only %d texts of the corpus were read", read)
	}
}

func thereAndBack(t testing.TB, d *Document, src []byte) {
	t.Helper()
	there, _, err := d.To(notebooks.FormJupyter, "there.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ipynb.Parse("there.ipynb", there); err != nil {
		t.Fatal(err)
	}
	j, err := Read(notebooks.FormJupyter, "there.ipynb", there)
	if err != nil {
		t.Fatal(err)
	}
	back, losses, err := j.To(d.Form, d.Name)
	if err != nil {
		t.Fatalf("%v\n%s", err, there)
	}
	if !bytes.Equal(back, src) {
		t.Errorf("the round trip changed the text\n%s", firstDifference(string(src), string(back)))
	}
	if len(losses) > 0 {
		t.Errorf("losses %v", losses)
	}
}

func firstDifference(want, got string) string {
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return "want " + strings.Join(a[i:min(i+3, len(a))], "") + "\ngot  " +
				strings.Join(b[min(i, len(b)):min(i+3, len(b))], "")
		}
	}
	return "want nothing more, got " + strings.Join(b[len(a):], "")
}

// TestJupyterThereAndBack converts every Jupyter notebook of the corpus to each text form and back: only reported
// losses occur.
func TestJupyterThereAndBack(t *testing.T) {
	for name, src := range corpus(t, "ipynb") {
		d, err := Read(notebooks.FormJupyter, name, src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, f := range textForms {
			t.Run(string(f.form)+"/"+name, func(t *testing.T) {
				text, losses, err := d.To(f.form, f.name)
				if err != nil {
					t.Fatal(err)
				}
				d2, err := Read(f.form, f.name, text)
				if err != nil {
					t.Fatal(err)
				}
				again, _, err := d2.To(notebooks.FormJupyter, name)
				if err != nil {
					t.Fatal(err)
				}
				thereAndBack(t, d2, text)
				j, err := Read(notebooks.FormJupyter, name, again)
				if err != nil {
					t.Fatal(err)
				}
				j.to = f.form
				told, err := d.compare(j)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range told {
					if !strings.Contains(join2(losses), l.What) {
						t.Errorf("unreported loss: %s", l)
					}
				}
				for _, l := range losses {
					if !allowed(l.What) {
						t.Errorf("lost: %s", l)
					}
				}
				if _, err := markdown.Parse(f.name, text); err != nil && f.form != notebooks.FormPercent {
					t.Errorf("what was written cannot be run: %v", err)
				}
			})
		}
	}
}

func join2(list []Loss) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(l.What + "\n")
	}
	return b.String()
}

// allowed returns the losses of forms that have no place for something.
func allowed(what string) bool {
	for _, ok := range []string{"outputs", "the execution count", "attachments", "the id", "metadata ", "empty lines",
		"the empty text", "the notebook's metadata widgets", "the notebook's metadata papermill"} {
		if strings.HasPrefix(what, ok) {
			return true
		}
	}
	return false
}
