package magics

import "strings"

// Quotes follows the texts of a language from line to line, to know which lines begin within one. The zero Quotes is of
// a language in which none does.
type Quotes struct {
	Comment string // what begins a comment
	Triple  bool   // """ and ''' begin texts of several lines
	Single  bool   // so do " and '

	open string // what ends the text that is open
}

// Inside reports whether the next line begins within a text.
func (q *Quotes) Inside() bool { return q.open != "" }

// Read goes over a line.
func (q *Quotes) Read(text string) {
	if !q.Triple && !q.Single {
		return
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := rest[0]; {
		case q.open != "" && strings.HasPrefix(rest, q.open):
			i += len(q.open)
			q.open = ""
		case q.open != "" && c == '\\':
			i += 2
		case q.open != "":
			i++
		case strings.HasPrefix(rest, q.Comment):
			return
		case c == '"' || c == '\'':
			q.open = rest[:1]
			if q.Triple && len(rest) > 2 && rest[1] == c && rest[2] == c {
				q.open = rest[:3]
			}
			i += len(q.open)
		default:
			i++
		}
	}
	if len(q.open) == 1 && !q.Single {
		q.open = ""
	}
}
