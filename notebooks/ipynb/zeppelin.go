package ipynb

import (
	"bytes"

	"markmill/notebooks/codec"
)

// StripZeppelin gives a note of Apache Zeppelin with {} for the results of its paragraphs, as nbstripout does; every
// other byte stays. The errors are *notebooks.Error.
func StripZeppelin(name string, src []byte) ([]byte, error) {
	r := &reader{nb: &Notebook{Name: name, Source: src}}
	r.c = codec.NewCursor(src, len(src)-len(bytes.TrimPrefix(src, byteOrderMark)))
	var edits []Edit
	paragraphs := false
	paragraph := func() error {
		_, err := r.c.Object(func(key []byte, _ codec.Span) error {
			v, err := r.value()
			if string(key) == "results" && !(v.Raw.Kind() == '{' && len(Members(v)) == 0) {
				edits = append(edits, Edit{v.Span, "{}"})
			}
			return err
		})
		return err
	}
	_, err := r.c.Object(func(key []byte, _ codec.Span) (err error) {
		if string(key) != "paragraphs" {
			_, err = r.c.Skip()
			return err
		}
		paragraphs = true
		_, err = r.c.Array(paragraph)
		return err
	})
	if err == nil {
		err = r.c.End()
	}
	switch {
	case err != nil:
		return nil, r.located(err)
	case !paragraphs:
		return nil, r.problem(0, `expected a note of Zeppelin: a JSON object with "paragraphs"`, "")
	}
	return Apply(src, edits), nil
}
