package notebooks

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/notebooks/codec"
)

// Type is the type of a parameter's value.
type Type string

const (
	TypeNull     Type = "null"
	TypeInt      Type = "int"      // any size: kept as decimal text
	TypeFloat    Type = "float"    // IEEE 754 double, NaN and infinities included
	TypeBool     Type = "bool"     //
	TypeString   Type = "string"   //
	TypeList     Type = "list"     //
	TypeMap      Type = "map"      // ordered; keys are values of any scalar type
	TypePath     Type = "path"     // a string that names a file
	TypeDuration Type = "duration" // Text as typed ("1h30m"); Seconds in Float
	TypeDate     Type = "date"     // ISO 8601 date or date-time, as typed
	TypeBytes    Type = "bytes"    // YAML !!binary
	TypeSecret   Type = "secret"   // a string that is masked wherever it would be shown
	TypeAny      Type = "any"      // declared without a type or default
)

// Value is one parameter value. It is immutable; only the fields of its Type are set.
type Value struct {
	Type    Type
	Text    string  // int (decimal), string, path, duration, date, bytes (raw), secret
	Float   float64 // float; duration in seconds
	Bool    bool
	List    []Value
	Entries []Entry // map
}

// Entry is one pair of a map.
type Entry struct{ Key, Value Value }

// Param is one declared parameter.
type Param struct {
	Name       string
	Type       Type
	Declared   string // type as written in a code-language block ("List[str]"), else ""
	Default    Value
	HasDefault bool
	DefaultSrc string // default as written, for inspect
	Required   bool
	Help       string
	Enum       []Value
	Min, Max   *Value
	Env        string // environment variable that gives the value when nothing else does
	Line, Col  int    // where it is declared, from 1
	// Code is true for an assignment of a code-language parameters block: its default is the
	// interpreter's business (Default may be unknown: HasDefault false, DefaultSrc set).
	Code bool
}

// Bound is a parameter with the value that a run uses.
type Bound struct {
	Param Param
	Value Value
	From  string // "default", "-p", "-f params.yaml", "env API_TOKEN", …
	Given bool   // not from the notebook's default
}

// masked is what stands for a secret wherever a value is shown.
const masked = "***"

// String returns the value as a shell variable or an output path shows it: null is empty, lists and
// maps are JSON, bytes are base64. A secret shows as "***"; see Reveal.
func (v Value) String() string {
	switch v.Type {
	case TypeBool:
		return strconv.FormatBool(v.Bool)
	case TypeFloat:
		return floatText(v.Float)
	case TypeList, TypeMap:
		return string(v.JSON())
	case TypeBytes:
		return base64.StdEncoding.EncodeToString([]byte(v.Text))
	case TypeSecret:
		return masked
	case TypeInt, TypeString, TypePath, TypeDuration, TypeDate:
		return v.Text
	}
	return ""
}

// Reveal is String, but a secret shows itself. Only what hands values to a session may call it.
func (v Value) Reveal() string {
	if v.Type == TypeSecret {
		return v.Text
	}
	return v.String()
}

// Equal reports whether two values are of one type and mean the same: durations by their length,
// NaN equals NaN, -0.0 is not 0.0, maps in any order of their entries.
func (v Value) Equal(w Value) bool {
	if v.Type != w.Type {
		return false
	}
	switch v.Type {
	case TypeBool:
		return v.Bool == w.Bool
	case TypeFloat:
		return math.Float64bits(v.Float) == math.Float64bits(w.Float) || math.IsNaN(v.Float) && math.IsNaN(w.Float)
	case TypeDuration:
		return v.Float == w.Float
	case TypeList:
		return slices.EqualFunc(v.List, w.List, Value.Equal)
	case TypeMap:
		return equalMaps(v.Entries, w.Entries)
	}
	return v.Text == w.Text
}

func equalMaps(a, b []Entry) bool {
	if len(a) != len(b) {
		return false
	}
	byKey := make(map[string]Value, len(b))
	for _, e := range b {
		byKey[string(e.Key.Wire())] = e.Value
	}
	for _, e := range a {
		other, ok := byKey[string(e.Key.Wire())]
		if !ok || !e.Value.Equal(other) {
			return false
		}
	}
	return true
}

// Native returns the value as the expression language takes it: nil, bool, *big.Int, float64, string,
// []any, map[string]any (keys as their text). Durations are their seconds; a secret is "***".
func (v Value) Native() any {
	switch v.Type {
	case TypeNull, TypeAny:
		return nil
	case TypeBool:
		return v.Bool
	case TypeInt:
		n, _ := new(big.Int).SetString(v.Text, 10)
		return n
	case TypeFloat, TypeDuration:
		return v.Float
	case TypeList:
		out := make([]any, len(v.List))
		for i, e := range v.List {
			out[i] = e.Native()
		}
		return out
	case TypeMap:
		out := make(map[string]any, len(v.Entries))
		for _, e := range v.Entries {
			out[e.Key.String()] = e.Value.Native()
		}
		return out
	}
	return v.String()
}

// floatText writes a float as Python's repr does: the shortest text that reads back as the same
// double, always recognisable as a float.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Instant returns the moment that a date names, in UTC where it names no zone; false for a text that is no date.
func Instant(text string) (time.Time, bool) {
	norm := strings.ToUpper(text)
	if len(norm) > 10 && norm[10] == ' ' {
		norm = norm[:10] + "T" + norm[11:]
	}
	for _, layout := range []string{
		"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700",
		"2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
	} {
		if t, err := time.Parse(layout, norm); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

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
