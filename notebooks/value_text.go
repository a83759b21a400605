package notebooks

import (
	"encoding/base64"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
