package expr

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
)

func scope() Scope {
	huge, _ := new(big.Int).SetString("9007199254740993", 10)
	return Scope{
		Params: map[string]any{"threshold": 1.0, "env": "staging", "both": "param", "n": big.NewInt(3), "none": nil,
			"huge": huge, "nan": math.NaN()},
		Scraps: map[string]any{"avg_load": 2.5, "ok": true, "both": "scrap", "files": []any{"a", big.NewInt(2)},
			"cov": map[string]any{"total": 0.9, "a b": map[string]any{"x": 1}}},
		Steps: map[string]bool{"build": true, "lint": false},
	}
}

func TestEval(t *testing.T) {
	for text, want := range map[string]bool{
		"avg_load > threshold":                   true,
		"scraps.avg_load <= params.threshold":    false,
		"both == 'scrap'":                        true,
		"params.both == 'param'":                 true,
		"not ok":                                 false,
		"!ok || env == \"staging\"":              true,
		"ok and env == 'production' or n == 3":   true,
		"ok and (env == 'production' or n == 4)": false,
		"not ok == false":                        true, // not binds weaker than ==
		"env in ['staging', 'production']":       true,
		"env not in ['production']":              true,
		"'tag' in env":                           true,
		"'total' in cov":                         true,
		"2 in files":                             true,
		"'2' in files":                           false,
		"cov.total >= 0.9":                       true,
		"cov['a b'].x == 1":                      true,
		"files[0] == 'a'":                        true,
		"none == null":                           true,
		"env != null":                            true,
		"n == 3.0":                               true,
		"huge == 9007199254740993 and huge != 9007199254740992.0": true,
		"nan == nan":          false,
		"nan < 1 or nan >= 1": false,
		"n * 2 + 1 == 7 and 7 / 2 == 3.5 and -n < 0":    true,
		"2 + 3 * 4 - 1 == 13":                           true,
		"[1, [2]] == [1.0, [2]]":                        true,
		"passed('build') && !passed(\"lint\")":          true,
		"defined(avg_load) and not defined(nope)":       true,
		"defined(cov.total) and not defined(cov.x.y.z)": true,
		"defined(files[1]) and not defined(files[2])":   true,
		"not defined(params.avg_load)":                  true,
		"ok or nope > 1":                                true, // the right side is not looked at
		"False or True":                                 true,
		"'it\\'s' == \"it's\"":                          true,
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.Eval(scope()); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestEvalMistakes(t *testing.T) {
	for text, want := range map[string]struct {
		col  int
		says string
	}{
		"avg_load":              {1, "the result is a number"},
		"nope == 1":             {1, "no scrap or parameter \"nope\""},
		"1 == scraps.threshold": {6, "no scrap"},
		"env == 1":              {5, "text and a number cannot be compared"},
		"ok == 1":               {4, "cannot be compared"},
		"env < 1":               {5, "orders two numbers or two texts"},
		"ok < true":             {4, "orders"},
		"none < 1":              {6, "orders"},
		"env and ok":            {1, `"and" needs true or false`},
		"ok and env":            {8, `"and" needs true or false`},
		"not env":               {5, `"not" needs`},
		"passed('nope')":        {1, `no step "nope"`},
		"cov.nope == 1":         {5, "no key"},
		"files[9] == 1":         {7, "no place"},
		"files['a'] == 1":       {7, "an integer"},
		"env.x == 1":            {4, "has no parts"},
		"1 / 0 == 1":            {3, "division by zero"},
		"env + 1 == 2":          {5, "two numbers"},
		"1 in env":              {3, "cannot be in"},
		"-env == 1":             {1, "needs a number"},
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, err = e.Eval(scope())
		expect(t, text, err, want.col, want.says)
	}
}

func expect(t *testing.T, text string, err error, col int, says string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Col != col || !strings.Contains(e.Msg, says) {
		t.Errorf("%s: %v, want column %d: %s", text, err, col, says)
	}
}

func TestParseMistakes(t *testing.T) {
	for text, want := range map[string]struct {
		col  int
		says string
	}{
		"":                        {1, "a value is expected here, not the end"},
		"a ==":                    {5, "not the end"},
		"a = 1":                   {3, "write =="},
		"a & b":                   {3, "write and"},
		"a == 1 b":                {8, `"b" is not expected`},
		"1 < a < 3":               {7, "do not chain"},
		"(a":                      {3, `")" is expected`},
		"a)":                      {2, "not expected"},
		"'abc":                    {1, "not closed"},
		`"a\q"`:                   {1, "backslash"},
		"len(a) > 1":              {1, `no function "len"`},
		"passed(build)":           {8, "in quotes"},
		"defined('a')":            {9, "a name is expected"},
		"params > 1":              {8, "params.name"},
		"scraps.1":                {7, "a name is expected"},
		"12abc == 1":              {1, "not a number"},
		"é == ü ? 1":              {8, "not expected"},
		"1e999 > 1":               {1, "out of range"},
		strings.Repeat("(", 200):  {101, "nested deeper"},
		strings.Repeat("!", 200):  {101, "nested deeper"},
		strings.Repeat("a", 5000): {1, "longer than"},
		"a == \xff":               {1, "UTF-8"},
	} {
		e, err := Parse(text)
		if e != nil {
			t.Errorf("%s is read", text)
		}
		expect(t, text, err, want.col, want.says)
	}
}

func FuzzExpr(f *testing.F) {
	for _, s := range []string{"avg_load > params.threshold and not ok", "env in ['a', \"b\"]", "defined(cov.total[0])",
		"passed('build') || -n * 2 <= 1e3", "((("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		var known *Error
		if err != nil {
			if !errors.As(err, &known) || known.Col < 1 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		first, err := e.Eval(scope())
		if err != nil && !errors.As(err, &known) {
			t.Errorf("%q: %v", text, err)
		}
		if second, _ := e.Eval(scope()); second != first {
			t.Errorf("%q is not the same twice", text)
		}
	})
}
