package documents_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render/documents"
)

// TestJupyterOfKeepsRegion: everything in a region is in the cell.
func TestJupyterOfKeepsRegion(t *testing.T) {
	picture := func(name string) ([]byte, error) {
		if name != "out_files/a-1.png" {
			return nil, fmt.Errorf("no %s", name)
		}
		return []byte("png"), nil
	}
	out, _, err := documents.JupyterOf("out.md", []byte(spliced(wholeRegion)), picture)
	if err != nil {
		t.Fatal(err)
	}
	nb, err := ipynb.Parse("out.ipynb", out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range nb.Cells {
		for _, o := range c.Outputs {
			text := o.Type + " " + o.Name + o.Text() + o.Ename + " " + o.Evalue
			for _, d := range o.Data {
				text += " " + d.MIME + "=" + strings.ReplaceAll(d.Text(), "\n", "|") +
					strings.Join(strings.Fields(string(d.Raw[:min(1, len(d.Raw))])), "")
			}
			got = append(got, text)
		}
	}
	for _, words := range []string{"stdoutone\n… 3 lines (20 bytes) elided: `steps/1/stdout`, `sha256:00`\nlast\n",
		"image/png=cG5n", "text/plain=a &amp; b", "stderr```\n",
		"Result (text/html): `steps/1/x`", "```diff|diff --git a/f b/f|", "application/scrapbook.scrap.json+json=",
		"error StepFailed exit 1 · 2 passed, 1 failed · 1 file +1 −1"} {
		if !strings.Contains(strings.Join(got, "\x00"), words) {
			t.Errorf("%q is missing in\n%s", words, strings.Join(got, "\n"))
		}
	}
}

// TestJupyterOfRejectsDamage: an edited region is reported by name, and a source is rejected.
func TestJupyterOfRejectsDamage(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(spliced(wholeRegion), "one\n", "two\n", 1): "edited",
		"# N\n\n```bash {#a}\necho\n```\n":                         "is no output notebook",
	} {
		_, _, err := documents.JupyterOf("out.md", []byte(text), nil)
		var list notebooks.ErrorList
		if !errors.As(err, &list) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// FuzzJupyterOf: whatever a region contains, the resulting notebook can be read, agrees with its manifest, and is
// stable.
func FuzzJupyterOf(f *testing.F) {
	f.Add([]byte(wholeRegion), false)
	f.Add([]byte("<details><summary>○ <code>a</code> · skipped: x</summary>\n\n</details>\n"), false)
	f.Add([]byte("```json {.scraps}\n{\"a\":null,\"b\":{\"digest\":1}}\n```\n\n**t**\n\n| a |\n| --- |\n"), false)
	f.Add([]byte("```yaml {.injected-parameters}\nn: {a: [1, null]}\n```\n"), true)
	f.Fuzz(func(t *testing.T, body []byte, parameters bool) {
		src := "```yaml {.parameters}\nn: 1\n```\n```bash {#a}\necho\n```\n"
		found := region.Region{ID: "a", At: len(src), Body: body}
		if parameters {
			found = region.Region{ID: "injected-parameters", At: strings.Index(src, "```bash"), Body: body}
		}
		text := region.Splice([]byte(src), []region.Region{found}, notebooks.Manifest{Status: "pass",
			Parameters: []notebooks.ManifestParam{{Name: "n", Value: []byte("1")}}})
		out, _, err := documents.JupyterOf("out.md", text, func(string) ([]byte, error) { return body, nil })
		if err != nil {
			return
		}
		nb, err := ipynb.Parse("out.ipynb", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if damage := nb.Damage(); len(damage) > 0 {
			t.Fatal(damage)
		}
		again, _, err := documents.JupyterOf("out.md", text, func(string) ([]byte, error) { return body, nil })
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("the second is another (%v)", err)
		}
	})
}

// TestJupyterOfKeepsOutputKinds: results, tables and exceptions in a region keep their kind in the cell, and what only
// the record has is listed.
func TestJupyterOfKeepsOutputKinds(t *testing.T) {
	const region = "<details open><summary>✗ <code>a</code> · exit 1 · ValueError</summary>\n\n" +
		"```text {.output}\nprinted\n```\n\n… 3 lines (20 bytes) elided: `steps/1/stdout`\n\n" +
		"```text {.output}\nlast\n```\n\n" +
		"![p](gone.png)\n\n```text {.result}\n   a\n0  1\n```\n\nResult (text/html): `steps/1/x`\n\n" +
		"```text {.error}\nwarned\nTraceback (most recent call last):\n  File \"t.md\", line 3, in <module>\n" +
		"    f()\nValueError: no\n```\n\n" +
		"```diff {.diff}\ndiff --git a/f b/f\n+x\n```\n\n… 2 lines (9 bytes) elided: `steps/1/diff.patch`\n\n" +
		"```diff {.diff}\n+y\n```\n\n" +
		"```json {.scraps}\n{\n  \"big\": {\"elided\":\"9,999 bytes\"},\n  \"rows\": [{\"n\":1}]\n}\n```\n\n" +
		"**rows**\n\n| n |\n| --- |\n| 1 |\n\n</details>\n"
	out, missing, err := documents.JupyterOf("out.md", []byte(spliced(region)), nil)
	if err != nil {
		t.Fatal(err)
	}
	nb, err := ipynb.Parse("out.ipynb", out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range nb.Cells {
		for _, o := range c.Outputs {
			text := o.Type + " " + o.Name + o.Ename
			if o.Type == "stream" {
				text += " " + strings.ReplaceAll(o.Text(), "\n", "|")
			}
			if o.Type == "error" {
				text += " " + o.Evalue + " " + strings.Join(o.Traceback, "|")
			}
			for _, d := range o.Data {
				text += " " + d.MIME
				if d.MIME == "text/plain" {
					text += "=" + strings.ReplaceAll(d.Text(), "\n", "|")
				}
			}
			got = append(got, text)
		}
	}
	want := []string{"stream stdout printed|… 3 lines (20 bytes) elided: `steps/1/stdout`|last|",
		"display_data  text/markdown text/plain=![p](gone.png)", "display_data  text/plain=   a|0  1",
		"display_data  text/markdown text/plain=Result (text/html): `steps/1/x`",
		"stream stderr warned|", "error ValueError no Traceback (most recent call last):|  File \"t.md\", line 3, " +
			"in <module>|    f()|ValueError: no",
		"display_data  text/markdown text/plain=diff --git a/f b/f|+x|… 2 lines (9 bytes) " +
			"elided: `steps/1/diff.patch`|+y|",
		"display_data  application/scrapbook.scrap.json+json",
		"display_data  application/scrapbook.scrap.json+json text/markdown text/plain=[{\"n\":1}]"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var told []string
	for _, m := range missing {
		told = append(told, m.String())
	}
	wanted := []string{"the middle of the output of step a", "a picture, whose file is not here, of step a",
		"HTML and other forms of the results of step a",
		"results that are files of the record of step a", "scraps that are files, or too long for a page, of step a",
		"the order of output, errors and results of step a"}
	if strings.Join(told, "\n") != strings.Join(wanted, "\n") {
		t.Errorf("missing\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(wanted, "\n"))
	}
	doc, err := documents.Markdown("out.md", []byte(spliced(region)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := doc.Cells[1].Outputs[2]; o.Name != diff.Display || o.Data[0].Text != "   a\n0  1\n" {
		t.Errorf("a result is compared as %+v", o)
	}
}
