package params

import (
	"strings"
	"unicode"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

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
