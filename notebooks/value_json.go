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
		b = append(b, '[')
		for i, e := range v.List {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	case TypeMap:
		return appendJSONMap(b, v.Entries)
	case TypeBytes:
		return appendQuoted(b, base64.StdEncoding.EncodeToString([]byte(v.Text)))
	case TypeString, TypePath, TypeDuration, TypeDate, TypeSecret:
		return appendQuoted(b, v.String())
	}
	return append(b, "null"...)
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
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
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
		b = append(appendQuoted(b, name), ':')
		b = appendJSON(b, e.Value)
	}
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
