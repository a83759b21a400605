package convert

import (
	"crypto/sha256"
	"encoding/hex"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// A text form has many spellings of a cell, and one that is written here. Where the author's is another one, a Jupyter
// notebook keeps it in the cell's metadata, with the digest of the text that this package would write: a cell that was
// changed since is written anew.

// spelling is how one part of a text was written.
type spelling struct {
	Form string `json:"form"`           // its option
	Of   string `json:"of"`             // digest of the part as this package writes it
	Text string `json:"text,omitempty"` // the part as it was
	CRLF bool   `json:"crlf,omitzero"`  // of a header: all lines of the text end so
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func (o Object) spelling(form notebooks.Form) (s spelling, ok bool) {
	raw := o.own().Get(keySpelling)
	if raw == nil || codec.UnmarshalForeign(raw, &s) != nil {
		return s, false
	}
	return s, s.Form == form.Option()
}

// keepSpelling keeps the parts of the text that differ from the page that would be written.
func (d *Document) keepSpelling(p *page) {
	keep := func(o *Object, written, was string, crlf bool) {
		if written == was && !crlf {
			return
		}
		s := spelling{Form: d.Form.Option(), Of: digest(written), Text: was, CRLF: crlf}
		raw, err := codec.Marshal(s)
		if err != nil {
			return // cannot happen: these are strings
		}
		*o = o.without()
		o.setOwn(keySpelling, raw)
	}
	keep(&d.Metadata, p.header, d.header, d.crlf)
	for i := range d.Cells {
		keep(&d.Cells[i].Metadata, p.cells[i], d.Cells[i].text, false)
	}
}

// respell restores the kept spellings, and reports whether lines end with CR LF.
func (d *Document) respell(p *page) (crlf bool) {
	if s, ok := d.Metadata.spelling(d.to); ok {
		crlf = s.CRLF
		if s.Of == digest(p.header) {
			p.header = s.Text
		}
	}
	for i := range d.Cells {
		if s, ok := d.Cells[i].Metadata.spelling(d.to); ok && s.Of == digest(p.cells[i]) {
			p.cells[i] = s.Text
		}
	}
	return crlf
}
