package notebooks

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"strconv"

	"markmill/notebooks/lazyregexp"

	"markmill/notebooks/codec"
)

// The wire form is JSON that says the type of everything that JSON cannot, for kernels and for
// the run directory's private files. It survives canonical JSON (RFC 8785) unchanged:
//
//	null, bool, string  themselves
//	int                 a number within ±(2⁵³−1), else {"$int":"123…"}
//	float               {"$float":"0.1"}, also "nan", "inf", "-inf", "-0.0": always with a point,
//	                    an exponent or a word; Python's repr
//	list                an array
//	map                 {"$map":[[key,value],…]}, in order, also when empty
//	date, path          {"$date":"2026-11-21"}, {"$path":"reports/a.json"}
//	duration            {"$duration":5400,"text":"1h30m"}, in seconds
//	bytes               {"$bytes":"base64"}
//	secret              {"$secret":"the secret itself"}
//
// A plain object never stands for a map, so no string, key or value can look like a type.

// maxPlainInt is the largest integer that every JSON reader keeps exactly.
const maxPlainInt = 1<<53 - 1

var wireInt = lazyregexp.New(`^(0|-?[1-9][0-9]*)$`)

// Wire returns the value in the form above. A secret is revealed: what is written with Wire must not be shown or kept.
func (v Value) Wire() codec.Raw { return appendWire(nil, v) }

func appendWire(b []byte, v Value) []byte {
	switch v.Type {
	case TypeBool:
		return strconv.AppendBool(b, v.Bool)
	case TypeInt:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil && n >= -maxPlainInt && n <= maxPlainInt {
			return append(b, v.Text...)
		}
		return appendTagged(b, "$int", v.Text)
	case TypeFloat:
		return appendTagged(b, "$float", floatText(v.Float))
	case TypeString:
		return appendQuoted(b, v.Text)
	case TypeList:
		return append(appendEach(append(b, '['), v.List, appendWire), ']')
	case TypeMap:
		b = appendEach(append(b, `{"$map":[`...), v.Entries, func(b []byte, e Entry) []byte {
			b = appendWire(append(b, '['), e.Key)
			return append(appendWire(append(b, ','), e.Value), ']')
		})
		return append(b, `]}`...)
	case TypeDuration:
		seconds, err := codec.Marshal(v.Float)
		if err != nil {
			panic("notebooks: a duration has no finite length: " + err.Error())
		}
		b = append(append(b, `{"$duration":`...), seconds...)
		b = appendQuoted(append(b, `,"text":`...), v.Text)
		return append(b, '}')
	case TypeBytes:
		return appendTagged(b, "$bytes", base64.StdEncoding.EncodeToString([]byte(v.Text)))
	case TypeDate, TypePath, TypeSecret:
		return appendTagged(b, "$"+string(v.Type), v.Text)
	}
	return append(b, "null"...)
}

func appendTagged(b []byte, tag, text string) []byte {
	b = append(appendQuoted(append(b, '{'), tag), ':')
	return append(appendQuoted(b, text), '}')
}

// ParseWire reads the form that Wire writes, and nothing else.
func ParseWire(data []byte) (Value, error) {
	raw := codec.Raw(data)
	if !raw.IsValid() {
		return Value{}, fmt.Errorf("a wire value is not JSON: %.60q", data)
	}
	switch raw.Kind() {
	case 'n':
		return Value{Type: TypeNull}, nil
	case 't', 'f':
		return Value{Type: TypeBool, Bool: raw.Kind() == 't'}, nil
	case '"':
		text, err := wireString(raw)
		return Value{Type: TypeString, Text: text}, err
	case '[':
		return parseWireList(raw)
	case '{':
		return parseWireObject(raw)
	}
	var number codec.Raw
	if err := codec.Unmarshal(raw, &number); err != nil {
		return Value{}, err
	}
	if !wireInt.Match(number) {
		return Value{}, fmt.Errorf("a wire number is not a plain integer: %.60q", data)
	}
	return Value{Type: TypeInt, Text: string(number)}, nil
}

func parseWireList(raw codec.Raw) (Value, error) {
	var items []codec.Raw
	if err := codec.Unmarshal(raw, &items); err != nil {
		return Value{}, err
	}
	list := Value{Type: TypeList}
	for _, item := range items {
		v, err := ParseWire(item)
		if err != nil {
			return Value{}, err
		}
		list.List = append(list.List, v)
	}
	return list, nil
}

func parseWireObject(raw codec.Raw) (Value, error) {
	var object map[string]codec.Raw
	if err := codec.Unmarshal(raw, &object); err != nil {
		return Value{}, err
	}
	if seconds, ok := object["$duration"]; ok && len(object) == 2 {
		v := Value{Type: TypeDuration}
		if err := codec.Unmarshal(seconds, &v.Float); err != nil {
			return Value{}, err
		}
		var err error
		v.Text, err = wireString(object["text"])
		return v, err
	}
	if len(object) == 1 {
		for tag, body := range object {
			return parseWireTagged(tag, body)
		}
	}
	return Value{}, fmt.Errorf("a wire object names no type: %.60q", raw)
}

func parseWireTagged(tag string, body codec.Raw) (Value, error) {
	if tag == "$map" {
		return parseWireMap(body)
	}
	text, err := wireString(body)
	if err != nil {
		return Value{}, err
	}
	switch tag {
	case "$int":
		if n, ok := new(big.Int).SetString(text, 10); !ok || n.String() != text {
			return Value{}, fmt.Errorf("a wire integer is not decimal: %.60q", text)
		}
		return Value{Type: TypeInt, Text: text}, nil
	case "$float":
		f, err := strconv.ParseFloat(text, 64)
		return Value{Type: TypeFloat, Float: f}, err
	case "$bytes":
		raw, err := base64.StdEncoding.DecodeString(text)
		return Value{Type: TypeBytes, Text: string(raw)}, err
	case "$date", "$path", "$secret":
		return Value{Type: Type(tag[1:]), Text: text}, nil
	}
	return Value{}, fmt.Errorf("a wire object has an unknown type %q", tag)
}

func parseWireMap(body codec.Raw) (Value, error) {
	var pairs [][]codec.Raw
	if err := codec.Unmarshal(body, &pairs); err != nil {
		return Value{}, err
	}
	m := Value{Type: TypeMap}
	for _, pair := range pairs {
		if len(pair) != 2 {
			return Value{}, fmt.Errorf("a wire map has a pair of %d", len(pair))
		}
		key, err := ParseWire(pair[0])
		if err != nil {
			return Value{}, err
		}
		value, err := ParseWire(pair[1])
		if err != nil {
			return Value{}, err
		}
		m.Entries = append(m.Entries, Entry{Key: key, Value: value})
	}
	return m, nil
}

func wireString(raw codec.Raw) (string, error) {
	var s string
	err := codec.Unmarshal(raw, &s)
	return s, err
}
