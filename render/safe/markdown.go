package safe

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"markmill/notebooks"
)

// Fence writes text as a code block whose fence is longer than any run of backticks in the text, so that nothing in
// it can end the block.
func Fence(b *bytes.Buffer, info, text string) {
	ticks := strings.Repeat("`", max(3, notebooks.LongestRun(text, '`')+1))
	fmt.Fprintf(b, "%s%s\n%s", ticks, info, text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "%s\n\n", ticks)
}

// CodeSpan formats s as inline code (CommonMark 6.1).
func CodeSpan(s string) string {
	ticks := strings.Repeat("`", notebooks.LongestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// Inline escapes s for use within a line of Markdown (CommonMark 2.4, 6; GFM tables). Line breaks become spaces.
func Inline(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if strings.ContainsRune("\\`*_[]<>!|~&$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// HTML escapes s as the text of an HTML element on one line.
func HTML(s string) string { return html.EscapeString(strings.Join(strings.Fields(s), " ")) }

// Link formats a slash-separated relative path as a link destination, with all but unreserved characters
// percent-encoded (RFC 3986 2.3).
func Link(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
