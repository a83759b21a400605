package html

import (
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/render/diffview"
	"markmill/render/plain"
)

// unchanged writes unchanged cells, folded.
func (p *diffPage) unchanged(w *writer, from, to int) {
	var names []string
	for i := from; i < to && i < from+6; i++ {
		if c := &p.d.Cells[i]; c.Kind == diff.Code {
			names = append(names, c.Label())
		}
	}
	words := plain.Counted(to-from, "unchanged cell")
	if len(names) > 0 {
		words += ": " + strings.Join(names, ", ")
		if to-from > 6 {
			words += ", …"
		}
	}
	w.put(`<details class="same"><summary>%s</summary>`, cleanLine(words))
	for i := from; i < to; i++ {
		c := &p.d.Cells[i]
		w.put(`<div class="quiet" id="%s"><p class="dim"><code>%s</code></p>%s</div>`, p.ids[i], cleanLine(c.Label()),
			p.source(c.New))
	}
	w.put("</details>\n")
}

// source renders a cell that did not change, or that only one side has.
func (p *diffPage) source(c *diff.Cell) markup {
	p.line = 0
	if c == nil {
		return ""
	}
	lang := c.Lang
	if c.Kind != diff.Code {
		lang = "markdown"
	}
	return p.code(lang, c.Source)
}

// signOf returns the sign and color of a cell.
func (p *diffPage) signOf(i int) (markup, state) {
	ch, r := &p.d.Cells[i], p.cells[i].result
	switch {
	case r != nil && r.Turned == diff.Red:
		return "✗", failed
	case r != nil && r.Turned == diff.Green:
		return "✓", passed
	case ch.What == diff.Added:
		return "+", passed
	case ch.What == diff.Removed:
		return "−", failed
	case ch.What == diff.Same && ch.Moved:
		return "↕", changed
	}
	return "~", changed
}

func (p *diffPage) cell(w *writer, i int) {
	ch, parts := &p.d.Cells[i], &p.cells[i]
	sign, st := p.signOf(i)
	label := ch.Label()
	p.outline = append(p.outline, outlined{href: p.ids[i], words: label, state: st, sign: sign})
	turned := markup("")
	if parts.result != nil && parts.result.Turned == diff.Red {
		turned = " red"
	}
	w.put(`<details class="step change %s%s" id="%s" open><summary><span class="sign">%s</span><a class="name" `+
		`href="#%s">%s</a>`,
		markup(st), turned, p.ids[i], sign, p.ids[i], cleanLine(label))
	if ch.Renamed && ch.A != nil {
		w.put(`<span class="opt">was %s</span>`, cleanLine(ch.A.Label))
	}
	for _, words := range p.became(ch) {
		w.put(`<span class="tag">%s</span>`, cleanLine(words))
	}
	w.put(`<span class="words">`)
	if r := parts.result; r != nil {
		w.put(`<span>%s → %s</span>`, cleanLine(diffview.Ended(r.Was, r.WasWords, r.WasTests)),
			cleanLine(diffview.Ended(r.Now, r.NowWords, r.NowTests)))
	}
	w.put("</span></summary>\n")
	p.sourceChange(w, ch)
	var rest writer
	p.options(&rest, ch.Options)
	p.scrapChanges(&rest, parts.scraps)
	for k := range parts.files {
		p.fileChange(&rest, &parts.files[k])
	}
	for k := range parts.outputs {
		p.outputChange(&rest, &parts.outputs[k])
	}
	if rest.Len() > 0 {
		w.put(`<div class="result">%s</div>`, rest.markup())
	}
	w.put("</details>\n")
}

// became describes how a cell changed.
func (p *diffPage) became(ch *diff.CellChange) []string {
	var out []string
	names := func(refs []diff.Ref) string {
		list := make([]string, len(refs))
		for i, r := range refs {
			list[i] = r.Label
		}
		return strings.Join(list, ", ")
	}
	switch ch.What {
	case diff.Same:
	case diff.Split:
		out = append(out, "split, also "+names(ch.Parts))
	case diff.Joined:
		out = append(out, "joined with "+names(ch.Parts))
	case diff.Part:
		out = append(out, "part of "+ch.Of.Label)
	default:
		out = append(out, string(ch.What))
	}
	if ch.Renamed {
		out = append(out, "renamed")
	}
	if ch.Moved {
		out = append(out, fmt.Sprintf("moved from place %d to %d", ch.A.Place+1, ch.B.Place+1))
	}
	if ch.Lang != nil {
		out = append(out, ch.Lang.Old+" → "+ch.Lang.New)
	}
	if ch.Tags != nil {
		for _, t := range ch.Tags.Added {
			out = append(out, "+"+t)
		}
		for _, t := range ch.Tags.Removed {
			out = append(out, "−"+t)
		}
	}
	return out
}

