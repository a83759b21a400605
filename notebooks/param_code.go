package notebooks

import (
	"strings"
	"unicode"

	"markmill/notebooks/lazyregexp"
)

// parseCodeParams reads the assignments of a code-language parameters block (papermill's
// "parameters" cell) for inspect and for reading -p: simple ones at the top level, with their
// annotation, default as written, and comment. line is the block's first line in the file. A
// language that is not known has none.
func parseCodeParams(_, lang string, code []byte, line int) []Param {
	var found []Param
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

// Unread is the language of a step that declares parameters in assignments which nobody here can read, "" without one.
func (nb *Notebook) Unread() string {
	for _, s := range nb.Steps {
		if _, ok := codeSyntaxes[strings.ToLower(s.Lang)]; s.Parameters && !ok && !isShell(s.Lang) {
			return s.Lang
		}
	}
	return ""
}

// lastOfEach keeps the last assignment of each name, in order of the first, as the interpreter
// would.
func lastOfEach(found []Param, offset int) []Param {
	at := make(map[string]int)
	var params []Param
	for _, p := range found {
		p.Code = true
		p.Line += offset
		if i, ok := at[p.Name]; ok {
			if p.Type == TypeAny && p.Declared == "" {
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

// codeSyntax is what must be known of a language to find its assignments and read its literals.
type codeSyntax struct {
	comment               string             // to the end of the line
	blockOpen, blockClose string             // a comment that may span lines; "" without one
	quotes                string             // characters that enclose strings
	longQuotes            string             // those of them whose strings may span lines
	tripled               bool               // """ and ''' enclose strings too
	prefixes              string             // letters that may stand right before a string
	names                 string             // characters of names besides letters, digits and _
	declares              *lazyregexp.Regexp // the words before a name that declare it; nil without
	annotation            string             // between a name and its type; "" without annotations
	words                 map[string]Value
	floats                bool // a number without a point is a float, as in R
	tuples                bool // a, b = 1, 2 and (1, 2)
	split                 bool // let a = 1, b = 2 declares both
}

var (
	scriptDeclares = lazyregexp.New(`^(export\s+)?(const|let|var)\s+`)
	juliaDeclares  = lazyregexp.New(`^(const|global)\s+`)
)

func boolWords(yes, no string, null ...string) map[string]Value {
	words := map[string]Value{yes: {Type: TypeBool, Bool: true}, no: {Type: TypeBool}}
	for _, n := range null {
		words[n] = Value{Type: TypeNull}
	}
	return words
}

var (
	pythonSyntax = codeSyntax{comment: "#", quotes: `"'`, tripled: true, prefixes: "rRbBuUfF",
		annotation: ":", words: boolWords("True", "False", "None"), tuples: true}
	scriptSyntax = codeSyntax{comment: "//", blockOpen: "/*", blockClose: "*/", quotes: "\"'`", longQuotes: "`", names: "$",
		declares: scriptDeclares, annotation: ":", words: boolWords("true", "false", "null", "undefined"), split: true}
	rSyntax = codeSyntax{comment: "#", quotes: "\"'`", longQuotes: "\"'`", names: ".",
		words: boolWords("TRUE", "FALSE", "NULL"), floats: true}
	juliaSyntax = codeSyntax{comment: "#", blockOpen: "#=", blockClose: "=#", quotes: `"`, longQuotes: `"`, tripled: true, names: "!",
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
