package params

import (
	"encoding/base64"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// goldenCases holds papermill's recorded behavior.
type goldenCases struct {
	Injection []struct {
		ID     string    `json:"id"`
		Params codec.Raw `json:"params"`
	} `json:"injection"`
	CLITypeInference []goldenCall `json:"cli_type_inference"`
	CLIRaw           []goldenCall `json:"cli_raw"`
	CLIYAML          []goldenCall `json:"cli_yaml"`
	CLIPrecedence    []goldenCall `json:"cli_precedence"`
	Inspect          []struct {
		Cell    string `json:"parameters_cell"`
		Kernel  string `json:"kernel"`
		Inspect map[string]struct {
			Default string `json:"default"`
			Help    string `json:"help"`
			Type    string `json:"inferred_type_name"`
		} `json:"inspect"`
	} `json:"inspect"`
	TemplatedPaths []struct {
		Output    string   `json:"output"`
		Args      []string `json:"args"`
		ExitCode  int      `json:"exit_code"`
		FilesMade []string `json:"files_made"`
	} `json:"templated_paths"`
}

type goldenCall struct {
	Args     []string  `json:"args"`
	ExitCode int       `json:"exit_code"`
	Params   codec.Raw `json:"metadata_parameters"`
}

// papermillGolden reads the recorded cases.
func papermillGolden(t *testing.T) goldenCases {
	t.Helper()
	data, err := os.ReadFile("../testdata/papermill/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var g goldenCases
	if err := codec.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// goldenValue decodes a recorded value: $float, $tuple, $dict_items and so on stand for what JSON cannot represent.
// Tuples and sets become lists.
func goldenValue(t *testing.T, raw codec.Raw) notebooks.Value {
	t.Helper()
	root := JSONNode([]byte("[" + string(raw) + "]"))
	if root == nil {
		t.Fatalf("not JSON: %s", raw)
	}
	v, err := (&yamlReader{}).value(root)
	if err != nil {
		t.Fatal(err)
	}
	return untag(t, v.List[0])
}

func untag(t *testing.T, v notebooks.Value) notebooks.Value {
	t.Helper()
	out := v
	if v.Type == notebooks.TypeList {
		out.List = nil
		for _, e := range v.List {
			out.List = append(out.List, untag(t, e))
		}
	}
	if v.Type != notebooks.TypeMap {
		return out
	}
	if len(v.Entries) == 1 && strings.HasPrefix(v.Entries[0].Key.Text, "$") {
		inner := v.Entries[0].Value
		switch tag := v.Entries[0].Key.Text; tag {
		case "$float":
			f, err := strconv.ParseFloat(inner.Text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return notebooks.Value{Type: notebooks.TypeFloat, Float: f}
		case "$tuple", "$set":
			return untag(t, inner)
		case "$datetime":
			return notebooks.Value{Type: notebooks.TypeDate, Text: inner.Text}
		case "$bytes_b64":
			raw, err := base64.StdEncoding.DecodeString(inner.Text)
			if err != nil {
				t.Fatal(err)
			}
			return notebooks.Value{Type: notebooks.TypeBytes, Text: string(raw)}
		case "$dict_items":
			m := notebooks.Value{Type: notebooks.TypeMap}
			for _, p := range untag(t, inner).List {
				m.Entries = append(m.Entries, notebooks.Entry{Key: p.List[0], Value: p.List[1]})
			}
			return m
		default:
			t.Fatalf("unknown mark %s", tag)
		}
	}
	out.Entries = nil
	for _, e := range v.Entries {
		out.Entries = append(out.Entries, notebooks.Entry{Key: e.Key, Value: untag(t, e.Value)})
	}
	return out
}

// Every recorded value, including those that papermill loses or rejects, survives a round trip through Wire.
func TestGoldenInjectionCrossesTheWire(t *testing.T) {
	g := papermillGolden(t)
	if len(g.Injection) < 700 {
		t.Fatalf("only %d cases", len(g.Injection))
	}
	for _, c := range g.Injection {
		v := goldenValue(t, c.Params)
		back, err := notebooks.ParseWire(v.Wire())
		if err != nil || !back.Equal(v) {
			t.Errorf("%s: %s became %s, %v", c.ID, v.Wire(), back.Wire(), err)
		}
		canonical, err := codec.Marshal(v.Wire())
		if err != nil {
			t.Fatal(err)
		}
		if back, err := notebooks.ParseWire(canonical); err != nil || !back.Equal(v) {
			t.Errorf("%s: canonical JSON changed %s into %s, %v", c.ID, v.Wire(), back.Wire(), err)
		}
		if !v.JSON().IsValid() {
			t.Errorf("%s: not JSON: %s", c.ID, v.JSON())
		}
	}
}

// Deliberate differences from papermill. Everything else must be the same.
var cliDifferences = map[string]struct{ want, why string }{
	"-p x 1e400":  {`{"x":"1e400"}`, "papermill gives inf: the number is lost"},
	"-p x -1e400": {`{"x":"-1e400"}`, "papermill gives -inf: the number is lost"},
	"-p x '9' repeated 4301 times": {`{"x":` + strings.Repeat("9", 4301) + `}`,
		"papermill gives inf: the number is lost"},
	"-p x '9' repeated 4300 times": {`{"x":` + strings.Repeat("9", 4300) + `}`,
		"as papermill; the case does not write it out"},
	"-y x: 12:30":    {`{"x":"12:30"}`, "base 60 loses what was written"},
	"-y x: 12:30:45": {`{"x":"12:30:45"}`, "base 60 loses what was written"},
	"-y x: {1: a}":   {`{"x":{"1":"a"}}`, "as papermill in JSON, but the key stays a number in the session"},
	"-y x: !!binary aGVsbG8=": {`{"x":"aGVsbG8="}`,
		"papermill injects the text b'hello'; here the session gets the bytes"},
	"-y x: !!set {a, b}": {`{"x":["a","b"]}`, "papermill cannot write it; a list in order loses nothing"},
	"-y x: 1\nx: 2":      {"error", "papermill loses the first value in silence"},
	"-y 1: a":            {"error", "papermill injects code that does not parse"},
}

// givenOf converts papermill's options to what a command line passes to Bind.
func givenOf(t *testing.T, args []string, files map[string]string) ([]Given, error) {
	t.Helper()
	var given []Given
	for i := 0; i < len(args); i++ {
		var text string
		switch args[i] {
		case "-p", "--parameters", "-r", "--parameters_raw":
			raw := strings.HasSuffix(args[i], "raw") || args[i] == "-r"
			source := "-p"
			if raw {
				source = "-r"
			}
			text = args[i+2]
			if n, ok := strings.CutPrefix(text, "'9' repeated "); ok {
				count, err := strconv.Atoi(strings.TrimSuffix(n, " times"))
				if err != nil {
					t.Fatal(err)
				}
				text = strings.Repeat("9", count)
			}
			given = append(given, Given{Name: args[i+1], Text: text, Raw: raw, Source: source})
			i += 2
			continue
		case "-b":
			data, err := base64.StdEncoding.DecodeString(args[i+1])
			if err != nil {
				return nil, err
			}
			text = string(data)
		case "-f":
			text = args[i+1]
			if file, ok := files[args[i+1]]; ok {
				text = file
			}
		case "-y":
			text = args[i+1]
		default:
			t.Fatalf("option %s", args[i])
		}
		more, err := ParseGiven(args[i], "", []byte(text))
		if err != nil {
			return nil, err
		}
		given = append(given, more...)
		i++
	}
	return given, nil
}

func bindUndeclared(t *testing.T, args []string, files map[string]string) ([]notebooks.Bound, error) {
	t.Helper()
	given, err := givenOf(t, args, files)
	if err != nil {
		return nil, err
	}
	return Bind("n.md", nil, given, Options{AllowUnknown: true})
}

// boundMap returns the bound values as one map, for JSON.
func boundMap(bound []notebooks.Bound) notebooks.Value {
	m := notebooks.Value{Type: notebooks.TypeMap}
	for _, b := range bound {
		m.Entries = append(m.Entries, notebooks.Entry{Key: notebooks.Value{Type: notebooks.TypeString,
			Text: b.Param.Name}, Value: b.Value})
	}
	return m
}

func checkCalls(t *testing.T, calls []goldenCall, files map[string]string) {
	t.Helper()
	for _, c := range calls {
		name := strings.Join(c.Args, " ")
		bound, err := bindUndeclared(t, c.Args, files)
		got := boundMap(bound)
		if d, ok := cliDifferences[name]; ok {
			switch {
			case (d.want == "error") != (err != nil):
				t.Errorf("%q: error %v, want %s", name, err, d.want)
			case err == nil && string(got.JSON()) != d.want:
				t.Errorf("%q: %s, want %s (%s)", name, got.JSON(), d.want, d.why)
			}
			continue
		}
		if c.ExitCode != 0 {
			if err == nil {
				t.Errorf("%q: papermill fails, we gave %s", name, got.JSON())
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if want := goldenValue(t, c.Params); !got.Equal(want) && string(got.JSON()) != string(want.JSON()) {
			t.Errorf("%q: %s, papermill %s", name, got.Wire(), want.Wire())
		}
	}
}

func TestGoldenCommandLine(t *testing.T) {
	g := papermillGolden(t)
	calls := slices.Concat(g.CLITypeInference, g.CLIRaw, g.CLIYAML)
	checkCalls(t, calls, nil)
	for args := range cliDifferences {
		if !slices.ContainsFunc(calls, func(c goldenCall) bool { return strings.Join(c.Args, " ") == args }) {
			t.Errorf("no case %q", args)
		}
	}
}

func TestGoldenPrecedence(t *testing.T) {
	g := papermillGolden(t)
	files := map[string]string{"$TMP/p.yaml": "x: from_file\nf: 1\n",
		"$TMP/p.json": `{"x": "from_json", "j": [1, {"k": null}]}`}
	var calls []goldenCall
	for _, c := range g.CLIPrecedence {
		// The caller reads the command line and the files.
		joined := strings.Join(c.Args, " ")
		if strings.Contains(joined, "--inject") || strings.Contains(joined, "missing.yaml") || joined == "-p x" {
			continue
		}
		calls = append(calls, c)
	}
	if len(calls) < 13 {
		t.Fatalf("only %d calls", len(calls))
	}
	checkCalls(t, calls, files)
}

// Cases that papermill's inspect gets wrong, with our result: "name default help; …".
var inspectDifferences = map[string]string{
	`x = "a # b"`:               "x|\"a # b\"|",             // # inside a string starts no comment
	`x = "a=b"`:                 "x|\"a=b\"|",               // = inside a string assigns nothing
	"x, y = 1, 2":               "x|1|;y|2|",                // both are assigned
	"x = y = 1":                 "x|1|;y|1|",                // both are assigned
	"if True:\n    x = 1":       "",                         // known only at run time
	"x = \"\"\"\nmulti\n\"\"\"": "x|\"\"\"\nmulti\n\"\"\"|", // the lines are the value
	"x: int | None = 1":         "x|1|",
	"x: typing.List[int] = []":  "x|[]|",
	"x: int":                    "x||", // declared, without a default
	"x = 1; y = 2":              "x|1|;y|2|",
	"x = f(a=1)":                "x|f(a=1)|",
	"x=1":                       "x|1|", // bash: papermill reads only Python
}

func TestGoldenInspect(t *testing.T) {
	for _, c := range papermillGolden(t).Inspect {
		lang := c.Kernel
		if lang == "" {
			lang = "python"
		}
		params := ParseCode(lang, []byte(c.Cell), 1)
		if want, ok := inspectDifferences[c.Cell]; ok {
			var got []string
			for _, p := range params {
				got = append(got, p.Name+"|"+p.DefaultSrc+"|"+p.Help)
			}
			if strings.Join(got, ";") != want {
				t.Errorf("%q: %q, want %q", c.Cell, got, want)
			}
			continue
		}
		if len(params) != len(c.Inspect) {
			t.Errorf("%q: %d parameters, papermill %d", c.Cell, len(params), len(c.Inspect))
		}
		for _, p := range params {
			want := c.Inspect[p.Name]
			declared := p.Declared
			if declared == "" {
				declared = "None"
			}
			if p.DefaultSrc != want.Default || p.Help != want.Help || declared != want.Type {
				t.Errorf("%q: %q %q %q, papermill %+v", c.Cell, p.DefaultSrc, p.Help, declared, want)
			}
		}
	}
}

// Differences in paths: {{name}} expands here; attributes and !r of Python objects do not.
var pathDifferences = map[string]string{
	"out_{{lit}}.ipynb":                "error",
	"out_{run_id}.ipynb":               "out_<uuid4>.ipynb",
	"out_{x.real}.ipynb":               "error",
	"out_{x.__class__.__name__}.ipynb": "error",
	"out_{x!r}.ipynb":                  "error",
}

func TestGoldenPaths(t *testing.T) {
	extra := map[string]string{"run_id": "<uuid4>", "now": "2026-11-21T10:30:00Z"}
	for _, c := range papermillGolden(t).TemplatedPaths {
		bound, err := bindUndeclared(t, c.Args, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ExpandPath(c.Output, bound, extra)
		want := "error"
		if c.ExitCode == 0 {
			want = strings.ReplaceAll(c.FilesMade[0], "<year>", "2026")
		}
		if d, ok := pathDifferences[c.Output]; ok {
			want = d
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", c.Output, got, want, err)
		}
	}
}

func TestGoldenValueReadsMarks(t *testing.T) {
	v := goldenValue(t, codec.Raw(`{"x":{"$dict_items":[[1,{"$float":"nan"}]]}}`))
	inner := v.Entries[0].Value.Entries[0]
	if inner.Key.Type != notebooks.TypeInt || !math.IsNaN(inner.Value.Float) {
		t.Errorf("%s", v.Wire())
	}
}
