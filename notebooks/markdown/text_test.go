package markdown

import "testing"

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
