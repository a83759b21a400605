package params

import (
	"strings"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// A shell expands an unset variable to the empty string. If its name is close to a parameter's, it is probably a typo.

// Unset is a variable that a shell step reads and nothing in the notebook sets, and whose name is close to a
// parameter's.
type Unset struct {
	Step      *notebooks.Step
	Name      string
	Near      string // the parameter
	Line, Col int
}

// Warning returns the message.
func (u Unset) Warning(file string) *notebooks.Error {
	return &notebooks.Error{Kind: notebooks.KindParameter, File: file, Line: u.Line, Col: u.Col, Step: u.Step.ID,
		Msg: "$" + u.Name + " is never set", Hint: "did you mean $" + u.Near + "?"}
}

// UnsetNames finds such variables, each once per step. known reports whether the environment of steps has a name.
func UnsetNames(nb *notebooks.Notebook, known func(name string) bool) []Unset {
	var params []string
	for _, p := range nb.Params {
		params = append(params, p.Name)
	}
	if len(params) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, name := range nb.Front.Secrets {
		set[name] = true
	}
	for name := range nb.Front.Env {
		set[name] = true
	}
	for _, name := range params {
		set[name] = true
	}
	for _, s := range nb.Steps {
		for name := range s.Env {
			set[name] = true
		}
		// Any command with the name as a word may set it: read, a loop, printf -v, a function called with the name.
		for _, word := range shellWords.FindAllString(string(s.Code), -1) {
			if word[0] != '$' {
				set[word] = true
			}
		}
	}
	var found []Unset
	for _, s := range nb.Steps {
		if !isShell(s.Lang) {
			continue
		}
		told := map[string]bool{}
		for _, r := range shellReads(string(s.Code)) {
			if set[r.name] || told[r.name] || known(r.name) || shellOwn.MatchString(r.name) {
				continue
			}
			told[r.name] = true
			if near := notebooks.Suggest(r.name, params); near != "" {
				found = append(found, Unset{s, r.name, near, s.CodeLine + r.line, r.col})
			}
		}
	}
	return found
}

var (
	shellWords = lazyregexp.New(`\$?\{?[#!]?[A-Za-z_][A-Za-z0-9_]*`)
	shellRead  = lazyregexp.New(`^(?:\$([A-Za-z_][A-Za-z0-9_]*)|\$\{#?([A-Za-z_][A-Za-z0-9_]*)(\[[^]}]*\])?` +
		`([^A-Za-z0-9_\[]))`)
	shellOwn = lazyregexp.New(`^(?:BASH|ZSH|COMP_|MARKMILL_|_$|` +
		`(?:OPTARG|OPTIND|OPTERR|PWD|OLDPWD|PPID|UID|EUID|GROUPS|HOSTNAME|HOSTTYPE|MACHTYPE|` +
		`OSTYPE|LINENO|RANDOM|SRANDOM|SECONDS|EPOCHSECONDS|EPOCHREALTIME|SHLVL|SHELLOPTS|REPLY|MAPFILE|FUNCNAME|` +
		`DIRSTACK|PIPESTATUS|IFS|PATH|PS[0-4]|HISTCMD|TMPDIR|COPROC|status|pipestatus|argv)$)`)
)

// nameAt is a variable reference; line counts from 0, column from 1.
type nameAt struct {
	name      string
	line, col int
}

// shellReads finds the variables that a shell text reads and that expand to nothing when unset. It skips single quotes,
// comments, here-documents with a quoted delimiter, ${name-default} and the like.
func shellReads(code string) []nameAt {
	var found []nameAt
	double, word := false, true // within "…"; where a comment may begin
	var documents []string      // delimiters of the here-documents that start after this line; "" for an expanded one
	line, begin := 0, 0
	for i := 0; i < len(code); {
		c := code[i]
		comment := word
		word = c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '(' || c == '&' || c == '|'
		switch {
		case c == '\n':
			i++
			line, begin = line+1, i
			for _, end := range documents {
				for i < len(code) && end != "" {
					text, _, _ := strings.Cut(code[i:], "\n")
					i += min(len(text)+1, len(code)-i)
					line, begin = line+1, i
					if strings.TrimLeft(text, "\t") == end {
						break
					}
				}
			}
			documents = nil
		case c == '\\':
			i += 2
		case c == '"':
			double = !double
			i++
		case double && c != '$':
			i++
		case c == '\'' || c == '$' && !double && strings.HasPrefix(code[i:], "$'"):
			escapes := c == '$'
			if i++; escapes {
				i++
			}
			for ; i < len(code) && code[i] != '\''; i++ {
				if code[i] == '\n' {
					line, begin = line+1, i+1
				} else if escapes && code[i] == '\\' {
					i++
				}
			}
			i++
		case c == '#' && comment:
			if n := strings.IndexByte(code[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(code)
			}
		case c == '<' && strings.HasPrefix(code[i:], "<<"):
			if strings.HasPrefix(code[i:], "<<<") {
				i += 3
				continue
			}
			if doc := shellHereDoc.FindStringSubmatch(code[i:]); doc != nil && strings.HasPrefix(code[i:], doc[0]) {
				if strings.ContainsAny(doc[0], `'"\`) {
					documents = append(documents, doc[1])
				}
				i += len(doc[0])
				continue
			}
			i += 2
		case c == '$':
			m := shellRead.FindStringSubmatch(code[i:])
			if m == nil {
				i++
				continue
			}
			name := m[1]
			if name == "" && !strings.ContainsAny(m[4], "-+?=:") {
				name = m[2]
			}
			if m[4] == ":" { // ${name:-x} has a default, ${name:0:3} has none
				if rest := code[i+len(m[0]):]; rest == "" || !strings.ContainsAny(rest[:1], "-+?=") {
					name = m[2]
				}
			}
			if name != "" {
				found = append(found, nameAt{name, line, 1 + utf8.RuneCountInString(code[begin:i])})
			}
			i += len(m[0])
			if last := m[4]; last == "\"" || last == "\n" || last == "\\" || last == "$" || last == "'" {
				i -= len(last)
			}
		default:
			i++
		}
	}
	return found
}
