package notebooks

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"

	"markmill/notebooks/codec"
)

// JSON returns the value as people and records read it. Integers are numbers of any size, NaN and the infinities the
// strings "NaN", "Infinity" and "-Infinity"; dates, paths and durations are their text, bytes base64, a secret "***". A
// map is an object: keys that are not strings are their text, with the type behind it where two keys would have the
// same name.
func (v Value) JSON() codec.Raw { return appendJSON(nil, v) }

func appendJSON(b []byte, v Value) []byte {
	switch v.Type {
	case TypeBool, TypeInt:
		return append(b, v.String()...)
	case TypeFloat:
		return appendJSONFloat(b, v.Float)
	case TypeList:
		return append(appendEach(append(b, '['), v.List, appendJSON), ']')
	case TypeMap:
		return appendJSONMap(b, v.Entries)
	case TypeBytes:
		return appendQuoted(b, base64.StdEncoding.EncodeToString([]byte(v.Text)))
	case TypeString, TypePath, TypeDuration, TypeDate, TypeSecret:
		return appendQuoted(b, v.String())
	}
	return append(b, "null"...)
}

// appendEach appends each of a list, with commas between them.
func appendEach[T any](b []byte, list []T, add func([]byte, T) []byte) []byte {
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, e)
	}
	return b
}

func appendJSONFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	return append(b, floatText(f)...)
}

func appendJSONMap(b []byte, entries []Entry) []byte {
	used := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e.Key.Type == TypeString {
			used[jsonText(e.Key.Text)] = true
		}
	}
	b = appendEach(append(b, '{'), entries, func(b []byte, e Entry) []byte {
		name := jsonText(e.Key.String())
		if e.Key.Type == TypeNull {
			name = "null"
		}
		if e.Key.Type != TypeString {
			for used[name] {
				name += fmt.Sprintf(" (%s)", e.Key.Type)
			}
			used[name] = true
		}
		return appendJSON(append(appendQuoted(b, name), ':'), e.Value)
	})
	return append(b, '}')
}

// jsonText is s as JSON can hold it: bytes that are not UTF-8 become U+FFFD. Bind lets none in.
func jsonText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func appendQuoted(b []byte, s string) []byte {
	quoted, err := codec.Marshal(jsonText(s))
	if err != nil {
		panic("notebooks: a valid UTF-8 string has no JSON: " + err.Error())
	}
	return append(b, quoted...)
}
