package ipynb

import (
	"bytes"
	"sort"

	"markmill/notebooks/codec"
)

// printSorted prints a value as Python's json.dumps does with indent=1, sort_keys and without ensure_ascii. The text of
// numbers stays. The value must have been read once: what cannot be read is left out. newline is a line's end and the
// indentation.
func printSorted(out *bytes.Buffer, c *codec.Cursor, src []byte, newline string) {
	inner := newline + " "
	switch c.Kind() {
	case '{':
		type entry struct {
			name string
			at   int
		}
		var entries []entry
		places := map[string]int{}
		_, _ = c.Object(func(name []byte, _ codec.Span) error {
			if n, ok := places[string(name)]; ok { // of two the last one counts
				entries[n].at = c.Offset()
			} else {
				places[string(name)] = len(entries)
				entries = append(entries, entry{string(name), c.Offset()})
			}
			_, err := c.Skip()
			return err
		})
		if len(entries) == 0 {
			out.WriteString("{}")
			return
		}
		sort.Slice(entries, func(i, j int) bool { return entries[i].name < entries[j].name })
		out.WriteByte('{')
		for i, e := range entries {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(inner)
			out.Write(codec.AppendText(nil, e.name, nil))
			out.WriteString(": ")
			printSorted(out, codec.NewCursor(src, e.at), src, inner)
		}
		out.WriteString(newline + "}")
	case '[':
		empty := true
		out.WriteByte('[')
		_, _ = c.Array(func() error {
			if !empty {
				out.WriteByte(',')
			}
			empty = false
			out.WriteString(inner)
			printSorted(out, c, src, inner)
			return nil
		})
		if !empty {
			out.WriteString(newline)
		}
		out.WriteByte(']')
	case '"':
		text, _ := c.String()
		out.Write(codec.AppendText(nil, text, nil))
	default:
		span, err := c.Skip()
		if err == nil {
			out.Write(span.Of(src))
		}
	}
}
