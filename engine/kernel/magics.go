package kernel

import (
	"bytes"
	"strings"

	"markmill/notebooks/lazyregexp"
)

var (
	ipythonAssign = lazyregexp.New(`^[A-Za-z_][\w.,\[\]'" ]*=\s*[%!]\s*[A-Za-z_./]`)
	ipythonHelp   = lazyregexp.New(`^\??[A-Za-z_%][\w.%*]*\?{1,2}$`)
	ipythonImport = lazyregexp.New(`^(?:import|from)\s+(?:IPython|ipywidgets)\b|\bget_ipython\s*\(`)
)

// NeedsIPython finds Python code that only IPython understands: magics (%time), commands of the shell (!ls), help
// (name?), and IPython's own modules. It returns the line, from 1, and the text of the first, or 0. Strings, comments
// and the inside of brackets do not count.
func NeedsIPython(code []byte) (line int, text string) {
	var open pythonState
	for n, raw := range bytes.Split(code, []byte("\n")) {
		start, trimmed := open.atStatement(), strings.TrimSpace(string(raw))
		if start && trimmed != "" {
			switch {
			case strings.HasPrefix(trimmed, "%"), strings.HasPrefix(trimmed, "!"), strings.HasPrefix(trimmed, "?"),
				ipythonHelp.MatchString(trimmed), ipythonAssign.MatchString(trimmed),
				ipythonImport.MatchString(trimmed):
				return n + 1, trimmed
			}
		}
		open.line(string(raw))
	}
	return 0, ""
}

// pythonState is what is open at the end of a line of Python: a string over several lines, brackets, a backslash.
type pythonState struct {
	quote    string
	brackets int
	joined   bool
}

// atStatement reports whether a new statement begins on the next line.
func (s *pythonState) atStatement() bool { return s.quote == "" && s.brackets == 0 && !s.joined }

func (s *pythonState) line(text string) {
	s.joined = false
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case c == '\\':
			s.joined = i == len(text)-1 && s.quote == ""
			i++
		case s.quote != "":
			if strings.HasPrefix(rest, s.quote) {
				i += len(s.quote) - 1
				s.quote = ""
			}
		case c == '#':
			return
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
			s.quote = rest[:3]
			i += 2
		case c == '"' || c == '\'':
			s.quote = rest[:1]
		case c == '(' || c == '[' || c == '{':
			s.brackets++
		case c == ')' || c == ']' || c == '}':
			s.brackets = max(0, s.brackets-1)
		}
	}
	if len(s.quote) == 1 { // such a string ends with its line
		s.quote = ""
	}
}
