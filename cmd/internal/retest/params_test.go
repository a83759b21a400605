package retest

import (
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/params"
	"markmill/notebooks/region"
	"markmill/render"
	"markmill/runs"
)

const typedParams = "```yaml {.parameters}\n" + `i: {type: int, default: 1}
f: {type: float, default: 1.5}
b: {type: bool, default: false}
s: {type: string, default: x}
l: {type: list, default: []}
m: {type: map, default: {}}
p: {type: path, default: a}
d: {type: duration, default: 1s}
t: {type: date, default: 2026-01-01}
y: {type: bytes, default: !!binary YQ==}
a: null
n: {type: string, default: null}
k: {type: secret, env: NO_SUCH_VARIABLE, required: false}
` + "```\n\n```python {.parameters}\nc: int = 1\ng = 2\n```\n"

// again runs the values through an output notebook: given, shown, read back, bound again.
func again(t *testing.T, source string, given []params.Given) (first, second []notebooks.Bound, err error) {
	t.Helper()
	nb, err := markdown.Parse("n.md", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	options := params.Options{AllowUnknown: true}
	if first, err = params.Bind("n.md", nb.Params, given, options); err != nil {
		t.Fatal(err)
	}
	var data []runs.ParamData
	for _, b := range first {
		data = append(data, runs.ParamData{Name: b.Param.Name, Type: string(b.Value.Type), Value: b.Value.JSON(),
			From: b.From, Given: b.Given})
	}
	out, err := render.Prepared(nb.Form, nb, data, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	stripped := region.Strip("out.md", out)
	values, err := givenAgain("out.md", &stored{manifest: stripped.Manifest, text: stripped}, nb, nil,
		map[string]string{"<source>": "/repo", "<home>": `C:\u`})
	if err != nil {
		return first, nil, err
	}
	second, err = params.Bind("n.md", nb.Params, values, params.Options{})
	return first, second, err
}

// TestParametersComeBack: the values of an output notebook are those that were given, by value and by type, and those
// that were not given are not given now.
func TestParametersComeBack(t *testing.T) {
	for _, text := range []string{
		"i=0x1F", "i=-12345678901234567890123", "f=0.1", "f=nan", "f=-inf", "f=3", "f=1e300", "b=yes", "s=007", "s=",
		"s=null", "s=true", `s=a "b" \ # c`, "s=… 1 x",
		`l=[1, "2", null, [3.0]]`, `m={a: 1, "b c": [x]}`, "p=a b/c", "d=90", "d=1h30m", "t=2024-02-03",
		"t=2026-11-21T10:30:00Z", "y=/w==",
		"a=7", "a=007x", "a=True", "a=None", "n=x", "n=null", "c=5", "g=6", "g=text", "unknown=8", "i=1", "s=x",
	} {
		name, value, _ := strings.Cut(text, "=")
		first, second, err := again(t, typedParams, []params.Given{{Name: name, Text: value, Source: "-p"}})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if len(first) != len(second) {
			t.Errorf("%s: %d values, then %d", text, len(first), len(second))
			continue
		}
		for i := range first {
			if a, b := first[i], second[i]; !a.Value.Equal(b.Value) || a.Given != b.Given {
				t.Errorf("%s: %s was %s %s (given %v) and is %s %s (given %v)", text, a.Param.Name, a.Value.Type,
					a.Value, a.Given, b.Value.Type, b.Value, b.Given)
			}
		}
	}
}

// TestParametersByRaw: what -r gave as a string is one again, also where it looks like a number.
func TestParametersByRaw(t *testing.T) {
	for _, name := range []string{"s", "a", "g", "unknown"} {
		first, second, err := again(t, typedParams, []params.Given{{Name: name, Text: "0.5", Raw: true, Source: "-r"}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range first {
			if !first[i].Value.Equal(second[i].Value) {
				t.Errorf("%s is %s %s", name, second[i].Value.Type, second[i].Value)
			}
		}
	}
}

// TestParametersThatDoNotComeBack are refused, with what to do.
func TestParametersThatDoNotComeBack(t *testing.T) {
	for value, want := range map[string]string{
		strings.Repeat("x", 8<<10): "holds only its length",
		"<tmp>/x":                  "recorded only as <tmp>",
	} {
		if _, _, err := again(t, typedParams, []params.Given{{Name: "s", Text: value, Source: "-p"}}); err == nil ||
			!strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "-p s=VALUE") {
			t.Errorf("%.20q: %v", value, err)
		}
	}
	_, second, err := again(t, typedParams, []params.Given{{Name: "s", Text: "<home>/x <source>", Source: "-p"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range second {
		if b.Param.Name == "s" && b.Value.Text != `C:\u/x /repo` {
			t.Errorf("the paths of the machine are %q", b.Value.Text)
		}
	}
}
