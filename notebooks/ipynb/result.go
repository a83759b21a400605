package ipynb

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// Result is what a run adds to a notebook, and Source removes.
type Result struct {
	Cells    map[int]CellResult // by place in Notebook.Cells
	Added    []AddedCell        // in their order
	Metadata []Setting          // of the notebook
}

// CellResult is what a run adds to a code cell.
type CellResult struct {
	Outputs  codec.Raw // a list
	Count    int       // 0 is none
	Metadata []Setting
	Hidden   bool // Jupyter folds the code of the cell (source_hidden)
}

// ResultAs returns the cell's result with another count.
func (c *Cell) ResultAs(count Value) (CellResult, error) {
	var outputs []map[string]codec.Raw
	if err := codec.UnmarshalForeign(c.OutputsAt.Raw, &outputs); err != nil {
		return CellResult{}, err
	}
	var n int
	if count.Given() {
		if err := codec.Unmarshal(count.Raw, &n); err != nil {
			return CellResult{}, err
		}
	}
	for _, o := range outputs {
		if _, ok := o["execution_count"]; ok && n > 0 {
			o["execution_count"] = count.Raw
		}
	}
	if outputs == nil {
		outputs = []map[string]codec.Raw{}
	}
	raw, err := codec.Marshal(outputs)
	return CellResult{Outputs: raw, Count: n}, err
}

// AddedCell is a code cell that a run inserts.
type AddedCell struct {
	Before   int // place in Notebook.Cells of the cell that it precedes
	ID       string
	Source   string
	Markdown bool
	Tags     []string
	CellResult
}

// Setting is a member to add to a metadata object.
type Setting struct {
	Name  string
	Value codec.Raw
}

// With returns the notebook with the results of a run. The notebook must be of nbformat 4, and as Source leaves it; one
// that has outputs already gets others in the cells that are named, and nothing may be added to it.
func (nb *Notebook) With(r Result) ([]byte, error) {
	w := writing{nb: nb, unit: nb.unit()}
	for i := range nb.Cells {
		got, ok := r.Cells[i]
		if !ok {
			continue
		}
		c := &nb.Cells[i]
		if len(got.Outputs) > 0 && c.Type == "code" {
			w.value(c.OutputsAt.Span, got.Outputs)
		}
		if got.Count > 0 && !c.Count.Span.None() {
			w.edits = append(w.edits, Edit{c.Count.Span, fmt.Sprint(got.Count)})
		}
		settings := got.Metadata
		if got.Hidden {
			settings = w.hide(c, settings)
		}
		w.set(c.Metadata, settings)
	}
	w.set(nb.Metadata, r.Metadata)
	w.add(r.Added)
	if w.err != nil {
		return nil, w.err
	}
	return Apply(nb.Source, w.edits), nil
}

// unit returns one level of indentation, "" in a file without any.
func (nb *Notebook) unit() string {
	rest := bytes.TrimPrefix(bytes.TrimLeft(bytes.TrimPrefix(nb.Source, byteOrderMark), " \t\r\n"), []byte{'{'})
	text := bytes.TrimLeft(rest, " \t\r\n")
	space := rest[:len(rest)-len(text)]
	at := bytes.LastIndexByte(space, '\n')
	if at < 0 {
		return ""
	}
	return string(space[at+1:])
}

// writing is the state of With.
type writing struct {
	nb    *Notebook
	unit  string
	edits []Edit
	err   error

	lines []int // where the lines of the notebook begin, once one was looked for
}

