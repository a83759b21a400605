package params

import (
	"errors"
	"strings"
	"testing"

	"markmill/notebooks"
)

func textValue(s string) notebooks.Value { return notebooks.Value{Type: notebooks.TypeString, Text: s} }
func intValue(s string) notebooks.Value {
	return notebooks.Value{Type: notebooks.TypeInt, Text: s}
}
func floatValue(f float64) notebooks.Value {
	return notebooks.Value{Type: notebooks.TypeFloat, Float: f}
}

func TestBindReadsTextByDeclaredType(t *testing.T) {
	for _, c := range []struct{ declared, text, want string }{
		{"x: a", "007", `"007"`},
		{"x: a", "", `""`},
		{"x: 1", "007", `7`},
		{"x: 1", " -1_000 ", `-1000`},
		{"x: 1", "0x1F", `31`},
		{"x: 1", "123456789012345678901234567890", `{"$int":"123456789012345678901234567890"}`},
		{"x: 1", "1.0", "error"},
		{"x: 1", "", "error"},
		{"x: 1.0", "1", `{"$float":"1.0"}`},
		{"x: 1.0", "1e3", `{"$float":"1000.0"}`},
		{"x: 1.0", "-Inf", `{"$float":"-inf"}`},
		{"x: 1.0", "1e400", "error"},
		{"x: 1.0", "1__0", "error"},
		{"x: true", "Off", `false`},
		{"x: true", "1", `true`},
		{"x: true", "y", "error"},
		{"x: []", "[1, two, {a: b}]", `[1,"two",{"$map":[["a","b"]]}]`},
		{"x: []", `["\ud83d\ude0d", 1e3]`, `["😍",{"$float":"1000.0"}]`},
		{"x: []", "a,b", "error"},
		{"x: {}", "{1: a}", `{"$map":[[1,"a"]]}`},
		{"x: {}", "[1]", "error"},
		{"x: 2024-01-02", "2026-11-21T10:30:00+01:00", `{"$date":"2026-11-21T10:30:00+01:00"}`},
		{"x: 2024-01-02", "21.11.2026", "error"},
		{"x: {type: duration}", "1h30m", `{"$duration":5400,"text":"1h30m"}`},
		{"x: {type: duration}", "90", `{"$duration":90,"text":"90"}`},
		{"x: {type: duration}", "soon", "error"},
		{"x: {type: duration}", "nan", "error"},
		{"x: {type: path}", "a/b", `{"$path":"a/b"}`},
		{"x: {type: path}", "", "error"},
		{"x: {type: secret}", "hush", `{"$secret":"hush"}`},
		{"x: {type: int, min: 1, max: 5}", "5", `5`},
		{"x: {type: int, min: 1, max: 5}", "6", "error"},
		{"x: {type: float, min: 0}", "nan", "error"},
		{"x: {type: float, max: 9007199254740993}", "9007199254740993", `{"$float":"9007199254740992.0"}`},
		{"x: {enum: [a, b]}", "c", "error"},
		{"x: {type: int, required: false}", "null", `null`},
		{"x: {type: string, required: false}", "null", `"null"`},
		{"x:", "12", `12`},
	} {
		bound, err := Bind("n.md", block(t, c.declared), []Given{{Name: "x", Text: c.text, Source: "-p"}}, Options{})
		got := "error"
		if err == nil {
			got = string(bound[0].Value.Wire())
		}
		if got != c.want {
			t.Errorf("%s with %q: %s, want %s (%v)", c.declared, c.text, got, c.want, err)
		}
	}
}

