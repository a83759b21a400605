package ipynb

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"markmill/notebooks/codec"
)

// Strip says what is taken out of a notebook. The zero value takes out what nbstripout does, but for the ids of cells:
// they are the notebook's own, and stay.
type Strip struct {
	KeepOutput       bool
	KeepCount        bool
	NumberIDs        bool     // ids become "0", "1", …
	ExtraKeys        []string // metadata.NAME and cell.metadata.NAME that are taken out, too; dots lead inward
	KeepMetadataKeys []string // of those that are taken out otherwise, the ones that stay
	DropEmptyCells   bool
	DropTaggedCells  []string // cells with one of these tags are taken out
	StripInitCells   bool     // outputs of initialization cells are taken out, too
	KeepOutputTypes  []string // TYPE or TYPE:NAME, as in stream:stderr
	DropOutputTypes  []string // of the outputs that would be kept, the ones that are taken out
	MaxSize          int      // outputs of at most so many characters stay
}

// volatileKeys are what Jupyter and its extensions note of a session.
var volatileKeys = []string{
	"metadata.signature", "metadata.widgets",
	"cell.metadata.collapsed", "cell.metadata.ExecuteTime", "cell.metadata.execution", "cell.metadata.heading_collapsed",
	"cell.metadata.hidden", "cell.metadata.scrolled",
	// What nbformat itself never writes.
	"metadata.orig_nbformat", "metadata.orig_nbformat_minor", "cell.metadata.trusted",
}

// Apply gives the notebook's source without what is to be taken out; when there is nothing, it is the very
// source.
func (s Strip) Apply(nb *Notebook) ([]byte, error) {
	edits, err := s.Edits(nb)
	if err != nil {
		return nil, err
	}
	return Apply(nb.Source, edits), nil
}

// Bytes is Apply for whatever left the notebook. Of an output notebook of Markmill's the options are for the source:
// without options it is what is left.
func (s Strip) Bytes(nb *Notebook) ([]byte, error) {
	if nb.Manifest() == nil || s.KeepOutput {
		return s.Apply(nb)
	}
	source, err := Parse(nb.Name, Source(nb, false))
	if err != nil {
		return nil, err
	}
	if s.plain() {
		return source.Source, nil
	}
	return s.Apply(source)
}

// plain says that no option is set.
func (s Strip) plain() bool {
	lists := len(s.ExtraKeys) + len(s.KeepMetadataKeys) + len(s.DropTaggedCells) + len(s.KeepOutputTypes) +
		len(s.DropOutputTypes)
	return lists == 0 && !s.KeepOutput && !s.KeepCount && !s.NumberIDs && !s.DropEmptyCells && !s.StripInitCells &&
		s.MaxSize == 0
}

// Edits says what Apply changes. The errors are *notebooks.Error.
func (s Strip) Edits(nb *Notebook) ([]Edit, error) {
	w := stripping{Strip: s, nb: nb}
	if !s.KeepOutput && nb.Metadata.Given() {
		if v, ok := member(nb.Metadata, "keep_output"); ok {
			w.KeepOutput = truth(v)
		}
	}
	inBook, inCell, err := s.keys()
	if err != nil {
		return nil, err
	}
	w.dropKeys(nb.Metadata, inBook)
	for _, l := range nb.lists {
		cells := nb.Cells[l.first:l.end]
		spans := make([]codec.Span, len(cells))
		for i := range cells {
			spans[i] = cells[i].Span
		}
		w.edits = append(w.edits, without(l.span, nb.Source, spans, func(i int) bool { return w.drops(&cells[i]) })...)
		for i := range cells {
			if w.drops(&cells[i]) {
				continue
			}
			if err := w.cell(&cells[i], inCell); err != nil {
				return nil, err
			}
			w.number++
		}
	}
	return w.edits, nil
}

// Check says what is wrong with the options by themselves.
func (s Strip) Check() error {
	_, _, err := s.keys()
	return err
}

