package documents_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/render/diffview"
	"markmill/render/documents"
	"markmill/render/terminal"
)

// spliced returns an output notebook with every kind of block in a region.
func spliced(body string) string {
	src, one := "# N\n\n```bash {#a}\necho\n```\n", 1
	return string(region.Splice([]byte(src), []region.Region{{ID: "a", At: len(src), Body: []byte(body)}},
		notebooks.Manifest{Format: notebooks.ManifestFormat, Status: "pass", Steps: []notebooks.ManifestStep{{ID: "a",
			Status: "fail", Exit: &one, Files: 1, Added: 1, Deleted: 1,
			Tests: &notebooks.ManifestTests{Passed: 2, Failed: 1}}}}))
}

const wholeRegion = "<details open><summary>✗ <code>a</code> · exit 1 · 2 passed, 1 failed · 1 file +1 " +
	"−1</summary>\n\n" +
	"```text {.tests}\none\n```\n\n… 3 lines (20 bytes) elided: `steps/1/stdout`, `sha256:00`\n\n```text " +
	"{.tests}\nlast\n```\n\n" +
	"![a &amp; b](out_files/a-1.png)\n\nResult (text/html): `steps/1/x`\n\n" +
	"````text {.error}\n```\n````\n\n" +
	"```diff {.diff}\ndiff --git a/f b/f\nnew file mode 100644\nindex 0..1\n--- /dev/null\n" +
	"+++ b/f\n@@ -0,0 +1 @@\n+x\n```\n\n" +
	"```json {.scraps}\n{\n  \"n\": 1,\n" +
	"  \"pic\": {\"digest\":\"sha256:11\",\"file\":\"x.png\",\"mime\":\"image/png\"}\n}\n```\n\n</details>\n"

// TestRegionIsReadCompletely: everything that package render writes about a step is in the cell.
func TestRegionIsReadCompletely(t *testing.T) {
	picture := func(name string) ([]byte, error) {
		if name != "out_files/a-1.png" {
			return nil, fmt.Errorf("no %s", name)
		}
		return []byte("png"), nil
	}
	doc, err := documents.Markdown("out.md", []byte(spliced(wholeRegion)), picture)
	if err != nil || len(doc.Notes) > 0 {
		t.Fatal(err, doc.Notes)
	}
	c := doc.Cells[1]
	if c.Status != "fail" || c.Words != "exit 1" || c.Tests == nil || *c.Tests != (diff.Tests{Passed: 2, Failed: 1}) {
		t.Errorf("status %q, words %q, tests %+v", c.Status, c.Words, c.Tests)
	}
	var outputs []string
	for _, o := range c.Outputs {
		d := o.Data[0]
		outputs = append(outputs, fmt.Sprintf("%s %s %q %s", o.Name, d.MIME, d.Text, d.Bytes))
	}
	want := []string{`stdout text/plain "one\n… 3 lines (20 bytes) elided: ` +
		"`steps/1/stdout`, `sha256:00`" + `\nlast\n" `,
		`result image/png "" png`, "result text/html \"Result (text/html): `steps/1/x`\\n\" ",
		"stderr text/plain \"```\\n\" "}
	if strings.Join(outputs, "\n") != strings.Join(want, "\n") {
		t.Errorf("outputs:\n%s\nwant:\n%s", strings.Join(outputs, "\n"), strings.Join(want, "\n"))
	}
	if len(c.Files) != 1 || c.Files[0].Path != "f" || c.Files[0].Status != "added" ||
		strings.Join(c.Files[0].Lines, "\n") != "@@ -0,0 +1 @@\n+x" {
		t.Errorf("files %+v", c.Files)
	}
	if len(c.Scraps) != 2 || string(c.Scraps[0].Value) != "1" || c.Scraps[1].Digest != "sha256:11" {
		t.Errorf("scraps %+v", c.Scraps)
	}
}

// FuzzRead: any bytes are read or rejected, compared both ways, and shown in every view within its bounds.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		spliced(wholeRegion), spliced("<details><summary>○ <code>a</code> · skipped: x</summary>\n\n</details>\n"),
		"---\ntitle: x\n---\n```yaml {.parameters}\nn: 1\n```\ntext\n```bash {#x}\nls\n```\n", "# a\r\n\r\n```python " +
			"{#y}\r\n1\r\n```\r\n", "",
		`{"cells":[{"cell_type":"code","source":["a\n","b"],"outputs":[{"output_type":"stream","name":"stdout",` +
			`"text":"x\u001b[1m"}],"metadata":{}}],"metadata":{},"nbformat":4,"nbformat_minor":5}`,
		`{"cells":[{"cell_type":"markdown","source":"x","metadata":{"tags":["a"]},` +
			`"attachments":{"p.png":{"image/png":"aGk="}}}],"metadata":{"papermill":{"parameters":{"a":1}}},` +
			`"nbformat":4,"nbformat_minor":2}`,
	} {
		f.Add([]byte(seed), []byte(spliced("x\n")))
		f.Add([]byte(spliced(wholeRegion)), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, err := documents.Read("a", x, nil)
		if err != nil {
			return
		}
		b, err := documents.Read("b", y, nil)
		if err != nil {
			return
		}
		if !diff.Compare(a, a, diff.Options{All: true}).Same {
			t.Fatal("a differs from itself")
		}
		d, back := diff.Compare(a, b, diff.Options{}), diff.Compare(b, a, diff.Options{})
		if d.Same != back.Same || d.Counts.Added != back.Counts.Removed {
			t.Fatalf("%+v and back %+v", d.Counts, back.Counts)
		}
		var shown bytes.Buffer
		if err := terminal.Diff(&shown, d, false); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(shown.String(), "\x1b\r\b\x00") {
			t.Fatalf("a control character reaches the terminal: %q", shown.String())
		}
		if (shown.Len() == 0) != (d.Same && len(d.Scraps) == 0 && len(a.Notes)+len(b.Notes) == 0) {
			t.Fatalf("same is %t, and the terminal says %q", d.Same, shown.String())
		}
		const limit = 2000
		if page := render.DiffMarkdown(d, limit); len(page) > limit || !utf8.Valid(page) {
			t.Fatalf("%d bytes of Markdown", len(page))
		}
		if _, err := diffview.JSON(d); err != nil {
			t.Fatal(err)
		}
	})
}

// TestPageIsBounded: the page contains what matters most and reports what is missing.
func TestPageIsBounded(t *testing.T) {
	notebook := func(word string, verdict string) *diff.Document {
		doc := &diff.Document{Name: word, Status: verdict}
		for i := range 3000 {
			id := fmt.Sprint("step-number-", i)
			doc.Cells = append(doc.Cells, diff.Cell{ID: id, Label: id, Kind: diff.Code,
				Source: strings.Repeat(fmt.Sprintf("print(%d) # %s\n", i, word), 10)})
		}
		last := &doc.Cells[len(doc.Cells)-1]
		last.Status, last.Tags = verdict, []string{"test"}
		return doc
	}
	d := diff.Compare(notebook("before", "pass"), notebook("after", "fail"), diff.Options{})
	page := string(render.DiffMarkdown(d, render.CommentLimit))
	if len(page) > render.CommentLimit || len(page) < render.CommentLimit*9/10 {
		t.Errorf("%d bytes", len(page))
	}
	for _, words := range []string{"status: pass → fail", "✗ `step-number-2999`: pass → fail",
		"left out, because a comment is bounded", "entries of steps"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	if strings.Count(page, "<details>") != strings.Count(page, "</details>") {
		t.Error("a folded text is cut")
	}
}
