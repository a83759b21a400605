package inject

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/params"
)

// language is how a language writes values.
type language struct {
	names   []string // as kernelspecs and fences say it, lower case
	comment string   // with %s for the text
	assign  string   // with %s for name and value
	null    string   // "" when the language has none
	yes, no string
	nan     [3]string // NaN, infinity, minus infinity
	text    func(string) (string, error)
	integer func(string) (string, error)
	list    func(w *writer, items []notebooks.Value) (string, error)
	entries func(w *writer, entries []notebooks.Entry) (string, error)
	name    *lazyregexp.Regexp
	quoted  string // with %s for a name that is a reserved word or has special letters; "" if impossible
	words   string // that are no plain names
	taken   string // names that have a meaning of their own, and cannot be set
	fold    bool   // upper and lower case are the same
}

// Known reports whether parameters can be written in a language.
func Known(lang string) bool { return find(lang) != nil }

// Same reports whether two words name the same language that parameters can be written in.
func Same(a, b string) bool { return find(a) != nil && find(a) == find(b) }

func find(lang string) *language {
	for i := range languages {
		if slices.Contains(languages[i].names, strings.ToLower(lang)) {
			return &languages[i]
		}
	}
	return nil
}

// Cell returns the source of a cell that sets the parameters, under a comment that says so. Secrets are
// written only when reveal says so. The error is an ErrorList of every parameter that cannot be written.
func Cell(lang string, params []notebooks.Bound, reveal bool) (string, error) {
	l := find(lang)
	if l == nil {
		return "", &notebooks.Error{Kind: notebooks.KindParameter,
			Msg:  fmt.Sprintf("parameters cannot be written in the language %q", lang),
			Hint: "read them in the notebook from the file that MARKMILL_PARAMS names"}
	}
	w := &writer{language: l, reveal: reveal}
	var out strings.Builder
	var errs notebooks.ErrorList
	fmt.Fprintf(&out, l.comment+"\n", "Parameters")
	for _, p := range params {
		line, err := w.assignment(p)
		if err != nil {
			errs = append(errs, &notebooks.Error{Kind: notebooks.KindParameter, Line: p.Param.Line, Col: p.Param.Col,
				Msg:  fmt.Sprintf("parameter %q cannot be written in %s: %v", p.Param.Name, l.names[0], err),
				Hint: "rename it, or give it as text"})
			continue
		}
		out.WriteString(line + "\n")
	}
	if len(errs) > 0 {
		return "", errs
	}
	return out.String(), nil
}

// writer writes the values of one cell.
type writer struct {
	*language
	reveal bool
}

func (w *writer) assignment(p notebooks.Bound) (string, error) {
	name, ok := w.spell(p.Param.Name)
	if !ok {
		return "", fmt.Errorf("it is no name of a variable there")
	}
	value, err := w.value(p.Value)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(w.assign, name, value), nil
}

// IsName reports whether a parameter can have the name in a language; false where that is not known.
func IsName(lang, name string) bool {
	l := find(lang)
	if l == nil {
		return false
	}
	_, ok := l.spell(name)
	return ok
}

// spell returns a name as the language writes it.
func (l *language) spell(name string) (text string, ok bool) {
	if l.names[0] == "r" { // no name begins with it, and papermill drops it
		name = strings.TrimLeft(name, "_")
	}
	same := func(word string) bool { return word == name || l.fold && strings.EqualFold(word, name) }
	if slices.ContainsFunc(strings.Fields(l.taken), same) {
		return "", false
	}
	plain := l.name.MatchString(name)
	if plain && !slices.Contains(strings.Fields(l.words), name) {
		return name, true
	}
	if l.quoted == "" || !plain && !params.IsName(name) {
		return "", false
	}
	return fmt.Sprintf(l.quoted, name), true
}

func (w *writer) value(v notebooks.Value) (string, error) {
	switch v.Type {
	case notebooks.TypeNull:
		return w.null, nil
	case notebooks.TypeBool:
		if v.Bool {
			return w.yes, nil
		}
		return w.no, nil
	case notebooks.TypeInt:
		return w.integer(v.Text)
	case notebooks.TypeFloat:
		return w.float(v.Float), nil
	case notebooks.TypeList:
		return w.list(w, v.List)
	case notebooks.TypeMap:
		return w.entries(w, v.Entries)
	case notebooks.TypeSecret:
		if w.reveal {
			return w.text(v.Reveal())
		}
		return w.text(v.String())
	case notebooks.TypeBytes, notebooks.TypeDate, notebooks.TypeDuration:
		if w.names[0] == "python" {
			return pythonOnly(v)
		}
		if v.Type == notebooks.TypeDuration {
			return w.float(v.Float), nil
		}
		return w.text(v.String()) // bytes as base64
	case notebooks.TypeString, notebooks.TypePath:
		return w.text(v.Text)
	}
	return "", fmt.Errorf("it has no value of type %s", v.Type)
}

// float writes a number as Python's repr does, which all these languages read.
func (w *writer) float(f float64) string {
	switch {
	case math.IsNaN(f):
		return w.nan[0]
	case math.IsInf(f, 1):
		return w.nan[1]
	case math.IsInf(f, -1):
		return w.nan[2]
	}
	return repr(f)
}

// repr returns a float as Python writes it: the shortest text that reads back the same, with an exponent
// from 1e16 and below 1e-4.
func repr(f float64) string {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exponent < -4 || exponent >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// written writes several values.
func written(items []notebooks.Value, write func(notebooks.Value) (string, error)) ([]string, error) {
	out := make([]string, len(items))
	for i, v := range items {
		var err error
		if out[i], err = write(v); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return out, nil
}

// pairs writes the entries of a map in a form with %s for key and value.
func (w *writer) pairs(entries []notebooks.Entry, form string, key func(notebooks.Value) (string, error)) (
	[]string, error) {
	out := make([]string, len(entries))
	for i, e := range entries {
		name, err := key(e.Key)
		if err != nil {
			return nil, err
		}
		value, err := w.value(e.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Key, err)
		}
		out[i] = fmt.Sprintf(form, name, value)
	}
	return out, nil
}

// alike reports whether values are of one type, so that a list of them has one.
func alike(items []notebooks.Value) bool {
	for _, v := range items {
		if v.Type != items[0].Type || v.Type == notebooks.TypeList || v.Type == notebooks.TypeNull {
			return false
		}
	}
	return len(items) > 0
}

func plainInteger(text string) (string, error) { return text, nil }

// fits reports whether an integer has so many bits and a sign at most.
func fits(text string, bits int) bool {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return false
	}
	if n.Sign() < 0 {
		n.Not(n) // the most negative number has one more than the most positive
	}
	return n.BitLen() <= bits
}

// exact refuses an integer that a double cannot hold.
func exact(text string) (string, error) {
	f, err := strconv.ParseFloat(text, 64)
	if n, ok := new(big.Float).SetPrec(4096).SetString(text); err != nil || !ok || n.Cmp(big.NewFloat(f)) != 0 {
		return "", fmt.Errorf("its numbers do not hold %s exactly", text)
	}
	return text, nil
}
