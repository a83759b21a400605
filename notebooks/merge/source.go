package merge

import (
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
)

// sourceList spells the text of a cell as from spells its own: as one text, or as a list of lines. A line that a side
// has keeps its spelling.
func sourceList(text, like string, from *ipynb.Cell, cells ...*ipynb.Cell) string {
	if strings.HasPrefix(like, `"`) {
		return quoted(text)
	}
	spelled := map[string]string{}
	between, tail := " ", ""
	first := true
	for _, c := range append(cells, from) {
		if c == nil || len(c.SourceAt.Raw) == 0 || c.SourceAt.Raw[0] != '[' {
			continue
		}
		raw := c.SourceAt.Raw
		at := codec.NewCursor(raw, 0)
		end := 0
		_, err := at.Array(func() error {
			at.Kind() // to where the line begins
			start := at.Offset()
			line, err := at.String()
			if end == 0 && strings.TrimSpace(string(raw[1:start])) == "" {
				between, first = string(raw[1:start]), false
			}
			end = at.Offset()
			spelled[line] = string(raw[start:end])
			return err
		})
		if err == nil && end > 0 {
			tail = string(raw[end : len(raw)-1])
		}
	}
	var lines []string
	for _, line := range split(text) {
		raw, ok := spelled[line]
		if !ok {
			raw = quoted(line)
		}
		lines = append(lines, raw)
	}
	if len(lines) == 0 {
		return "[]"
	}
	head := between
	if first {
		head = ""
	}
	return "[" + head + strings.Join(lines, ","+between) + tail + "]"
}

// quoted is a text as JSON.
func quoted(text string) string { return string(codec.AppendText(nil, text, nil)) }
