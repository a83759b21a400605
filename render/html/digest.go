package html

import (
	"markmill/render/digest"
	"markmill/render/plain"
)

// digestStates are the classes of states.
var digestStates = map[string]markup{"ok": "pass", "warn": "timeout", "critical": "fail", "failed": "fail",
	"error": "fail",
	"":      "none"}

// Digest renders the page of a digest: for each notebook a table of its checks with a strip of their history, and what
// has changed.
func Digest(d *digest.Digest) []byte {
	var w writer
	w.put(`<div class="top"><h1>Digest</h1><p class="lead">%s</p></div>`+"\n", d.Span())
	if len(d.Notebooks) == 0 {
		w.put(`<p class="lead">No runs.</p>`)
	}
	for i := range d.Notebooks {
		n := &d.Notebooks[i]
		w.put(`<section><h2><code>%s</code></h2><p class="dim">%s</p>`+"\n", cleanLine(n.Notebook), n.Counts())
		if len(n.Rows) > 0 {
			w.put(`<div class="grid" tabindex="0" role="region" aria-label="Checks"><table><thead><tr><th scope="col">Check</th>` +
				`<th scope="col">State</th><th scope="col">History</th><th class="num" scope="col">Uptime</th>` +
				`<th class="num" scope="col">p95</th><th class="num" scope="col">Budget left</th><th scope="col">Says</th></tr></thead><tbody>` +
				"\n")
			for j := range n.Rows {
				digestRow(&w, &n.Rows[j])
			}
			w.put("</tbody></table></div>\n")
		}
		if len(n.Changes) > 0 {
			w.put(`<details class="more" open><summary>%s</summary><ul class="changes">`, plain.Counted(len(n.Changes), "change"))
			for j := range n.Changes {
				c := &n.Changes[j]
				w.put(`<li><span class="dim">%s</span> <b>%s</b> <span class="%s word">%s</span> <span class="dim">it was %s</span> %s</li>`,
					digest.When(c.Time), cleanLine(digest.Name(c.Check)), digestStates[c.State], c.State, c.Before,
					cleanLine(plain.Cut(c.Says, 300)))
			}
			w.put("</ul></details>")
		}
		w.put("</section>\n")
	}
	w.put(`<p class="dim legend">Each strip goes from the beginning of the time to its end. A gap is time of which nothing is known; ` +
		`it counts as neither up nor down.</p>` + "\n")
	return frame("Digest", sprintf(`<span class="doc">Digest</span>`), "", w.markup(), "")
}

func digestRow(w *writer, r *digest.Row) {
	w.put(`<tr><th scope="row"><span class="name">%s</span></th><td class="%s">%s</td><td><span class="strip" role="img" aria-label="%s">`,
		cleanLine(digest.Name(r.Check)), digestStates[r.State], r.State, digest.Bars(r.Strip))
	for _, state := range r.Strip {
		w.put(`<i class="%s"></i>`, digestStates[state])
	}
	met := markup("num")
	if r.Met != nil && !*r.Met {
		met = "num worst"
	}
	w.put(`</span></td><td class="%s">%s</td><td class="num">%s</td><td class="num">%s</td><td class="why">%s</td></tr>`+"\n", met,
		digest.Percent(r.Uptime), digest.Millis(r.P95), digest.Left(&r.Level), cleanLine(plain.Cut(r.Says, 300)))
}
