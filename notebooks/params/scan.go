package params

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// statement is a top-level statement, without its comments.
type statement struct {
	text      string // lines inside brackets are joined
	comment   string // the comment after it
	line, col int    // from 1
	indent    int    // of its line, in characters
}

// codeScanner scans code; it recognizes only comments, strings and brackets.
type codeScanner struct {
	*codeSyntax
	src       string
	pos       int
	line, col int // of pos: line from 1, col from 0, in characters

	fresh  bool // only space so far in the logical line
	depth  int  // of brackets
	text   []byte
	now    statement // line is 0 before its first character
	indent int
	out    []statement
}

// scanStatements finds the top-level statements: those indented like the first one.
func scanStatements(src string, syntax *codeSyntax) []statement {
	s := &codeScanner{codeSyntax: syntax, src: strings.ReplaceAll(src, "\r\n", "\n"), line: 1, fresh: true}
	for s.pos < len(s.src) {
		s.step()
	}
	s.end("")
	var top []statement
	for _, one := range s.out {
		if one.indent == s.out[0].indent {
			top = append(top, one)
		}
	}
	return top
}

func (s *codeScanner) step() {
	rest := s.src[s.pos:]
	c := rest[0]
	switch {
	case s.blockOpen != "" && strings.HasPrefix(rest, s.blockOpen):
		s.skip(through(rest, s.blockOpen, s.blockClose))
	case strings.HasPrefix(rest, s.comment):
		s.commentLine(rest)
	case strings.IndexByte(s.quotes, c) >= 0:
		s.take(s.stringLength(rest))
	case strings.HasPrefix(rest, "\\\n"):
		s.skip(2)
	case c == '\n':
		s.newline()
	case c == ';' && s.depth == 0:
		s.skip(1)
		s.end("")
	default:
		switch c {
		case '(', '[', '{':
			s.depth++
		case ')', ']', '}':
			s.depth = max(0, s.depth-1)
		}
		_, size := utf8.DecodeRuneInString(rest)
		s.take(size)
	}
}

// commentLine reads a comment to the end of its line. It belongs to the statement before it on that line.
func (s *codeScanner) commentLine(rest string) {
	line, _, _ := strings.Cut(rest, "\n")
	s.skip(len(line))
	if s.depth > 0 {
		return
	}
	text := strings.TrimSpace(strings.TrimLeft(line, s.comment))
	switch {
	case s.now.line > 0:
		s.end(text)
	case !s.fresh && len(s.out) > 0:
		s.out[len(s.out)-1].comment = text
	}
}

// through returns the length of a comment that starts with open.
func through(rest, open, close string) int {
	if i := strings.Index(rest[len(open):], close); i >= 0 {
		return len(open) + i + len(close)
	}
	return len(rest)
}

// stringLength returns the length of the string at the start of rest. An unclosed string ends with its line, or with
// the text if it may span lines.
func (s *codeSyntax) stringLength(rest string) int {
	quote := rest[:1]
	long := strings.Contains(s.longQuotes, quote)
	if triple := strings.Repeat(quote, 3); s.tripled && strings.HasPrefix(rest, triple) {
		quote, long = triple, true
	}
	for i := len(quote); i < len(rest); i++ {
		switch {
		case strings.HasPrefix(rest[i:], quote):
			return i + len(quote)
		case rest[i] == '\\':
			i++
		case rest[i] == '\n' && !long:
			return i
		}
	}
	return len(rest)
}

// newline ends a statement, except inside brackets and after an operator.
func (s *codeScanner) newline() {
	s.skip(1)
	text := bytes.TrimRight(s.text, " \t")
	switch {
	case s.depth > 0:
		s.text = text
		for s.pos < len(s.src) && (s.src[s.pos] == ' ' || s.src[s.pos] == '\t') {
			s.skip(1)
		}
	case bytes.HasSuffix(text, []byte("=")), bytes.HasSuffix(text, []byte("<-")):
	default:
		s.end("")
		s.fresh = true
	}
}

func (s *codeScanner) skip(n int) {
	for _, c := range []byte(s.src[s.pos : s.pos+n]) {
		s.pos++
		switch {
		case c == '\n':
			s.line++
			s.col = 0
		case utf8.RuneStart(c):
			s.col++
		}
	}
}

// take adds the next n bytes to the statement.
func (s *codeScanner) take(n int) {
	part := s.src[s.pos : s.pos+n]
	if s.now.line == 0 && strings.TrimSpace(part) != "" {
		s.now.line, s.now.col = s.line, s.col+1
		if s.fresh {
			s.fresh, s.indent = false, s.now.col-1
		}
		s.now.indent = s.indent
	}
	s.text = append(s.text, part...)
	s.skip(n)
}

func (s *codeScanner) end(comment string) {
	if s.now.line > 0 {
		s.now.text, s.now.comment = strings.TrimSpace(string(s.text)), comment
		s.out = append(s.out, s.now)
	}
	s.text = s.text[:0]
	s.now = statement{}
}

