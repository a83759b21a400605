package compare

import (
	"bytes"
	"fmt"

	"markmill/notebooks/linediff"
)

// Unified returns the unified diff of two texts, "" if they are equal.
func Unified(from, to string, a, b []string) string {
	var out bytes.Buffer
	gone, come := linediff.Lines(a, b)
	linediff.Unified(&out, a, b, gone, come, func(line string) { out.WriteString(line + "\n") })
	if out.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("--- %s\n+++ %s\n%s", from, to, out.String())
}