func (p *diffPage) sourceChange(w *writer, ch *diff.CellChange) {
	switch {
	case ch.Source != nil:
		w.put("%s", p.texts(ch.Source, diff.Lines(ch.Old.Source)))
	case ch.New == nil:
		w.put("%s", p.oneSide(ch.Old.Source, false))
	case ch.Old == nil:
		w.put("%s", p.oneSide(ch.New.Source, true))
	case strings.TrimSpace(ch.New.Source) != "":
		w.put(`<details class="more"><summary>the text, which is the same</summary>%s</details>`, p.source(ch.New))
	}
}

func (p *diffPage) options(w *writer, list []diff.ValueChange) {
	if len(list) == 0 {
		return
	}
	w.put(`<table class="facts scraps"><caption>Options</caption>`)
	for _, v := range list {
		w.put(`<tr><th>%s</th><td>%s → %s</td></tr>`, cleanLine(v.Name), p.optional(v.Old), p.optional(v.New))
	}
	w.put("</table>")
}

// optional returns a value, or words where there is none.
func (p *diffPage) optional(v codec.Raw) markup {
	if v == nil {
		return `<span class="dim">none</span>`
	}
	return p.value(v)
}

func (p *diffPage) scrapChanges(w *writer, list []diff.ScrapChange) {
	if len(list) == 0 {
		return
	}
	w.put(`<table class="facts scraps"><caption>Scraps</caption>`)
	for _, s := range list {
		w.put(`<tr><th>%s</th><td>`, cleanLine(s.Name))
		side := func(v codec.Raw, digest string) markup {
			if v == nil && digest != "" {
				return sprintf("<code>%s</code>", cleanLine(digest[:min(len(digest), 19)]))
			}
			return p.optional(v)
		}
		if len(s.Values) > 0 {
			w.put(`%s</td><td>%s`, plain.Counted(len(s.Values), "value"), number(s))
			for _, v := range s.Values {
				w.put(`</td></tr><tr><td class="dim">%s</td><td colspan="2"><code>%s</code> → <code>%s</code>`,
					cleanLine(v.At),
					short(string(v.Old)), short(string(v.New)))
			}
			w.put("</td></tr>")
			continue
		}
		if s.Text != nil {
			w.put(`%s</td><td>%s`, plusMinus(s.Text.Added, s.Text.Removed), number(s))
			w.put(`</td></tr><tr class="wide"><td colspan="3">%s</td></tr>`, p.texts(s.Text, nil))
			continue
		}
		w.put(`%s → %s</td><td>%s</td></tr>`, side(s.Old, s.OldDigest), side(s.New, s.NewDigest), number(s))
	}
	w.put("</table>")
}

// number formats the change of a number.
func number(s diff.ScrapChange) markup {
	var w writer
	if s.Difference != nil {
		w.put(`<span class="pm">%s</span> `, fmt.Sprintf("%+.4g", *s.Difference))
	}
	if s.Relative != nil {
		w.put(`<span class="pm">%s %%</span> `, fmt.Sprintf("%+.3g", *s.Relative*100))
	}
	if s.Within {
		w.put(`<span class="tag">within the tolerance</span>`)
	}
	return w.markup()
}

// fileChange shows how a patch changed. Each line keeps the mark of its own patch.
func (p *diffPage) fileChange(w *writer, f *diff.FileChange) {
	words := map[diff.What]string{diff.Added: "changed now, and not before", diff.Removed: "no longer changed",
		diff.Edited: "changed in another way"}[f.What]
	w.put(`<details class="file" open><summary><code>%s</code> <span class="tag">%s</span>`, cleanLine(f.Path), words)
	if f.Kind != nil {
		w.put(` <span class="tag">%s → %s</span>`, cleanLine(f.Kind.Old), cleanLine(f.Kind.New))
	}
	w.put("</summary>")
	switch {
	case f.Text != nil:
		w.put("%s", p.texts(f.Text, diff.WithEnds(f.Old.Lines)))
	case f.New == nil && f.Old != nil:
		w.put("%s", p.oneSide(strings.Join(f.Old.Lines, "\n"), false))
	case f.Old == nil && f.New != nil:
		w.put("%s", p.oneSide(strings.Join(f.New.Lines, "\n"), true))
	default:
		w.put(`<p class="dim">Not text.</p>`)
	}
	w.put("</details>")
}
