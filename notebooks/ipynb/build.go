package ipynb

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
)

// Draft is a notebook that is not written yet: nbformat 4.5, made of parts. Whoever changes a notebook that is there
// uses Apply or With, which leave its bytes alone.
type Draft struct {
	Metadata codec.Raw // an object; nil is {}
	Cells    []DraftCell
}

// DraftCell is a cell of a Draft.
type DraftCell struct {
	Type        string // code, markdown or raw
	ID          string // what the id is made of, such as a step's name; "" makes it of the cell's type and source
	Source      string
	Metadata    codec.Raw // an object; nil is {}
	Attachments codec.Raw // an object; nil is none, and of a code cell there are none
	Outputs     codec.Raw // of a code cell, a list; nil is []
	Count       int       // execution_count of a code cell; 0 is none
}

// Bytes is the notebook as nbformat prints it: one space a level, names sorted, texts as lists of their lines, a
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
	printSorted(&out, codec.NewCursor(b.Bytes(), 0), b.Bytes(), "\n")
	out.WriteByte('\n')
	if _, err := Parse("the new notebook", out.Bytes()); err != nil { // an output that is none, or tags that are no texts
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
		if err := bundles(b, c.Attachments); err != nil {
			return err
		}
	}
	if c.Type == "code" {
		b.WriteString(`,"execution_count":`)
		if c.Count > 0 {
			b.WriteString(strconv.Itoa(c.Count))
		} else {
			b.WriteString("null")
		}
		b.WriteString(`,"outputs":`)
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
	if _, err := c.Skip(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := c.End(); err != nil {
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
	c := codec.NewCursor(checked.Bytes(), 0)
	first := true
	_, err := c.Array(func() error {
		span, err := c.Skip()
		if err != nil {
			return err
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		one := Value{Raw: span.Of(checked.Bytes())}
		if one.Raw[0] != '{' {
			return fmt.Errorf("an output must be an object")
		}
		kind := ""
		if v, ok := member(one, "output_type"); ok {
			kind = v.Text()
		}
		b.WriteByte('{')
		for i, m := range Members(one) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(codec.AppendText(nil, m.Name, nil))
			b.WriteByte(':')
			switch {
			case kind == "stream" && m.Name == "text":
				lineList(b, m.Text())
			case m.Name == "data" && (kind == "display_data" || kind == "execute_result"):
				bundle(b, m.Value)
			default:
				b.Write(m.Raw)
			}
		}
		b.WriteByte('}')
		return nil
	})
	b.WriteByte(']')
	return err
}

// bundles writes an object of bundles, which attachments are.
func bundles(b *bytes.Buffer, raw codec.Raw) error {
	var checked bytes.Buffer
	if err := checkedValue(&checked, raw, '{', "the attachments"); err != nil {
		return err
	}
	b.WriteByte('{')
	for i, m := range Members(Value{Raw: checked.Bytes()}) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(codec.AppendText(nil, m.Name, nil))
		b.WriteByte(':')
		bundle(b, m.Value)
	}
	b.WriteByte('}')
	return nil
}

// bundle writes the forms of a result: what is text in lines, as nbformat's rwbase.split_lines has it, other texts on
// one line, JSON as it is.
func bundle(b *bytes.Buffer, v Value) {
	if len(v.Raw) == 0 || v.Raw[0] != '{' {
		b.Write(v.Raw)
		return
	}
	b.WriteByte('{')
	for i, m := range Members(v) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(codec.AppendText(nil, m.Name, nil))
		b.WriteByte(':')
		text, err := joined(codec.NewCursor(m.Raw, 0), false)
		switch {
		case Datum{MIME: m.Name}.JSON() || err != nil:
			b.Write(m.Raw)
		case strings.HasPrefix(m.Name, "text/") || m.Name == "application/javascript" || m.Name == "image/svg+xml":
			lineList(b, text)
		default:
			b.Write(codec.AppendText(nil, text, nil))
		}
	}
	b.WriteByte('}')
}

// ids gives each cell its id: letters, digits, - and _, at most 64, and no two the same.
func (d *Draft) ids() []string {
	ids := make([]string, len(d.Cells))
	taken := map[string]bool{}
	for i := range d.Cells { // ids that can stay do, in any cell
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
			sum := sha256.Sum256([]byte(c.Type + "\n" + c.Source))
			base = hex.EncodeToString(sum[:4])
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

// cellID makes the id of a cell out of a text; "" if no character is allowed in one.
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

// lineList writes a text as the list of its lines. Lines end where Python's splitlines ends them.
func lineList(b *bytes.Buffer, text string) {
	b.WriteByte('[')
	for first := true; text != ""; first = false {
		end := pythonLine(text)
		if !first {
			b.WriteByte(',')
		}
		b.Write(codec.AppendText(nil, text[:end], nil))
		text = text[end:]
	}
	b.WriteByte(']')
}

// pythonLine is how long the first line is, with its end.
func pythonLine(text string) int {
	for i, r := range text {
		switch r {
		case '\r':
			if strings.HasPrefix(text[i+1:], "\n") {
				return i + 2
			}
			return i + 1
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e:
			return i + 1
		case 0x85:
			return i + 2
		case 0x2028, 0x2029:
			return i + 3
		}
	}
	return len(text)
}

// MadeID reports whether an id is one that Draft makes of a cell's type and source, so that the cell can go without.
func MadeID(id, kind, source string) bool {
	sum := sha256.Sum256([]byte(kind + "\n" + source))
	rest, ok := strings.CutPrefix(id, hex.EncodeToString(sum[:4]))
	if !ok || rest == "" {
		return ok
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "-"))
	return err == nil && n > 1 && rest == "-"+strconv.Itoa(n)
}