func TestBindReadsYAMLByDeclaredType(t *testing.T) {
	for _, c := range []struct{ declared, yaml, want string }{
		{"x: a", "x: 017", `"017"`},
		{"x: a", "x: yes", `"yes"`},
		{"x: a", "x: 2024-01-02", `"2024-01-02"`},
		{"x: a", "x: 1.50", `"1.50"`},
		{"x: a", `{"x": 5}`, `"5"`},
		{"x: a", "x:", "error"},
		{"x: a", "x: [a]", "error"},
		{"x: 1", "x: 010", `8`},
		{"x: 1", `x: "1"`, "error"},
		{"x: 1", "x: 1.0", "error"},
		{"x: 1.0", "x: 1e3", `{"$float":"1000.0"}`},
		{"x: 1.0", "x: 2", `{"$float":"2.0"}`},
		{"x: true", "x: Off", `false`},
		{"x: true", `x: "no"`, "error"},
		{"x: true", "x: 1", "error"},
		{"x: []", "x: &a [1]\ny: *a", `[1]`},
		{"x: []", "x: 1", "error"},
		{"x: 2024-01-02", "x: 2026-11-21", `{"$date":"2026-11-21"}`},
		{"x: {type: duration}", "x: 90", `{"$duration":90,"text":"90"}`},
		{"x: {type: bytes}", "x: !!binary aGk=", `{"$bytes":"aGk="}`},
		{"x: {type: int, required: false}", "x: ~", `null`},
		{"x:", "x: 2026-11-21", `"2026-11-21"`},
		{"x:", "x: 010", `8`},
	} {
		given, err := ParseGiven("-y", "", []byte(c.yaml))
		if err != nil {
			t.Fatal(err)
		}
		bound, err := Bind("n.md", block(t, c.declared), given[:1], Options{})
		got := "error"
		if err == nil {
			got = string(bound[0].Value.Wire())
		}
		if got != c.want {
			t.Errorf("%s with %q: %s, want %s (%v)", c.declared, c.yaml, got, c.want, err)
		}
	}
}

func TestBindPrecedence(t *testing.T) {
	value := textValue("program")
	all := []Given{
		{Name: "x", Text: "raw", Raw: true, Source: "-r"},
		{Name: "x", Text: "p1", Source: "-p"},
		{Name: "x", Text: "p2", Source: "-p"},
		{Name: "x", Value: &value, Source: "-y"},
		{Name: "x", Value: &value, Source: "-f params.yaml"},
		{Name: "x", Value: &value, Source: "-b"},
		{Name: "x", Value: &value, Source: "inject"},
	}
	env := Options{Getenv: func(n string) (string, bool) { return "from env", n == "X" }}
	params := block(t, "x: {type: string, default: a, env: X}")
	for i, want := range []string{"-r", "-p", "-p", "-y", "-f params.yaml", "-b", "inject", "env X"} {
		bound, err := Bind("n.md", params, all[i:], env)
		if err != nil || bound[0].From != want || !bound[0].Given {
			t.Errorf("%d: %+v %v, want %s", i, bound, err, want)
		}
	}
	if bound, _ := Bind("n.md", params, all[1:3], env); bound[0].Value.Text != "p2" {
		t.Errorf("%+v", bound)
	}
	bound, err := Bind("n.md", params, nil, Options{Getenv: func(string) (string, bool) { return "", true }})
	if err != nil || bound[0].From != "default" || bound[0].Given {
		t.Errorf("an empty variable is not ignored: %+v %v", bound, err)
	}
}

