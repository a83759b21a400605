//go:build unix

package kernel

import (
	"encoding/base64"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// goldenCase is what papermill did with one parameter.
type goldenCase struct {
	ID        string               `json:"id"`
	Language  string               `json:"language"`
	Params    map[string]codec.Raw `json:"params"`
	Items     [][2]codec.Raw       `json:"params_items"`
	Evaluated *struct {
		Repr   *string `json:"value_ascii_repr"`
		Trips  bool    `json:"round_trips"`
		Shell  *string `json:"declare_p"`
		Failed *string `json:"error"`
	} `json:"evaluated"`
}

func goldenCases(t *testing.T) (values, names []goldenCase) {
	raw, err := os.ReadFile("../../notebooks/testdata/papermill/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]codec.Raw
	if err := codec.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for key, to := range map[string]*[]goldenCase{"injection": &values, "injection_names": &names} {
		if err := codec.Unmarshal(all[key], to); err != nil {
			t.Fatal(err)
		}
	}
	return values, names
}

// goldenValue reads the cases' way to write what JSON cannot; ok is false for what no notebook can give
// (a Python set).
func goldenValue(t *testing.T, raw codec.Raw) (v notebooks.Value, ok bool) {
	t.Helper()
	var text string
	switch raw.Kind() {
	case 'n':
		return notebooks.Value{Type: notebooks.TypeNull}, true
	case 't', 'f':
		return notebooks.Value{Type: notebooks.TypeBool, Bool: raw.Kind() == 't'}, true
	case '"':
		decode(t, raw, &text)
		return notebooks.Value{Type: notebooks.TypeString, Text: text}, true
	case '0':
		text = string(raw)
		if strings.ContainsAny(text, ".eE") {
			return float(t, text), true
		}
		return notebooks.Value{Type: notebooks.TypeInt, Text: text}, true
	case '[':
		var items []codec.Raw
		decode(t, raw, &items)
		v = notebooks.Value{Type: notebooks.TypeList}
		for _, item := range items {
			e, _ := goldenValue(t, item)
			v.List = append(v.List, e)
		}
		return v, true
	}
	var object map[string]codec.Raw
	decode(t, raw, &object)
	for tag, body := range object {
		switch tag {
		case "$float":
			decode(t, body, &text)
			return float(t, text), true
		case "$datetime":
			decode(t, body, &text)
			return notebooks.Value{Type: notebooks.TypeDate, Text: text}, true
		case "$bytes_b64":
			decode(t, body, &text)
			plain, err := base64.StdEncoding.DecodeString(text)
			return notebooks.Value{Type: notebooks.TypeBytes, Text: string(plain)}, err == nil
		case "$tuple":
			return goldenValue(t, body)
		case "$set":
			return v, false
		case "$dict_items":
			var pairs [][2]codec.Raw
			decode(t, body, &pairs)
			v = notebooks.Value{Type: notebooks.TypeMap}
			for _, p := range pairs {
				key, _ := goldenValue(t, p[0])
				value, _ := goldenValue(t, p[1])
				v.Entries = append(v.Entries, notebooks.Entry{Key: key, Value: value})
			}
			return v, true
		}
	}
	v = notebooks.Value{Type: notebooks.TypeMap}
	for _, name := range sortedKeys(object) {
		value, _ := goldenValue(t, object[name])
		v.Entries = append(v.Entries, notebooks.Entry{Key: notebooks.Value{Type: notebooks.TypeString, Text: name},
			Value: value})
	}
	return v, true
}

func sortedKeys(m map[string]codec.Raw) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func decode(t *testing.T, raw codec.Raw, to any) {
	t.Helper()
	if err := codec.Unmarshal(raw, to); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

func float(t *testing.T, text string) notebooks.Value {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return notebooks.Value{Type: notebooks.TypeFloat, Float: f}
}

// Values that papermill loses or breaks, as they must arrive in Python.
var beyondPapermill = map[string]string{
	"dict_int_key":       "{1: 'a', 2: 'b'}",
	"dict_bool_none_key": "{True: 1, None: 2}",
	"dict_special_key":   `{'a b': 1, 'n\nl': 3, 'q"k': 2}`, // the cases do not keep the order
	"tuple":              "[1, 2]",                          // a notebook's list
	"tuple_quotes":       `['a"b', "c'd"]`,
	"datetime":           "datetime.datetime(2024, 1, 2, 3, 4, 5)",
	"date":               "datetime.date(2024, 1, 2)",
	"bytes":              `b'ab"c'`,
}

func TestGoldenValuesReachPython(t *testing.T) {
	values, _ := goldenCases(t)
	python, _ := Lookup("python")
	var params []notebooks.Bound
	var want []string
	for _, c := range values {
		if c.Language != "python" {
			continue
		}
		v, ok := goldenValue(t, c.Params["x"])
		if !ok {
			continue
		}
		id := strings.TrimPrefix(c.ID, "python/")
		expect, own := beyondPapermill[id]
		if !own {
			if c.Evaluated == nil || !c.Evaluated.Trips {
				t.Fatalf("%s: papermill loses it, and nothing says how it must arrive", id)
			}
			expect = *c.Evaluated.Repr
		}
		params = append(params, bound("v_"+id, v))
		want = append(want, expect)
	}
	if len(params) < 60 {
		t.Fatalf("only %d cases", len(params))
	}
	h := start(t, python, func(o *Options) { o.Params = params })
	for i, p := range params {
		if got := h.run("print(ascii(" + p.Param.Name + "), end='')"); got.stdout != want[i] {
			t.Errorf("%s: %.200s, want %.200s (%s)", p.Param.Name, got.stdout, want[i], got.stderr)
		}
	}
}

// In bash a value is its text: a scalar as printed, a list and a map element by element.
func TestGoldenValuesReachBash(t *testing.T) {
	values, _ := goldenCases(t)
	bash, _ := Lookup("bash")
	seen := 0
	var params []notebooks.Bound
	papermill := map[string]string{}
	for _, c := range values {
		if c.Language != "bash" {
			continue
		}
		v, ok := goldenValue(t, c.Params["x"])
		if !ok {
			continue
		}
		b := bound("v_"+strings.TrimPrefix(c.ID, "bash/"), v)
		if err := bash.ValidateParam(b); err != nil {
			if c.ID != "bash/str_nul" && c.ID != "bash/dict_bool_none_key" { // NUL; null is an empty key
				t.Errorf("%s: %v", c.ID, err)
			}
			continue
		}
		params = append(params, b)
		// If papermill gets it right, bash must print the same for our variable.
		right := !strings.Contains(c.ID, "/list_mixed") && !strings.Contains(c.ID, "/bytes") &&
			!strings.Contains(c.ID, "/tuple")
		if c.Evaluated != nil && c.Evaluated.Shell != nil && right {
			papermill[b.Param.Name] = strings.Replace(*c.Evaluated.Shell, " x=", " "+b.Param.Name+"=", 1)
		}
	}
	h := start(t, bash, func(o *Options) { o.Params = params })
	for _, b := range params {
		seen++
		if want, ok := papermill[b.Param.Name]; ok {
			if got := h.run("declare -p " + b.Param.Name); got.stdout != want+"\n" {
				t.Errorf("%s: %.200q, want %.200q", b.Param.Name, got.stdout, want)
			}
		}
		var want []string
		code := "printf '%s\\0' \"${" + b.Param.Name + "[@]}\""
		switch b.Value.Type {
		case notebooks.TypeList:
			for _, e := range b.Value.List {
				want = append(want, shellText(e))
			}
		case notebooks.TypeMap:
			code = `for k in "${!` + b.Param.Name + `[@]}"; do printf '%s\0%s\0' "$k" "${` + b.Param.Name +
				`[$k]}"; done`
			for _, e := range b.Value.Entries {
				want = append(want, shellText(e.Key)+"\x00"+shellText(e.Value))
			}
		default:
			want = []string{shellText(b.Value)}
		}
		got := h.run(code).stdout
		if b.Value.Type == notebooks.TypeMap { // an associative array has no order
			for _, pair := range want {
				if !strings.Contains("\x00"+got, "\x00"+pair+"\x00") {
					t.Errorf("%s: %q lacks %q", b.Param.Name, got, pair)
				}
			}
			continue
		}
		joined := strings.Join(want, "\x00") + "\x00"
		if len(want) == 0 {
			joined = "\x00" // printf prints its format once even without arguments
		}
		if got != joined {
			t.Errorf("%s: %.200q, want %.200q", b.Param.Name, got, joined)
		}
	}
	if seen < 60 {
		t.Fatalf("only %d cases", seen)
	}
}

// A parameter becomes the variable of its name or is rejected before anything starts; no name runs as code.
func TestGoldenNames(t *testing.T) {
	_, cases := goldenCases(t)
	refused := map[string][]string{
		"python": {"name_with_dash", "name_with_space", "name_with_dot", "name_digit_first", "name_keyword",
			"name_empty", "name_code_injection", "name_newline"},
		"bash": {"name_with_dash", "name_with_space", "name_with_dot", "name_digit_first", "name_unicode", "name_empty",
			"name_code_injection", "name_newline"},
	}
	for _, c := range cases {
		k, ok := Lookup(c.Language)
		if !ok {
			continue
		}
		id := strings.TrimPrefix(c.ID, c.Language+"/")
		for _, item := range c.Items {
			var name string
			decode(t, item[0], &name)
			v, _ := goldenValue(t, item[1])
			err := k.ValidateParam(bound(name, v))
			if want := slices.Contains(refused[c.Language], id); (err != nil) != want {
				t.Errorf("%s %q: %v", c.ID, name, err)
			}
			_, startErr := k.Start(t.Context(),
				Options{Params: []notebooks.Bound{bound(name, v)}, Dir: t.TempDir(), Private: t.TempDir(),
					Env: []string{"PATH=/nowhere"}})
			var e *notebooks.Error
			if err != nil && (!asError(startErr, &e) || e.Kind != notebooks.KindParameter) {
				t.Errorf("%s %q: Start does not refuse it: %v", c.ID, name, startErr)
			}
		}
	}
}
