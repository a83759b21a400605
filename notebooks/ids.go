package notebooks

import (
	"strings"
	"unicode"
)

// IsID reports whether a word can be the id of a step: letters, digits, - _ . , so that it can also be the name of a
// folder.
func IsID(id string) bool { return id != "" && id == Slug(id) }

// Slug makes an id of any text.
func Slug(text string) string {
	id := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, text)
	id = strings.TrimRight(strings.TrimLeft(id, ".-"), ".")
	if len(id) > maxID {
		id = strings.ToValidUTF8(id[:maxID], "")
	}
	return id
}

// maxID is in bytes: the folder of a step is <number>-<id>, and 255 is the limit of most file systems.
const maxID = 120