func TestBindReportsEveryMistake(t *testing.T) {
	params := block(t, "threshold: 1.0\nhostname: localhost\nneed: {type: int, required: true}\n"+
		"token: {type: secret, env: API_TOKEN}")
	given, err := ParseGiven("-f p.yaml", "p.yaml", []byte("a: 1\nmy-name: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	given = append(given, Given{Name: "treshold", Text: "1", Source: "-p"},
		Given{Name: "treshold", Text: "2", Source: "-p"},
		Given{Name: "threshold", Text: "high", Source: "-p"}, Given{Name: "hostname", Text: "\xff", Source: "-p"})
	_, err = Bind("n.md", params, given, Options{})
	wants(t, err, `p.yaml:1:1: n.md has no parameter "a"`, "there is: threshold, hostname, need, token",
		`did you mean threshold`, `p.yaml:2:1: "my-name" cannot name a parameter`, "my_name",
		`"high" is not a float`, "n.md:1", `"need" (int) is required`, "-p need=", "API_TOKEN", "not UTF-8")
	var list notebooks.ErrorList
	if !errors.As(err, &list) || len(list) != 7 {
		t.Errorf("%d mistakes:\n%v", len(list), err)
	}
}

func TestBindOrderAndUnknown(t *testing.T) {
	path := textValue("n.md")
	given := []Given{{Name: "u", Text: "1", Source: "-p"}, {Name: "b", Text: "2", Source: "-p"},
		{Name: "PAPERMILL_INPUT_PATH", Value: &path, Source: "inject"}}
	names := func(bound []notebooks.Bound) string {
		var s []string
		for _, b := range bound {
			s = append(s, b.Param.Name)
		}
		return strings.Join(s, " ")
	}
	bound, err := Bind("n.md", block(t, "a: 1\nb: 2"), given, Options{AllowUnknown: true})
	if err != nil || names(bound) != "a b PAPERMILL_INPUT_PATH u" {
		t.Errorf("%s %v", names(bound), err)
	}
	_, err = Bind("n.md", block(t, "a: 1\nb: 2"), given, Options{})
	wants(t, err, `no parameter "u"`)
	if strings.Contains(err.Error(), "PAPERMILL") {
		t.Error(err)
	}
}

func TestBindLanguageNames(t *testing.T) {
	given := []Given{{Name: "my.name", Text: "1", Source: "-p"}}
	o := Options{AllowUnknown: true}
	if got, err := Bind("n", nil, given, o); err == nil {
		t.Fatalf("a name with a dot was taken: %v", got)
	}
	o.IsName = func(name string) bool { return name == "my.name" }
	if got, err := Bind("n", nil, given, o); err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	o.AllowUnknown = false
	if _, err := Bind("n", nil, given, o); err == nil || !strings.Contains(err.Error(), `no parameter "my.name"`) {
		t.Fatal(err)
	}
}

func TestBindUnread(t *testing.T) {
	nb := &notebooks.Notebook{Steps: []*notebooks.Step{{Lang: "python", Parameters: true}, {Lang: "scala"}}}
	if got := Unread(nb); got != "" {
		t.Errorf("%q", got)
	}
	nb.Steps[1].Parameters = true
	_, err := Bind("n", nil, []Given{{Name: "x", Text: "1", Source: "-p"}}, Options{Unread: Unread(nb)})
	if err == nil || !strings.Contains(err.Error(),
		"its cell of parameters is in scala, whose assignments are not read: "+
			"--allow-unknown-parameters takes any name") {
		t.Error(err)
	}
}

func TestBindRaw(t *testing.T) {
	raw := []Given{{Name: "x", Text: "007", Raw: true, Source: "-r"}}
	for _, declared := range []string{"x: a", "x:", "x: {type: path}"} {
		if bound, err := Bind("n.md", block(t, declared), raw, Options{}); err != nil || bound[0].Value.Text != "007" {
			t.Errorf("%s: %v %v", declared, bound, err)
		}
	}
	_, err := Bind("n.md", block(t, "x: 1"), raw, Options{})
	wants(t, err, "-r gives a string, not an int", "use -p")
}

// The literal in a papermill cell decides how -p is read but restricts nothing; an annotation restricts.
func TestBindCodeParameters(t *testing.T) {
	params := ParseCode("python",
		[]byte("alpha = 1\nname = 'a'\nn: int = 1\nmaybe: Optional[int] = None\nhome = os.getcwd()\n"), 1)
	for _, c := range []struct{ name, text, want string }{
		{"alpha", "2", `2`}, {"alpha", "0.5", `{"$float":"0.5"}`}, {"alpha", "None", `null`}, {"alpha", "x", `"x"`},
		{"name", "007", `"007"`}, {"n", "0.5", "error"}, {"n", "None", "error"}, {"maybe", "None", `null`},
		{"maybe", "3", `3`}, {"home", "1", `1`},
	} {
		bound, err := Bind("n.md", params, []Given{{Name: c.name, Text: c.text, Source: "-p"}}, Options{})
		got := "error"
		for _, b := range bound {
			if b.Given {
				got = string(b.Value.Wire())
			}
		}
		if got != c.want {
			t.Errorf("%s=%s: %s, want %s (%v)", c.name, c.text, got, c.want, err)
		}
	}
	bound, err := Bind("n.md", params, nil, Options{})
	if err != nil || len(bound) != 5 || bound[4].Given || bound[4].Value.Type != notebooks.TypeAny {
		t.Errorf("%+v %v", bound, err)
	}
}

// None is null where an annotation, however it is written, or the default allows null; the words of YAML stay text.
func TestBindNone(t *testing.T) {
	for _, declared := range []string{`Optional[str]`, `"Optional[str]"`, `str | None`, `'None|str'`, `"str" | None`,
		`Union[str, None]`, `typing.Union[None, "str"]`, `t.Optional["str"]`, `Annotated[Optional[str], "help"]`,
		"Optional[\n    str,\n]", `Final[Union[str, NoneType]]`} {
		for text, want := range map[string]string{"None": "null", "null": `"null"`, "007": `"007"`} {
			params := ParseCode("python", []byte("x: "+declared+" = 'd'\n"), 1)
			bound, err := Bind("n.md", params, []Given{{Name: "x", Text: text, Source: "-p"}}, Options{})
			if err != nil || string(bound[0].Value.Wire()) != want {
				t.Errorf("%s, %s: %v, want %s (%v)", declared, text, bound, want, err)
			}
		}
	}
	for source, want := range map[string]string{"x: str = None": "null", "x = 'd'": "null", "x: str = 'd'": `"None"`,
		"x = 'd'  # type: Optional[str]": "null", "x: Union[str, int, None] = 'd'": "null"} {
		given := []Given{{Name: "x", Text: "None", Source: "-p"}}
		bound, err := Bind("n.md", ParseCode("python", []byte(source), 1), given, Options{})
		if err != nil || string(bound[0].Value.Wire()) != want {
			t.Errorf("%s: %v, want %s (%v)", source, bound, want, err)
		}
	}
}

func TestSecretsStayHidden(t *testing.T) {
	params := block(t, "token: {type: secret, env: API_TOKEN}")
	bound, err := Bind("n.md", params, nil, Options{Getenv: func(string) (string, bool) { return "hush", true }})
	if err != nil || bound[0].Value.Reveal() != "hush" || bound[0].Value.String() != "***" {
		t.Fatalf("%v %v", bound, err)
	}
	if _, err := ExpandPath("out/{{token}}.md", bound, nil); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("%v", err)
	}
	for _, yaml := range []string{"token: [hush]", "token: {hush: 1}", "token: !!binary aHVzaA=="} {
		given, err := ParseGiven("-y", "", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Bind("n.md", params, given, Options{})
		if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "aHVzaA") {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

func TestParseGivenYAMLMistakes(t *testing.T) {
	for src, parts := range map[string][]string{
		"x: 1\ny: 2\nx: 3": {"p.yaml:3:1", "first in line 1, column 1", "keep one"},
		"[1]":              {"p.yaml:1:1", "mapping"},
		"text":             {"mapping"},
		"x: 1\n---\nx: 2":  {"p.yaml:2:1", "second"},
		"a: 1\nx: {a: 1":   {"p.yaml:2:4", "not YAML"},
		"a: 1\nx: \xff":    {"p.yaml:2:4", "UTF-8"},
		"x: 1.0e+400":      {"p.yaml:1:4", "range"},
	} {
		_, err := ParseGiven("-f p.yaml", "p.yaml", []byte(src))
		wants(t, err, parts...)
	}
	for _, empty := range []string{"", "# nothing", "~", "---\n"} {
		if given, err := ParseGiven("-y", "", []byte(empty)); err != nil || given != nil {
			t.Errorf("%q: %v %v", empty, given, err)
		}
	}
}

func TestExpandPath(t *testing.T) {
	bound := []notebooks.Bound{
		{Param: notebooks.Param{Name: "x"}, Value: textValue("a{b}")}, {Param: notebooks.Param{Name: "n"},
			Value: intValue("-42")}, {Param: notebooks.Param{Name: "f"}, Value: floatValue(2.5)},
		{Param: notebooks.Param{Name: "l"}, Value: notebooks.Value{Type: notebooks.TypeList,
			List: []notebooks.Value{textValue("z"), {Type: notebooks.TypeSecret, Text: "hush"}}}},
		{Param: notebooks.Param{Name: "none"}, Value: notebooks.Value{Type: notebooks.TypeNull}},
		{Param: notebooks.Param{Name: "nul"}, Value: textValue("a\x00")},
	}
	extra := map[string]string{"run_id": "r1", "date": "2026-11-21", "now": "2026-11-21T23:30:00-05:00"}
	for path, want := range map[string]string{
		"out/{{x}}-{{ n }}.md": "out/a{b}--42.md", "{x}": "a{b}", "{n:05d}": "-0042",
		"{f:.2f}": "2.50", "{{f}}": "2.5", "{l[0]}": "z",
		"{{run_id}}/{{date}}": "r1/2026-11-21", "{pm[run_uuid]}": "r1", "{pm[current_datetime_utc]:%Y%m%d}": "20261122",
		"plain": "plain", "": "", "{x:.2}": "a{", "{x:.9s}": "a{b}", "{x:5.2}|": "a{   |", "{lbrace}x{{rbrace}}": "{x}",
		"{f:.2}": "error", "{n:.2}": "error",
		"{l}": "error", "{l[1]}": "error", "{l[2]}": "error", "{none}": "error", "{nul}": "error", "{": "error",
		"}": "error", "{}": "error", "{{}}": "error",
		"{nope}": "error", "{x:05d}": "error", "{x!r}": "error", "{pm[nope]}": "error",
		"{pm[current_datetime_utc]:%Q}": "error",
	} {
		got, err := ExpandPath(path, bound, extra)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", path, got, want, err)
		}
	}
	_, err := ExpandPath("{{nope}}", bound, extra)
	wants(t, err, `no parameter "nope"`, "x, n, f, l, none, nul, date, now, run_id")
}

func FuzzGivenYAML(f *testing.F) {
	for _, s := range []string{"x: 1", "x: &a [*a]", "<<: {x: 1}\ny: 2", `{"x": "\ud83d\ude0d"}`, "x: !!set {a}",
		"? [1]\n: 2", "x: 0x_", "x: 1\n---\n", "- 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		given, err := ParseGiven("-y", "", data)
		if err != nil {
			if given != nil || err.Error() == "" {
				t.Errorf("%v %v", given, err)
			}
			return
		}
		for _, g := range given {
			back, err := notebooks.ParseWire(g.Value.Wire())
			if err != nil || !back.Equal(*g.Value) {
				t.Errorf("%s became %s, %v", g.Value.Wire(), back.Wire(), err)
			}
			if !g.Value.JSON().IsValid() {
				t.Errorf("not JSON: %s", g.Value.JSON())
			}
		}
	})
}

func FuzzBind(f *testing.F) {
	for _, s := range []string{"007", "0x1F", "1e3", "nan", "[1, {a: b}]", "2024-01-02", "1h30m",
		"-0", "٣", "\xff", "!!int \"a\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, typ := range declarable {
			p := notebooks.Param{Name: "x", Type: typ}
			bound, err := Bind("n.md", []notebooks.Param{p}, []Given{{Name: "x", Text: text, Source: "-p"}}, Options{})
			if err != nil {
				continue
			}
			v := bound[0].Value
			if err := checkValue(p, v); err != nil {
				t.Errorf("%s %q: %v", typ, text, err)
			}
			if back, err := notebooks.ParseWire(v.Wire()); err != nil || !back.Equal(v) {
				t.Errorf("%s %q: %s became %s, %v", typ, text, v.Wire(), back.Wire(), err)
			}
		}
	})
}
