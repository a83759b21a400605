package html

import (
	"regexp"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// TestTurn: the page of an agent's step folds the conversation, with what each command printed, and shows the answer.
func TestTurn(t *testing.T) {
	nb, err := markdown.Parse("x.md", []byte("```agent {#fix}\nMend it.\n```\n"))
	if err != nil {
		t.Fatal(err)
	}
	body := "<details><summary>✓ <code>fix</code></summary>\n\n```text {.turn}\n> I look.\n>\n> Twice.\n" +
		"$ make test\n+   -k\n  > not said\n  [exit 0]\n[exit 2]\n(edited a.py)\n< and b.py\n" +
		"(used 1 tokens in, 2 out)\n> It is <b>done</b>.\n```\n\n</details>\n"
	page, err := plainPage("x.md", region.Splice(nb.Source, []region.Region{{ID: "fix", At: nb.Steps[0].Fence.End,
		Body: []byte(body)}}, notebooks.Manifest{Status: "pass", Steps: []notebooks.ManifestStep{{ID: "fix",
		Status: "pass"}}}),
		nil)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\s+`).ReplaceAllString(string(page), " ")
	at := 0
	for _, want := range []string{`<details class="turn"><summary>The turn · 2 messages · 1 command, 1 failed · 1 edit ·`, "I look. Twice.</pre>", `<details class="ran fail"><summary><code>$ make test</code><span class="exit">exit 2</span>`, "&gt; not said [exit 0]</pre></div></details>", "edited <code>a.py</code>", `<div class="io said told"><pre> and b.py`,
		"used 1 tokens in, 2 out</p></details>", "It is &lt;b&gt;done&lt;/b&gt;."} {
		next := strings.Index(text[at:], want)
		if next < 0 {
			t.Fatalf("%q is not there, or not in its place:\n%s", want,
				text[strings.Index(text, `<div class="result">`):])
		}
		at += next
	}
	checkSafe(t, page)
}