// ParseCode reads the assignments of a code-language parameters block (papermill's "parameters" cell), for inspect and
// for reading -p: simple top-level ones, with annotation, default as written, and comment. line is the block's first
// line in the file. For an unknown language it returns none.
func ParseCode(lang string, code []byte, line int) []notebooks.Param {
	var found []notebooks.Param
	switch syntax, ok := codeSyntaxes[strings.ToLower(lang)]; {
	case ok:
		for _, s := range scanStatements(string(code), syntax) {
			found = append(found, syntax.params(s)...)
		}
	case isShell(lang):
		found = shellParams(string(code))
	}
	return lastOfEach(found, line-1)
}

// Unread returns the language of a step that declares parameters in assignments that we cannot read, or "".
func Unread(nb *notebooks.Notebook) string {
	for _, s := range nb.Steps {
		if _, ok := codeSyntaxes[strings.ToLower(s.Lang)]; s.Parameters && !ok && !isShell(s.Lang) {
			return s.Lang
		}
	}
	return ""
}

// lastOfEach keeps the last assignment of each name, as the interpreter would, in order of the first.
func lastOfEach(found []notebooks.Param, offset int) []notebooks.Param {
	at := make(map[string]int)
	var params []notebooks.Param
	for _, p := range found {
		p.Code = true
		p.Line += offset
		if i, ok := at[p.Name]; ok {
			if p.Type == notebooks.TypeAny && p.Declared == "" {
				p.Type, p.Declared = params[i].Type, params[i].Declared
			}
			params[i] = p
			continue
		}
		at[p.Name] = len(params)
		params = append(params, p)
	}
	return params
}

// codeSyntax describes a language as far as needed to find assignments and read literals.
type codeSyntax struct {
	comment               string             // to the end of the line
	blockOpen, blockClose string             // delimiters of multi-line comments; may be ""
	quotes                string             // characters that enclose strings
	longQuotes            string             // quotes whose strings may span lines
	tripled               bool               // """ and ''' enclose strings too
	prefixes              string             // letters allowed right before a string
	names                 string             // characters allowed in names besides letters, digits and _
	declares              *lazyregexp.Regexp // keywords that declare a name; may be nil
	annotation            string             // between a name and its type; "" without annotations
	words                 map[string]notebooks.Value
	floats                bool // a number without a point is a float, as in R
	tuples                bool // a, b = 1, 2 and (1, 2)
	split                 bool // let a = 1, b = 2 declares both
}

var (
	scriptDeclares = lazyregexp.New(`^(export\s+)?(const|let|var)\s+`)
	juliaDeclares  = lazyregexp.New(`^(const|global)\s+`)
)

func boolWords(yes, no string, null ...string) map[string]notebooks.Value {
	words := map[string]notebooks.Value{yes: {Type: notebooks.TypeBool, Bool: true}, no: {Type: notebooks.TypeBool}}
	for _, n := range null {
		words[n] = notebooks.Value{Type: notebooks.TypeNull}
	}
	return words
}

var (
	pythonSyntax = codeSyntax{comment: "#", quotes: `"'`, tripled: true, prefixes: "rRbBuUfF",
		annotation: ":", words: boolWords("True", "False", "None"), tuples: true}
	scriptSyntax = codeSyntax{comment: "//", blockOpen: "/*", blockClose: "*/", quotes: "\"'`", longQuotes: "`",
		names:    "$",
		declares: scriptDeclares, annotation: ":", words: boolWords("true", "false", "null", "undefined"), split: true}
	rSyntax = codeSyntax{comment: "#", quotes: "\"'`", longQuotes: "\"'`", names: ".",
		words: boolWords("TRUE", "FALSE", "NULL"), floats: true}
	juliaSyntax = codeSyntax{comment: "#", blockOpen: "#=", blockClose: "=#", quotes: `"`, longQuotes: `"`,
		tripled: true, names: "!",
		declares: juliaDeclares, annotation: "::", words: boolWords("true", "false", "nothing"), tuples: true}
)

var codeSyntaxes = map[string]*codeSyntax{
	"python": &pythonSyntax, "python3": &pythonSyntax, "py": &pythonSyntax, "ipython": &pythonSyntax,
	"ipython3":   &pythonSyntax,
	"javascript": &scriptSyntax, "js": &scriptSyntax, "node": &scriptSyntax, "mjs": &scriptSyntax,
	"typescript": &scriptSyntax, "ts": &scriptSyntax,
	"r": &rSyntax, "ir": &rSyntax, "julia": &juliaSyntax, "jl": &juliaSyntax,
}

func (s *codeSyntax) isName(text string) bool {
	for i, c := range text {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && !unicode.Is(unicode.M, c)) &&
			!strings.ContainsRune(s.names, c) {
			return false
		}
	}
	return text != ""
}
