package params

import (
	"strings"
	"testing"

	"markmill/notebooks"
)

// wants checks that an error contains each part.
func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not contain %q", err, p)
		}
	}
}

func block(t *testing.T, src string) []notebooks.Param {
	t.Helper()
	params, errs := ParseBlock("n.md", []byte(src), 1)
	if errs != nil {
		t.Fatal(errs)
	}
	return params
}

func TestBlockShortForm(t *testing.T) {
	for src, want := range map[string]struct {
		t                  notebooks.Type
		wire, source, help string
	}{
		"x: 1.0              # alert above": {notebooks.TypeFloat, `{"$float":"1.0"}`, "1.0", "alert above"},
		"# above\nx: 1":                     {notebooks.TypeInt, `1`, "1", "above"},
		"x: localhost":                      {notebooks.TypeString, `"localhost"`, "localhost", ""},
		"x: \"a # b\" # real":               {notebooks.TypeString, `"a # b"`, `"a # b"`, "real"},
		"x: yes":                            {notebooks.TypeBool, `true`, "yes", ""},
		"x: \"yes\"":                        {notebooks.TypeString, `"yes"`, `"yes"`, ""},
		"x: 2024-01-02":                     {notebooks.TypeDate, `{"$date":"2024-01-02"}`, "2024-01-02", ""},
		"x: 2024-13-02":                     {notebooks.TypeString, `"2024-13-02"`, "2024-13-02", ""},
		"x: 12:30":                          {notebooks.TypeString, `"12:30"`, "12:30", ""},
		"x: 1e3":                            {notebooks.TypeFloat, `{"$float":"1000.0"}`, "1e3", ""},
		"x: 0o17":                           {notebooks.TypeInt, `15`, "0o17", ""},
		"x:":                                {notebooks.TypeAny, `null`, "", ""},
		"x: # list\n- a # first\n- 1":       {notebooks.TypeList, `["a",1]`, `["a",1]`, "list"},
		"x: {a: 1, 1: b}":                   {notebooks.TypeMap, `{"$map":[["a",1],[1,"b"]]}`, `{"a":1,"1":"b"}`, ""},
		"x: {min: 1, max: 2}": {notebooks.TypeMap,
			`{"$map":[["min",1],["max",2]]}`, `{"min":1,"max":2}`, ""},
		"x: !!binary aGk=":      {notebooks.TypeBytes, `{"$bytes":"aGk="}`, `"aGk="`, ""},
		`{"x": "\ud83d\ude0d"}`: {notebooks.TypeString, `"😍"`, `"😍"`, ""},
	} {
		p := block(t, src)[0]
		if p.Type != want.t || string(p.Default.Wire()) != want.wire || p.DefaultSrc != want.source ||
			p.Help != want.help || !p.HasDefault {
			t.Errorf("%q: %s %s %q %q", src, p.Type, p.Default.Wire(), p.DefaultSrc, p.Help)
		}
	}
}

