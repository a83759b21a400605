package safe

import (
	"strings"

	"markmill/notebooks/lazyregexp"
	"markmill/render/plain"
)

// Cleaner cleans the text of one step for display, and for comparison with the next run.
type Cleaner struct {
	Names Names
	Rules Rules
	// Replaced says that text was masked. The digest of the raw bytes then varies, and must not appear in an output
	// notebook.
	Replaced bool
}

// Line cleans one raw line: terminal effects, paths, rules, then escapes.
func (c *Cleaner) Line(raw []byte) (string, bool) {
	text := plain.Resolve(raw)
	named := c.Rules.Line(c.Names.Replace(text))
	if named != text {
		c.Replaced = true
	}
	return plain.Escape(named), true
}

// Text cleans text of several lines; it ends with a newline unless it is empty.
func (c *Cleaner) Text(s string) string { return Clean([]byte(s), c.Line) }

// OneLine cleans words that must stay on one line, and bounds their length in bytes.
func (c *Cleaner) OneLine(s string, limit int) string {
	s, _ = c.Line([]byte(strings.Join(strings.Fields(s), " ")))
	if len(s) > limit {
		return HeadOf(s, limit) + "…"
	}
	return s
}

// WithoutAddress drops the address of an object from the words that stand for a picture or another rich result: no
// author printed it, and it varies from run to run.
func WithoutAddress(words string) string { return objectAddress.ReplaceAllString(words, "") }

var objectAddress = lazyregexp.New(` at 0x[0-9a-fA-F]{4,16}\b`)
