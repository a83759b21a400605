package notebooks

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	"markmill/notebooks/lazyregexp"
)

// readText reads what was typed after -p, or stands in an environment variable, as a declared
// type. Its errors never repeat a secret.
func readText(t Type, text string) (Value, error) {
	switch t {
	case TypeAny:
		return inferText(text), nil
	case TypeInt:
		return readInt(text)
	case TypeFloat:
		return readFloat(text)
	case TypeBool:
		return readBool(text)
	case TypeDuration:
		return readDuration(text)
	case TypeDate:
		return readDate(text)
	case TypePath:
		if text == "" || strings.ContainsRune(text, 0) {
			return Value{}, notA(text, "a path: one that is not empty and has no NUL byte")
		}
	case TypeBytes:
		return readBytes(text)
	case TypeList, TypeMap:
		return readFlow(t, text)
	case TypeNull:
		return Value{}, notA(text, "null")
	}
	return Value{Type: t, Text: text}, nil
}

// notA says what a text is not. Long texts are cut.
func notA(text, expected string) error {
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	return fmt.Errorf("%q is not %s", text, expected)
}

// inferText reads a text without a declared type as papermill's -p does: True, False, None, then
// what Python's int() takes, then float(), else the text itself. A number that no double holds
// stays text.
func inferText(text string) Value {
	switch text {
	case "True", "False":
		return Value{Type: TypeBool, Bool: text == "True"}
	case "None":
		return Value{Type: TypeNull}
	}
	if v, ok := pythonInt(text); ok {
		return v
	}
	if v, ok := pythonFloat(text); ok {
		return v
	}
	return Value{Type: TypeString, Text: text}
}

var (
	decimalInt   = lazyregexp.New(`^[+-]?[0-9]+(_[0-9]+)*$`)
	prefixedInt  = lazyregexp.New(`^[+-]?0([xX](_?[0-9a-fA-F])+|[oO](_?[0-7])+|[bB](_?[01])+)$`)
	decimalFloat = lazyregexp.New(`^[+-]?([0-9]+(_[0-9]+)*(\.([0-9]+(_[0-9]+)*)?)?|\.[0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+(_[0-9]+)*)?$`)
	floatWord    = lazyregexp.New(`^([+-]?)\.?(nan|inf|infinity)$`)
)

// pythonInt is Python's int(text): space around it, any script's digits, single underscores.
func pythonInt(text string) (Value, bool) {
	text = plainDigits(text)
	if !decimalInt.MatchString(text) {
		return Value{}, false
	}
	digits := strings.TrimLeft(strings.ReplaceAll(text, "_", ""), "+-0")
	switch {
	case digits == "":
		digits = "0"
	case text[0] == '-':
		digits = "-" + digits
	}
	return Value{Type: TypeInt, Text: digits}, true
}

// pythonFloat is Python's float(text), but a number that is too large is none.
func pythonFloat(text string) (Value, bool) {
	text = plainDigits(text)
	if word := floatWord.FindStringSubmatch(strings.ToLower(text)); word != nil && !strings.Contains(text, ".") {
		return floatWordValue(word), true
	}
	if !decimalFloat.MatchString(text) {
		return Value{}, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return Value{Type: TypeFloat, Float: f}, err == nil
}

func floatWordValue(word []string) Value {
	f := math.NaN()
	if word[2] != "nan" {
		f = math.Inf(1)
		if word[1] == "-" {
			f = math.Inf(-1)
		}
	}
	return Value{Type: TypeFloat, Float: f}
}

// plainDigits is text without the space around it and with 0 to 9 for every decimal digit.
func plainDigits(text string) string {
	text = strings.TrimFunc(text, func(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f })
	return strings.Map(func(c rune) rune {
		if c <= unicode.MaxASCII || !unicode.Is(unicode.Nd, c) {
			return c
		}
		for _, r := range unicode.Nd.R16 {
			if uint32(c) >= uint32(r.Lo) && uint32(c) <= uint32(r.Hi) {
				return '0' + (c-rune(r.Lo))%10
			}
		}
		for _, r := range unicode.Nd.R32 {
			if uint32(c) >= r.Lo && uint32(c) <= r.Hi {
				return '0' + (c-rune(r.Lo))%10
			}
		}
		return c
	}, text)
}

// readInt reads decimal, 0x, 0o and 0b integers with sign and underscores. 007 is 7.
func readInt(text string) (Value, error) {
	if v, ok := pythonInt(text); ok {
		return v, nil
	}
	plain := strings.TrimSpace(text)
	if prefixedInt.MatchString(plain) {
		if n, ok := new(big.Int).SetString(plain, 0); ok {
			return Value{Type: TypeInt, Text: n.String()}, nil
		}
	}
	return Value{}, notA(text, "an int")
}

// readFloat reads what Python's float() takes, .inf and .nan, and 0x integers.
func readFloat(text string) (Value, error) {
	plain := plainDigits(text)
	if word := floatWord.FindStringSubmatch(strings.ToLower(plain)); word != nil {
		return floatWordValue(word), nil
	}
	if n, err := readInt(text); err == nil {
		plain = n.Text
	}
	if !decimalFloat.MatchString(plain) && !yamlFloat.MatchString(plain) {
		return Value{}, notA(text, "a float")
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(plain, "_", ""), 64)
	if err != nil {
		return Value{}, notA(text, "a float: it is out of the range of a double")
	}
	return Value{Type: TypeFloat, Float: f}, nil
}

// readBool takes true, false, yes, no, on, off, 1 and 0, in any case.
func readBool(text string) (Value, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "on", "1":
		return Value{Type: TypeBool, Bool: true}, nil
	case "false", "no", "off", "0":
		return Value{Type: TypeBool}, nil
	}
	return Value{}, notA(text, "a bool: true or false, yes or no, on or off, 1 or 0")
}

// maxSeconds is the longest time.Duration.
const maxSeconds = float64(math.MaxInt64) / float64(time.Second)

// readDuration takes a Go duration ("1h30m") or a number of seconds.
func readDuration(text string) (Value, error) {
	plain := strings.TrimSpace(text)
	seconds := 0.0
	if d, err := time.ParseDuration(plain); err == nil {
		seconds = d.Seconds()
	} else if f, ok := pythonFloat(plain); ok && math.Abs(f.Float) <= maxSeconds {
		seconds = f.Float
	} else {
		return Value{}, notA(text, "a duration: one like 1h30m or 90s, or a number of seconds")
	}
	return Value{Type: TypeDuration, Text: plain, Float: seconds}, nil
}

func readDate(text string) (Value, error) {
	if _, ok := instant(text); !ok {
		return Value{}, notA(text, "a date: one like 2026-11-21 or 2026-11-21T10:30:00Z (ISO 8601)")
	}
	return Value{Type: TypeDate, Text: text}, nil
}

// readFlow reads a list or a map from YAML or JSON text.
func readFlow(t Type, text string) (Value, error) {
	example := "[a, b]"
	if t == TypeMap {
		example = "{a: 1}"
	}
	r := &yamlReader{}
	n, err := r.load([]byte(text))
	if err != nil {
		return Value{}, errors.New(err.Msg)
	}
	if n == nil {
		return Value{}, notA(text, "a "+string(t)+": one like "+example)
	}
	v, err := r.value(n)
	if err != nil {
		return Value{}, errors.New(err.Msg)
	}
	if v.Type != t {
		return Value{}, notA(text, "a "+string(t)+": one like "+example)
	}
	return v, nil
}