// keys sorts the keys to remove by the object they are in, without their first word.
func (s Strip) keys() (inBook, inCell []string, err error) {
	keep := map[string]bool{}
	for _, key := range s.KeepMetadataKeys {
		keep[key] = true
	}
	for _, key := range append(append([]string(nil), volatileKeys...), s.ExtraKeys...) {
		first, rest, _ := strings.Cut(key, ".")
		switch {
		case first != "metadata" && first != "cell" || rest == "":
			return nil, nil, fmt.Errorf(
				"key %q: it must begin with metadata. or cell., as metadata.kernelspec or cell.metadata.scrolled", key)
		case keep[key]:
		case first == "metadata":
			inBook = append(inBook, rest)
		default:
			inCell = append(inCell, rest)
		}
	}
	return inBook, inCell, nil
}

// stripping is a strip at work.
type stripping struct {
	Strip
	nb     *Notebook
	edits  []Edit
	number int // of cells that stay
}

// put replaces a value, unless it is spelled so already.
func (w *stripping) put(at codec.Span, text string) {
	if !at.None() && string(at.Of(w.nb.Source)) != text {
		w.edits = append(w.edits, Edit{at, text})
	}
}

// drops reports whether a cell is taken out whole.
func (w *stripping) drops(cell *Cell) bool {
	if w.DropEmptyCells && strings.TrimSpace(cell.Source) == "" {
		return true
	}
	for _, tag := range w.DropTaggedCells {
		if cell.Tagged(tag) {
			return true
		}
	}
	return false
}

func (w *stripping) cell(cell *Cell, keys []string) error {
	keep, err := w.keeps(cell)
	if err != nil {
		return err
	}
	w.outputs(cell, keep)
	if !w.KeepCount {
		w.put(cell.Count.Span, "null")
	}
	if w.NumberIDs {
		w.put(cell.IDAt.Span, strconv.Quote(strconv.Itoa(w.number)))
	}
	var inMetadata, inCell []string
	for _, key := range keys {
		if rest, ok := strings.CutPrefix(key, "metadata."); ok {
			inMetadata = append(inMetadata, rest)
		} else {
			inCell = append(inCell, key)
		}
	}
	w.dropKeys(cell.Metadata, inMetadata)
	w.dropKeys(Value{Raw: cell.Span.Of(w.nb.Source), Span: cell.Span}, inCell)
	return nil
}

// keeps reports whether a cell asks for its outputs to stay: by keep_output, as metadata or as tag, or as
// initialization cell.
func (w *stripping) keeps(cell *Cell) (bool, error) {
	if !cell.Metadata.Given() {
		return w.KeepOutput, nil
	}
	if v, ok := member(cell.Metadata, "init_cell"); ok {
		return truth(v) && !w.StripInitCells, nil
	}
	v, has := member(cell.Metadata, "keep_output")
	tagged := cell.Tagged("keep_output")
	if has && tagged && !truth(v) {
		r := reader{nb: w.nb}
		return false, r.problem(v.Span.Start, "keep_output is false here, and the cell has the tag keep_output",
			"take one of the two out")
	}
	if has || tagged {
		return tagged || truth(v), nil
	}
	return w.KeepOutput, nil
}

// outputs takes outputs out, and the counts out of those that stay.
func (w *stripping) outputs(cell *Cell, keep bool) {
	if cell.OutputsAt.Raw == nil {
		return
	}
	drop := func(i int) bool {
		out := &cell.Outputs[i]
		// As with nbstripout, types that are to stay are the only ones that do.
		if (!keep || len(w.KeepOutputTypes) > 0) && !matches(out, w.KeepOutputTypes) &&
			(w.MaxSize == 0 || size(out.Value) > w.MaxSize) {
			return true
		}
		return matches(out, w.DropOutputTypes)
	}
	spans := make([]codec.Span, len(cell.Outputs))
	dropped := make([]bool, len(cell.Outputs))
	for i := range cell.Outputs {
		spans[i] = cell.Outputs[i].Span
		if dropped[i] = drop(i); !dropped[i] && !w.KeepCount {
			w.put(cell.Outputs[i].Count.Span, "null")
		}
	}
	w.edits = append(w.edits, without(cell.OutputsAt.Span, w.nb.Source, spans, func(i int) bool { return dropped[i] })...)
}

