package html

import (
	"slices"
	"strings"

	"markmill/render/plain"
	"markmill/render/safe"
)

// Bounds of the text on a page, in bytes.
const (
	maxText  = 256 << 10 // of one block
	leastOf  = 2 << 10   // of a block when the page is full
	maxPage  = 12 << 20  // of all blocks of a page
	maxLine  = 4 << 10   // of one line of output
	foldFrom = 36        // lines from which a block is folded
	foldHead = 12        // lines that a folded block shows
)

// budget is the space left for text on a page.
type budget struct{ left int }

// cut bounds a text to the size of a block, and charges the budget. Of a longer text it returns head and tail; gone
// says how much is missing between them.
func (b *budget) cut(text string) (head, tail, gone string) {
	limit := max(leastOf, min(maxText, b.left))
	if len(text) <= limit {
		b.left -= len(text)
		return text, "", ""
	}
	b.left -= limit
	head, tail = safe.HeadOf(text, limit*3/4), safe.TailOf(text, limit/4)
	missing := text[len(head) : len(text)-len(tail)]
	gone = size(len(missing))
	if n := strings.Count(missing, "\n"); n > 0 {
		gone = plain.Counted(n, "line") + " (" + gone + ")"
	}
	return head, tail, gone
}

// shortLines cuts overlong lines.
func shortLines(text string) string {
	if len(text) <= maxLine {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if head := safe.HeadOf(l, maxLine); head != l {
			lines[i] = head + " … " + size(len(l)-len(head)) + " more on this line"
		}
	}
	return strings.Join(lines, "\n")
}

// elided renders the line that marks a cut.
func elided(gone string, where markup) markup {
	return sprintf(`<p class="cut">… %s not on this page: the whole is in %s</p>`, gone, where)
}

// output renders printed text. Long output is folded to its head, errors to their tail, where the message is.
func (p *page) output(class markup, text string, errors bool) markup {
	head, tail, gone := p.budget.cut(strings.TrimRight(text, "\n"))
	var w writer
	w.put(`<div class="io %s">`, class)
	paint := func(text string) markup { return terminalText(shortLines(text)) }
	if class == "tests" {
		paint = func(text string) markup { return testLines(shortLines(text)) }
	}
	w.put("%s", folded(head, errors && gone == "", paint))
	if gone != "" {
		w.put("%s%s", elided(gone, p.where()), folded(tail, errors, paint))
	}
	w.put("</div>")
	return w.markup()
}

// folded renders text in one <pre>, or in two with the longer part folded. paint renders the text.
func folded(text string, showTail bool, paint func(string) markup) markup {
	lines := strings.SplitAfter(text, "\n")
	n := len(lines)
	if n <= foldFrom {
		return pre(paint(text))
	}
	if showTail {
		at := n - foldFrom/2
		return sprintf(`<details class="more"><summary>%s before</summary>%s</details>%s`,
			plain.Counted(at, "line"), pre(paint(strings.Join(lines[:at], ""))),
			pre(paint(strings.Join(lines[at:], ""))))
	}
	return sprintf(`%s<details class="more"><summary>%s</summary>%s</details>`,
		pre(paint(strings.TrimSuffix(strings.Join(lines[:foldHead], ""), "\n"))), plain.Counted(n-foldHead,
			"more line"), pre(paint(strings.Join(lines[foldHead:], ""))))
}

// pre keeps line breaks. The added newline is the one that HTML parsers drop at the start of a <pre>.
func pre(text markup) markup { return "<pre>\n" + text + "</pre>" }

// testLines colors the result lines of test runners.
func testLines(text string) markup {
	var w writer
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			w.put("\n")
		}
		class := markup("")
		switch t := strings.TrimSpace(line); {
		case hasAnyPrefix(t, "--- FAIL", "FAIL", "not ok", "✗", "✖", "ERROR"), strings.Contains(line, " FAILED"):
			class = "bad"
		case hasAnyPrefix(t, "--- PASS", "PASS", "ok ", "ok\t", "✓", "✔"), strings.HasSuffix(t, " PASSED"):
			class = "good"
		case hasAnyPrefix(t, "--- SKIP", "SKIP"):
			class = "dim"
		}
		if class == "" {
			w.put("%s", terminalText(line))
		} else {
			w.put(`<span class="%s">%s</span>`, class, terminalText(line))
		}
	}
	return w.markup()
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// code renders highlighted source code.
func (p *page) code(lang, text string) markup {
	head, tail, gone := p.budget.cut(strings.TrimRight(text, "\n"))
	paint := func(text string) markup { return highlight(lang, cleanLines(shortLines(text))) }
	if lang == "diff" || lang == "patch" {
		paint = func(text string) markup { return diffLines(shortLines(text)) }
	}
	var w writer
	w.put(`<div class="code">%s`, folded(head, false, paint))
	if gone != "" {
		w.put("%s%s", elided(gone, p.where()), folded(tail, false, paint))
	}
	w.put("</div>")
	return w.markup()
}
