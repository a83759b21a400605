package markdown

import (
	"fmt"
	"testing"
)

func TestWarnOfReturns(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"# one line":          "",
		"# one line\r":        "",
		"# a\r\n\r\ntext\r\n": "",
		"# a\rb\n":            "",
		"# a\r\r```bash {#a}\rtrue\r```\r": "n.md:1:4: the lines end with a carriage return alone, so that all of " +
			"the file is one line; save it with line ends of Unix or Windows: tr '\\r' '\\n'",
	} {
		nb, err := Parse("n.md", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		got := ""
		for _, w := range nb.Warnings {
			got += w.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A chunk behind a line of HTML is a step. In a comment or in <pre> it is text, with a warning where the file's own
// tools would run it.
func TestChunksInHTML(t *testing.T) {
	const chunk = "```{r}\n1\n```\n"
	const comment = "W n.md:%d:1: a step stands inside an HTML comment, where it is not run; it is taken for text; " +
		"take it out of the comment\n0"
	for text, want := range map[string]string{
		"<div class=\"a\">\n" + chunk + "</div>\n":                  "1",
		"<b>\n" + chunk + "</b>\n":                                  "1",
		"<div>\n```{note}\nx\n```\n</div>\n":                        "0",
		"<div>\n```r\nx\n```\n</div>\n":                             "0",
		"<!--\n" + chunk + "-->\n":                                  "0",
		"---\noutput: html_document\n---\n<!--\n" + chunk + "-->\n": fmt.Sprintf(comment, 5),
		"<pre>\n" + chunk + "</pre>\n": "W n.md:2:1: a step stands inside an HTML block, where it is not run; it is " +
			"taken for text; leave a blank line before its fence\n0",
	} {
		if got := reported(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
