package html

import (
	"fmt"
	"strings"
	"unicode"

	"markmill/notebooks/diff"
	"markmill/render/diffview"
	"markmill/render/plain"
	"markmill/render/view"
)

// diffPage is the page of a comparison: the most important changes, then all cells in the new order.
type diffPage struct {
	*page
	d       *diff.Diff
	prefix  string            // of the ids of cells
	part    bool              // of a review: its top has no verdict and no names of its own
	ids     []string          // of the cells of d
	links   map[string]string // from what a cell is called to its id
	cells   []cellParts
	outline []outlined
}

// cellParts holds the changes of a cell other than its source.
type cellParts struct {
	result  *diff.ResultChange
	scraps  []diff.ScrapChange
	files   []diff.FileChange
	outputs []diff.OutputChange
}

// Diff renders the page of a comparison.
func Diff(d *diff.Diff) []byte {
	p := diffPage{page: newPage("", nil), d: d, prefix: stepPrefix}
	main := p.main()
	sign, st, words := p.verdict()
	pill := sprintf(`<span class="pill %s">%s %s</span>`, markup(st), sign, words)
	return sides("", d.Old.Name, d.New.Name, pill, outlineOf(p.outline, plain.Counted(len(p.outline), "change")), main)
}

// sides assembles the page of two sides. kind stands before their names in the title.
func sides(kind, old, new string, pill, outline, main markup) []byte {
	bar := sprintf(`%s<a class="doc" href="#main">%s → %s</a>`+
		`<button type="button" id="view" title="Side by side or inline (s)" aria-label="Side `+
		`by side or inline">⇆</button>`,
		pill, cleanLine(old), cleanLine(new))
	foot := sprintf("<footer>Made by Markmill of <code>%s</code> and <code>%s</code></footer>\n", cleanLine(old),
		cleanLine(new))
	return frame(kind+old+" → "+new, bar, outline, main+foot, keyTable(
		[2]markup{"<kbd>j</kbd> <kbd>k</kbd>", "next, previous change"},
		[2]markup{"<kbd>e</kbd>", "next step that turned red"}, [2]markup{"<kbd>s</kbd>", "side by side or inline"},
		[2]markup{"<kbd>u</kbd>", "show or fold what is unchanged"},
		[2]markup{"<kbd>f</kbd>", "fold or open this change"},
		[2]markup{"<kbd>a</kbd>", "fold or open all changes"}, [2]markup{"<kbd>t</kbd>", "light or dark"},
		[2]markup{"<kbd>?</kbd>", "these keys"}))
}

// main renders the top and the cells of a comparison.
func (p *diffPage) main() markup {
	d := p.d
	p.gather()
	var body writer
	for i := 0; i < len(d.Cells); {
		n := i
		for n < len(d.Cells) && p.same(n) {
			n++
		}
		if n > i {
			p.unchanged(&body, i, n)
			i = n
			continue
		}
		p.cell(&body, i)
		i++
	}
	return p.top() + body.markup() // the top comes last: it is not to take from what the cells may take
}

// gather assigns ids to cells, and collects their changes.
func (p *diffPage) gather() {
	p.links = map[string]string{}
	ids := newNames()
	p.cells = make([]cellParts, len(p.d.Cells))
	for i := range p.d.Cells {
		label := p.d.Cells[i].Label()
		id := ids.unique(p.prefix + idOf(label))
		p.ids = append(p.ids, id)
		if _, ok := p.links[label]; !ok {
			p.links[label] = id
		}
	}
	for i := range p.d.Results {
		r := &p.d.Results[i]
		p.cells[r.Cell].result = r
	}
	for _, s := range p.d.Scraps {
		p.cells[s.Cell].scraps = append(p.cells[s.Cell].scraps, s)
	}
	for _, f := range p.d.Files {
		p.cells[f.Cell].files = append(p.cells[f.Cell].files, f)
	}
	for _, o := range p.d.Outputs {
		p.cells[o.Cell].outputs = append(p.cells[o.Cell].outputs, o)
	}
}

