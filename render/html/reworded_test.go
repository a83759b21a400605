package html

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
	"markmill/render/diffview"
	"markmill/render/documents"
	"markmill/render/fresh"
	"markmill/render/review"
)

// rewordings change the words in the regions of an output notebook so that a reader of that text would infer other
// results.
var rewordings = map[string]func(body string) string{
	"no summaries": func(body string) string {
		body = regexp.MustCompile(`<summary>.*</summary>`).ReplaceAllString(body, "<summary>…</summary>")
		return regexp.MustCompile(`<sub>.*</sub>`).ReplaceAllString(body, "<sub>…</sub>")
	},
	"other summaries": func(body string) string {
		const words = "✓ <code>x</code> · exit 0, allowed · 7 passed, 8 failed, 9 skipped · 4 files +1 −1"
		body = regexp.MustCompile(`<summary>.*</summary>`).ReplaceAllString(body, "<summary>"+words+"</summary>")
		return regexp.MustCompile(`<sub>.*</sub>`).ReplaceAllString(body, "<sub>"+words+"</sub>")
	},
	"opposite words": func(body string) string {
		lines := strings.SplitAfter(body, "\n")
		for i, l := range lines {
			if strings.Contains(l, "<summary>") || strings.HasPrefix(l, "<sub>") {
				lines[i] = strings.NewReplacer("✓", "✗", "✗", "✓", "⏱", "✓", "○", "✗", "passed", "failed",
					"failed", "passed",
					"exit 0", "exit 1", "exit 1", "exit 0", "skipped", "not reached", "broke",
					"kept", ", allowed", "").Replace(l)
			}
		}
		return strings.Join(lines, "")
	},
}

// reworded returns an output notebook with changed words in its regions and valid digests.
func reworded(t *testing.T, name string, src []byte, reword func(string) string) []byte {
	t.Helper()
	out := region.Strip(name, src)
	nb, err := markdown.Parse(name, out.Source)
	if err != nil || len(out.Problems) > 0 {
		t.Fatal(err, out.Problems)
	}
	var regions []region.Region
	for _, r := range out.Regions {
		region := region.Region{ID: r.ID, At: nb.ParamsAt, Body: []byte(reword(string(r.Body)))}
		if step := nb.Step(notebooks.StepID(r.ID)); step != nil {
			region.At = step.Fence.End
		}
		regions = append(regions, region)
	}
	if out.Verdict != nil {
		regions = append(regions, region.Region{Verdict: true, Body: []byte("> ✓ nothing to see here\n")})
	}
	text := region.Splice(out.Source, regions, *out.Manifest)
	if got := region.Strip(name, text); len(got.Problems) > 0 || len(got.Regions) != len(out.Regions) {
		t.Fatal(got.Problems)
	}
	return text
}

// TestRegionTextIsNoResult: no view depends on the words in the regions of an output notebook.
func TestRegionTextIsNoResult(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := region.Strip(file, src).Manifest; m == nil || len(m.Steps) == 0 {
			continue
		}
		tried++
		for name, reword := range rewordings {
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				other := reworded(t, file, src, reword)
				if bytes.Equal(src, other) {
					t.Fatal("nothing was reworded")
				}
				sameViews(t, src, other)
			})
		}
	}
	if tried < 4 {
		t.Errorf("only %d output notebooks were tried", tried)
	}
}

// sameViews compares every view of two output notebooks.
func sameViews(t *testing.T, src, other []byte) {
	t.Helper()
	views := func(text []byte) (doc *diff.Document, page, jupyter []byte) {
		doc, err := documents.Markdown("a.out.md", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if page, err = plainPage("a.out.md", text, nil); err != nil {
			t.Fatal(err)
		}
		if jupyter, _, err = documents.JupyterOf("a.out.md", text, nil); err != nil {
			t.Fatal(err)
		}
		return doc, page, jupyter
	}
	doc, page, jupyter := views(src)
	otherDoc, otherPage, otherJupyter := views(other)
	if !reflect.DeepEqual(doc, otherDoc) {
		t.Errorf("the documents differ:\n%+v\n%+v", doc, otherDoc)
	}
	if !bytes.Equal(page, otherPage) {
		t.Error("the page is another")
	}
	if !bytes.Equal(jupyter, otherJupyter) {
		t.Error("the Jupyter notebook is another")
	}
	if s := diffview.Sections(diff.Compare(doc, otherDoc, diff.Options{All: true})); len(s) > 0 {
		t.Errorf("the comparison says %+v", s)
	}
	if was, is := reviewOf(t, src), reviewOf(t, other); was != is {
		t.Errorf("the review says\n%s\nwant\n%s", is, was)
	}
}

// reviewOf returns the review of a branch that adds an output notebook.
func reviewOf(t *testing.T, src []byte) string {
	t.Helper()
	r, err := review.Make(review.Input{Base: oneFile{}, Head: oneFile{"a.out.md": src}, FailOn: review.Always,
		Files: []review.File{{Path: "a.out.md", New: true}}})
	if err != nil {
		t.Fatal(err)
	}
	text := r.VerdictSign() + r.VerdictWords()
	for _, f := range r.Findings {
		text += fmt.Sprintf("\n%+v", f)
	}
	for _, n := range r.Notebooks {
		text += fmt.Sprintf("\n%s %+v %+v", n.Summary(), n.Notes(), n.Conditions)
	}
	return text
}

// oneFile is a tree in memory.
type oneFile map[string][]byte

func (f oneFile) Read(name string, _ int64) ([]byte, error) {
	if text, ok := f[name]; ok {
		return text, nil
	}
	return nil, os.ErrNotExist
}

func (oneFile) Inputs() fresh.Tree { return nil }

func (f oneFile) In(string) (names []string, err error) {
	for name := range f {
		names = append(names, name)
	}
	return names, nil
}

func (f oneFile) All(func(string) bool) ([]string, error) { return f.In("") }

func (f oneFile) Entry(name string) (blob, mode string, ok bool, err error) {
	text, ok := f[name]
	return region.DigestOf(text), "100644", ok, nil
}
