package expr

import (
	"markmill/notebooks/lazyregexp"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

var (
	numberPattern = lazyregexp.New(`^([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?`)
	operators     = []string{"==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ",", ".", "+", "-",
		"*", "/"}
	// words are the operators that are written as words.
	words = map[string]string{"and": "&&", "or": "||", "not": "!", "in": "in"}
)

func scan(text string) ([]token, error) {
	if len(text) > maxLength {
		return nil, errorf(1, "the expression is longer than %d bytes", maxLength)
	}
	if !utf8.ValidString(text) {
		return nil, errorf(1, "the expression is not UTF-8")
	}
	var tokens []token
	for rest := text; ; {
		trimmed := strings.TrimLeft(rest, " \t\r\n")
		col := utf8.RuneCountInString(text[:len(text)-len(trimmed)]) + 1
		rest = trimmed
		if rest == "" {
			return append(tokens, token{kind: tokenEnd, col: col}), nil
		}
		t, length, err := scanOne(rest, col)
		if err != nil {
			return nil, err
		}
		t.col = col
		tokens = append(tokens, t)
		rest = rest[length:]
	}
}

func scanOne(rest string, col int) (token, int, error) {
	if n := nameLength(rest); n > 0 {
		if op, ok := words[rest[:n]]; ok {
			return token{kind: tokenOperator, text: op}, n, nil
		}
		return token{kind: tokenName, text: rest[:n]}, n, nil
	}
	if number := numberPattern.FindString(rest); number != "" {
		if after := nameLength(rest[len(number):]); after > 0 {
			return token{}, 0, errorf(col, "%q is not a number", rest[:len(number)+after])
		}
		return scanNumber(number, col)
	}
	if rest[0] == '"' || rest[0] == '\'' {
		return scanString(rest, col)
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return token{kind: tokenOperator, text: op}, len(op), nil
		}
	}
	c, _ := utf8.DecodeRuneInString(rest)
	hint := ""
	switch c {
	case '=':
		hint = "; write == to compare"
	case '&':
		hint = "; write and"
	case '|':
		hint = "; write or"
	}
	return token{}, 0, errorf(col, "%q is not expected here%s", c, hint)
}

func nameLength(s string) int {
	for i, c := range s {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && !unicode.Is(unicode.M, c)) {
			return i
		}
	}
	return len(s)
}

func scanNumber(text string, col int) (token, int, error) {
	if !strings.ContainsAny(text, ".eE") {
		n, _ := new(big.Int).SetString(text, 10)
		return token{kind: tokenValue, text: text, value: n}, len(text), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return token{}, 0, errorf(col, "%s is out of range", text)
	}
	return token{kind: tokenValue, text: text, value: f}, len(text), nil
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', '\\': '\\', '"': '"', '\'': '\''}

func scanString(rest string, col int) (token, int, error) {
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; c {
		case rest[0]:
			return token{kind: tokenValue, text: rest[:i+1], value: b.String()}, i + 1, nil
		case '\\':
			i++
			if i == len(rest) || escapes[rest[i]] == 0 {
				return token{}, 0, errorf(col, `in text a backslash is written \\`)
			}
			b.WriteByte(escapes[rest[i]])
		default:
			b.WriteByte(c)
		}
	}
	return token{}, 0, errorf(col, "the text that starts here is not closed")
}
