// Package codec is the one place that turns values into JSON and back.
//
// Marshal is canonical: keys sorted, no insignificant space, strict UTF-8, so that equal values
// have equal bytes and can be hashed. Unmarshal is strict: names match by case, a key given
// twice is an error. It imports nothing of this module.
package codec

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/goccy/go-json/jsontext"
	json "github.com/goccy/go-json/v2"
)

// Raw is a JSON value kept as its bytes.
type Raw = jsontext.Value

// Marshal returns the canonical JSON of v: RFC 8785 (names sorted by UTF-16 code units, strings
// in their shortest spelling, no white space), except that the text of a number inside a Raw
// stays as it is. RFC 8785 rewrites every number as a double, which would turn
// 12345678901234567890123 into another number.
func Marshal(v any) ([]byte, error) {
	// The library makes an encoder for a type and another one for pointers to it, which takes longer than to use it.
	if value := reflect.ValueOf(v); value.Kind() == reflect.Struct {
		pointer := reflect.New(value.Type())
		pointer.Elem().Set(value)
		v = pointer.Interface()
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	raw := jsontext.Value(b)
	if err := raw.Canonicalize(canonical...); err != nil {
		return nil, err
	}
	return raw, nil
}

// RawOf returns the canonical JSON of v, null where v has none, as a text that is not UTF-8.
func RawOf(v any) Raw {
	raw, err := Marshal(v)
	if err != nil {
		return Raw("null")
	}
	return raw
}

// Same reports whether two values have the same canonical JSON: white space and the order of names do not count. A
// value without JSON is the same as nothing.
func Same[V any](a, b V) bool {
	one, err := Marshal(a)
	if err != nil {
		return false
	}
	other, err := Marshal(b)
	return err == nil && bytes.Equal(one, other)
}

// IsCanonical reports whether a JSON value is as Marshal writes it. What is no JSON value is an error.
func IsCanonical(value Raw) (bool, error) {
	raw := value.Clone()
	if err := raw.Canonicalize(canonical...); err != nil {
		return false, err
	}
	return bytes.Equal(raw, value), nil
}

// canonical leaves the text of numbers as it is.
var canonical = []jsontext.Options{jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)}

// Indent returns the canonical JSON of v, two spaces a level, for people; a newline ends it.
func Indent(v any) ([]byte, error) {
	b, err := Marshal(v)
	if err == nil {
		b, err = IndentAs(b, "", "  ")
	}
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// IndentAs returns a JSON value as it stands within a file that is indented: each line but the first begins with
// prefix, and each level adds unit. The order of names and the text of numbers stay.
func IndentAs(value Raw, prefix, unit string) ([]byte, error) {
	raw := value.Clone()
	if err := raw.Indent(jsontext.WithIndentPrefix(prefix), jsontext.WithIndent(unit)); err != nil {
		return nil, err
	}
	return raw, nil
}

// Unmarshal reads one JSON value into v.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// UnmarshalKnown is Unmarshal for what people write: a member that v does not have is an error.
func UnmarshalKnown(data []byte, v any) error {
	return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
}

// Decoder reads JSON token by token, for readers that need the order of names or their places.
type Decoder = jsontext.Decoder

// NewDecoder returns a decoder of data that is as strict as Unmarshal.
func NewDecoder(data []byte) *Decoder { return jsontext.NewDecoder(bytes.NewReader(data)) }

// UnmarshalForeign reads what another program wrote, as leniently as most readers do: a key given
// twice counts the last time, and bytes that are no UTF-8 and lone surrogates become U+FFFD.
func UnmarshalForeign(data []byte, v any) error {
	return json.Unmarshal(data, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// AppendText appends a text as JSON, in the shortest spelling: as RFC 8785 has it, and Python's json without
// ensure_ascii. What of it is not UTF-8 becomes U+FFFD. also says which characters are spelled as \u escapes besides
// those that must be; nil says none.
func AppendText(b []byte, text string, also func(r rune) bool) []byte {
	if also == nil {
		b, _ = jsontext.AppendQuote(b, text) // the error says that text is not UTF-8
		return b
	}
	for _, r := range string(AppendText(nil, text, nil)) {
		if also(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}
