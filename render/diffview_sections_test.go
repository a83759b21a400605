package render_test

import (
	"strings"
	"testing"

	"markmill/notebooks/diff"
	"markmill/render/diffview"
)

// told formats a comparison: a line for each section, entry and line of text.
func told(d *diff.Diff) string {
	var b strings.Builder
	for _, s := range diffview.Sections(d) {
		b.WriteString(strings.TrimSpace(s.Name+" "+s.Words) + "\n")
		for _, e := range s.Entries {
			b.WriteString(strings.TrimRight("  "+e.Sign+" "+e.Subject+": "+e.Words, " ") + "\n")
			for _, l := range e.Lines {
				b.WriteString("    " + l + "\n")
			}
		}
	}
	return b.String()
}

// TestSections: new failures come first, and each change is described.
func TestSections(t *testing.T) {
	text := func(s string) []diff.Datum { return []diff.Datum{{MIME: "text/plain", Text: s}} }
	cell := func(id, source, status string, out ...diff.Output) diff.Cell {
		return diff.Cell{ID: id, Label: id, Kind: diff.Code, Source: source, Status: status, Outputs: out}
	}
	old := &diff.Document{Name: "a.md", Status: "pass", Params: []diff.Param{{Name: "n", Value: []byte("1")}},
		Cells: []diff.Cell{
			cell("load", "one\ntwo\nthree\n", "pass", diff.Output{Name: diff.Stdout, Data: text("3 rows\n")}),
			cell("gone", "rm old\n", "pass"),
			cell("plot", "draw()\n", "pass", diff.Output{Name: diff.Display,
				Data: append(text("a figure\n"), diff.Datum{MIME: "image/png", Digest: "sha256:0123456789abcdef",
					Bytes: []byte("12")})})}}
	now := &diff.Document{Name: "b.md", Status: "fail", Params: []diff.Param{{Name: "n", Value: []byte("2")}},
		Notes: []string{"a region was edited"}, Cells: []diff.Cell{
			cell("load", "one\n2\nthree\n", "fail", diff.Output{Name: diff.Stdout, Data: text("4 rows\n")}),
			cell("plot", "draw()\n", "pass", diff.Output{Name: diff.Display,
				Data: []diff.Datum{{MIME: "image/png", Digest: "sha256:fedcba9876543210", Bytes: []byte("123")}}})}}
	old.Cells[0].Tests, now.Cells[0].Tests = &diff.Tests{Passed: 2}, &diff.Tests{Passed: 1, Failed: 1, Skipped: 3}
	want := `status
  ✗ : pass → fail
tests
  ✗ load: pass, 2 passed → fail, 1 passed, 1 failed, 3 skipped
parameters
  ~ n: 1 → 2
steps 1 removed, 1 edited, 1 the same
  ~ load: edited
    @@ line 2 @@
     one
    -two
    +2
     three
  - gone: removed
    -rm old
outputs
  ~ load: stdout; +1 −1
    @@ line 1 @@
    -3 rows
    +4 rows
  ~ plot: result; text/plain +0 −1; image/png 2 bytes, sha256:0123456789ab → 3 bytes, sha256:fedcba987654
    -a figure
notes
  ! b.md: a region was edited
`
	if got := told(diff.Compare(old, now, diff.Options{})); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := told(diff.Compare(old, old, diff.Options{})); got != "" {
		t.Errorf("of two that are the same:\n%s", got)
	}
}

func TestEnded(t *testing.T) {
	for want, got := range map[string]string{
		"not run":             diffview.Ended("", "", nil),
		"fail":                diffview.Ended("fail", "fail", nil),
		"fail, exit 1":        diffview.Ended("fail", "exit 1", nil),
		"pass, 1 passed":      diffview.Ended("pass", "", &diff.Tests{Passed: 1}),
		"0 passed, 1 skipped": diffview.Ended("", "", &diff.Tests{Skipped: 1}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
