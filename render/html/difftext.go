package html

import (
	"strings"

	"markmill/notebooks/diff"
	"markmill/render/plain"
)

// around is the number of context lines.
const around = 3

// lineCost is what a line costs of the page's budget besides its text, because the browser has to lay it out.
// maxChange bounds the cost of one text.
const (
	lineCost  = 400
	maxChange = 2 << 20
)

// maxGap bounds the unchanged lines in a fold. Beyond it only their number is shown.
const maxGap = 400

// A changed text is a row of stretches. Each holds old and new lines in turn; the style puts them side by side, or
// the old ones above the new ones.

// texts renders a changed text. old holds the lines before the change; without it there is no context.
func (p *diffPage) texts(t *diff.Text, old []string) markup {
	var w writer
	w.put(`<div class="texts">`)
	least := max(0, p.budget.left-maxChange)
	at, shift := 0, 0 // lines of old that are written; how much further the new side's lines are
	for k, h := range t.Hunks {
		if p.budget.left <= least {
			w.put(`<p class="cut">… %s not on this page: <code>markmill diff</code> shows all</p></div>`,
				plain.Counted(len(t.Hunks)-k, "more change"))
			return w.markup()
		}
		p.between(&w, old, at, min(h.A-1, len(old)), shift, k > 0, true)
		p.hunk(&w, h)
		at, shift = h.A-1+len(h.Old), h.B+len(h.New)-h.A-len(h.Old)
	}
	p.between(&w, old, at, len(old), shift, true, false)
	w.put("</div>")
	return w.markup()
}

// between writes unchanged lines: context, and the others folded.
func (p *diffPage) between(w *writer, old []string, from, to, shift int, after, before bool) {
	if from >= to {
		return
	}
	head, tail := from, to
	if after {
		head = min(to, from+around)
	}
	if before {
		tail = max(head, to-around)
	}
	if tail-head < 3 { // a fold would take the place of what it hides
		p.context(w, old, from, to, shift)
		return
	}
	p.context(w, old, from, head, shift)
	if n := tail - head; n <= maxGap && p.budget.left > 0 {
		w.put(`<details class="gap"><summary>%s</summary>`, plain.Counted(n, "unchanged line"))
		p.context(w, old, head, tail, shift)
		w.put("</details>")
	} else {
		w.put(`<p class="gap">%s</p>`, plain.Counted(n, "unchanged line"))
	}
	p.context(w, old, tail, to, shift)
}

// context writes unchanged lines on both sides.
func (p *diffPage) context(w *writer, old []string, from, to, shift int) {
	if from >= to {
		return
	}
	w.put(`<div class="hunk">`)
	for i := from; i < to; i++ {
		text := p.lineText(old[i])
		w.put(`<div class="o c" data-n="%d">%s</div><div class="n c" data-n="%d">%s</div>`, i+1, text, i+1+shift, text)
	}
	w.put("</div>")
}

// lineText returns a bounded line without its newline, and charges the budget.
func (p *diffPage) lineText(line string) string {
	text := shortLines(cleanLines(strings.TrimRight(line, "\r\n")))
	p.budget.left -= len(text) + lineCost
	return text
}

// maxHunk bounds the lines of a stretch.
const maxHunk = 2000

// hunk writes changed lines, with the changed words marked.
func (p *diffPage) hunk(w *writer, h diff.Hunk) {
	oldWords, newWords, marked := diff.Words(h)
	w.put(`<div class="hunk">`)
	n := max(len(h.Old), len(h.New))
	for i := range min(n, maxHunk) {
		if i < len(h.Old) {
			w.put(`<div class="o d" data-n="%d">%s</div>`, h.A+i, p.words(h.Old[i], oldWords, i, marked, "del"))
		} else {
			w.put(`<div class="o pad"></div>`)
		}
		if i < len(h.New) {
			w.put(`<div class="n a" data-n="%d">%s</div>`, h.B+i, p.words(h.New[i], newWords, i, marked, "ins"))
		} else {
			w.put(`<div class="n pad"></div>`)
		}
	}
	w.put("</div>")
	if n > maxHunk {
		w.put(`<p class="cut">… %s not on this page: <code>markmill diff</code> shows all</p>`,
			plain.Counted(n-maxHunk, "more line"))
	}
}

// words renders a line, marking the words that the other side lacks.
func (p *diffPage) words(line string, segments [][]diff.Segment, i int, marked bool, element markup) markup {
	if !marked || i >= len(segments) || len(line) > maxLine {
		return sprintf("%s", p.lineText(line))
	}
	var w writer
	p.budget.left -= len(line) + lineCost
	for _, s := range segments[i] {
		if text := cleanLines(strings.TrimRight(s.Text, "\r\n")); s.Changed && text != "" {
			w.put("<%s>%s</%s>", element, text, element)
		} else {
			w.put("%s", text)
		}
	}
	return w.markup()
}

// oneSide renders a text that only one side has.
func (p *diffPage) oneSide(text string, isNew bool) markup {
	lines := diff.Lines(text)
	var w writer
	write := func(from, to int) {
		h := diff.Hunk{A: from + 1, Old: lines[from:to]}
		if isNew {
			h = diff.Hunk{B: from + 1, New: lines[from:to]}
		}
		p.hunk(&w, h)
	}
	w.put(`<div class="texts">`)
	head, all := len(lines), min(len(lines), maxHunk)
	if p.budget.left <= 0 {
		all = min(all, foldHead)
	}
	if head > foldFrom {
		head = foldHead
	}
	write(0, min(head, all))
	if all > head {
		w.put(`<details class="more"><summary>%s</summary>`, plain.Counted(all-head, "more line"))
		write(head, all)
		w.put("</details>")
	}
	if len(lines) > all {
		w.put(`<p class="cut">… %s not on this page</p>`, plain.Counted(len(lines)-all, "more line"))
	}
	w.put("</div>")
	return w.markup()
}
