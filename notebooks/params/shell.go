package params

import (
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

func isShell(lang string) bool {
	return isOneOf(strings.ToLower(lang), "bash", "sh", "zsh", "dash", "ksh", "shell")
}

var (
	shellDeclares = lazyregexp.New(`^(export|readonly|declare|typeset)(\s+-[A-Za-z]+)*\s+`)
	shellAssigns  = lazyregexp.New(`^([A-Za-z_][A-Za-z0-9_]*)=`)
	shellDefault  = lazyregexp.New(`^:\s+"?\$\{([A-Za-z_][A-Za-z0-9_]*):?=([^{}"$` + "`" + `\\]*)\}"?\s*(?:#\s*(.*))?$`)
	shellHereDoc  = lazyregexp.New(`<<-?\s*\\?['"]?([A-Za-z_][A-Za-z0-9_]*)['"]?`)
	shellPlain    = lazyregexp.New(`^[\p{L}\p{N}_./:,@%+=-]*$`)
	shellNumber   = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
)

// shellParams finds the assignments of a shell block: unindented lines that only assign, and the idiom :
// "${name:=default}".
func shellParams(src string) []notebooks.Param {
	var found []notebooks.Param
	src = strings.ReplaceAll(src, "\r\n", "\n")
	lines := strings.SplitAfter(src, "\n")
	for i := 0; i < len(lines); i++ {
		rest := src[:min(len(src), shellSpan)]
		here, used := shellLine(rest)
		if used == len(rest) && len(rest) < len(src) {
			here, used = nil, 0 // longer than an assignment may be
		}
		src = src[len(lines[i]):]
		for _, p := range here {
			p.Line, p.Col = i+1, 1
			found = append(found, p)
		}
		if doc := shellHereDoc.FindStringSubmatch(lines[i]); doc != nil && len(here) == 0 {
			for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != doc[1] {
				i++
				src = src[len(lines[i]):]
			}
			continue
		}
		for range strings.Count(rest[:used], "\n") - 1 {
			i++
			src = src[len(lines[i]):]
		}
	}
	return found
}

// shellSpan bounds the bytes of one assignment.
const shellSpan = 16 << 10

// shellLine reads the assignments at the start of a text, to the end of their line, and returns their length. A line
// that does anything else has none.
func shellLine(rest string) ([]notebooks.Param, int) {
	line, _, _ := strings.Cut(rest, "\n")
	if m := shellDefault.FindStringSubmatch(line); m != nil {
		p := notebooks.Param{Name: m[1], DefaultSrc: m[2], Help: m[3], Type: notebooks.TypeString, HasDefault: true}
		p.Default = shellValue(m[2])
		p.Type = p.Default.Type
		return []notebooks.Param{p}, 0
	}
	var found []notebooks.Param
	pos := len(shellDeclares.FindString(rest))
	for {
		m := shellAssigns.FindStringSubmatch(rest[pos:])
		if m == nil {
			break
		}
		start := pos + len(m[0])
		end := start + shellWord(rest[start:])
		p := notebooks.Param{Name: m[1], DefaultSrc: rest[start:end], Type: notebooks.TypeAny}
		if p.Default, p.HasDefault = shellLiteral(p.DefaultSrc); p.HasDefault {
			p.Type = p.Default.Type
		}
		found = append(found, p)
		pos = end
		for pos < len(rest) && strings.IndexByte(" \t;", rest[pos]) >= 0 {
			pos++
		}
	}
	if pos < len(rest) && rest[pos] == '#' && len(found) > 0 {
		comment, _, _ := strings.Cut(rest[pos:], "\n")
		found[len(found)-1].Help = strings.TrimSpace(strings.TrimLeft(comment, "#"))
		pos += len(comment)
	}
	if pos < len(rest) && rest[pos] != '\n' {
		return nil, 0 // NAME=value command: the command's own environment
	}
	return found, min(pos+1, len(rest))
}

// shellWord returns the length of the word at the start of a text, keeping quotes and substitutions whole.
func shellWord(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '\'' || c == '"' || c == '`':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && c != '\'' {
					i++
				}
			}
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth--
		case depth <= 0 && strings.IndexByte(" \t\n;&|<>", c) >= 0:
			return i
		}
	}
	return len(s)
}

// shellLiteral reads a word that means itself in any environment.
func shellLiteral(word string) (notebooks.Value, bool) {
	if shellPlain.MatchString(word) {
		return shellValue(word), true
	}
	var b strings.Builder
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRuneInString(word[i:])
		switch c := word[i]; {
		case c == '\'' || c == '"':
			body, _, ok := strings.Cut(word[i+1:], string(c))
			if !ok || c == '"' && strings.ContainsAny(body, "$`\\") {
				return notebooks.Value{}, false
			}
			b.WriteString(body)
			size = len(body) + 2
		case !shellPlain.MatchString(word[i : i+size]):
			return notebooks.Value{}, false
		default:
			b.WriteString(word[i : i+size])
		}
		i += size
	}
	return notebooks.Value{Type: notebooks.TypeString, Text: b.String()}, true
}

// shellValue infers the type of an unquoted word: a shell knows only text.
func shellValue(word string) notebooks.Value {
	switch {
	case word == "true" || word == "false":
		return notebooks.Value{Type: notebooks.TypeBool, Bool: word == "true"}
	case shellNumber.MatchString(word):
		return inferText(word)
	}
	return notebooks.Value{Type: notebooks.TypeString, Text: word}
}
