package html

import (
	"strings"
	"testing"

	"markmill/render"
	"markmill/render/safe"
)

// TestHostileDocument: neither what is escaped in the document of a view nor what somebody forgot to escape becomes
// more than text on its page.
func TestHostileDocument(t *testing.T) {
	for _, text := range hostile {
		text = strings.ReplaceAll(text, "HOST", "http://127.0.0.1:1")
		words, name := render.Words(text), render.CodeSpan(text)
		for _, doc := range []string{text,
			"# " + text + "\n\n- " + text + "\n\n| " + text + " | b |\n| --- | ---: |\n| " + text + " | " + text +
				" |\n\n```island\n0\n```\n\n<details><summary>" + text + "</summary>\n\n" + text,
			"# ✗ " + words + "\n\n1. ✓ " + name + " · " + name + "\n\n| " + words + " | x · y |\n| --- | --- |\n| " +
				words + " | " + words + " ★ |\n\n<details><summary>! " + safe.HTML(text) + "</summary>\n\n" + name +
				"\n\n</details>\n"} {
			checkSafe(t, frame("", "", "", newDocument([]byte(doc)).main(), ""))
		}
	}
}

// TestDocumentFolds: a fold with a sign has an id and a place in the outline, one of a patch is a file, and every
// element is closed, even where the document forgets that.
func TestDocumentFolds(t *testing.T) {
	d := newDocument([]byte("# ✗ red\n\nlead\n\n<details open><summary>a.py +1</summary>\n\n```diff\n+x\n```\n\n" +
		"</details>\n\n<details><summary>✓ n.md: fine</summary>\n\n- ! note\n\n<details><summary>? m.md: so</summary>" +
		"\n\n```island\n7\n```\n"))
	d.island = func(n int, id string) (markup, []outlined) {
		return sprintf(`<i>%d %s</i>`, n, id), []outlined{{href: "x"}}
	}
	page := string(d.main())
	for _, want := range []string{`<section class="top fail"><p class="verdict"><span class="sign">✗</span>red</p>`,
		`<p class="lead">lead</p>`, `<details class="file" open><summary><code>a.py +1</code></summary><pre>`,
		"</section>\n" + `<details class="notebook pass" id="notebook-1"><summary>`, `<code>n.md</code>`,
		`<li class="timeout"><span class="sign">!</span> note`, `id="notebook-1-1"`, "<i>7 notebook-1-1</i>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if len(d.outline) != 3 || d.outline[1].words != "m.md" || d.state != failed {
		t.Errorf("%v %v", d.outline, d.state)
	}
	if strings.Count(page, "<details") != strings.Count(page, "</details>") {
		t.Errorf("folds are not closed:\n%s", page)
	}
}
