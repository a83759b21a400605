package documents_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/ipynb"
	"markmill/render/documents"
)

// TestJupyterOfTellsARegionWhole: all that stands in a region is in the cell.
func TestJupyterOfTellsARegionWhole(t *testing.T) {
	picture := func(name string) ([]byte, error) {
		if name != "out_files/a-1.png" {
			return nil, fmt.Errorf("no %s", name)
		}
		return []byte("png"), nil
	}
	out, err := documents.JupyterOf("out.md", []byte(spliced(wholeRegion)), picture)
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
				text += " " + d.MIME + "=" + strings.ReplaceAll(d.Text(), "\n", "|") + strings.Join(strings.Fields(string(d.Raw[:min(1, len(d.Raw))])), "")
			}
			got = append(got, text)
		}
	}
	for _, words := range []string{"stdoutone\n… 3 lines (20 bytes) elided: `steps/1/stdout`, `sha256:00`\nlast\n", "image/png=cG5n", "text/plain=a &amp; b", "stderr```\n",
		"Result (text/html): `steps/1/x`", "```diff|diff --git a/f b/f|", "application/scrapbook.scrap.json+json=", "error StepFailed exit 1 · 2 passed, 1 failed · 1 file +1 −1"} {
		if !strings.Contains(strings.Join(got, "\x00"), words) {
			t.Errorf("%q is not told in\n%s", words, strings.Join(got, "\n"))
		}
	}
}

// TestJupyterOfRefusesWhatIsDamaged: an edited region is told by name, and a source is none.
func TestJupyterOfRefusesWhatIsDamaged(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(spliced(wholeRegion), "one\n", "two\n", 1): "edited",
		"# N\n\n```bash {#a}\necho\n```\n":                         "is no output notebook",
	} {
		_, err := documents.JupyterOf("out.md", []byte(text), nil)
		var list notebooks.ErrorList
		if !errors.As(err, &list) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// FuzzJupyterOf: whatever a region holds, the notebook that comes of it can be read, agrees with its own manifest, and is the same the second time.
func FuzzJupyterOf(f *testing.F) {
	f.Add([]byte(wholeRegion), false)
	f.Add([]byte("<details><summary>○ <code>a</code> · skipped: x</summary>\n\n</details>\n"), false)
	f.Add([]byte("```json {.scraps}\n{\"a\":null,\"b\":{\"digest\":1}}\n```\n\n**t**\n\n| a |\n| --- |\n"), false)
	f.Add([]byte("```yaml {.injected-parameters}\nn: {a: [1, null]}\n```\n"), true)
	f.Fuzz(func(t *testing.T, body []byte, parameters bool) {
		src := "```yaml {.parameters}\nn: 1\n```\n```bash {#a}\necho\n```\n"
		region := notebooks.Region{ID: "a", At: len(src), Body: body}
		if parameters {
			region = notebooks.Region{ID: "injected-parameters", At: strings.Index(src, "```bash"), Body: body}
		}
		text := notebooks.Splice([]byte(src), []notebooks.Region{region}, notebooks.Manifest{Status: "pass", Parameters: []notebooks.ManifestParam{{Name: "n", Value: []byte("1")}}})
		out, err := documents.JupyterOf("out.md", text, func(string) ([]byte, error) { return body, nil })
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
		again, err := documents.JupyterOf("out.md", text, func(string) ([]byte, error) { return body, nil })
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("the second is another (%v)", err)
		}
	})
}
