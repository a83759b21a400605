package params

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// readText reads the text of -p or of an environment variable as a declared type. Its errors never repeat a secret.
func readText(t notebooks.Type, text string) (notebooks.Value, error) {
	switch t {
	case notebooks.TypeAny:
		return inferText(text), nil
	case notebooks.TypeInt:
		return readInt(text)
	case notebooks.TypeFloat:
		return readFloat(text)
	case notebooks.TypeBool:
		return readBool(text)
	case notebooks.TypeDuration:
		return readDuration(text)
	case notebooks.TypeDate:
		return readDate(text)
	case notebooks.TypePath:
		if text == "" || strings.ContainsRune(text, 0) {
			return notebooks.Value{}, notA(text, "a path: one that is not empty and has no NUL byte")
		}
	case notebooks.TypeBytes:
		return readBytes(text)
	case notebooks.TypeList, notebooks.TypeMap:
		return readFlow(t, text)
	case notebooks.TypeNull:
		return notebooks.Value{}, notA(text, "null")
	}
	return notebooks.Value{Type: t, Text: text}, nil
}

// notA returns the error that a text is not what is expected. Long texts are cut.
func notA(text, expected string) error {
	return fmt.Errorf("%q is not %s", notebooks.Cut(text, 60), expected)
}

// inferText reads a text without a declared type as papermill's -p does: True, False, None, then Python's int(), then
// float(), else the text itself. A number beyond the range of a double stays text.
func inferText(text string) notebooks.Value {
	switch text {
	case "True", "False":
		return notebooks.Value{Type: notebooks.TypeBool, Bool: text == "True"}
	case "None":
		return notebooks.Value{Type: notebooks.TypeNull}
	}
	if v, ok := pythonInt(text); ok {
		return v
	}
	if v, ok := pythonFloat(text); ok {
		return v
	}
	return notebooks.Value{Type: notebooks.TypeString, Text: text}
}

var (
	decimalInt   = lazyregexp.New(`^[+-]?[0-9]+(_[0-9]+)*$`)
	prefixedInt  = lazyregexp.New(`^[+-]?0([xX](_?[0-9a-fA-F])+|[oO](_?[0-7])+|[bB](_?[01])+)$`)
	decimalFloat = lazyregexp.New(`^[+-]?([0-9]+(_[0-9]+)*(\.([0-9]+(_[0-9]+)*)?)?|` +
		`\.[0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+(_[0-9]+)*)?$`)
	floatWord = lazyregexp.New(`^([+-]?)\.?(nan|inf|infinity)$`)
)

// pythonInt implements Python's int(text): surrounding space, digits of any script, single underscores.
func pythonInt(text string) (notebooks.Value, bool) {
	text = plainDigits(text)
	if !decimalInt.MatchString(text) {
		return notebooks.Value{}, false
	}
	digits := strings.TrimLeft(strings.ReplaceAll(text, "_", ""), "+-0")
	switch {
	case digits == "":
		digits = "0"
	case text[0] == '-':
		digits = "-" + digits
	}
	return notebooks.Value{Type: notebooks.TypeInt, Text: digits}, true
}

// pythonFloat implements Python's float(text), but rejects numbers that overflow.
func pythonFloat(text string) (notebooks.Value, bool) {
	text = plainDigits(text)
	if word := floatWord.FindStringSubmatch(strings.ToLower(text)); word != nil && !strings.Contains(text, ".") {
		return floatWordValue(word), true
	}
	if !decimalFloat.MatchString(text) {
		return notebooks.Value{}, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return notebooks.Value{Type: notebooks.TypeFloat, Float: f}, err == nil
}

func floatWordValue(word []string) notebooks.Value {
	f := math.NaN()
	if word[2] != "nan" {
		f = math.Inf(1)
		if word[1] == "-" {
			f = math.Inf(-1)
		}
	}
	return notebooks.Value{Type: notebooks.TypeFloat, Float: f}
}

// plainDigits trims space and converts decimal digits of any script to 0 to 9.
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
func readInt(text string) (notebooks.Value, error) {
	if v, ok := pythonInt(text); ok {
		return v, nil
	}
	plain := strings.TrimSpace(text)
	if prefixedInt.MatchString(plain) {
		if n, ok := new(big.Int).SetString(plain, 0); ok {
			return notebooks.Value{Type: notebooks.TypeInt, Text: n.String()}, nil
		}
	}
	return notebooks.Value{}, notA(text, "an int")
}

// readFloat reads what Python's float() takes, .inf and .nan, and 0x integers.
func readFloat(text string) (notebooks.Value, error) {
	plain := plainDigits(text)
	if word := floatWord.FindStringSubmatch(strings.ToLower(plain)); word != nil {
		return floatWordValue(word), nil
	}
	if n, err := readInt(text); err == nil {
		plain = n.Text
	}
	if !decimalFloat.MatchString(plain) && !yamlFloat.MatchString(plain) {
		return notebooks.Value{}, notA(text, "a float")
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(plain, "_", ""), 64)
	if err != nil {
		return notebooks.Value{}, notA(text, "a float: it is out of the range of a double")
	}
	return notebooks.Value{Type: notebooks.TypeFloat, Float: f}, nil
}

// readBool takes true, false, yes, no, on, off, 1 and 0, in any case.
func readBool(text string) (notebooks.Value, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "on", "1":
		return notebooks.Value{Type: notebooks.TypeBool, Bool: true}, nil
	case "false", "no", "off", "0":
		return notebooks.Value{Type: notebooks.TypeBool}, nil
	}
	return notebooks.Value{}, notA(text, "a bool: true or false, yes or no, on or off, 1 or 0")
}

// maxSeconds is the longest time.Duration.
const maxSeconds = float64(math.MaxInt64) / float64(time.Second)

// readDuration takes a Go duration ("1h30m") or a number of seconds.
func readDuration(text string) (notebooks.Value, error) {
	plain := strings.TrimSpace(text)
	seconds := 0.0
	if d, err := time.ParseDuration(plain); err == nil {
		seconds = d.Seconds()
	} else if f, ok := pythonFloat(plain); ok && math.Abs(f.Float) <= maxSeconds {
		seconds = f.Float
	} else {
		return notebooks.Value{}, notA(text, "a duration: one like 1h30m or 90s, or a number of seconds")
	}
	return notebooks.Value{Type: notebooks.TypeDuration, Text: plain, Float: seconds}, nil
}

func readDate(text string) (notebooks.Value, error) {
	if _, ok := notebooks.Instant(text); !ok {
		return notebooks.Value{}, notA(text, "a date: one like 2026-11-21 or 2026-11-21T10:30:00Z (ISO 8601)")
	}
	return notebooks.Value{Type: notebooks.TypeDate, Text: text}, nil
}

// readFlow reads a list or a map from YAML or JSON text.
func readFlow(t notebooks.Type, text string) (notebooks.Value, error) {
	example := "[a, b]"
	if t == notebooks.TypeMap {
		example = "{a: 1}"
	}
	r := &yamlReader{}
	n, err := r.load([]byte(text))
	if err != nil {
		return notebooks.Value{}, errors.New(err.Msg)
	}
	if n == nil {
		return notebooks.Value{}, notA(text, "a "+string(t)+": one like "+example)
	}
	v, err := r.value(n)
	if err != nil {
		return notebooks.Value{}, errors.New(err.Msg)
	}
	if v.Type != t {
		return notebooks.Value{}, notA(text, "a "+string(t)+": one like "+example)
	}
	return v, nil
}