// prefix returns the indentation of the line of an offset.
func (w *writing) prefix(at int) string {
	if w.lines == nil { // a notebook may be one long line, which is not to be looked through for every cell
		w.lines = notebooks.LineStarts(w.nb.Source)
	}
	n, found := slices.BinarySearch(w.lines, at)
	if !found {
		n--
	}
	line := w.nb.Source[w.lines[n]:at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// spelled returns a value as it stands in the file, in a line with an indentation. Where the file has none, it is on
// one line.
func (w *writing) spelled(value codec.Raw, prefix string) string {
	if w.unit == "" {
		return string(value)
	}
	b, err := codec.IndentAs(value, prefix, w.unit)
	if err != nil && w.err == nil {
		w.err = err
	}
	return string(b)
}

func (w *writing) value(at codec.Span, value codec.Raw) {
	if !at.None() {
		w.edits = append(w.edits, Edit{at, w.spelled(value, w.prefix(at.Start))})
	}
}

// set puts members at the end of an object. What a run leaves in an object of ours is added to what is there.
func (w *writing) set(object Value, settings []Setting) {
	if own := object.at(keyMarkmill); len(Members(own)) > 0 {
		settings = slices.DeleteFunc(slices.Clone(settings), func(s Setting) bool {
			if s.Name != keyMarkmill {
				return false
			}
			var inner []Setting
			for _, m := range Members(Value{Raw: s.Value}) {
				inner = append(inner, Setting{m.Name, m.Raw})
			}
			w.set(own, inner)
			return true
		})
	}
	if len(settings) == 0 || object.Span.None() {
		return
	}
	outer := w.prefix(object.Span.Start)
	inner := "\n" + outer + w.unit
	if w.unit == "" {
		outer, inner = "", ""
	}
	var b strings.Builder
	for i, s := range settings {
		if i > 0 {
			b.WriteString(",")
		}
		name := codec.AppendText(nil, s.Name, nil)
		fmt.Fprintf(&b, "%s%s: %s", inner, name, w.spelled(s.Value, strings.TrimPrefix(inner, "\n")))
	}
	members := Members(object)
	if len(members) == 0 {
		closing := "}"
		if w.unit != "" {
			closing = "\n" + outer + "}"
		}
		w.edits = append(w.edits, Edit{object.Span, "{" + b.String() + closing})
		return
	}
	end := members[len(members)-1].Span.End
	w.edits = append(w.edits, Edit{codec.Span{Start: end, End: end}, "," + b.String()})
}

// add inserts cells. The text between two cells stays before the second of them, so that taking the cells out again
// leaves it.
func (w *writing) add(cells []AddedCell) {
	if len(cells) == 0 || len(w.nb.lists) == 0 {
		return
	}
	whole := w.nb.lists[0].span
	prefix := w.prefix(whole.Start) + w.unit
	if n := len(w.nb.Cells); n > 0 {
		prefix = w.prefix(w.nb.Cells[0].Span.Start)
	}
	between := ",\n" + prefix
	if w.unit == "" {
		between, prefix = ", ", ""
	}
	var alone []string
	for _, c := range cells {
		text := w.spelled(w.cell(c), prefix)
		switch {
		case len(w.nb.Cells) == 0:
			alone = append(alone, text)
		case c.Before < len(w.nb.Cells):
			at := w.nb.Cells[c.Before].Span.Start
			w.edits = append(w.edits, Edit{codec.Span{Start: at, End: at}, text + between})
		default:
			at := w.nb.Cells[len(w.nb.Cells)-1].Span.End
			w.edits = append(w.edits, Edit{codec.Span{Start: at, End: at}, between + text})
		}
	}
	if alone != nil {
		w.edits = append(w.edits, Edit{whole, "[" + strings.TrimPrefix(between,
			",") + strings.Join(alone, between) + "]"})
	}
}

// cell returns an added cell as JSON.
func (w *writing) cell(c AddedCell) codec.Raw {
	metadata := map[string]any{keyMarkmill: map[string]any{"added": true}, "tags": c.Tags}
	for _, s := range c.Metadata {
		metadata[s.Name] = s.Value
	}
	if c.Hidden {
		metadata[keyJupyter] = sourceHidden
	}
	cell := map[string]any{"cell_type": "code", "metadata": metadata, "source": Lines(c.Source)}
	if c.Markdown {
		cell["cell_type"] = "markdown"
	} else {
		cell["outputs"], cell["execution_count"] = c.Outputs, nil
		if c.Count > 0 {
			cell["execution_count"] = c.Count
		}
	}
	if w.nb.Minor >= 5 {
		cell["id"] = w.freshID(c.ID)
	}
	b, err := codec.Marshal(cell)
	if err != nil && w.err == nil {
		w.err = err
	}
	return b
}

// freshID returns an id that no cell has.
func (w *writing) freshID(id string) string {
	for n, base := 2, id; slices.ContainsFunc(w.nb.Cells, func(c Cell) bool { return c.ID == id }); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	return id
}

// Lines splits a text as nbformat stores it: a list of lines with their ends.
func Lines(text string) []string {
	return append([]string{}, slices.Collect(strings.Lines(text))...)
}
