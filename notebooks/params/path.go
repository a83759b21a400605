package params

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// ExpandPath is Expand for a notebook path or output path. A value that makes it lead elsewhere than its text does is
// an error, too.
func ExpandPath(text string, bound []notebooks.Bound, extra map[string]string) (string, error) {
	path, err := Expand(text, bound, extra)
	if err == nil {
		err = pathExpander{text: text}.climbs(path)
	}
	return path, err
}

// Expand expands placeholders: {{name}}, and papermill's {name}, {name[key]}, {name:05d} and {pm[run_uuid]}. A
// name is a parameter, or else one of extra (run_id, date, commit, …). Values are inserted literally. papermill's
// {pm[current_datetime_utc]:%Y} uses extra's "now", in RFC 3339.
//
// The error is an *Error: an unknown name (it lists the known ones), a secret, a null, a value that no path can
// contain, or an unmatched brace.
func Expand(text string, bound []notebooks.Bound, extra map[string]string) (string, error) {
	x := pathExpander{text: text, bound: bound, extra: extra}
	var b strings.Builder
	for rest := text; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		rest = rest[i:]
		opening, closing := "{", "}"
		if strings.HasPrefix(rest, "{{") {
			opening, closing = "{{", "}}"
		}
		end := strings.Index(rest, closing)
		if rest[0] == '}' || end < 0 {
			return "", x.errorf("write {{name}} or {name}, and {lbrace} or {rbrace} for a brace itself",
				"a brace %q without its other", rest[:1])
		}
		value, err := x.field(strings.TrimSpace(rest[len(opening):end]))
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		rest = rest[end+len(closing):]
	}
	return b.String(), nil
}

