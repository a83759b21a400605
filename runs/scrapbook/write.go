package scrapbook

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/parquet"
)

// Payload returns a scrap's MIME type and content, with the encoder that preserves the value. Null has our own MIME
// type: scrapbook rejects a whole notebook with a null of its own.
func Payload(s runs.ScrapData) (mime string, payload map[string]any) {
	encoder, value := encoded(s)
	if encoder == "" {
		return nullMIME, map[string]any{"name": s.Name, "data": nil, "encoder": encoderJSON, "version": 1}
	}
	return scrapPrefix + encoder + "+json",
		map[string]any{"name": s.Name, "data": value, "encoder": encoder, "version": 1}
}

func encoded(s runs.ScrapData) (encoder string, value any) {
	v := bytes.TrimSpace(s.Value)
	if isTag(v, "$int") { // most JSON readers have integers of any size
		v = Untagged(v)
		s.Value = v
	}
	switch {
	case len(v) == 0 || string(v) == "null":
		return "", nil
	case s.Encoder != "":
		return s.Encoder, s.Value
	case v[0] == '"': // the json encoder parses strings as JSON again
		return encoderText, s.Value
	case s.Type == runs.ScrapTable:
		if file, ok := frameOf(s.Value); ok {
			return encoderPandas, base64.StdEncoding.EncodeToString(file)
		}
	}
	return encoderJSON, s.Value
}

// frameOf writes a table in the form that pandas reads.
func frameOf(value codec.Raw) ([]byte, bool) {
	var t parquet.Table
	if codec.Unmarshal(value, &t) != nil || len(t.Columns) == 0 {
		return nil, false
	}
	columns := make([]parquet.Column, len(t.Columns))
	for i, name := range t.Columns {
		if slices.Contains(t.Columns[:i], name) { // duplicate column names cannot be read
			return nil, false
		}
		cells := make([]codec.Raw, len(t.Data))
		for n, row := range t.Data {
			if i < len(row) {
				cells[n] = row[i]
			}
		}
		columns[i] = ColumnOf(name, cells)
	}
	var b bytes.Buffer
	err := parquet.Write(&b, columns)
	return b.Bytes(), err == nil
}

// ColumnOf builds a column of one type. Booleans, 64-bit integers and strings keep their type; integers mixed with
// fractions become doubles; days, local times and instants keep theirs ($date); mixed types become text: strings as
// they are, anything else as JSON. Missing values and null become null. Tagged values ($int, $float, …) become numbers,
// or their text.
func ColumnOf(name string, cells []codec.Raw) parquet.Column {
	c := parquet.Column{Name: name, Values: make([]any, len(cells))}
	kinds := map[parquet.Kind]bool{}
	exact := true // every integer is exact as a double
	for i, cell := range cells {
		v, kind := native(cell)
		if v == nil {
			continue
		}
		c.Values[i], kinds[kind] = v, true
		if n, ok := v.(int64); ok && (n > 1<<53 || n < -1<<53) {
			exact = false
		}
	}
	switch {
	case len(kinds) == 0:
		return c
	case len(kinds) == 1 && storable(c.Values):
		for c.Kind = range kinds {
		}
		return c
	case exact && (kinds[parquet.Int] || kinds[parquet.Float]):
		if numbers, ok := doubles(c.Values); ok {
			c.Kind, c.Values = parquet.Float, numbers
			return c
		}
	}
	c.Kind = parquet.Text
	for i, cell := range cells {
		if v := c.Values[i]; v != nil {
			c.Values[i] = PlainText(cell)
		}
	}
	return c
}

// storable reports whether a time column can hold all values exactly.
func storable(values []any) bool {
	if !parquet.Fine(values) {
		return true
	}
	return !slices.ContainsFunc(values, func(v any) bool {
		t, ok := v.(time.Time)
		return ok && (t.Year() < 1678 || t.Year() > 2261)
	})
}

