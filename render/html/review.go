package html

import (
	"fmt"

	"markmill/render/plain"
	"markmill/render/review"
)

// Review renders the page of a review: the verdict, a line for each notebook, then each comparison.
func Review(r *review.Review) []byte {
	shared := newPage("", nil) // what bounds a page bounds all of them together
	base, head := r.Title()
	var list, body writer
	var outline []outlined
	for i, n := range r.Notebooks {
		id := fmt.Sprintf("notebook-%d", i+1)
		sign := r.Sign(n)
		st := signStates[sign]
		class := markup("")
		if !n.Leads() {
			class = " member"
		}
		list.put(`<tr class="%s%s"><td class="sign">%s</td><td><a href="#%s"><code>%s</code>`+
			`</a> <span>%s</span></td></tr>`,
			markup(st), class, sign, id, cleanLine(n.Path), cleanLine(n.Summary()))
		outline = append(outline, outlined{href: id, words: n.Path, level: 2})
		body.put(`<section class="%s" id="%s"><h2><span class="sign">%s</span> `+
			`<code>%s</code></h2><p class="dim">%s</p>`,
			markup(st), id, sign, cleanLine(n.Path), cleanLine(n.Summary()))
		reviewNotes(&body, n)
		if n.TextAt != "" {
			body.put(`<p class="dim">Its text is that of <code>%s</code>.</p>`, cleanLine(n.TextAt))
		}
		if n.Compared() {
			p := diffPage{page: shared, d: n.Diff, prefix: fmt.Sprintf("n%d-%s", i+1, stepPrefix), claimed: n.Claimed()}
			body.put("%s", p.main())
			outline = append(outline, p.outline...)
		}
		body.put("</section>\n")
	}
	sign := r.VerdictSign()
	st := signStates[sign]
	var top writer
	sidesTop(&top, st, sign, r.VerdictWords(), base, head)
	if words := r.OutputWords(); words != "" {
		top.put(`<p class="lead">Outputs: %s</p>`, words)
	}
	if words := r.ProofWords(); words != "" {
		top.put(`<p class="lead">Proof: %s</p>`, words)
	}
	if words := r.ReadsWords(); words != "" {
		top.put(`<p class="lead">What the tests read is not known: %s</p>`, cleanLine(words))
	}
	top.put(`<table class="facts">`)
	if j := r.Judged; j != nil {
		top.put(`<tr><th>Judged</th><td>%s<table class="list">`, j.CostWords())
		for _, row := range append([][4]string{review.JudgedColumns}, j.Table()...) {
			top.put(`<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>`, cleanLine(row[0]), cleanLine(row[1]),
				cleanLine(row[2]), cleanLine(row[3]))
		}
		top.put("</table></td></tr>")
	}
	if len(r.Findings) > 0 {
		top.put(`<tr><th>Look at first</th><td><table class="list">`)
		for i := range r.Findings {
			f := &r.Findings[i]
			class, step := markup("timeout"), ""
			if f.Sign() == "✗" {
				class = "fail"
			}
			if f.Step != "" {
				step = " " + f.Step
			}
			top.put(`<tr class="%s"><td class="sign">%s</td><td><code>%s</code> <span>%s</span>`,
				class, f.Sign(),
				cleanLine(f.Path+step), cleanLine(f.Words))
			if f.Diff != "" {
				top.put(`<pre>%s</pre>`, cleanLines(f.Diff))
			}
			top.put(`</td></tr>`)
		}
		top.put("</table></td></tr>")
	}
	top.put(`<tr><th>Notebooks</th><td><table class="list">%s</table></td></tr></table></section>`+"\n", list.markup())
	count := plain.Counted(len(r.Notebooks), "notebook")
	pill := sprintf(`<span class="pill %s">%s %s</span>`, markup(st), sign, count)
	return sides("Review: ", base, head, pill, outlineOf(outline, count), top.markup()+body.markup())
}

// signStates maps the signs of a review to states, for their colors.
var signStates = map[string]state{"✗": failed, "!": timedOut, "✓": passed, "○": skipped, "?": timedOut}

// reviewNotes writes the notes on a notebook.
func reviewNotes(w *writer, n *review.Notebook) {
	notes := n.Notes()
	if len(notes) == 0 {
		return
	}
	w.put(`<table class="list">`)
	for _, note := range notes {
		class := markup(signStates[note.Sign])
		w.put(`<tr class="%s"><td class="sign">%s</td><td>`, class, note.Sign)
		if note.Subject != "" {
			w.put("<code>%s</code> ", cleanLine(note.Subject))
		}
		w.put("<span>%s</span></td></tr>", cleanLine(note.Words))
	}
	w.put("</table>")
}
