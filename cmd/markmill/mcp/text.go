package mcp

import (
	"context"
	"errors"
	"fmt"

	"markmill/cmd/internal/child"
	"markmill/notebooks"
	"markmill/render/plain"
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

// window keeps the part of what is written that begins at from.
type window struct {
	from int64
	kept []byte
	all  int64
}

func (w *window) Write(p []byte) (int, error) {
	at := w.all
	w.all += int64(len(p))
	if skip := w.from - at; skip < int64(len(p)) && len(w.kept) < maxText {
		part := p[max(skip, 0):]
		w.kept = append(w.kept, part[:min(len(part), maxText-len(w.kept))]...)
	}
	return len(p), nil
}

// text is a part of what show --log prints; without from its end.
func (s *server) text(ctx context.Context, word, step string, from *int64, options ...string) (answer, error) {
	run, err := s.run(word)
	if err != nil {
		return answer{}, err
	}
	log := "--log"
	if step != "" {
		if !notebooks.IsID(step) {
			return answer{}, errors.New(plain.OneLine(plain.Cut(step, 200)) + " is no id of a step")
		}
		log += "=" + step
	}
	args := append(append([]string{"show", log}, options...), "--", run)
	doc := TextDocument{Run: run, Step: step}
	var kept []byte
	var code int
	var words string
	if from == nil {
		last := &child.End{Most: maxText}
		if code, words, err = s.Do(ctx, child.Call{Args: args, To: last}); err != nil {
			return answer{}, err
		}
		kept, doc.Bytes, doc.From = last.Last, last.All, last.All-int64(len(last.Last))
	} else {
		part := &window{from: max(*from, 0)}
		if code, words, err = s.Do(ctx, child.Call{Args: args, To: part}); err != nil {
			return answer{}, err
		}
		kept, doc.Bytes, doc.From = part.kept, part.all, min(part.from, part.all)
	}
	if code != 0 {
		return answer{}, child.Said(code, words)
	}
	doc.To, doc.Text = doc.From+int64(len(kept)), valid(kept)
	shown := child.Plain(kept)
	if len(options) == 0 || options[0] != "--patch" { // a patch is applied as it is
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
	return answer{doc: made("mcp-text", doc), text: head + quoted(shown), more: doc.More}, nil
}