func TestBlockLongForm(t *testing.T) {
	params := block(t, `threshold: {type: float, default: 1, min: 0, help: "alert above"}
environment: {type: string, enum: [staging, 017], required: true}  # where
token: {type: secret, env: API_TOKEN}
run: {type: string, default: 017}
limit: {type: duration, default: 90, max: 1h}
maybe: {type: int, required: false}
map: {type: map, default: {type: a}}
`)
	if p := params[0]; p.Type != notebooks.TypeFloat || p.Default.Type != notebooks.TypeFloat ||
		p.Min.Text+p.Help != "alert above" || p.Required {
		t.Errorf("%+v", p)
	}
	if p := params[1]; !p.Required || p.HasDefault || p.Help != "where" ||
		p.Enum[1].Text != "017" || p.Line != 2 || p.Col != 1 {
		t.Errorf("%+v", p)
	}
	if p := params[2]; p.Type != notebooks.TypeSecret || p.Env != "API_TOKEN" || !p.Required {
		t.Errorf("%+v", p)
	}
	if p := params[3]; p.Default.Text != "017" {
		t.Errorf("%+v", p)
	}
	if p := params[4]; p.Default.Float != 90 || p.Max.Float != 3600 {
		t.Errorf("%+v", p)
	}
	if p := params[5]; p.Required || p.Default.Type != notebooks.TypeNull {
		t.Errorf("%+v", p)
	}
	if p := params[6]; p.Type != notebooks.TypeMap || len(p.Default.Entries) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestBlockMistakes(t *testing.T) {
	for src, parts := range map[string][]string{
		"x: 1\ny: 2\nx: 3": {"n.md:12:1",
			`"x" is given twice, first in line 10, column 1; keep one`},
		"x: {a: 1, a: 2}":                             {"n.md:10:11", "twice"},
		"x: 017":                                      {"n.md:10:4", "not clear", `"017"`},
		"x: {tpe: int, default: 1}":                   {"n.md:10:5", `"tpe"`, `did you mean type`, "{type: map"},
		"x: {type: str}":                              {"n.md:10:11", `did you mean string?`},
		"x: {type: flaot}":                            {`did you mean float`},
		"x: {type: int, default: abc}":                {"n.md:10:25", "not an int"},
		"x: {type: int, default: 1.5}":                {"not an int"},
		"x: {type: string, enum: [a, b], default: c}": {"n.md:10:42", `"c" is not one of "a", "b"`},
		"x: {type: int, min: 3, default: 2}":          {"n.md:10:33", "less than"},
		"x: {type: int, min: 3, max: 2}":              {"max is less than min"},
		"x: {type: string, min: 3}":                   {"min and max are for"},
		"x: {type: date, default: 2024-02-30}":        {"not a date"},
		"x: {type: secret, default: hush}":            {"n.md:10:28", "may not have a default"},
		"x: {default: 1, required: true}":             {"no default"},
		"my-name: 1":                                  {"n.md:10:1", "my_name"},
		"1a: 1":                                       {"_1a"},
		"\"x = 1; import os #\": 1":                   {"cannot name"},
		"- a":                                         {"mapping"},
		"x: [1":                                       {"n.md:10", "not YAML"},
		"x: 1\n---\ny: 2":                             {"second YAML document"},
		"x: &a [*a]":                                  {"contains itself"},
		"x: !foo 1":                                   {"!foo is not known"},
		"? [1]\n: 2":                                  {"name is expected"},
		"x: {? [1] : 2}":                              {"cannot be a key"},
		"x: \"\xff\"":                                 {"n.md:10:5", "not UTF-8"},
		"a: {type: itn}\nb: {default: 1, required: true}": {"n.md:10:11", "n.md:11:"},
	} {
		params, errs := ParseBlock("n.md", []byte(src), 10)
		if errs == nil {
			t.Errorf("%q: no error, %+v", src, params)
			continue
		}
		wants(t, errs, parts...)
	}
}

func TestAliasBombIsBounded(t *testing.T) {
	src := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'j'; c++ {
		before := string(c - 1)
		src += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]\n"
	}
	_, errs := ParseBlock("n.md", []byte(src), 1)
	if errs == nil {
		t.Fatal("read")
	}
	wants(t, errs, "aliases repeat more than")
	merge := "a: &a {x: 1, y: 2}\n"
	for c := 'b'; c <= 't'; c++ {
		before := string(c - 1)
		merge += string(c) + ": &" + string(c) + " {<<: [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]}\n"
	}
	if _, errs := ParseBlock("n.md", []byte(merge), 1); errs == nil {
		t.Error("read")
	}
}

