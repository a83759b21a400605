package html

import (
	"strings"

	"markmill/render/digest"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/sheet"
)

// Review renders the page of a review: its document, with the comparison of each notebook by cells.
func Review(v *review.View) []byte {
	shared := newPage("", nil) // what bounds a page bounds all comparisons together
	text, compared := v.Page()
	d := newDocument(text)
	d.island = func(n int, id string) (markup, []outlined) {
		p := diffPage{page: shared, d: compared[n].Diff, prefix: id + "-" + stepPrefix, part: true}
		return p.main(), p.outline
	}
	main := d.main()
	short, _, _ := strings.Cut(v.Verdict, " · ")
	pill := sprintf(`<span class="pill %s">%s %s</span>`, markup(d.state), v.Sign, cleanLine(short))
	list := outlineOf(d.outline, plain.Counted(len(v.Folds), "notebook"))
	return sides("Review: ", v.Base, v.Head, pill, list, main)
}

// Compared renders the page of a comparison of runs.
func Compared(t *sheet.Compared) []byte {
	title, text := t.Page()
	return frame(title, sprintf(`<span class="doc">%s</span>`, title), "", newDocument(text).main(), "")
}

// Digest renders the page of a digest.
func Digest(d *digest.Digest) []byte {
	return frame("Digest", `<span class="doc">Digest</span>`, "", newDocument([]byte(d.Markdown())).main(), "")
}
