package terminal

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
)

// hostilePage returns a page with terminal sequences in every text.
func hostilePage(width int) string {
	const evil = "\x1b]0;title\x07\x1b[2J\u202eevil\r\n"
	text := func(name, mime, text string) diff.Output {
		return diff.Output{Name: name, Data: []diff.Datum{{MIME: mime, Text: text}}}
	}
	var b strings.Builder
	err := Page{Width: width, Code: true, Record: Record{Path: "run" + evil},
		Reasons: []notebooks.ManifestBlocker{{Code: "c" + evil, Step: "s" + evil, Rule: evil, Paths: []string{evil},
			Message: evil, Fix: evil}, {Code: "d", Message: evil, Consequence: true}},
		Doc: &diff.Document{Name: "n" + evil, Status: "fail" + evil, Notes: []string{evil},
			Params: []diff.Param{{Name: evil, Value: codec.Raw(`"\u001b"`)}},
			Cells: []diff.Cell{{Label: "a" + evil, Kind: diff.Code, Lang: evil,
				Source: evil, Status: "fail", Words: evil,
				Outputs: []diff.Output{text(diff.Stdout, "text/plain", strings.Repeat(evil+"long 世界 ", 60)),
					text(diff.Display, "text/html", "<table><tr><td>a"+evil+"</td></tr></table>"),
					text(diff.Display, "text/markdown", "| a"+evil[:10]+" | b |\n| --- | --- |\n| x | y |"),
					{Name: diff.Display,
						Data: []diff.Datum{{MIME: "image/png" + evil, File: evil, Bytes: []byte{1}}}}},
				Scraps: []diff.Scrap{{Name: evil, Type: "text", Value: codec.Raw(`"x"`)},
					{Name: "f", Type: "file", File: evil}},
				Files: []diff.FilePatch{{Path: evil, Status: evil, Lines: []string{"+" + evil}}}}}}}.Write(&b)
	if err != nil {
		panic(err)
	}
	return b.String()
}

func TestPageIsSafeAndFits(t *testing.T) {
	for _, width := range []int{0, 40, 72} {
		page := hostilePage(width)
		if i := strings.IndexFunc(page, func(r rune) bool {
			return r < ' ' && r != '\n' || r == 0x202e ||
				r == 0x7f
		}); i >= 0 {
			t.Errorf("width %d: %q reaches the terminal: …%q", width, page[i], page[max(0, i-40):i+10])
		}
		for line := range strings.Lines(page) {
			line = strings.TrimSuffix(line, "\n")
			if width > 0 && lipgloss.Width(line) > width && !strings.HasPrefix(line, "  ✗") &&
				!strings.HasPrefix(line, "✗") && strings.Contains(line, "│") {
				t.Errorf("width %d: %d columns: %s", width, lipgloss.Width(line), line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("a line ends in a space: %q", line)
			}
		}
	}
}

// TestPageCutsWhatPassed: output of passed steps is cut, output of failed steps is shown in full.
func TestPageCutsWhatPassed(t *testing.T) {
	show := func(status string) string {
		var b strings.Builder
		c := diff.Cell{Label: "a", Kind: diff.Code, Status: status,
			Outputs: []diff.Output{{Name: diff.Stdout, Data: []diff.Datum{{MIME: "text/plain",
				Text: strings.Repeat("line\n", 100)}}}}}
		if err := (Page{Doc: &diff.Document{Status: "pass", Cells: []diff.Cell{c}}}).Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := strings.Count(show("pass"), "│ line\n"); got != shownLines {
		t.Errorf("%d lines of a step that passed", got)
	}
	if got := show("pass"); !strings.Contains(got, "… 76 more lines") {
		t.Errorf("got %s", got)
	}
	if got := strings.Count(show("fail"), "│ line\n"); got != 100 {
		t.Errorf("%d lines of a step that failed", got)
	}
}

func TestFoldKeepsEveryCharacter(t *testing.T) {
	s := &sheet{width: 20}
	for _, text := range []string{"", "short", strings.Repeat("x", 95),
		"some words that are folded between them and not inside", strings.Repeat("世界", 30)} {
		for _, words := range []bool{true, false} {
			lines := s.fold(text, 4, words)
			sep := ""
			for _, l := range lines {
				if lipgloss.Width(l) > 16 {
					t.Errorf("%q is %d columns wide", l, lipgloss.Width(l))
				}
			}
			strip := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if got := strings.Join(lines, sep); strip(got) != strip(text) {
				t.Errorf("%q became %q", text, lines)
			}
		}
	}
}

func TestTablesOf(t *testing.T) {
	for text, is := range map[string]bool{"| a | b |\n| --- | :-: |\n| 1 \\| 2 | y |\n": true, "": false,
		"words": false, "| a |": false, "| a |\n| - |\n\nwords": false,
		"| a |\n| - |\n\n… x\n\nwords": false, "| a |\n| - |\n| 1 |\n\n… 3 rows elided: `x`": true} {
		if got := tablesOf(diff.Datum{MIME: "text/markdown", Text: text}); (got != "") != is {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := tablesOf(diff.Datum{MIME: "text/html", Text: "<div><table><tr><th>a<td>b</table></div>"}); got == "" {
		t.Error("a table in HTML is none")
	}
	if got := tablesOf(diff.Datum{MIME: "text/html", Text: "<table><tr><td>a</table><script>x</script>"}); got != "" {
		t.Errorf("a script: %q", got)
	}
}
