package ipynb

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"markmill/notebooks/codec"
)

// Draft is a new notebook of nbformat 4.5, built from parts. To change an existing notebook use Apply or With, which
// keep its bytes.
type Draft struct {
	Metadata codec.Raw // an object; nil is {}
	Cells    []DraftCell
}

// DraftCell is a cell of a Draft.
type DraftCell struct {
	Type        string // code, markdown or raw
	ID          string // source of the id, such as a step's name; if "", the cell's type and source
	Source      string
	Metadata    codec.Raw // an object; nil is {}
	Attachments codec.Raw // an object; nil means none; must be nil for code cells
	Outputs     codec.Raw // of a code cell, a list; nil is []
	Count       int       // execution_count of a code cell; 0 is none
}

// Bytes returns the notebook as nbformat prints it: one space a level, names sorted, texts as lists of their lines, a
// newline at the end. Each cell has an id that nbformat takes and no other cell has. Equal drafts give equal bytes. An
// error says which part of which cell is not what nbformat has there.
func (d *Draft) Bytes() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"nbformat":4,"nbformat_minor":5,"metadata":`)
	if err := checkedValue(&b, d.Metadata, '{', "the metadata of the notebook"); err != nil {
		return nil, err
	}
	b.WriteString(`,"cells":[`)
	ids := d.ids()
	for i := range d.Cells {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := d.Cells[i].write(&b, ids[i]); err != nil {
			return nil, fmt.Errorf("cell %d: %w", i+1, err)
		}
	}
	b.WriteString("]}")
	var out bytes.Buffer
	out.Grow(b.Len() + b.Len()/4)
	printSorted(&out, Value{Raw: b.Bytes()}, "\n")
	out.WriteByte('\n')
	// an invalid output, or tags that are not strings
	if _, err := Parse("the new notebook", out.Bytes()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (c *DraftCell) write(b *bytes.Buffer, id string) error {
	switch c.Type {
	case "code", "markdown", "raw":
	default:
		return fmt.Errorf("%q is no type of cell: code, markdown and raw are", c.Type)
	}
	fmt.Fprintf(b, `{"cell_type":%q,"id":%q,"metadata":`, c.Type, id)
	if err := checkedValue(b, c.Metadata, '{', "the metadata"); err != nil {
		return err
	}
	if len(c.Attachments) > 0 {
		if c.Type == "code" {
			return fmt.Errorf("a code cell has no attachments")
		}
		b.WriteString(`,"attachments":`)
		var checked bytes.Buffer
		if err := checkedValue(&checked, c.Attachments, '{', "the attachments"); err != nil {
			return err
		}
		rewrite(b, Value{Raw: checked.Bytes()}, func(m Member) { bundle(b, m.Value) })
	}
	if c.Type == "code" {
		count := "null"
		if c.Count > 0 {
			count = strconv.Itoa(c.Count)
		}
		b.WriteString(`,"execution_count":` + count + `,"outputs":`)
		if err := outputList(b, c.Outputs); err != nil {
			return err
		}
	} else if len(c.Outputs) > 0 || c.Count != 0 {
		return fmt.Errorf("a %s cell has no outputs and no count", c.Type)
	}
	b.WriteString(`,"source":`)
	lineList(b, c.Source)
	b.WriteByte('}')
	return nil
}

// checkedValue writes a value after checking that it is JSON of one kind; one that is nil is empty.
func checkedValue(b *bytes.Buffer, raw codec.Raw, kind byte, what string) error {
	if len(raw) == 0 {
		b.WriteString(map[byte]string{'{': "{}", '[': "[]"}[kind])
		return nil
	}
	c := codec.NewCursor(raw, 0)
	if c.Kind() != kind {
		return fmt.Errorf("%s must be %s", what, map[byte]string{'{': "an object", '[': "a list"}[kind])
	}
	_, err := c.Skip()
	if err == nil {
		err = c.End()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	b.Write(raw)
	return nil
}

// outputList writes outputs with their texts in lines.
func outputList(b *bytes.Buffer, raw codec.Raw) error {
	var checked bytes.Buffer
	if err := checkedValue(&checked, raw, '[', "the outputs"); err != nil {
		return err
	}
	b.WriteByte('[')
	for i, out := range (Value{Raw: checked.Bytes()}).items() {
		if i > 0 {
			b.WriteByte(',')
		}
		if out.Raw[0] != '{' {
			return fmt.Errorf("an output must be an object")
		}
		kind := out.at("output_type").Text()
		rewrite(b, out, func(m Member) {
			switch {
			case kind == "stream" && m.Name == "text":
				lineList(b, m.Text())
			case m.Name == "data" && (kind == "display_data" || kind == "execute_result"):
				bundle(b, m.Value)
			default:
				b.Write(m.Raw)
			}
		})
	}
	b.WriteByte(']')
	return nil
}

// rewrite writes an object, with value writing its values.
func rewrite(b *bytes.Buffer, object Value, value func(Member)) {
	b.WriteByte('{')
	for i, m := range Members(object) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(codec.AppendText(nil, m.Name, nil))
		b.WriteByte(':')
		value(m)
	}
	b.WriteByte('}')
}

// bundle writes the forms of a result: what is text in lines, as nbformat's rwbase.split_lines has it, other texts on
// one line, JSON as it is.
func bundle(b *bytes.Buffer, v Value) {
	if len(v.Raw) == 0 || v.Raw[0] != '{' {
		b.Write(v.Raw)
		return
	}
	rewrite(b, v, func(m Member) {
		text, err := joined(codec.NewCursor(m.Raw, 0), false)
		switch {
		case Datum{MIME: m.Name}.JSON() || err != nil:
			b.Write(m.Raw)
		case strings.HasPrefix(m.Name, "text/") || m.Name == "application/javascript" || m.Name == "image/svg+xml":
			lineList(b, text)
		default:
			b.Write(codec.AppendText(nil, text, nil))
		}
	})
}

// ids gives each cell a unique id of letters, digits, - and _, at most 64 characters.
func (d *Draft) ids() []string {
	ids := make([]string, len(d.Cells))
	taken := map[string]bool{}
	for i := range d.Cells { // keep valid ids
		if id := d.Cells[i].ID; id != "" && id == cellID(id) && !taken[id] {
			ids[i], taken[id] = id, true
		}
	}
	next := map[string]int{} // the number to try next behind an id
	for i := range d.Cells {
		if ids[i] != "" {
			continue
		}
		c := &d.Cells[i]
		base := cellID(c.ID)
		if base == "" {
			base = madeID(c.Type, c.Source)
		}
		id := base
		for n := max(next[base], 2); taken[id]; n++ {
			end := "-" + strconv.Itoa(n)
			id = base[:min(len(base), maxCellID-len(end))] + end
			next[base] = n
		}
		ids[i], taken[id] = id, true
	}
	return ids
}

const maxCellID = 64 // nbformat 4.5

// cellID makes a cell id from a text; "" if the text has no allowed character.
func cellID(text string) string {
	id := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, text)
	id = id[:min(len(id), maxCellID)]
	if strings.Trim(id, "-") == "" {
		return ""
	}
	return id
}

// lineList writes a text as the list of its lines.
func lineList(b *bytes.Buffer, text string) {
	b.WriteByte('[')
	for i, line := range PythonLines(text) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(codec.AppendText(nil, line, nil))
	}
	b.WriteByte(']')
}

// PythonLines splits a text like Python's splitlines(True).
func PythonLines(text string) []string {
	var out []string
	start := 0
	for i, r := range text {
		if strings.ContainsRune(lineEnds, r) && (r != '\r' || !strings.HasPrefix(text[i+1:], "\n")) {
			end := i + utf8.RuneLen(r)
			out = append(out, text[start:end])
			start = end
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

func madeID(kind, source string) string {
	sum := sha256.Sum256([]byte(kind + "\n" + source))
	return hex.EncodeToString(sum[:4])
}

// MadeID reports whether Draft derived the id from the cell's type and source, so that the cell can go without.
func MadeID(id, kind, source string) bool {
	rest, ok := strings.CutPrefix(id, madeID(kind, source))
	if !ok || rest == "" {
		return ok
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "-"))
	return err == nil && n > 1 && rest == "-"+strconv.Itoa(n)
}

// printSorted prints a value as Python's json.dumps does with indent=1, sort_keys and without ensure_ascii. The text of
// numbers stays. The value must have been read once: what cannot be read is left out. newline is a line's end and the
// indentation.
func printSorted(out *bytes.Buffer, v Value, newline string) {
	inner := newline + " "
	switch c := codec.NewCursor(v.Raw, 0); c.Kind() {
	case '{':
		members := map[string]Value{} // of two of one name the last one counts
		for _, m := range Members(v) {
			members[m.Name] = m.Value
		}
		out.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(members)) {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(inner)
			out.Write(codec.AppendText(nil, name, nil))
			out.WriteString(": ")
			printSorted(out, members[name], inner)
		}
		if len(members) > 0 {
			out.WriteString(newline)
		}
		out.WriteByte('}')
	case '[':
		items := v.items()
		out.WriteByte('[')
		for i, item := range items {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(inner)
			printSorted(out, item, inner)
		}
		if len(items) > 0 {
			out.WriteString(newline)
		}
		out.WriteByte(']')
	case '"':
		out.Write(codec.AppendText(nil, v.Text(), nil))
	default:
		out.Write(v.Raw)
	}
}