// climbs returns an error if the values make a path lead elsewhere than its text does: up, to the root, or to an
// address. It does not name the values: one may contain a secret.
func (x pathExpander) climbs(path string) error {
	depths := func(path string) (before []int) { // at each ..
		depth := 0
		for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
			switch strings.TrimRight(part, " ") {
			case "..":
				before = append(before, depth)
				depth--
			case "", ".":
			default:
				depth++
			}
		}
		return before
	}
	was, now := depths(x.text), depths(path)
	rooted := func(path string) bool {
		return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\`) || len(path) > 1 && path[1] == ':'
	}
	switch {
	case len(now) > len(was):
		return x.errorf("give other values", "a value may not bring ..")
	case !slices.EqualFunc(now, was, func(now, was int) bool { return now >= was }):
		return x.errorf("give other values", "a folder before .. may not be empty")
	case rooted(path) && !rooted(x.text):
		return x.errorf("give other values", "a value may not make it absolute")
	case strings.Count(path, "://") > strings.Count(x.text, "://"):
		return x.errorf("give other values", "a value may not make it an address")
	}
	return nil
}

// braces escape literal braces in a path: papermill's {{ begins a name here.
var braces = map[string]string{"lbrace": "{", "rbrace": "}"}

type pathExpander struct {
	text  string
	bound []notebooks.Bound
	extra map[string]string
}

func (x pathExpander) errorf(hint, format string, args ...any) error {
	return &notebooks.Error{Kind: notebooks.KindParameter,
		Msg: fmt.Sprintf("path %q: ", x.text) + fmt.Sprintf(format, args...), Hint: hint}
}

var pathField = lazyregexp.New(`^([^\s\[\]{}:!.]+)((?:\[[^\[\]]*\])*)(?::(.*))?$`)

// field expands the text between braces: name, keys, format.
func (x pathExpander) field(field string) (string, error) {
	m := pathField.FindStringSubmatch(field)
	if m == nil {
		return "", x.errorf("a name, [keys] and a :format can stand there", "{%s} is not understood", field)
	}
	name, format := m[1], m[3]
	var keys []string
	for _, k := range strings.Split(m[2], "]") {
		if k != "" {
			keys = append(keys, strings.TrimPrefix(k, "["))
		}
	}
	if name == "pm" && len(keys) == 1 && x.find("pm") == nil {
		return x.papermill(keys[0], format)
	}
	one := x.find(name)
	if one == nil {
		if brace, ok := braces[name]; ok && len(keys) == 0 && format == "" {
			return brace, nil
		}
		if value, ok := x.extra[name]; ok && len(keys) == 0 {
			return x.formatted(notebooks.Value{Type: notebooks.TypeString, Text: value}, field, format)
		}
		return "", x.errorf("there is: "+strings.Join(x.names(), ", ")+"; a brace itself is {lbrace} or {rbrace}",
			"no parameter %q", name)
	}
	v := one.Value
	for _, k := range keys {
		var ok bool
		if v, ok = entryAt(v, k); !ok {
			return "", x.errorf("", "{%s}: %s has no %q", field, name, k)
		}
	}
	return x.formatted(v, field, format)
}

func (x pathExpander) find(name string) *notebooks.Bound {
	i := slices.IndexFunc(x.bound, func(b notebooks.Bound) bool { return b.Param.Name == name })
	if i < 0 {
		return nil
	}
	return &x.bound[i]
}

// names lists the names that the path may use.
func (x pathExpander) names() []string {
	var names []string
	for _, b := range x.bound {
		if b.Value.Type != notebooks.TypeSecret {
			names = append(names, b.Param.Name)
		}
	}
	known := func(name string) bool { return slices.Contains(names, name) }
	more := slices.DeleteFunc(slices.Sorted(maps.Keys(x.extra)), known)
	return append(names, more...)
}

// entryAt returns a list element, or the map value whose key has that text.
func entryAt(v notebooks.Value, key string) (notebooks.Value, bool) {
	if i, err := strconv.Atoi(key); v.Type == notebooks.TypeList && err == nil && i >= 0 && i < len(v.List) {
		return v.List[i], true
	}
	for _, e := range v.Entries {
		if e.Key.String() == key {
			return e.Value, true
		}
	}
	return notebooks.Value{}, false
}

var pathFormat = lazyregexp.New(`^(0?)([0-9]{0,3})(?:\.([0-9]{1,3}))?([dfs]?)$`)

// formatted formats a value by the part of Python's format language that is useful in paths: width, leading zeros,
// decimals, maximum length.
func (x pathExpander) formatted(v notebooks.Value, field, format string) (string, error) {
	switch {
	case holdsSecret(v):
		return "", x.errorf("", "{%s} is a secret, and paths are shown", field)
	case v.Type == notebooks.TypeNull || v.Type == notebooks.TypeAny:
		return "", x.errorf("give it one", "{%s} has no value", field)
	}
	text := v.String()
	m := pathFormat.FindStringSubmatch(format)
	numeric := isOneOf(v.Type, notebooks.TypeInt, notebooks.TypeFloat)
	switch {
	case m == nil, m[4] == "d" && v.Type != notebooks.TypeInt, m[4] == "s" && numeric, m[1] != "" && !numeric,
		m[3] != "" && m[4] != "f" && numeric, m[4] == "f" && !numeric:
		return "", x.errorf("", "the format %q is not one for %s", format, article(v.Type))
	case m[4] == "f":
		digits := 6
		if m[3] != "" {
			digits, _ = strconv.Atoi(m[3])
		}
		text = strconv.FormatFloat(number(v), 'f', digits, 64)
	case m[3] != "": // maximum length of text
		most, _ := strconv.Atoi(m[3])
		if runes := []rune(text); len(runes) > most {
			text = string(runes[:most])
		}
	}
	text = pad(text, m[2], m[1] != "", numeric)
	if strings.ContainsRune(text, 0) {
		return "", x.errorf("", "{%s} has a NUL byte", field)
	}
	return text, nil
}

func holdsSecret(v notebooks.Value) bool {
	return v.Type == notebooks.TypeSecret || slices.ContainsFunc(v.List, holdsSecret) ||
		slices.ContainsFunc(v.Entries, func(e notebooks.Entry) bool { return holdsSecret(e.Value) })
}

func number(v notebooks.Value) float64 {
	if v.Type == notebooks.TypeInt {
		f, _ := rational(v).Float64()
		return f
	}
	return v.Float
}

func pad(text, width string, zeros, right bool) string {
	n, _ := strconv.Atoi(width)
	missing := max(0, n-len([]rune(text)))
	switch {
	case zeros && strings.HasPrefix(text, "-"):
		return "-" + strings.Repeat("0", missing) + text[1:]
	case zeros:
		return strings.Repeat("0", missing) + text
	case right:
		return strings.Repeat(" ", missing) + text
	}
	return text + strings.Repeat(" ", missing)
}

// papermill expands {pm[key]:format}.
func (x pathExpander) papermill(key, format string) (string, error) {
	switch key {
	case "run_uuid":
		if id, ok := x.extra["run_id"]; ok {
			return id, nil
		}
	case "current_datetime_utc", "current_datetime_local":
		now, err := time.Parse(time.RFC3339Nano, x.extra["now"])
		if err != nil {
			break
		}
		if key == "current_datetime_utc" {
			now = now.UTC()
		}
		return x.date(now, cmp.Or(format, "%Y-%m-%d %H:%M:%S"))
	}
	return "", x.errorf("there is: run_uuid, current_datetime_local, current_datetime_utc", "no pm[%s]", key)
}

var dateLetters = map[byte]string{'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05",
	'j': "002", 'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday", 'Z': "MST", 'z': "-0700", 'p': "PM", 'I': "03"}

// date implements the common part of strftime.
func (x pathExpander) date(t time.Time, format string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if i == len(format) || dateLetters[format[i]] == "" {
			return "", x.errorf("use %Y %m %d %H %M %S", "the date format %q is not understood", format)
		}
		b.WriteString(t.Format(dateLetters[format[i]]))
	}
	return b.String(), nil
}