func TestMergeKeys(t *testing.T) {
	given, err := ParseGiven("-y", "", []byte("<<: [{x: 1, z: 1}, {x: 2, w: 2}]\ny: {<<: {a: 1, b: 2}, a: 9}\nz: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range given {
		got = append(got, g.Name+"="+string(g.Value.JSON()))
	}
	if s := strings.Join(got, " "); s != `x=1 w=2 y={"b":2,"a":9} z=3` {
		t.Error(s)
	}
}

func TestCodeParams(t *testing.T) {
	for _, c := range []struct{ lang, code, want string }{
		{"python", "x: int | None = 1  # h", `x int "int | None" "1" 1 h`},
		{"python", "x = 'a#b' # c", `x string "" "'a#b'" "a#b" c`},
		{"python", "a = b'\\x00'; t = (1,)", `a bytes "" "b'\\x00'" {"$bytes":"AA=="} ; t list "" "(1,)" [1] `},
		{"python", "f = f'{x}'", `f any "" "f'{x}'" ? `},
		{"python", "x: float = 1", `x float "float" "1" {"$float":"1.0"} `},
		{"python", "x = 1  # type: ignore", `x int "" "1" 1 type: ignore`},
		{"python", "def f(a=1):\n    y = 2\nx = {'a': -1.5, 2: None}",
			`x map "" "{'a': -1.5, 2: None}" {"$map":[["a",{"$float":"-1.5"}],[2,null]]} `},
		{"python", "x = 1\nx = 2", `x int "" "2" 2 `},
		{"python", "x = {1, 2}", `x any "" "{1, 2}" ? `},
		{"python", "if x == 1: y = 2\nelse: z = 3", ``},
		{"bash", "X=\"a b\" # h\nexport Y=2\nZ=1 cmd\nP=$HOME\ncat <<E\nQ=1\nE\n",
			`X string "" "\"a b\"" "a b" h; Y int "" "2" 2 ; P any "" "$HOME" ? `},
		{"sh", ": \"${N:=007}\"  # n", `N string "" "007" "007" n`},
		{"js", "const a = 'x // y'; // h\nlet b = [1, {k: null}], c = f(1, 2)\nif (a == b) { d = 1 }",
			`a string "" "'x // y'" "x // y" h; b list "" "[1, {k: null}]" [1,{"$map":[["k",` +
				`null]]}] ; c any "" "f(1, 2)" ? `},
		{"ts", "let a: number = 1", `a float "number" "1" {"$float":"1.0"} `},
		{"r", "x <- 1 # h\ny = 2L", `x float "" "1" {"$float":"1.0"} h; y int "" "2L" 2 `},
		{"julia", "x::Int = 3\ns = \"a $x\"\nn = nothing",
			`x int "Int" "3" 3 ; s any "" "\"a $x\"" ? ; n any "" "nothing" null `},
		{"cobol", "x = 1", ``},
	} {
		var got []string
		for _, p := range ParseCode(c.lang, []byte(c.code), 1) {
			got = append(got, describe(p))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.lang, c.code, s, c.want)
		}
	}
}

// describe returns what was read of a parameter; ? stands for a default that is no literal.
func describe(p notebooks.Param) string {
	wire := "?"
	if p.HasDefault {
		wire = string(p.Default.Wire())
	}
	return p.Name + " " + string(p.Type) + " " + jsonQuote(p.Declared) + " " + jsonQuote(p.DefaultSrc) + " " + wire +
		" " + p.Help
}

func jsonQuote(s string) string {
	return string(notebooks.Value{Type: notebooks.TypeString, Text: s}.JSON())
}

func TestCodeParamsPosition(t *testing.T) {
	params := ParseCode("python", []byte("import os\r\n\r\nx = [\r\n  1,\r\n]\r\ny = 2\r\n"), 10)
	if len(params) != 2 || params[0].Line != 12 || params[1].Line != 15 || params[1].Col != 1 || !params[0].Code {
		t.Errorf("%+v", params)
	}
}

func FuzzParams(f *testing.F) {
	f.Add("python", "x = [\n1,] # a\ny = 'a")
	f.Add("bash", "x=\"a b\" c='\n'\ncat <<E\nE")
	f.Add("js", "let a = `${b}`, c = {a: [1]}")
	f.Add("yaml", "x: {type: int, default: 1}\ny: &a [*a]")
	f.Fuzz(func(t *testing.T, lang, code string) {
		for _, p := range ParseCode(lang, []byte(code), 1) {
			if p.Name == "" || p.Line < 1 || p.HasDefault && !p.Default.JSON().IsValid() {
				t.Errorf("%+v", p)
			}
		}
		params, _ := ParseBlock("n.md", []byte(code), 1)
		for _, p := range params {
			if !IsName(p.Name) || p.Type == "" || p.HasDefault && checkValue(p, p.Default) != nil {
				t.Errorf("%+v", p)
			}
		}
	})
}