// idOf reduces a label to characters that are valid in an id and in a link.
func idOf(label string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, strings.ToValidUTF8(label, "-"))
}

// same reports whether nothing of a cell changed.
func (p *diffPage) same(i int) bool {
	c := &p.cells[i]
	return !p.d.Cells[i].Changed() && c.result == nil && c.scraps == nil && c.files == nil && c.outputs == nil
}

// verdict summarizes the comparison.
func (p *diffPage) verdict() (sign markup, st state, words string) {
	red, green := 0, 0
	for _, r := range p.d.Results {
		switch r.Turned {
		case diff.Red:
			red++
		case diff.Green:
			green++
		}
	}
	s := p.d.Status
	switch {
	case p.d.Same:
		return "=", unknown, "No difference"
	case red > 0:
		return "✗", failed, fmt.Sprintf("%s turned red", plain.Counted(red, "step"))
	case s != nil && s.New != "pass" && s.New != "" && s.Old == "pass":
		return "✗", failed, "Turned to " + cleanLine(s.New)
	case green > 0:
		return "✓", passed, fmt.Sprintf("%s turned green", plain.Counted(green, "step"))
	}
	return "~", changed, "Different"
}

// maxEntries bounds the entries that a row at the top shows unfolded.
const maxEntries = 10

func (p *diffPage) top() markup {
	var w writer
	list := diffview.Sections(p.d)
	if !p.part {
		sign, st, words := p.verdict()
		w.put(`<section class="top %s"><p class="verdict"><span class="sign">%s</span>%s</p><h1 class="sides">`+
			`<span>%s</span> <span class="dim">→</span> <span>%s</span></h1>`,
			markup(st), sign, words, cleanLine(p.d.Old.Name), cleanLine(p.d.New.Name))
	} else {
		w.put("<section>")
	}
	if len(list) > 0 {
		w.put(`<table class="facts">`)
	}
	for _, s := range list {
		w.put(`<tr><th>%s</th><td>`, strings.ToUpper(s.Name[:1])+s.Name[1:])
		if s.Words != "" {
			w.put(`<p class="dim">%s</p>`, cleanLine(s.Words))
		}
		var rows [2]writer // shown, folded
		for i, e := range s.Entries {
			to := &rows[0]
			if i >= maxEntries {
				to = &rows[1]
			}
			if i < 20*maxEntries {
				p.entry(to, &s, i, e)
			}
		}
		w.put(`<table class="list">%s</table>`, rows[0].markup())
		if n := len(s.Entries) - maxEntries; n > 0 {
			w.put(`<details class="more"><summary>%s</summary><table class="list">%s</table>`,
				plain.Counted(n, "more change"),
				rows[1].markup())
			if n -= 19 * maxEntries; n > 0 {
				w.put(`<p class="cut">… and %s, further down</p>`, plain.Counted(n, "more change"))
			}
			w.put("</details>")
		}
		w.put("</td></tr>")
	}
	if len(list) > 0 {
		w.put("</table>")
	}
	w.put("</section>\n")
	return w.markup()
}

// entry writes a line at the top, with a link to its cell.
func (p *diffPage) entry(w *writer, s *diffview.Section, i int, e diffview.Entry) {
	id := p.links[strings.TrimSuffix(strings.TrimPrefix(e.Subject, "text “"), "”")]
	switch s.Name {
	case diffview.Scraps:
		id = p.ids[p.d.Scraps[i].Cell]
	case diffview.Worktree:
		id = p.ids[p.d.Files[i].Cell]
	case diffview.Outputs:
		id = p.ids[p.d.Outputs[i].Cell]
	case diffview.Parameters, diffview.Status, diffview.Notes:
		id = ""
	}
	w.put(`<tr class="%s"><td class="sign">%s</td><td>`, markup(view.State(e.Sign)), cleanLine(e.Sign))
	if id != "" {
		w.put(`<a href="#%s"><code>%s</code></a> `, id, cleanLine(e.Subject))
	} else if e.Subject != "" {
		w.put(`<code>%s</code> `, cleanLine(e.Subject))
	}
	w.put("<span>%s</span></td></tr>", cleanLine(e.Words))
}
