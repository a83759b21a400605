package expr

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"markmill/notebooks/lazyregexp"
)

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenValue // a number or a string
	tokenOperator
)

type token struct {
	kind  tokenKind
	text  string
	value any
	col   int
}

func (t token) String() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	return strconv.Quote(t.text)
}

// maxLength is the longest expression, in bytes.
const maxLength = 4096

// tokenPattern has a group for a name, a number, what must not follow a number, and an operator.
var tokenPattern = lazyregexp.New(`^(?:([_\pL][_\pL\pM\p{Nd}]*)` +
	`|((?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([_\pL][_\pL\pM\p{Nd}]*)?` +
	`|(==|!=|<=|>=|&&|\|\||[-<>!()\[\],.+*/]))`)

// words are the operators that are written as words.
var words = map[string]string{"and": "&&", "or": "||", "not": "!", "in": "in"}

func scan(text string) ([]token, error) {
	if len(text) > maxLength {
		return nil, errorf(1, "the expression is longer than %d bytes", maxLength)
	}
	if !utf8.ValidString(text) {
		return nil, errorf(1, "the expression is not UTF-8")
	}
	var tokens []token
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		col := utf8.RuneCountInString(text[:len(text)-len(rest)]) + 1
		if rest == "" {
			return append(tokens, token{kind: tokenEnd, col: col}), nil
		}
		t, err := scanOne(rest, col)
		if err != nil {
			return nil, err
		}
		rest = rest[len(t.text):]
		if op, ok := words[t.text]; ok && t.kind == tokenName {
			t.kind, t.text = tokenOperator, op
		}
		tokens = append(tokens, t)
	}
}

// scanOne reads the token at the start of rest.
func scanOne(rest string, col int) (token, error) {
	t := token{text: rest, col: col}
	if rest[0] == '"' || rest[0] == '\'' {
		return scanString(t)
	}
	found := tokenPattern.FindStringSubmatch(rest)
	switch {
	case found == nil:
		c, _ := utf8.DecodeRuneInString(rest)
		hint := map[rune]string{'=': "; write == to compare", '&': "; write and", '|': "; write or"}[c]
		return t, errorf(col, "%q is not expected here%s", c, hint)
	case found[1] != "":
		t.kind, t.text = tokenName, found[1]
	case found[4] != "":
		t.kind, t.text = tokenOperator, found[4]
	case found[3] != "":
		return t, errorf(col, "%q is not a number", found[0])
	default:
		t.kind, t.text = tokenValue, found[2]
		if n, ok := new(big.Int).SetString(t.text, 10); ok {
			t.value = n
			break
		}
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return t, errorf(col, "%s is out of range", t.text)
		}
		t.value = f
	}
	return t, nil
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', '\\': '\\', '"': '"', '\'': '\''}

// scanString reads the string at the start of the text of t.
func scanString(t token) (token, error) {
	var b strings.Builder
	for i := 1; i < len(t.text); i++ {
		switch c := t.text[i]; c {
		case t.text[0]:
			return token{kind: tokenValue, text: t.text[:i+1], value: b.String(), col: t.col}, nil
		case '\\':
			i++
			if i == len(t.text) || escapes[t.text[i]] == 0 {
				return t, errorf(t.col, `in text a backslash is written \\`)
			}
			b.WriteByte(escapes[t.text[i]])
		default:
			b.WriteByte(c)
		}
	}
	return t, errorf(t.col, "the text that starts here is not closed")
}
