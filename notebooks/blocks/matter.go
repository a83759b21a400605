package blocks

import (
	"bytes"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// MarkerHead begins the line of a marker, which begins or ends a region of an output notebook.
const MarkerHead = "<!-- markmill:"

// FrontMatter is where the front matter is, and where the Markdown begins.
type FrontMatter struct {
	Mark string         // "---", "+++" or ""
	Span notebooks.Span // with its two marks
	Text notebooks.Span // between them
	Body int            // offset of the first byte of Markdown
}

var (
	yamlKeyLine = lazyregexp.New(`(?m)^[\pL_][\pL\pN_.-]*:(?:[ \t\r]|$)`)
	tomlLine    = lazyregexp.New(`^(?:#|\[|[\w."'-]+[ \t]*=)`)
)

// FindFrontMatter looks for a block between two lines of --- or +++ at the head of the file. A single --- is a rule,
// and so is a first one with an empty line after it and no key before the second; +++ is TOML only if it looks like it,
// because MyST separates cells with +++. A marker of a region ends the search, so that the text of a region never turns
// a rule of the source into front matter: Strip and Parse agree.
func FindFrontMatter(src []byte) FrontMatter {
	var m FrontMatter
	if bytes.HasPrefix(src, []byte(notebooks.BOM)) {
		m.Body = len(notebooks.BOM)
	}
	first := LineEnd(src, m.Body)
	mark := string(bytes.TrimRight(src[m.Body:first], " \t\r\n"))
	if mark != "---" && mark != "+++" {
		return m
	}
	for at := first; at < len(src); {
		end := LineEnd(src, at)
		line := bytes.TrimRight(src[at:end], " \t\r\n")
		if bytes.HasPrefix(line, []byte(MarkerHead)) {
			return m
		}
		if string(line) == mark || mark == "---" && string(line) == "..." {
			text := src[first:at]
			if mark == "---" && startsBlank(text) && !yamlKeyLine.Match(text) ||
				mark == "+++" && !tomlLine.Match(bytes.TrimLeft(text, " \t\r\n")) {
				return m
			}
			return FrontMatter{mark, notebooks.Span{Start: m.Body, End: end},
				notebooks.Span{Start: first, End: at}, end}
		}
		at = end
	}
	return m
}

func startsBlank(text []byte) bool {
	return len(bytes.TrimSpace(text[:LineEnd(text, 0)])) == 0 && len(bytes.TrimSpace(text)) > 0
}
