package html

import (
	"cmp"
	"strings"

	"markmill/render/plain"
	"markmill/render/sheet"
	"markmill/runs"
)

// Compared renders the page of a comparison of runs: one table, a row for each run, with the best and the worst
// marked.
func Compared(t *sheet.Compared) []byte {
	var w writer
	what := "run"
	if len(t.Runs) > 0 && t.Runs[0].Attempt != "" {
		what = "attempt"
	}
	title := plain.Counted(len(t.Runs), what) + " compared"
	w.put(`<div class="top"><h1>%s</h1>`+"\n", title)
	if names := notebooksOf(t); len(names) == 1 {
		w.put(`<p class="lead">of <code>%s</code></p>`+"\n", cleanLine(names[0]))
	}
	if t.Note != "" {
		w.put(`<p class="lead">%s</p>`+"\n", cleanLine(t.Note))
	}
	if len(t.Same) > 0 {
		w.put(`<p class="shared"><span class="dim">The same in all:</span>`)
		for _, words := range t.SameWords() {
			w.put(` <code class="tag">%s</code>`, cleanLine(words))
		}
		w.put("</p>\n")
	}
	w.put("</div>\n" + `<div class="grid" tabindex="0" role="region" aria-label="Runs"><table>` + "\n")
	comparedHead(&w, t)
	for i := range t.Rows {
		comparedRow(&w, t, i)
	}
	w.put("</tbody></table></div>\n")
	if legend := t.Legend(); legend != "" {
		w.put(`<p class="dim legend">%s. A run that did not pass is never the best.</p>`+"\n", legend)
	}
	bar := sprintf(`<span class="doc">%s</span>`, title)
	return frame(title, bar, "", w.markup(), "")
}

// groups are the headings above the columns of a kind.
var groups = map[string]markup{"parameter": "Parameters", "scrap": "Scraps", "tests": "Tests", "change": "Change",
	"cost": "Cost"}

// comparedHead writes the heading: the kinds, and below them the names of the columns.
func comparedHead(w *writer, t *sheet.Compared) {
	w.put("<thead>\n<tr>")
	for i := 0; i < len(t.Headings); {
		kind, n := t.Headings[i].Kind, 1
		for i+n < len(t.Headings) && t.Headings[i+n].Kind == kind {
			n++
		}
		if words := groups[kind]; words != "" {
			w.put(`<th class="group first" colspan="%d" scope="colgroup">%s</th>`, n, words)
		} else {
			w.put(`<td colspan="%d"></td>`, n)
		}
		i += n
	}
	w.put("</tr>\n<tr>")
	for i, c := range t.Headings {
		name := c.Name
		if groups[c.Kind] != "" {
			name = strings.TrimPrefix(name, "tests ")
		}
		w.put(`<th scope="col" class="%s">%s`, cellClass(t, i), cleanLine(name))
		switch {
		case c.Marked && c.Better == sheet.Lower:
			w.put(`<span class="dim" title="lower is better"> ↓</span>`)
		case c.Marked && c.Better == sheet.Higher:
			w.put(`<span class="dim" title="higher is better"> ↑</span>`)
		}
		w.put("</th>")
	}
	w.put("</tr>\n</thead>\n<tbody>\n")
}

// cellClass says how the cells of a column stand: numbers to the right, and a line before a new kind.
func cellClass(t *sheet.Compared, column int) string {
	var words []string
	if t.IsNumber(column) {
		words = append(words, "num")
	}
	if column > 0 && t.Headings[column].Kind != t.Headings[column-1].Kind {
		words = append(words, "first")
	}
	if t.Headings[column].Name == "reason" {
		words = append(words, "why")
	}
	return strings.Join(words, " ")
}

func comparedRow(w *writer, t *sheet.Compared, row int) {
	run := t.Runs[row]
	st, words := statusWords(run.Status)
	w.put("<tr>")
	for i, c := range t.Headings {
		value := cellText(t.Rows[row][i])
		switch {
		case i == 0:
			name, when := run.Name, ""
			switch {
			case run.Attempt != "": // its run has a column of its own
				name = run.Attempt
			case !run.Started.IsZero():
				name, when = runs.RunID(run.Run).Short(), run.Started.UTC().Format("2006-01-02 15:04:05Z")
			}
			w.put(`<th scope="row" title="%s"><span class="name">%s</span>`, cleanLine(run.Name),
				cleanLine(cmp.Or(name, run.Name)))
			if when != "" {
				w.put(`<span class="dim">%s</span>`, when)
			}
			w.put("</th>")
		case c.Kind == "run" && c.Name == "status":
			w.put(`<td class="%s">%s %s</td>`, string(st), verdictSign(st, words), words)
		case c.Kind == "run" && c.Name == "run" && run.Run != "":
			w.put(`<td class="%s"><span class="name" title="%s">%s</span></td>`, cellClass(t, i), cleanLine(run.Run),
				cleanLine(runs.RunID(run.Run).Short()))
		case t.Marks[row][i] != "":
			m := t.Marks[row][i]
			w.put(
				`<td class="%s"><span class="mark %s" title="%s">%s<i aria-hidden="true">%s</i><b class="unseen"> %s</b></span></td>`, cellClass(t, i), string(m), string(m), value, sheet.Signs[m], string(m))
		case value == "":
			w.put(`<td class="%s"><span class="dim" title="none">–</span></td>`, cellClass(t, i))
		default:
			w.put(`<td class="%s"><span class="value">%s</span></td>`, cellClass(t, i), value)
		}
	}
	w.put("</tr>\n")
}

// notebooksOf are the notebooks of the runs, each once.
func notebooksOf(t *sheet.Compared) (names []string) {
	seen := map[string]bool{}
	for _, run := range t.Runs {
		if !seen[run.Notebook] {
			seen[run.Notebook] = true
			names = append(names, run.Notebook)
		}
	}
	return names
}