// matches reports whether an output is of one of the types: TYPE or TYPE:NAME.
func matches(out *Output, types []string) bool {
	for _, t := range types {
		kind, name, named := strings.Cut(t, ":")
		if out.Type == kind && (!named || out.Name == name) {
			return true
		}
	}
	return false
}

// dropKeys takes members out of an object and of the objects in it. A key with dots is first looked for as it is; then
// its first word leads inward.
func (w *stripping) dropKeys(object Value, keys []string) {
	if len(keys) == 0 || len(object.Raw) == 0 || object.Raw[0] != '{' {
		return
	}
	var members []codec.Span
	var drop []bool
	found := map[string]bool{}     // keys that are there as they are
	inward := map[string][]Value{} // keys whose first word is there
	c := codec.NewCursor(w.nb.Source, object.Span.Start)
	_, err := c.Object(func(name []byte, at codec.Span) error {
		var deeper []string
		dropped := false
		for _, key := range keys {
			if key == string(name) {
				dropped, found[key] = true, true
			} else if first, _, dotted := strings.Cut(key, "."); dotted && first == string(name) {
				deeper = append(deeper, key)
			}
		}
		span, err := c.Skip()
		for _, key := range deeper {
			inward[key] = append(inward[key], Value{Raw: span.Of(w.nb.Source), Span: span})
		}
		members = append(members, codec.Span{Start: at.Start, End: span.End})
		drop = append(drop, dropped)
		return err
	})
	if err != nil {
		return // cannot happen: Parse has read it
	}
	if len(found) > 0 {
		w.edits = append(w.edits, without(object.Span, w.nb.Source, members, func(i int) bool { return drop[i] })...)
	}
	inner := map[codec.Span][]string{}
	for _, key := range keys {
		if _, rest, _ := strings.Cut(key, "."); !found[key] {
			for _, v := range inward[key] {
				inner[v.Span] = append(inner[v.Span], rest)
			}
		}
	}
	for span, keys := range inner {
		w.dropKeys(Value{Raw: span.Of(w.nb.Source), Span: span}, keys)
	}
}

// member finds a member of an object; of one that is given twice, the last.
func member(object Value, name string) (found Value, ok bool) {
	for _, m := range Members(object) {
		if m.Name == name {
			found, ok = m.Value, true
		}
	}
	return found, ok
}

// truth is what Python takes a value for.
func truth(v Value) bool {
	c := codec.NewCursor(v.Raw, 0)
	switch c.Kind() {
	case 't':
		return true
	case '"':
		text, err := c.String()
		return err == nil && text != ""
	case '{':
		return len(Members(v)) > 0
	case '[':
		some := false
		_, err := c.Array(func() error { some = true; _, err := c.Skip(); return err })
		return err == nil && some
	case '0':
		n, err := strconv.ParseFloat(string(v.Raw), 64)
		return err != nil || n != 0
	}
	return false
}

// size is how many characters the texts of a value have; numbers, true, false and null count as Python prints them.
func size(v Value) int {
	return measure(codec.NewCursor(v.Raw, 0))
}

func measure(c *codec.Cursor) int {
	total := 0
	switch c.Kind() {
	case '{':
		_, _ = c.Object(func([]byte, codec.Span) error { total += measure(c); return nil })
	case '[':
		_, _ = c.Array(func() error { total += measure(c); return nil })
	case '"':
		text, _ := c.String()
		total = utf8.RuneCountInString(text)
	default:
		span, _ := c.Skip()
		total = span.End - span.Start
	}
	return total
}
