package html

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Classes of tokens in page.css.
const (
	tokKeyword = "tk"
	tokString  = "ts"
	tokNumber  = "tn"
	tokComment = "tc"
	tokName    = "tf" // what is called, or a key
	tokVar     = "tv" // a variable of a shell
)

func isTokenClass(c string) bool {
	return len(c) == 2 && c[0] == 't' && strings.IndexByte("ksncfv", c[1]) >= 0
}

// maxHighlight bounds the code that gets colours, in bytes.
const maxHighlight = 256 << 10

// chroma is no replacement: its registry of languages costs 8.9 ms at every start, and its lexers run backtracking
// expressions over what strangers wrote.

// highlight colors code in one pass, by comments, strings, numbers and words only. Code in another language just
// gets wrong colors.
func highlight(lang, code string) markup {
	g := grammarOf(lang)
	var w writer
	if g == nil || len(code) > maxHighlight {
		w.put("%s", code)
		return w.markup()
	}
	s := scanner{grammar: g, src: code, w: &w}
	s.scan()
	return w.markup()
}

type scanner struct {
	*grammar
	src string
	at  int
	w   *writer
}

// scan colors all of src.
func (s *scanner) scan() {
	from := 0
	lineStart := true
	for s.at < len(s.src) {
		start := s.at
		class := s.token(lineStart)
		c := s.src[start]
		lineStart = c == '\n' || lineStart && (c == ' ' || c == '\t' || c == '-')
		if class == "" {
			continue
		}
		s.w.put("%s", s.src[from:start])
		s.w.put(`<span class="%s">%s</span>`, class, s.src[start:s.at])
		from = s.at
	}
	s.w.put("%s", s.src[from:])
}

