package render

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// lastScraps returns the scraps of a step sorted by name. The last of a name wins.
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

// scrapValue returns what represents a scrap in the JSON block.
func scrapValue(s runs.ScrapData) any {
	if s.File != "" {
		return map[string]any{"file": s.File, "mime": s.MIME, "digest": s.Digest}
	}
	if len(s.Value) > result.MaxValue {
		return map[string]any{"elided": plain.Counted(len(s.Value), "byte")}
	}
	if len(s.Value) == 0 {
		return nil
	}
	return s.Value
}

// scrapLine returns a scrap as a member of a JSON object.
func scrapLine(s runs.ScrapData, names safe.Names) (string, error) {
	name, err := codec.Marshal(s.Name)
	if err != nil {
		return "", fmt.Errorf("scrap %q: %w", s.Name, err)
	}
	value, err := codec.Marshal(scrapValue(s))
	if err != nil {
		return "", fmt.Errorf("scrap %q: %w", s.Name, err)
	}
	return plain.EscapeJSON(names.Replace(string(name) + ": " + string(value))), nil
}

// scrapBlock writes the scraps of a step that are not already shown as one JSON object, a scrap per line with sorted
// names, of about limit bytes.
func scrapBlock(b *bytes.Buffer, scraps []runs.ScrapData, shown map[string]bool, c *safe.Cleaner, limit int) error {
	var lines []string
	size, gone := 0, 0
	for _, s := range lastScraps(scraps) {
		if shown[s.Name] {
			continue
		}
		line, err := scrapLine(s, c.Names)
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
		safe.Fence(b, "json {.scraps}", "{\n"+strings.Join(lines, ",\n")+"\n}\n")
	}
	if gone > 0 {
		fmt.Fprintf(b, "… %s elided: %s\n\n", plain.Counted(gone, "scrap"), safe.CodeSpan(runs.JournalFile))
	}
	return nil
}
