package terminal

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

const documentText = "# ✗ 1 objection\n\n`a` → `b`\n\n1. ✗ `x.md`: red · `show x`\n2. ! plain\n\n" +
	"| check | history | uptime | says |\n| --- | --- | ---: | --- |\n| a | ·▁▄█·▁▄█·▁▄█ | 1 % | some long words |\n" +
	"| b |  | 12 % | \x1b[31m |\n\nbelow\n\n## steps · 1 added\n\n- \\+ `s`: added\n\n" +
	"  <details><summary>lines</summary>\n\n  ```diff\n  @@ line 1 @@\n   same\n  -one two\n  +one three\n" +
	"  # … 2 lines more\n  … 3 more lines\n  ```\n\n  </details>\n\n" +
	"<details><summary>✓ n.md: fine</summary>\n\n- its words\n\n```\ntext\x07\n```\n\n</details>\n"

// TestDocument: every kind of block, without and with color, and tables cut to a width.
func TestDocument(t *testing.T) {
	show := func(width int, color bool) string {
		var b strings.Builder
		if err := Document(&b, []byte(documentText), width, color); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	check(t, show(0, false), `✗ 1 objection
a → b

1. ✗ x.md: red · show x
2. ! plain

check  history       uptime  says
a      ·▁▄█·▁▄█·▁▄█     1 %  some long words
b                      12 %  \x1b[31m
below

steps · 1 added
  + s: added
    @@ line 1 @@
      same
    - one two
    + one three
    # … 2 lines more
    … 3 more lines

✓ n.md: fine
  its words

  text\x07
`)
	for line := range strings.Lines(show(40, false)) {
		if strings.Contains(line, "%") && (lipgloss.Width(line) > 41 || !strings.Contains(line, "…") &&
			strings.Contains(line, "some")) {
			t.Errorf("not cut: %q", line)
		}
	}
	if !strings.Contains(show(40, false), "·▁▄█·▁▄█·▁▄█") {
		t.Error("a strip was cut")
	}
	painted := show(0, true)
	for _, want := range []string{"\x1b[31m✗\x1b[m", "\x1b[1mx.md\x1b[m", "\x1b[90mshow x\x1b[m", "\x1b[32m+\x1b[m",
		"\x1b[7;31mtwo\x1b[m", "\x1b[7;32mthree\x1b[m", "\x1b[36m@@ line 1 @@\x1b[m", "\x1b[32m✓\x1b[m"} {
		if !strings.Contains(painted, want) {
			t.Errorf("no %q in %q", want, painted)
		}
	}
}
