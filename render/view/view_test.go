package view

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"markmill/render/safe"
)

// shape describes the blocks below a node.
func shape(n ast.Node, src []byte) string {
	var parts []string
	for _, c := range Children(n) {
		words := c.Kind().String()
		if f, ok := c.(*Fold); ok {
			words = "Fold " + f.Title
		}
		if inner := shape(c, src); c.Type() == ast.TypeBlock && inner != "" {
			words += "(" + inner + ")"
		}
		if c.Type() == ast.TypeBlock {
			parts = append(parts, words)
		}
	}
	return strings.Join(parts, " ")
}

// TestParseNestsFolds: what stands between <details> and </details> is in the fold, in its place and in lists, too.
// A fold that is not closed ends with what it is in, an end without a beginning is nothing, and no other HTML stays.
func TestParseNestsFolds(t *testing.T) {
	for src, want := range map[string]string{
		"a\n\n<details><summary>x &lt;b&gt;</summary>\n\nin\n\n</details>\n\nb": "Paragraph Fold x <b>(Paragraph) " +
			"Paragraph",
		"<details open><summary>x</summary>\n\n<details><summary>y</summary>\n\nin\n\n</details>\n\n</details>\n\n" +
			"b": "Fold x(Fold y(Paragraph)) Paragraph",
		"- i\n\n  <details><summary>x</summary>\n\n  ```diff\n  +y\n  ```\n\n  </details>\n": "List(ListItem(" +
			"Paragraph Fold x(FencedCodeBlock)))",
		"<details><summary>x</summary>\n\nin":                         "Fold x(Paragraph)",
		"</details>\n\nb\n\n<!-- c -->\n\n<script>d</script>\n":       "Paragraph",
		"<details onclick=x><summary>x</summary>\n\nin\n\n</details>": "Paragraph",
	} {
		if got := shape(Parse([]byte(src)), []byte(src)); got != want {
			t.Errorf("%q: %s, want %s", src, got, want)
		}
	}
}

// TestSpans: what was escaped is the text it was, with its hidden characters visible.
func TestSpans(t *testing.T) {
	for _, text := range []string{`a \ b`, "*a* _b_ ~~c~~", "[a](b) ![c](d) <b> &amp; &lt; &#27;", "$x$ `y` | z",
		"&#8203; &commat;", `\*`, "http://a.b www.c.d a@b"} {
		src := []byte("- ✗ " + safe.Inline(text) + " · " + safe.CodeSpan(text))
		item := Parse(src).FirstChild().FirstChild().FirstChild()
		sign, spans := SignOf(Spans(item, src))
		if sign != "✗" || len(spans) != 2 || spans[0].Text != text+" · " || spans[1].Text != text || !spans[1].Code {
			t.Errorf("%q is %q %v", text, sign, spans)
		}
	}
	src := []byte("a\x1b[31mb @&#8203;c \u202e\nd")
	if got := Text(Spans(Parse(src).FirstChild(), src)); got != `a\x1b[31mb @c \u202e d` {
		t.Errorf("got %q", got)
	}
}

// TestSign: a sign stands before a space; a word is none.
func TestSign(t *testing.T) {
	for line, want := range map[string]string{"✗ a": "✗", "✗a": "", "ok a": "", "- a": "-", "": "", "✓": ""} {
		if got, _ := Sign(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}
