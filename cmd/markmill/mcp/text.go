package mcp

import (
	"errors"
	"fmt"
	"io"

	"markmill/cmd/internal/child"
	"markmill/cmd/markmill/show"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// maxText bounds the part of a text that one call gives, in bytes.
const maxText = 16 << 10

// TextDocument is what the tools log and changes give.
type TextDocument struct {
	Run   string `json:"run"`           // as it was asked for
	Step  string `json:"step,omitzero"` // empty: all steps
	Text  string `json:"text"`          // bytes that are no UTF-8 are replaced
	From  int64  `json:"from"`          // the first byte that is shown
	To    int64  `json:"to"`            // the byte behind the last that is shown
	Bytes int64  `json:"bytes"`         // of the whole text
	More  string `json:"more,omitzero"` // how to get the rest
}

// text is a part of what show --log prints; without from its end.
func (s *server) text(word, step string, from *int64, of show.Streams) (answer, error) {
	word, err := s.run(word)
	if err != nil {
		return answer{}, err
	}
	if step != "" && !notebooks.IsID(step) {
		return answer{}, errors.New(plain.OneLine(plain.Cut(step, 200)) + " is no id of a step")
	}
	run, dir, err := s.app.Find(word)
	if err != nil {
		return answer{}, err
	}
	files, err := show.Log(run, step, of)
	if err != nil {
		return answer{}, err
	}
	doc := TextDocument{Run: word, Step: step}
	kept, err := part(runs.At(dir), files, from, &doc)
	if err != nil {
		return answer{}, err
	}
	doc.Text = valid(kept)
	shown := child.Plain(kept)
	if !of.Patch { // a patch is applied as it is
		doc.Text = shown
	}
	switch {
	case doc.To < doc.Bytes:
		doc.More = fmt.Sprintf("ask again with from=%d", doc.To)
	case doc.From > 0:
		doc.More = fmt.Sprintf("what is before: from=%d", max(0, doc.From-maxText))
	}
	head := fmt.Sprintf("bytes %d to %d of %d\n", doc.From, doc.To, doc.Bytes)
	if doc.More != "" {
		head += doc.More + "\n"
	}
	return answer{doc: doc, text: head + quoted(shown), more: doc.More}, nil
}

// part reads at most maxText bytes of files of a record, one behind the other: those from a byte on, or the last. doc
// is told which.
func part(record *runs.Record, files []string, from *int64, doc *TextDocument) ([]byte, error) {
	var all []io.Reader
	for _, name := range files {
		file, err := record.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		all, doc.Bytes = append(all, file), doc.Bytes+info.Size()
	}
	if doc.From = max(0, doc.Bytes-maxText); from != nil {
		doc.From = min(max(*from, 0), doc.Bytes)
	}
	whole := io.MultiReader(all...)
	_, err := io.CopyN(io.Discard, whole, doc.From)
	if err != nil {
		return nil, err
	}
	kept, err := io.ReadAll(io.LimitReader(whole, min(maxText, doc.Bytes-doc.From)))
	doc.To = doc.From + int64(len(kept))
	return kept, err
}
