package merge

import (
	"cmp"
	"strings"

	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/ipynb"
)

// sourceList spells the text of a cell as from spells its own: as one text, or as a list of lines. A line that a side
// has keeps its spelling.
func sourceList(text, like string, from *ipynb.Cell, cells ...*ipynb.Cell) string {
	if strings.HasPrefix(like, `"`) {
		return quoted(text)
	}
	spelled := map[string]string{}
	head, between, tail := "", " ", ""
	for _, c := range append(cells, from) {
		if c == nil || len(c.SourceAt.Raw) == 0 || c.SourceAt.Raw[0] != '[' {
			continue
		}
		raw := c.SourceAt.Raw
		at := codec.NewCursor(raw, 0)
		end := 0
		_, err := at.Array(func() error {
			start := at.Offset()
			line, err := at.String()
			if end == 0 {
				head, between = string(raw[1:start]), string(raw[1:start])
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
	for _, line := range diff.Lines(text) {
		lines = append(lines, cmp.Or(spelled[line], quoted(line)))
	}
	if len(lines) == 0 {
		return "[]"
	}
	return "[" + head + strings.Join(lines, ","+between) + tail + "]"
}

// quoted returns a text as JSON.
func quoted(text string) string { return string(codec.AppendText(nil, text, nil)) }
