package render

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// maxScrap bounds the JSON of one scrap that is shown.
const maxScrap = 4 << 10

// lastScraps returns the scraps of a step by name, sorted: the last of a name stands.
func lastScraps(scraps []runs.ScrapData) []runs.ScrapData {
	place := map[string]int{}
	var out []runs.ScrapData
	for _, s := range scraps {
		if i, ok := place[s.Name]; ok {
			out[i] = s
			continue
		}
		place[s.Name] = len(out)
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// scrapValue is what stands for a scrap in the JSON block: its value, or what there is instead.
func scrapValue(s runs.ScrapData) any {
	if s.File != "" {
		return map[string]any{"file": s.File, "mime": s.MIME, "digest": s.Digest}
	}
	if len(s.Value) > maxScrap {
		return map[string]any{"elided": plain.Counted(len(s.Value), "byte")}
	}
	if len(s.Value) == 0 {
		return nil
	}
	return s.Value
}

// scrapLine is a scrap as a member of a JSON object.
func scrapLine(s runs.ScrapData, names pathNames) (string, error) {
	name, err := codec.Marshal(s.Name)
	if err != nil {
		return "", fmt.Errorf("scrap %q: %w", s.Name, err)
	}
	value, err := codec.Marshal(scrapValue(s))
	if err != nil {
		return "", fmt.Errorf("scrap %q: %w", s.Name, err)
	}
	return plain.EscapeJSON(names.replace(string(name) + ": " + string(value))), nil
}

// scrapBlock writes the scraps of a step as one JSON object with sorted keys, a scrap a line, but for those that are
// shown already. It is bounded to about limit bytes.
func scrapBlock(b *bytes.Buffer, scraps []runs.ScrapData, shown map[string]bool, c *cleaner, limit int) error {
	var lines []string
	size, gone := 0, 0
	for _, s := range lastScraps(scraps) {
		if shown[s.Name] {
			continue
		}
		line, err := scrapLine(s, c.names)
		if err != nil {
			return err
		}
		line = "  " + line
		if size+len(line) > limit {
			gone++
			continue
		}
		size += len(line)
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		fence(b, "json {.scraps}", "{\n"+strings.Join(lines, ",\n")+"\n}\n")
	}
	if gone > 0 {
		fmt.Fprintf(b, "… %s elided: %s\n\n", plain.Counted(gone, "scrap"), codeSpan(runs.JournalFile))
	}
	return nil
}

// table is the shape of a table scrap that names its columns once.
type table struct {
	Columns []codec.Raw   `json:"columns"`
	Data    [][]codec.Raw `json:"data"`
	Rows    [][]codec.Raw `json:"rows"`
}

// What bounds a table that is shown; the JSON has the rest.
const (
	maxRows    = 50
	maxColumns = 30
)

// writeTable writes a table scrap as a Markdown table. It knows a list of objects, and columns with
// data or rows; a value of another shape is in the JSON alone.
func writeTable(b *bytes.Buffer, s runs.ScrapData, c *cleaner) {
	t, ok := readTable(s.Value)
	if !ok || len(t.Columns) > maxColumns {
		return
	}
	fmt.Fprintf(b, "**%s**\n\n", inline(c.oneLine(s.Name, 200)))
	row := func(cells []codec.Raw) {
		for i := range t.Columns {
			text := ""
			if i < len(cells) {
				text = cellText(cells[i])
			}
			fmt.Fprintf(b, "| %s ", inline(c.oneLine(text, 200)))
		}
		b.WriteString("|\n")
	}
	row(t.Columns)
	b.WriteString(strings.Repeat("| --- ", len(t.Columns)) + "|\n")
	for i, cells := range t.Data {
		if i == maxRows {
			break
		}
		row(cells)
	}
	b.WriteByte('\n')
	if n := len(t.Data) - maxRows; n > 0 {
		fmt.Fprintf(b, "… %s elided.\n\n", plain.Counted(n, "row"))
	}
}

func readTable(value codec.Raw) (table, bool) {
	var t table
	if codec.Unmarshal(value, &t) == nil && len(t.Columns) > 0 {
		t.Data = append(t.Data, t.Rows...)
		return t, true
	}
	var records []map[string]codec.Raw
	if codec.Unmarshal(value, &records) != nil || len(records) == 0 {
		return table{}, false
	}
	names := map[string]bool{}
	for _, r := range records {
		for name := range r {
			names[name] = true
		}
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	t = table{}
	for _, name := range sorted {
		title, err := codec.Marshal(name)
		if err != nil {
			return table{}, false
		}
		t.Columns = append(t.Columns, title)
	}
	for _, r := range records {
		cells := make([]codec.Raw, len(sorted))
		for i, name := range sorted {
			cells[i] = r[name]
		}
		t.Data = append(t.Data, cells)
	}
	return t, len(sorted) > 0
}

// cellText is a value as a cell: text as it is, anything else as its JSON, nothing where there is none.
func cellText(v codec.Raw) string {
	var s string
	if codec.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