// token consumes one token, at least one byte, and returns its class.
func (s *scanner) token(lineStart bool) string {
	rest := s.src[s.at:]
	for _, q := range s.strings {
		if strings.HasPrefix(rest, q.open) && !(q.word && s.inWord()) {
			s.at += len(q.open)
			s.until(q)
			if s.keys && s.before(":") {
				return tokName
			}
			return tokString
		}
	}
	for _, c := range s.comments {
		if strings.HasPrefix(rest, c.open) && (!c.spaced || s.at == 0 ||
			strings.IndexByte(" \t\n;", s.src[s.at-1]) >= 0) {
			s.at += len(c.open)
			s.until(c)
			return tokComment
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	switch {
	case s.dollar && r == '$':
		return s.variable()
	case unicode.IsLetter(r) || r == '_' || r == '@' && s.at+1 < len(s.src):
		return s.word(lineStart)
	case r >= '0' && r <= '9':
		for s.at < len(s.src) && (isWord(s.src[s.at]) || s.src[s.at] == '.') {
			s.at++
		}
		return tokNumber
	}
	s.at += n
	return ""
}

// until consumes a quote or comment up to its end, the end of its line, or the end of the code.
func (s *scanner) until(q quote) {
	for s.at < len(s.src) {
		switch rest := s.src[s.at:]; {
		case q.close == "\n" && rest[0] == '\n':
			return
		case q.close != "\n" && strings.HasPrefix(rest, q.close):
			s.at += len(q.close)
			return
		case rest[0] == '\n' && !q.lines:
			return
		case rest[0] == '\\' && q.escape && len(rest) > 1:
			s.at += 2
		default:
			s.at++
		}
	}
}

func (s *scanner) word(lineStart bool) string {
	start := s.at
	s.at++
	for s.at < len(s.src) && (isWord(s.src[s.at]) || s.hyphens && s.src[s.at] == '-') {
		s.at++
	}
	word := s.src[start:s.at]
	if s.fold {
		word = strings.ToLower(word)
	}
	switch {
	case s.keywords[word]:
		return tokKeyword
	case word[0] == '@':
		return tokName
	case s.keys && lineStart && s.before(":"), !s.keys && !s.dollar && s.at < len(s.src) && s.src[s.at] == '(':
		return tokName
	}
	return ""
}

// variable consumes $name, ${name} or $1; of $( only the dollar.
func (s *scanner) variable() string {
	s.at++
	if s.at == len(s.src) {
		return ""
	}
	switch c := s.src[s.at]; {
	case c == '{':
		for s.at < len(s.src) && s.src[s.at] != '}' && s.src[s.at] != '\n' {
			s.at++
		}
		s.at = min(s.at+1, len(s.src))
	case isWord(c):
		for s.at < len(s.src) && isWord(s.src[s.at]) {
			s.at++
		}
	case strings.IndexByte("?#@*!-$", c) >= 0:
		s.at++
	default:
		return ""
	}
	return tokVar
}

// before reports whether text follows after blanks.
func (s *scanner) before(what string) bool {
	return strings.HasPrefix(strings.TrimLeft(s.src[s.at:min(len(s.src), s.at+64)], " \t"), what)
}

// inWord reports whether the previous character belongs to a word.
func (s *scanner) inWord() bool { return s.at > 0 && isWord(s.src[s.at-1]) }

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// grammar describes a language as far as highlighting needs it.
type grammar struct {
	keywords map[string]bool
	comments []quote
	strings  []quote // the longer first
	dollar   bool    // $ begins a variable
	keys     bool    // words and strings before a colon are keys
	fold     bool    // keywords in any case
	hyphens  bool    // words may hold hyphens
}

// quote is a pair of delimiters: of a string, or a comment.
type quote struct {
	open, close string
	escape      bool // a backslash takes the next character along
	lines       bool // it may go over several lines
	spaced      bool // it begins one only behind white space
	word        bool // it begins one only where no word ends: an apostrophe
}

var (
	hash       = quote{open: "#", close: "\n"}
	shellHash  = quote{open: "#", close: "\n", spaced: true}
	slashes    = quote{open: "//", close: "\n"}
	slashStar  = quote{open: "/*", close: "*/", lines: true}
	dashes     = quote{open: "--", close: "\n"}
	double     = quote{open: `"`, close: `"`, escape: true}
	single     = quote{open: "'", close: "'", escape: true, word: true}
	backtick   = quote{open: "`", close: "`", escape: true, lines: true}
	doubleLong = quote{open: `"`, close: `"`, escape: true, lines: true}
	singleLong = quote{open: "'", close: "'", lines: true, word: true}
	docDouble  = quote{open: `"""`, close: `"""`, escape: true, lines: true}
	docSingle  = quote{open: "'''", close: "'''", escape: true, lines: true}
)

// grammars are built at first use, to keep program starts fast.
var grammars = sync.OnceValue(func() map[string]*grammar {
	python := &grammar{keywords: words(`False None True and as assert async await break case class continue def del
		elif else except finally for from global if import in is lambda match nonlocal ` +
		`not or pass raise return try while
		with yield self`),
		comments: []quote{hash}, strings: []quote{docDouble, docSingle, double, single}}
	shell := &grammar{keywords: words(`if then elif else fi for in do done while until case esac function select time
		local export readonly declare return exit set unset shift trap source alias cd ` +
		`echo printf test read eval exec`),
		comments: []quote{shellHash}, strings: []quote{doubleLong, singleLong}, dollar: true, hyphens: true}
	script := &grammar{keywords: words(`async await break case catch class const continue debugger default delete do
		else export extends false finally for from function if import in instanceof let new null of return static super
		switch this throw true try typeof undefined var void while with yield interface type enum implements private
		public protected readonly as`),
		comments: []quote{slashes, slashStar}, strings: []quote{backtick, double, single}}
	braces := &grammar{keywords: words(`abstract auto bool boolean break byte case catch char class const continue
		default defer delete do double else enum extends extern false final finally float fn for func go goto if impl
		implements import in int interface let long loop map match mod mut namespace new nil null package private
		protected pub public range return select self short signed sizeof static string ` +
		`struct super switch template this
		throw throws trait true try type typedef union unsigned use using val var virtual void volatile when where while
		yield`),
		comments: []quote{slashes, slashStar}, strings: []quote{docDouble, backtick, double, single}}
	hashed := &grammar{keywords: words(`begin break case class const continue def do else elsif elseif end ensure
		export false FALSE for foreach function global if import in let local macro ` +
		`module my next nil NULL package quote
		repeat require rescue return self struct sub then true TRUE undef unless until ` +
		`using when while yield library NA`),
		comments: []quote{hash}, strings: []quote{docDouble, double, single}}
	sql := &grammar{keywords: words(`add all alter and as asc between by case create cross default delete desc
		distinct drop else end exists false from full group having in index inner ` +
		`insert into is join key left like limit
		not null on or order outer primary references right select set table then true union unique update using values
		view when where with`),
		comments: []quote{dashes, slashStar}, strings: []quote{double, singleLong}, fold: true}
	lua := &grammar{keywords: words(`and break do else elseif end false for function goto if in local nil not or ` +
		`repeat return then true until while`),
		comments: []quote{dashes}, strings: []quote{double, single}}
	yaml := &grammar{keywords: words("true false null yes no on off"), comments: []quote{shellHash},
		strings: []quote{double, singleLong}, keys: true, hyphens: true}
	json := &grammar{keywords: words("true false null"), strings: []quote{double}, keys: true}
	toml := &grammar{keywords: words("true false"), comments: []quote{hash},
		strings: []quote{docDouble, double, single}}
	all := map[string]*grammar{}
	for names, g := range map[string]*grammar{
		"python py python2 python3 ipython ipython3 coconut":                                     python,
		"bash sh shell zsh ksh dash fish xonsh console shell-session awk":                        shell,
		"javascript js node nodejs typescript ts jsx tsx mjs":                                    script,
		"c c++ cpp csharp cs go gonb java kotlin rust rs scala swift groovy fsharp dart php zig": braces,
		"r ruby rb julia jl perl octave matlab elixir powershell pwsh make makefile dockerfile":  hashed,
		"sql": sql, "lua haskell": lua, "yaml yml": yaml, "json jsonc json5": json, "toml ini properties": toml,
	} {
		for _, name := range strings.Fields(names) {
			all[name] = g
		}
	}
	return all
})

func grammarOf(lang string) *grammar { return grammars()[strings.ToLower(lang)] }

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
