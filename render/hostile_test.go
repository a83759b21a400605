package render

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/region"
	"markmill/render/safe"
	"markmill/runs"
)

// hostile are outputs that try to break out of their region, or to hide.
var hostile = []string{
	"```", "````", "~~~", "\n```\n", "\n~~~~\n", strings.Repeat("`", 10000), "```text {.output}\n",
	"<!-- markmill:out s0 c0d06e62adccde6c -->", "<!-- markmill:end c0d06e62adccde6c -->", "<!--", "-->", "--><script>",
	"<![CDATA[", "]]>", "<?php", "?>",
	"</details>", "<details>", "</summary>", "<div>\n\n", "<pre>", "</code></pre>", "<script>", "<!DOCTYPE html>",
	"\x00", "\xff\xfe", "\xc3", "\xed\xa0\x80", "\x1b[31m", "\x1b]0;title\x07", "\x1b[2K", "\x1b[", "\r", "\r\n",
	"\b", "\x7f", "\u0085", "\u009b",
	"\u202e", "\u2066", "\u200f", "\u061c", "\u2028", "\ufeff", "\U000e0041",
	"    indented", "\t\ttabs", "\n\n\n", "- item\n", "> quote\n", "# heading\n", "===\n",
	"---\n", "***", "* * *\n", "1. one\n",
	"[ref]: http://evil 'x'\n", "[^1]: note\n", "[ref]", "![x](y)", "| a | b |\n|---|---|\n", "&amp;", "\\",
	"$$", "@user", "https://x.y", "{{x}}",
	strings.Repeat("long ", 5000), "é", "漢字", "👩\u200d👧", "plain text\n", "",
}

func hostileText(t *rapid.T, name string) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom(hostile), rapid.SampledFrom(hostile),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	), 0, 12).Draw(t, name), "")
}

// around are texts that may stand between steps, and that a region must not change.
var around = []string{
	"text\n", "\n", "\n\n", "[ref] and [^1]\n", "[ref]: /mine\n", "===\n", "---\n", "    code\n", "- a\n- b\n",
	"> quote\n", "| a | b |\n|---|---|\n| 1 | 2 |\n",
	"<div>\nhtml\n</div>\n\n", "```\nprose\n```\n", "# head\n", "<!-- note -->\n\n", "text  \n",
}

// drawNotebook draws a source of some steps with arbitrary text around them.
func drawNotebook(t *rapid.T) *notebooks.Notebook {
	source := rapid.SampledFrom([]string{"", "\ufeff", "# T\n\n", "---\ntitle: x\n---\n\n"}).Draw(t, "start")
	for i := range rapid.IntRange(1, 4).Draw(t, "steps") {
		source += fmt.Sprintf("\n\n```bash {#s%d}\necho\n```\n", i)
		source += strings.Join(rapid.SliceOfN(rapid.SampledFrom(around), 0, 3).Draw(t, "around"), "")
	}
	switch rapid.IntRange(0, 2).Draw(t, "line ends") {
	case 1:
		source = strings.ReplaceAll(source, "\n", "\r\n")
	case 2:
		source = strings.TrimRight(source, "\n")
	}
	return testNotebook(source)
}

