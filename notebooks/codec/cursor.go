package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"
)

// maxDepth is how deep arrays and objects may stand in each other; the decoder of this package has the same limit.
const maxDepth = 10_000

// Span is a part of a text in bytes: Start is its first, End the one after its last.
type Span struct{ Start, End int }

// Of returns the part of the text.
func (s Span) Of(text []byte) []byte { return text[s.Start:s.End:s.End] }

// None reports whether there is no such part.
func (s Span) None() bool { return s.End == 0 }

// SyntaxError says where a text is not JSON and what was expected there.
type SyntaxError struct {
	Offset int    // in bytes
	Want   string // in words
	Found  string // a character in quotes, or words
}

const endOfFile = "the end of the file"

// AtEnd reports whether the text ended before the value did: it was cut.
func (e *SyntaxError) AtEnd() bool { return e.Found == endOfFile }

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("offset %d: expected %s, found %s", e.Offset, e.Want, e.Found)
}

// Cursor walks over JSON where it stands and gives the place of each value, so that a writer can leave alone what
// it does not change. What is skipped is checked, but neither decoded nor copied.
//
// It reads what Python's json module reads, because that is what writes notebooks: NaN, Infinity and -Infinity are
// numbers, an escape may be half of a surrogate pair, and of a name that is given twice the last one counts. The text
// must be UTF-8; that is not looked at here.
type Cursor struct {
	src   []byte
	at    int
	depth int
}

// NewCursor returns a cursor at the offset of a text.
func NewCursor(src []byte, offset int) *Cursor { return &Cursor{src: src, at: offset} }

// Offset is where the cursor stands.
func (c *Cursor) Offset() int { return c.at }

// Kind returns the kind of the value that comes next: one of '{' '[' '"' 't' 'f' 'n', '0' for a number, and 'x' for
// what is none of them. It moves the cursor to where the value begins.
func (c *Cursor) Kind() byte {
	c.space()
	if c.at == len(c.src) {
		return 'x'
	}
	switch b := c.src[c.at]; b {
	case '{', '[', '"', 't', 'f', 'n':
		return b
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'N', 'I':
		return '0'
	}
	return 'x'
}

// Object walks over an object. member is called where a value begins, with its name and the place of the name; it must
// read or skip the value. The name is only good until member returns.
func (c *Cursor) Object(member func(name []byte, at Span) error) (Span, error) {
	return c.container('{', '}', "an object", func() error {
		key, err := c.text("a name in quotes")
		if err != nil {
			return err
		}
		c.space()
		if !c.take(':') {
			return c.Expected("a colon")
		}
		c.space()
		return member(c.decoded(key), key)
	})
}

// Array walks over an array. element is called where each value begins, and must read or skip it.
func (c *Cursor) Array(element func() error) (Span, error) {
	return c.container('[', ']', "an array", element)
}

func (c *Cursor) container(open, end byte, what string, item func() error) (Span, error) {
	c.space()
	span := Span{Start: c.at}
	if !c.take(open) {
		return span, c.Expected(what)
	}
	if c.depth++; c.depth > maxDepth {
		return span, c.Expected(fmt.Sprintf("at most %d arrays and objects in each other", maxDepth))
	}
	defer func() { c.depth-- }()
	c.space()
	for first := true; !c.take(end); first = false {
		if !first && !c.take(',') {
			return span, c.Expected("a comma or " + string(end))
		}
		c.space()
		if err := item(); err != nil {
			return span, err
		}
		c.space()
	}
	span.End = c.at
	return span, nil
}

// String reads a text. Half of a surrogate pair, which UTF-8 cannot hold, is read as U+FFFD.
func (c *Cursor) String() (string, error) {
	span, err := c.text("a text in quotes")
	if err != nil {
		return "", err
	}
	return string(c.decoded(span)), nil
}

// Skip reads over a value and says where it stands.
func (c *Cursor) Skip() (Span, error) {
	switch c.Kind() {
	case '{':
		return c.Object(func([]byte, Span) error { _, err := c.Skip(); return err })
	case '[':
		return c.Array(func() error { _, err := c.Skip(); return err })
	case '"':
		return c.text("")
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	case '0':
		return c.number()
	}
	return Span{c.at, c.at}, c.Expected("a value")
}

