package html

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
	"markmill/runs"
)

// output returns an output notebook of a source: the body of each step's region by its id.
func output(t *testing.T, source, status string, bodies map[string]string, steps ...notebooks.ManifestStep) []byte {
	t.Helper()
	nb, err := markdown.Parse("x.md", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var regions []region.Region
	for _, s := range nb.Steps {
		if body, ok := bodies[string(s.ID)]; ok {
			regions = append(regions, region.Region{ID: string(s.ID), At: s.Fence.End, Body: []byte(body)})
		}
	}
	return region.Splice(nb.Source, regions, notebooks.Manifest{Format: notebooks.ManifestFormat, Status: status,
		Steps: steps})
}

// pageOf renders a page, checks it, and returns it with its text.
func pageOf(t *testing.T, src []byte) (page []byte, text string) {
	t.Helper()
	page, err := plainPage("x.out.md", src, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkSafe(t, page)
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return page, textOf(root)
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	if n.Data == "script" || n.Data == "style" {
		return ""
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(textOf(c))
	}
	return b.String()
}

func TestStatusComesFirst(t *testing.T) {
	source := "# A title\n\n```bash {#a .test}\ntrue\n```\n\n```bash {#b}\nfalse\n```\n\n```bash {#c}\necho\n```\n"
	bodies := map[string]string{
		"a": "<details><summary>✓ <code>a</code> · exit 0 · 3 passed, 1 skipped</summary>\n\n```text {.tests}\n--- " +
			"PASS: TestX\n```\n\n</details>\n",
		"b": "<details open><summary>✗ <code>b</code> · exit 1 · 1 file +2 −1</summary>\n\n```diff {.diff}\ndiff " +
			"--git a/x/y.go b/x/y.go\nindex 1..2 100644\n--- a/x/y.go\n+++ b/x/y.go\n@@ -1,2 +1,3 " +
			"@@\n-old\n+new\n+more\n```\n\n```json {.scraps}\n{\n  \"n\": 12\n}\n```\n\n</details>\n",
	}
	steps := []notebooks.ManifestStep{
		{ID: "a", Status: "pass", Tags: []string{"test"}, Exit: new(int),
			Tests: &notebooks.ManifestTests{Passed: 3, Skipped: 1}},
		{ID: "b", Status: "fail", Files: 1, Added: 2, Deleted: 1},
		{ID: "c", Status: "pending"},
	}
	for status, want := range map[string]string{"pass": "✓passed", "fail": "✗failed", "blocked": "⊘blocked",
		"interrupted": "✗interrupted", "odd<b>": "·odd<b>"} {
		page, text := pageOf(t, output(t, source, status, bodies, steps...))
		_, main, _ := strings.Cut(text, "▸")
		if main == "" {
			main = text
		}
		at := strings.Index(text, want)
		if at < 0 {
			t.Fatalf("%s: the page does not say %q:\n%s", status, want, text)
		}
		for _, later := range []string{" · 1 of 3 steps passed, 1 failed, 1 not reached · ",
			" · tests: 3 passed, 1 skipped · ", "x/y.go", "12"} {
			if i := strings.Index(text, later); i < at {
				t.Errorf("%s: %q stands at %d, the verdict at %d", status, later, i, at)
			}
		}
		for _, id := range []string{`id="step-a"`, `id="step-b"`, `id="step-c"`,
			`class="step fail"`, `class="step pass"`,
			`class="step none"`, "<title>A title</title>"} {
			if !bytes.Contains(page, []byte(id)) {
				t.Errorf("%s: the page lacks %s", status, id)
			}
		}
	}
}

func TestSourceWithoutOutputs(t *testing.T) {
	_, text := pageOf(t, []byte("---\ntitle: T\n---\n\n# T\n\nSee [this](#below), [that](other.md), "+
		"![p](p.png).\n\n## Below\n\n```yaml {.parameters}\nn: 3  # of things\n```\n\n```python {#a}\nprint(1)\n```\n"))
	for _, want := range []string{"Not run", "1 step", "of things", "print(1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "T\n"); strings.Contains(text, "passed") || n > 3 {
		t.Errorf("a page of a source speaks of a run, or says its title too often:\n%s", text)
	}
}

func TestEditedOutputIsReported(t *testing.T) {
	src := output(t, "```bash {#a}\ntrue\n```\n", "pass",
		map[string]string{"a": "<details><summary>✓ <code>a</code> · exit 0</summary>\n\n```text " +
			"{.output}\nhello\n```\n\n</details>\n"})
	_, text := pageOf(t, bytes.Replace(src, []byte("hello"), []byte("hallo"), 1))
	for _, want := range []string{"This file is not as its run left it", "edited after the run", "hallo"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestHugeOutput: the page of a huge output opens at once, and says what is missing.
func TestHugeOutput(t *testing.T) {
	for name, huge := range map[string]string{
		"lines":    strings.Repeat("a line of output that goes on and on\n", 5<<20/37),
		"one line": strings.Repeat("x", 5<<20),
		"colours":  strings.Repeat("\x1b[31mred\x1b[0m \x1b[38;5;200mx", 1<<18),
	} {
		src := output(t, "```bash {#a}\ntrue\n```\n", "pass",
			map[string]string{"a": "<details><summary>✓ <code>a</code> · exit 0</summary>\n\n" +
				"```text {.output}\n" + huge +
				"\n```\n\n</details>\n"})
		page, text := pageOf(t, src)
		if len(page) > 2<<20 {
			t.Errorf("%s: the page has %d bytes", name, len(page))
		}
		if !strings.Contains(text, "not on this page: the whole is in x.out.md, from line") {
			t.Errorf("%s: the page does not say what is missing", name)
		}
	}
}

// TestManyLargeOutputs: the page is bounded for any number of steps.
func TestManyLargeOutputs(t *testing.T) {
	var source strings.Builder
	bodies := map[string]string{}
	for i := range 100 {
		fmt.Fprintf(&source, "```bash {#s%d}\ntrue\n```\n\n", i)
		bodies[fmt.Sprintf("s%d", i)] = "<details><summary>✓ <code>a</code></summary>\n\n```text {.output}\n" +
			strings.Repeat("0123456789abcde\n", 10<<10) + "```\n\n</details>\n"
	}
	page, _ := pageOf(t, output(t, source.String(), "pass", bodies))
	if len(page) > 2*maxPage {
		t.Errorf("the page has %d bytes", len(page))
	}
}

func TestPictures(t *testing.T) {
	png := "\x89PNG\r\n\x1a\nrest"
	dir := t.TempDir()
	write := func(name, data string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("in/a_files/a b.png", png)
	write("in/notes.txt", "no picture")
	write("in/large.png", png+strings.Repeat("x", maxPicture))
	write("secret.png", png)
	if err := errors.Join(os.Symlink("../secret.png", filepath.Join(dir, "in/link.png")),
		os.Symlink(filepath.Join(dir, "secret.png"), filepath.Join(dir, "in/abs.png")),
		os.Symlink("a_files/a b.png", filepath.Join(dir, "in/inner.png"))); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for src, want := range map[string]string{
		"a_files/a%20b.png":              `<img src="data:image/png;base64,`,
		"./a_files/../a_files/a%20b.png": "<img ", "inner.png": "<img ",
		"../secret.png": "not found", "link.png": "not found", "abs.png": "not found", dir +
			"/secret.png": "not found", "a_files": "not found", "none.png": "not found", "/etc/passwd": "not found",
		"large.png": "larger than 8 MiB", "notes.txt": "no PNG", "https://example.org/x.png": "loads nothing",
		"//example.org/x.png": "loads nothing", "file:///etc/passwd": "loads nothing",
		"data:image/png;base64,iVBORw0KGgpyZXN0": "<img ", "data:image/png;base64,AAAA": "no PNG",
		"data:text/html;base64,AAAA": "loads nothing",
	} {
		page, err := plainPage("a.md", []byte("![words]("+src+")\n"), root.FS())
		if err != nil {
			t.Fatal(err)
		}
		checkSafe(t, page)
		_, main, _ := bytes.Cut(page, []byte("<main"))
		if !bytes.Contains(main, []byte(want)) {
			t.Errorf("%s: the page does not hold %q", src, want)
		}
	}
	full := fstest.MapFS{}
	var many strings.Builder
	for i := range 10 {
		full[fmt.Sprintf("%d.png", i)] = &fstest.MapFile{Data: []byte(png + strings.Repeat("x", 7<<20))}
		fmt.Fprintf(&many, "![p](%d.png)\n\n", i)
	}
	page, err := plainPage("a.md", []byte(many.String()), full)
	if err != nil || len(page) > 2*maxPictures || !bytes.Contains(page, []byte("holds enough pictures")) {
		t.Errorf("ten pictures of 7 MiB: %d bytes, %v", len(page), err)
	}
}

func TestTerminalText(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                            "plain",
		"\x1b[31mred\x1b[0m no":            `<span class="f1">red</span> no`,
		"\x1b[1;92mx\ny\x1b[m":             "<span class=\"ab f10\">x</span>\n<span class=\"ab f10\">y</span>",
		"\x1b[38;5;196mx\x1b[39my":         `<span class="f9">x</span>y`,
		"\x1b[38;2;0;0;238mx\x1b[0m":       `<span class="f4">x</span>`,
		"\x1b[48;2;250;250;250;3mx\x1b[0m": `<span class="ai g15">x</span>`,
		"50%\r100%":                        "100%",
		"\x1b[2J\x1b[1;1Hx":                "x",
		"<b>\x1b[31m</b>\x1b[0m":           `&lt;b&gt;<span class="f1">&lt;/b&gt;</span>`,
		"a\x1b[38;5mb\x1b[999999999999mc":  "abc",
		"\u202ex":                          `\u202ex`,
	} {
		if got := string(terminalText(in)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestHighlightKeepsTheText: highlighting keeps the text of any code in any language.
func TestHighlightKeepsTheText(t *testing.T) {
	var langs []string
	for lang := range grammars() {
		langs = append(langs, lang)
	}
	pieces := []string{"\"", "'", "`", "\"\"\"", "'''", "#", "//", "/*", "*/", "--", "\\", "\n", " ", "$", "${", "}",
		"$(", "if", "x", "_a1", "1.5e3", "@", ":", "é", "<", "&", "-"}
	rapid.Check(t, func(t *rapid.T) {
		code := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(pieces),
			rapid.StringN(0, 4, 12))).Draw(t, "code"), "")
		lang := rapid.SampledFrom(langs).Draw(t, "lang")
		code = strings.NewReplacer("\x00", "", "\r", "").Replace(code)
		nodes, err := html.ParseFragment(strings.NewReader(string(pre(highlight(lang, code)))), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, n := range nodes {
			got.WriteString(textOf(n))
		}
		if got.String() != strings.ToValidUTF8(code, "\uFFFD") {
			t.Fatalf("%s: %q became %q", lang, code, got.String())
		}
	})
}

func TestHighlight(t *testing.T) {
	for _, c := range [][3]string{
		{"python", `if x: print("a")  # b`,
			`<span class="tk">if</span> x: <span class="tf">print</span>(<span class="ts">"a"</span>)  ` +
				`<span class="tc"># b</span>`},
		{"bash", `for i in $x; do echo "a#b"; done`,
			`<span class="tk">for</span> i <span class="tk">in</span> <span class="tv">$x</span>; <span ` +
				`class="tk">do</span> <span class="tk">echo</span> <span class="ts">"a#b"</span>; ` +
				`<span class="tk">done</span>`},
		{"yaml", "a: 1\n- b: 'c' # d", `<span class="tf">a</span>: <span class="tn">1</span>` + "\n" +
			`- <span class="tf">b</span>: <span class="ts">'c'</span> <span class="tc"># d</span>`},
		{"nothing", "if", "if"},
	} {
		if got := strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(string(highlight(c[0], c[1]))); got != c[2] {
			t.Errorf("%s: %s", c[0], got)
		}
	}
}

// TestSamePage: rendering is deterministic.
func TestSamePage(t *testing.T) {
	src := hostileOutput("x <b>y</b>")
	a, err1 := plainPage("x.md", src, hostileFiles("x"))
	b, err2 := plainPage("x.md", src, hostileFiles("x"))
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("two pages differ, or: %v", err)
	}
}

// The top of the page of a run says when it began, how long it took, of which commit it was, and its id; each step has
// its time. Checks are a row of their own.
func TestAboutTheRun(t *testing.T) {
	began := time.Date(2026, 11, 28, 14, 6, 0, 0, time.UTC)
	step := runs.StepRecord{Step: &runs.StepStartedData{}, Finished: &runs.StepFinishedData{DurationNS: 1.5e9}}
	step.Planned.ID = "a"
	run := &runs.Run{ID: "20261128T140600Z-x-1a2b", StartedAt: began, FinishedAt: began.Add(90 * time.Second),
		Steps: []runs.StepRecord{step}}
	run.Started.SourcePath, run.Contract.BaseCommit = "nb/x.md", "6a5f5dcc74560b1fd8c26cf78745d1bd8e8c327b"
	src := output(t, "```bash {#a}\ntrue\n```\n", "pass", map[string]string{"a": "<sub>✓ <code>a</code></sub>\n\n" +
		"```json {.scraps}\n{\"check:disk\": {\"state\": \"ok\"}, \"total\": 3}\n```\n"},
		notebooks.ManifestStep{ID: "a", Status: "pass"})
	made, err := Notebook("x.out.md", src, nil, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"2026-11-28 14:06 UTC", "took 1m30s", "<code>nb/x.md</code>",
		"<code>6a5f5dcc74</code>",
		"<code>20261128T140600Z-x-1a2b</code>", "<span>1.5s</span>", "<th>Checks</th>", "<code>disk</code>",
		"<th>Scraps</th>"} {
		if !strings.Contains(string(made.Page), words) {
			t.Errorf("the page has no %q", words)
		}
	}
	if inner := made.Steps["a"]; !strings.Contains(inner, "true") || strings.Contains(inner, "<summary") {
		t.Errorf("the part of the step: %q", inner)
	}
}