// drawRun draws a run whose steps leave hostile text in every field.
func drawRun(t *rapid.T, nb *notebooks.Notebook) *dir {
	d := newDir(nb)
	nb.Front.MaxOutput = int64(rapid.SampledFrom([]int{0, 64, 1000}).Draw(t, "max output"))
	for i := range d.run.Steps {
		status := rapid.SampledFrom([]runs.StepStatus{runs.StepPassed, runs.StepFailed,
			runs.StepTimeout, runs.StepAllowed,
			runs.StepSkipped}).Draw(t, "status")
		rec := d.ends(i, status, rapid.IntRange(0, 255).Draw(t, "exit"),
			hostileText(t, "stdout"), hostileText(t, "stderr"))
		rec.Planned.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"test", "volatile",
			"hide-output", "allow-failure"}),
			0, 1).Draw(t, "tags")
		rec.Finished.Reason = hostileText(t, "reason")
		if rapid.Bool().Draw(t, "rich") {
			rec.Finished.Error = &runs.ErrorData{Name: hostileText(t, "error"), Value: hostileText(t, "value"),
				Traceback: hostileText(t, "traceback")}
			page := d.file(rec.Step.Dir+"/q.html", rapid.SampledFrom([]string{"<b>", "<table><tr><th>",
				"<table><td colspan=3>", "<p>"}).Draw(t, "element")+hostileText(t, "html"))
			words := d.file(rec.Step.Dir+"/q.md", hostileText(t, "markdown"))
			rec.Finished.Displays = []runs.DisplayData{
				{MIME: "text/markdown", File: words.File, Bytes: words.Bytes, Digest: "sha256:4",
					Alt: hostileText(t, "words")},
				{MIME: "image/png", File: "p.png", Digest: "sha256:1", Alt: hostileText(t, "alt")},
				{MIME: "text/html", File: page.File, Bytes: page.Bytes, Digest: "sha256:2",
					Alt: hostileText(t, "table")},
				{MIME: hostileText(t, "mime"), File: "x`y.bin", Digest: "sha256:3"}}
			d.changes(rec, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n+"+strings.ReplaceAll(hostileText(t,
				"diff"), "\n", "\n+")+"\n", runs.ChangedFile{Path: "x", Added: 1})
			text := func(s string) codec.Raw {
				raw, err := codec.Marshal(strings.ToValidUTF8(s, "?"))
				if err != nil {
					t.Fatal(err)
				}
				return raw
			}
			cell := text(hostileText(t, "cell"))
			rec.Scraps = []runs.ScrapData{
				{Name: strings.ToValidUTF8(hostileText(t, "scrap"), "?"), Type: runs.ScrapText,
					Value: text(hostileText(t, "scrap value"))},
				{Name: "rows", Type: runs.ScrapTable, Display: true,
					Value: codec.Raw(fmt.Sprintf(`[{"a":%s,"b":%s}]`, cell, cell))}}
		}
	}
	return d
}

var regionHTML = regexp.MustCompile(`(?s)<!-- markmill:(out \S+|verdict|manifest) [0-9a-f]+ -->.*?<!-- ` +
	`markmill:end [0-9a-f]+ -->\r?\n?`)

// toHTML renders as forges do: tables, autolinks, raw HTML.
func toHTML(t *rapid.T, source []byte) string {
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote),
		goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert(source, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRegionNeverLeaksIntoPage: whatever steps print, an output notebook without its regions renders as the source
// does, and strips to the source's bytes.
func TestRegionNeverLeaksIntoPage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nb := drawNotebook(t)
		d := drawRun(t, nb)
		out, err := Output(runs.OutputFile, nb, d.run, d)
		if err != nil {
			t.Fatal(err)
		}
		page := toHTML(t, out)
		if n := len(regionHTML.FindAllString(page, -1)); n != len(nb.Steps)+2 {
			t.Fatalf("%d regions on the page for %d steps, the verdict and the manifest:\n%s", n, len(nb.Steps), page)
		}
		// A final HTML block without a newline gets one before the manifest: the page is the same.
		got := strings.TrimRight(regionHTML.ReplaceAllString(page, ""), "\r\n")
		if want := strings.TrimRight(toHTML(t, nb.Source), "\r\n"); got != want {
			t.Fatalf("without its regions the page is\n%s\nand of the source it is\n%s\n"+
				"output notebook:\n%s", got, want, out)
		}
		s := region.Strip("out.md", out)
		if !bytes.Equal(s.Source, nb.Source) || len(s.Problems) > 0 {
			t.Fatalf("stripped: %q (%v), want %q", s.Source, s.Problems, nb.Source)
		}
		// Splice shows a body with unclosed Markdown as text: none of these should need that.
		regions, err := stepRegions(nb, d.run, &notebooks.Manifest{}, d, safe.NewNames(d.run.Started.Paths))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range regions {
			if string(s.Regions[i].Body) != string(r.Body) {
				t.Fatalf("%s was put in as\n%s\nand made as\n%s", r.ID, s.Regions[i].Body, r.Body)
			}
		}
	})
}

