package render

import (
	"strings"

	"markmill/render/plain"
)

// cleaner makes the text of one step fit to be shown and to be compared with that of the next run.
type cleaner struct {
	names pathNames
	rules []rule
	// replaced says that something stood for varying text: then the digest of the raw bytes varies
	// too and has no place in an output notebook.
	replaced bool
}

// line cleans one raw line: terminal effects, paths, rules, then escapes.
func (c *cleaner) line(raw []byte) (string, bool) {
	text := plain.Resolve(raw)
	named := c.names.replace(text)
	for _, r := range c.rules {
		if r.pattern.MatchString(named) {
			named = r.pattern.ReplaceAllString(named, r.replace)
		}
	}
	if named != text {
		c.replaced = true
	}
	return plain.Escape(named), true
}

// text cleans text of several lines; it ends with a newline unless it is empty.
func (c *cleaner) text(s string) string { return cleanLines([]byte(s), c.line) }

// oneLine cleans words that must stay on one line, and bounds them.
func (c *cleaner) oneLine(s string, limit int) string {
	s, _ = c.line([]byte(strings.Join(strings.Fields(s), " ")))
	if len(s) > limit {
		return headOf(s, limit) + "…"
	}
	return s
}
