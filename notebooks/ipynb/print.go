package ipynb

import (
	"bytes"
	"maps"
	"slices"

	"markmill/notebooks/codec"
)

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
