package html

import (
	"strings"

	"markmill/notebooks/diff"
)

// outputChange shows an output that was added, removed or changed.
func (p *diffPage) outputChange(w *writer, o *diff.OutputChange) {
	w.put(`<div class="outchange"><p class="dim">%s%s</p>`, outputName(o.Name), note(whatWords(o.What)))
	p.options(w, o.Options)
	pictured := false
	for i := len(o.Data) - 1; i >= 0; i-- { // the richest first
		c := &o.Data[i]
		if p.pictureChange(w, c) {
			pictured = true
			continue
		}
		if pictured && c.MIME == "text/plain" { // what stands for the picture where none can be shown
			continue
		}
		p.datumChange(w, c, len(o.Data) > 1)
	}
	w.put("</div>")
}

func outputName(name string) string {
	switch name {
	case diff.Stdout:
		return "Output"
	case diff.Stderr:
		return "Errors"
	case diff.Failure:
		return "Exception"
	case diff.Display:
		return "Result"
	}
	return cleanLine(name)
}

func whatWords(what diff.What) string {
	if what == diff.Edited {
		return ""
	}
	return string(what)
}

func (p *diffPage) datumChange(w *writer, c *diff.DatumChange, named bool) {
	if named {
		w.put(`<p class="dim"><code>%s</code></p>`, cleanLine(c.MIME))
	}
	switch {
	case c.Text != nil && c.What == diff.Added:
		w.put("%s", p.oneSide(c.New.Text, true))
	case c.Text != nil && c.What == diff.Removed:
		w.put("%s", p.oneSide(c.Old.Text, false))
	case c.Text != nil:
		w.put("%s", p.texts(c.Text, diff.Lines(c.Old.Text)))
	default:
		w.put(`<p><code>%s</code> → <code>%s</code></p>`, content(c.Old), content(c.New))
	}
}

// content describes what cannot be shown.
func content(d *diff.Datum) string {
	switch {
	case d == nil:
		return "none"
	case d.Digest != "":
		return cleanLine(d.Digest[:min(len(d.Digest), 19)])
	case d.File != "":
		return cleanLine(d.File)
	}
	return size(len(d.Text))
}

// pictureChange shows two pictures side by side, and overlaid with a slider. It returns false without a picture.
func (p *diffPage) pictureChange(w *writer, c *diff.DatumChange) bool {
	old, new := p.picture(c.Old, "before"), p.picture(c.New, "after")
	switch {
	case old == "" && new == "":
		return false
	case old == "" || new == "":
		words := markup("only before")
		if old == "" {
			words = "only after"
		}
		w.put(`<figure>%s<figcaption>%s</figcaption></figure>`, old+new, words)
		return true
	}
	w.put(`<div class="pics"><div class="pair"><figure>%s<figcaption>before</figcaption></figure><figure `+
		`class="over">%s<figcaption>after</figcaption></figure></div>`+
		`<p class="slide"><button type="button" aria-pressed="false">one over the other</button><input type="range" `+
		`min="0" max="100" value="50" aria-label="How much of the picture before is seen"></p></div>`, old, new)
	return true
}

// picture embeds a picture, and returns "" for anything else.
func (p *diffPage) picture(d *diff.Datum, alt string) markup {
	if d == nil {
		return ""
	}
	data := d.Bytes
	if d.MIME == "image/svg+xml" && len(data) == 0 {
		data = []byte(d.Text)
	}
	if pictureType(data) == "" || !strings.HasPrefix(d.MIME, "image/") {
		return ""
	}
	return p.pictures.embed(data, alt, "")
}