// doubles makes doubles of numbers, and of texts among them that are numbers, too: kernels send what JSON has no number
// for as a text.
func doubles(values []any) ([]any, bool) {
	words := map[string]float64{"nan": math.NaN(), "NaN": math.NaN(), "inf": math.Inf(1), "Infinity": math.Inf(1),
		"-inf": math.Inf(-1), "-Infinity": math.Inf(-1)}
	out := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case nil:
		case float64:
			out[i] = v
		case int64:
			out[i] = float64(v)
		case string:
			word, ok := words[v]
			if !ok {
				return nil, false
			}
			out[i] = word
		default:
			return nil, false
		}
	}
	return out, true
}

// PlainText is a value as a text: a text as it is, what JSON has no word for as its own text, and all else as JSON.
func PlainText(v codec.Raw) string {
	if text, ok := tagged(v); ok {
		return text
	}
	var text string
	if v.Kind() == '"' && codec.UnmarshalForeign(v, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(v))
}

// native returns a value in its column's Go type; nil is null.
func native(v codec.Raw) (any, parquet.Kind) {
	switch v.Kind() {
	case 't', 'f':
		return v.Kind() == 't', parquet.Bool
	case '0':
		return number(string(bytes.TrimSpace(v)))
	case '"', '{', '[':
		text, ok := tagged(v)
		if !ok {
			return PlainText(v), parquet.Text
		}
		if isTag(v, "$date") {
			return date(text)
		}
		if n, kind := number(text); kind != parquet.Text && !isTag(v, "$bytes", "$path", "$secret") {
			return n, kind
		}
		return text, parquet.Text
	}
	return nil, parquet.Text
}

// date reads a day, a local time or an instant, in the ISO 8601 forms that kernels send. Anything else stays text.
func date(text string) (any, parquet.Kind) {
	for _, form := range []struct {
		layout string
		kind   parquet.Kind
	}{{time.DateOnly, parquet.Date}, {"2006-01-02T15:04:05", parquet.DateTime}, {time.RFC3339, parquet.Instant}} {
		if t, err := time.Parse(form.layout, text); err == nil {
			return t.UTC(), form.kind
		}
	}
	return text, parquet.Text
}

// number reads a 64-bit integer or a double. A value that neither holds exactly stays text.
func number(text string) (any, parquet.Kind) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, parquet.Int
	}
	whole := !strings.ContainsAny(text, ".eEnN")
	if f, err := strconv.ParseFloat(text, 64); err == nil && !whole &&
		(!math.IsInf(f, 0) || strings.Contains(text, "n")) {
		return f, parquet.Float
	}
	return text, parquet.Text
}

// tags are the keys of values that JSON cannot express (docs/format.md, Scraps).
var tags = []string{"$int", "$float", "$date", "$duration", "$bytes", "$path", "$secret"}

// tagged reads an object that stands for a value that JSON cannot express.
func tagged(v codec.Raw) (string, bool) {
	if v.Kind() != '{' || !bytes.Contains(v[:min(len(v), 16)], []byte(`"$`)) {
		return "", false
	}
	var all map[string]codec.Raw
	if codec.Unmarshal(v, &all) != nil || len(all) > 2 {
		return "", false
	}
	for _, tag := range tags {
		if raw, ok := all[tag]; ok && (len(all) == 1 || all["text"] != nil) {
			return PlainText(raw), true
		}
	}
	return "", false
}

// Untagged is a value without our words for what JSON cannot hold: a large integer is its digits, anything else its
// text.
func Untagged(v codec.Raw) codec.Raw {
	text, ok := tagged(v)
	if !ok {
		return v.Clone()
	}
	if raw := codec.Raw(text); isTag(v, "$int") && raw.IsValid() {
		return raw
	}
	out, err := codec.Marshal(text)
	if err != nil {
		return v.Clone()
	}
	return out
}

func isTag(v codec.Raw, names ...string) bool {
	return slices.ContainsFunc(names,
		func(name string) bool { return bytes.Contains(v[:min(len(v), 20)], []byte(`"`+name+`"`)) })
}
