package ipynb

import (
	"fmt"
	"slices"
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
	"cell.metadata.collapsed", "cell.metadata.ExecuteTime", "cell.metadata.execution",
	"cell.metadata.heading_collapsed",
	"cell.metadata.hidden", "cell.metadata.scrolled",
	// What nbformat itself never writes.
	"metadata.orig_nbformat", "metadata.orig_nbformat_minor", "cell.metadata.trusted",
}

// Apply gives the notebook's source without what is to be taken out; when there is nothing, it is the very
// source. The errors are *notebooks.Error.
func (s Strip) Apply(nb *Notebook) ([]byte, error) {
	w := stripping{Strip: s, nb: nb}
	w.KeepOutput = s.KeepOutput || truth(nb.Metadata.at("keep_output"))
	inBook, inCell, err := s.keys()
	if err != nil {
		return nil, err
	}
	w.dropKeys(nb.Metadata, inBook)
	if err := w.cells(w.drops, func(c *Cell) error { return w.cell(c, inCell) }); err != nil {
		return nil, err
	}
	return Apply(nb.Source, w.edits), nil
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

// plain reports whether all options are unset.
func (s Strip) plain() bool {
	lists := len(s.ExtraKeys) + len(s.KeepMetadataKeys) + len(s.DropTaggedCells) + len(s.KeepOutputTypes) +
		len(s.DropOutputTypes)
	return lists == 0 && !s.KeepOutput && !s.KeepCount && !s.NumberIDs && !s.DropEmptyCells && !s.StripInitCells &&
		s.MaxSize == 0
}

// cells removes cells, and passes the others to keep.
func (w *stripping) cells(drop func(*Cell) bool, keep func(*Cell) error) error {
	for _, l := range w.nb.lists {
		cells := w.nb.Cells[l.first:l.end]
		spans, dropped := make([]codec.Span, len(cells)), make([]bool, len(cells))
		for i := range cells {
			spans[i], dropped[i] = cells[i].Span, drop(&cells[i])
			if dropped[i] {
				continue
			}
			if err := keep(&cells[i]); err != nil {
				return err
			}
		}
		w.takeOut(l.span, spans, dropped)
	}
	return nil
}

// Check says what is wrong with the options by themselves.
func (s Strip) Check() error {
	_, _, err := s.keys()
	return err
}

// requiredOfCell are the members that nbformat requires of cells.
var requiredOfCell = []string{"cell_type", "metadata", "source", "outputs", "execution_count"}

// keys sorts the keys to remove by the object they are in, without their first word.
func (s Strip) keys() (inBook, inCell []string, err error) {
	for _, key := range slices.Concat(volatileKeys, s.ExtraKeys) {
		first, rest, _ := strings.Cut(key, ".")
		switch {
		case first != "metadata" && first != "cell" || rest == "":
			return nil, nil, fmt.Errorf(
				"key %q: it must begin with metadata. or cell., as metadata.kernelspec or cell.metadata.scrolled", key)
		case first == "cell" && slices.Contains(requiredOfCell, rest):
			return nil, nil, fmt.Errorf("key %q: a cell without it is no cell; name what is in it", key)
		case slices.Contains(s.KeepMetadataKeys, key):
		case first == "metadata":
			inBook = append(inBook, rest)
		default:
			inCell = append(inCell, rest)
		}
	}
	return inBook, inCell, nil
}

// stripping is the state of Apply.
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

// drops reports whether a whole cell is removed.
func (w *stripping) drops(cell *Cell) bool {
	return w.DropEmptyCells && strings.TrimSpace(cell.Source) == "" ||
		slices.ContainsFunc(w.DropTaggedCells, cell.Tagged)
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
	w.number++
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
	if v := cell.Metadata.at("init_cell"); v.Raw != nil {
		return truth(v) && !w.StripInitCells, nil
	}
	v, tagged := cell.Metadata.at("keep_output"), cell.Tagged("keep_output")
	has := v.Raw != nil
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

// outputs removes outputs, and the counts of those that stay.
func (w *stripping) outputs(cell *Cell, keep bool) {
	if cell.OutputsAt.Raw == nil {
		return
	}
	drop := func(i int) bool {
		out := &cell.Outputs[i]
		// As with nbstripout, types that are to stay are the only ones that do.
		if (!keep || len(w.KeepOutputTypes) > 0) && !matches(out, w.KeepOutputTypes) &&
			(w.MaxSize == 0 || measure(codec.NewCursor(out.Raw, 0)) > w.MaxSize) {
			return true
		}
		return matches(out, w.DropOutputTypes)
	}
	spans, dropped := make([]codec.Span, len(cell.Outputs)), make([]bool, len(cell.Outputs))
	for i := range cell.Outputs {
		spans[i] = cell.Outputs[i].Span
		if dropped[i] = drop(i); !dropped[i] && !w.KeepCount {
			w.put(cell.Outputs[i].Count.Span, "null")
		}
	}
	w.takeOut(cell.OutputsAt.Span, spans, dropped)
}

// matches reports whether an output is of one of the types: TYPE or TYPE:NAME.
func matches(out *Output, types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool {
		kind, name, named := strings.Cut(t, ":")
		return out.Type == kind && (!named || out.Name == name)
	})
}

// dropKeys takes members out of an object and of the objects in it. A key with dots is first looked for as it is; then
// its first word leads inward.
func (w *stripping) dropKeys(object Value, keys []string) {
	if len(keys) == 0 {
		return
	}
	members := Members(object)
	spans, dropped := make([]codec.Span, len(members)), make([]bool, len(members))
	found := map[string]bool{} // keys that are there as they are
	for i, m := range members {
		spans[i], dropped[i] = m.whole, slices.Contains(keys, m.Name)
		found[m.Name] = dropped[i]
	}
	w.takeOut(object.Span, spans, dropped)
	for _, m := range members {
		var inner []string
		for _, key := range keys {
			if first, rest, dotted := strings.Cut(key, "."); dotted && first == m.Name && !found[key] {
				inner = append(inner, rest)
			}
		}
		w.dropKeys(m.Value, inner)
	}
}

// truth returns Python's truth value.
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
		return len(v.items()) > 0
	case '0':
		n, err := strconv.ParseFloat(string(v.Raw), 64)
		return err != nil || n != 0
	}
	return false
}

// measure returns how many characters the texts of a value have; numbers, true, false and null count as Python prints
// them.
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