// End checks that nothing but space follows.
func (c *Cursor) End() error {
	if c.space(); c.at < len(c.src) {
		return c.Expected(endOfFile)
	}
	return nil
}

// Expected returns the error that something else stands where the cursor is.
func (c *Cursor) Expected(want string) error {
	found := endOfFile
	if c.at < len(c.src) {
		r, _ := utf8.DecodeRune(c.src[c.at:])
		found = strconv.QuoteRune(r)
	}
	return &SyntaxError{Offset: c.at, Want: want, Found: found}
}

func (c *Cursor) space() {
	for c.at < len(c.src) {
		switch c.src[c.at] {
		case ' ', '\n', '\t', '\r':
			c.at++
		default:
			return
		}
	}
}

func (c *Cursor) take(b byte) bool {
	if c.at < len(c.src) && c.src[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *Cursor) word(word string) (Span, error) {
	span := Span{c.at, c.at + len(word)}
	if span.End > len(c.src) || string(c.src[span.Start:span.End]) != word {
		return span, c.Expected(word)
	}
	c.at = span.End
	return span, nil
}

func (c *Cursor) number() (Span, error) {
	start := c.at
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(c.src[c.at:], []byte(word)) {
			return c.word(word)
		}
	}
	c.take('-')
	if !c.take('0') && !c.digits() {
		return Span{start, c.at}, c.Expected("a digit")
	}
	if c.take('.') && !c.digits() {
		return Span{start, c.at}, c.Expected("a digit")
	}
	if c.take('e') || c.take('E') {
		_ = c.take('+') || c.take('-')
		if !c.digits() {
			return Span{start, c.at}, c.Expected("a digit")
		}
	}
	return Span{start, c.at}, nil
}

func (c *Cursor) digits() bool {
	start := c.at
	for c.at < len(c.src) && '0' <= c.src[c.at] && c.src[c.at] <= '9' {
		c.at++
	}
	return c.at > start
}

// text reads over a text and gives its place, with its quotes.
func (c *Cursor) text(want string) (Span, error) {
	span := Span{Start: c.at}
	if !c.take('"') {
		return span, c.Expected(want)
	}
	for {
		c.at += plain(c.src[c.at:])
		if c.at == len(c.src) {
			return span, &SyntaxError{Offset: span.Start, Want: "a quote at the end of this text", Found: endOfFile}
		}
		switch c.src[c.at] {
		case '"':
			c.at++
			span.End = c.at
			return span, nil
		case '\\':
			if err := c.escape(); err != nil {
				return span, err
			}
		default:
			return span, c.Expected("an escape (\\n, \\t, \\u0000) or the quote that ends the text")
		}
	}
}

func (c *Cursor) escape() error {
	c.at++
	if c.at == len(c.src) {
		return c.Expected("the rest of an escape")
	}
	switch c.src[c.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.at++
		return nil
	case 'u':
		for range 4 {
			if c.at++; c.at == len(c.src) || bytes.IndexByte([]byte("0123456789abcdefABCDEF"), c.src[c.at]) < 0 {
				return c.Expected("four hexadecimal digits")
			}
		}
		c.at++
		return nil
	}
	return c.Expected("one of \" \\ / b f n r t u")
}

// plain counts the bytes up to the first that is special in a text: a quote, a backslash or a control character. Most
// of a notebook are texts (pictures, tables, logs), so eight bytes are looked at a time.
func plain(text []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(text); n += 8 {
		word := binary.LittleEndian.Uint64(text[n:])
		quote, slash := word^('"'*ones), word^('\\'*ones)
		// The lowest bit that is set is exact; a borrow can only set higher ones.
		special := ((word - 0x20*ones) &^ word) | ((quote - ones) &^ quote) | ((slash - ones) &^ slash)
		if special &= highs; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for ; n < len(text); n++ {
		if b := text[n]; b < 0x20 || b == '"' || b == '\\' {
			break
		}
	}
	return n
}

// decoded returns what a text in quotes, which was checked, says.
func (c *Cursor) decoded(text Span) []byte {
	quoted := text.Of(c.src)
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	body, _ := jsontext.AppendUnquote(nil, quoted) // the error says that U+FFFD stands for half of a surrogate pair
	return body
}