// TestOutputIsPlainAndStable: two renderings are equal, bounded in size, and free of control characters except the
// author's line ends.
func TestOutputIsPlainAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nb := drawNotebook(t)
		d := drawRun(t, nb)
		out, err := Output(runs.OutputFile, nb, d.run, d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Output(runs.OutputFile, nb, d.run, d)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("the second output is another (%v)", err)
		}
		regions, err := stepRegions(nb, d.run, &notebooks.Manifest{}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		limit := int(nb.Front.MaxOutput)
		if limit == 0 {
			limit = outputBytes
		}
		for _, r := range regions {
			if !utf8.Valid(r.Body) {
				t.Fatalf("%s: not UTF-8", r.ID)
			}
			for _, c := range string(r.Body) {
				if unicode.IsControl(c) && c != '\n' && c != '\t' || c >= 0x202a &&
					c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
					t.Fatalf("%s: holds %U:\n%q", r.ID, c, r.Body)
				}
			}
			// Output, scraps and tables (each escaped at most twofold), the diff, 10,000 backticks of fences, words.
			if most := 6*limit + safe.PatchBytes + 200_000; len(r.Body) > most {
				t.Fatalf("%s: %d bytes, want at most %d", r.ID, len(r.Body), most)
			}
		}
	})
}

// TestReportIsPlain: step output reaches the report as text, one table row each.
func TestReportIsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawRun(t, drawNotebook(t))
		d.run.Completed.Blockers = []runs.Blocker{{Code: "step_failed", Step: "s", Message: hostileText(t, "words")}}
		d.run.Diff.Files = []runs.ChangedFile{{Path: hostileText(t, "path"), Status: "added"}}
		d.run.Contract.Parameters = []runs.ParamData{{Name: "p|`q", Type: "string", Value: codec.Raw(`"\u202e|"`),
			From: hostileText(t, "from")}}
		report, err := ReportMarkdown(d.run)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range string(report) {
			if unicode.IsControl(c) && c != '\n' && c != '\t' || c >= 0x202a &&
				c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
				t.Fatalf("holds %U:\n%q", c, report)
			}
		}
		page := toHTML(t, report)
		if n := strings.Count(page, "<h2"); n < 4 || n > 6 {
			t.Fatalf("%d sections:\n%s", n, page)
		}
		for _, bad := range []string{"<script", "<img", "<pre", "<hr", "<h3", "<div"} {
			if strings.Contains(page, bad) {
				t.Fatalf("%s came through:\n%s", bad, page)
			}
		}
		if n, want := strings.Count(page, "<table"), strings.Count(string(report), "---")/2; n < 3 || n > want {
			t.Fatalf("%d tables:\n%s", n, report)
		}
	})
}

func TestOutputIsBounded(t *testing.T) {
	nb := testNotebook("```python {#s}\n```\n```python {#many}\n```\n")
	d := newDir(nb)
	rec := d.ends(0, runs.StepPassed, 0, strings.Repeat("x", 1<<19), strings.Repeat("y\n", 1<<18))
	many := d.ends(1, runs.StepPassed, 0, "", "")
	d.file("p.html", "<b>not a table</b><script></script>")
	for i := range 4000 {
		rec.Finished.Displays = append(rec.Finished.Displays,
			runs.DisplayData{MIME: "image/png", File: "p.png", Digest: runs.Digest(fmt.Sprint(i))},
			runs.DisplayData{MIME: "text/html", File: "p.html", Alt: strings.Repeat("z", 1000)})
		many.Finished.Displays = append(many.Finished.Displays,
			runs.DisplayData{MIME: "application/pdf", File: "p.pdf"})
		rec.Scraps = append(rec.Scraps, runs.ScrapData{Name: fmt.Sprint("s", i), Type: runs.ScrapJSON,
			Value: codec.Raw(strings.Repeat("[", 500) + strings.Repeat("]", 500))})
	}
	d.changes(rec, fixPatch+strings.Repeat("+line\n", 1<<16), runs.ChangedFile{Path: "x", Added: 1 << 16})
	out, err := Output(runs.OutputFile, nb, d.run, d)
	if err != nil {
		t.Fatal(err)
	}
	if most := 3*outputBytes + safe.PatchBytes + 20_000; len(out) > most || len(out) < outputBytes {
		t.Errorf("%d bytes, want at most %d", len(out), most)
	}
	if n := len(Assets(d.run)); n != maxPictures {
		t.Errorf("%d pictures, want %d", n, maxPictures)
	}
}
