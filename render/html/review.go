package html

import (
	"fmt"
	"strings"

	"markmill/render/plain"
	"markmill/render/review"
)

// Review renders the page of a review: the first screen, the changed code, then each notebook, folded.
func Review(v *review.View) []byte {
	shared := newPage("", nil) // what bounds a page bounds all of them together
	st := signStates[v.Sign]
	var w writer
	w.put(`<section class="top %s"><p class="verdict"><span class="sign">%s</span>%s</p><p class="lead"><code>%s</code>`+
		` → <code>%s</code>`, markup(st), v.Sign, cleanLine(v.Verdict), cleanLine(v.Base), cleanLine(v.Head))
	for _, words := range v.Facts {
		w.put(" · %s", cleanLine(words))
	}
	w.put("</p>")
	findings(&w, v.Findings)
	if len(v.More) > 0 {
		w.put(`<details class="more"><summary>%s: %s</summary>`, plain.Counted(len(v.More), "more finding"), v.MoreWords)
		findings(&w, v.More)
		w.put("</details>")
	}
	tableRows(&w, v.Table)
	for _, words := range v.Notes {
		w.put(`<p class="dim">%s</p>`, cleanLine(words))
	}
	w.put("</section>\n")
	if len(v.Changed) > 0 {
		w.put(`<section><h2 id="changed">Changed code</h2><div class="patch">`)
		for _, p := range v.Changed {
			w.put(`<details class="file" open><summary><code>%s</code></summary><pre>%s</pre></details>`, cleanLine(p.Title),
				diffLines(shortLines(p.Text)))
		}
		w.put("</div>")
		if v.Unshown != nil {
			w.put("<p>%s: <code>%s</code></p>", cleanLine(v.Unshown[0]), cleanLine(v.Unshown[1]))
		}
		w.put("</section>\n")
	}
	var outline []outlined
	for i := range v.Folds {
		outline = append(outline, fold(&w, &v.Folds[i], fmt.Sprintf("notebook-%d", i+1), shared)...)
	}
	short, _, _ := strings.Cut(v.Verdict, " · ")
	pill := sprintf(`<span class="pill %s">%s %s</span>`, markup(st), v.Sign, cleanLine(short))
	list := outlineOf(outline, plain.Counted(len(v.Folds), "notebook"))
	return sides("Review: ", v.Base, v.Head, pill, list, w.markup())
}

// findings writes numbered findings.
func findings(w *writer, lines []review.Line) {
	if len(lines) == 0 {
		return
	}
	w.put(`<ol class="findings">`)
	for _, l := range lines {
		w.put(`<li class="%s"><span class="sign">%s</span> <code>%s</code>`, markup(signStates[l.Sign]), l.Sign,
			cleanLine(l.Path))
		if l.Others > 0 {
			w.put(" and %s", plain.Counted(l.Others, "other"))
		}
		if l.Step != "" {
			w.put(", step <code>%s</code>", cleanLine(l.Step))
		}
		w.put(`: %s <code class="dim">%s</code>`, cleanLine(l.Words), cleanLine(l.Command))
		if l.ID != "" {
			w.put(` <code class="dim">%s</code>`, cleanLine(l.ID))
		}
		w.put("</li>")
	}
	w.put("</ol>")
}

// tableRows writes a table whose first row has the names of the columns.
func tableRows(w *writer, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	w.put(`<div class="rows"><table>`)
	for i, row := range rows {
		w.put("<tr>")
		for _, cell := range row {
			if i == 0 {
				w.put("<th>%s</th>", cleanLine(cell))
			} else {
				w.put("<td>%s</td>", cleanLine(cell))
			}
		}
		w.put("</tr>")
	}
	w.put("</table></div>")
}

// fold writes a notebook and those that follow it, and returns their places in the outline.
func fold(w *writer, f *review.Fold, id string, shared *page) []outlined {
	outline := []outlined{{href: id, words: f.Path, level: 2}}
	w.put(`<details class="notebook %s" id="%s"><summary><span class="sign">%s</span> <code>%s</code> <span class="dim">`+
		`%s</span></summary>`, markup(signStates[f.Sign]), id, f.Sign, cleanLine(f.Path), cleanLine(f.Summary()))
	if notes := f.Notes(); len(notes) > 0 {
		w.put(`<table class="list">`)
		for _, note := range notes {
			w.put(`<tr class="%s"><td class="sign">%s</td><td>`, markup(signStates[note.Sign]), note.Sign)
			if note.Subject != "" {
				w.put("<code>%s</code> ", cleanLine(note.Subject))
			}
			w.put("<span>%s</span></td></tr>", cleanLine(note.Words))
		}
		w.put("</table>")
	}
	tableRows(w, f.Table)
	if words, at := f.TextWords(); words != "" {
		w.put(`<p class="dim">%s <code>%s</code>.</p>`, words, cleanLine(at))
	}
	if f.Compared() {
		p := diffPage{page: shared, d: f.Diff, prefix: id + "-" + stepPrefix, part: true}
		w.put("%s", p.main())
		outline = append(outline, p.outline...)
	}
	for i := range f.Members {
		outline = append(outline, fold(w, &f.Members[i], fmt.Sprintf("%s-%d", id, i+1), shared)...)
	}
	w.put("</details>\n")
	return outline
}

// signStates maps the signs of a review to states, for their colors.
var signStates = map[string]state{"✗": failed, "!": timedOut, "✓": passed, "○": skipped, "?": timedOut}
