package notebooks_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

func textValue(s string) notebooks.Value { return notebooks.Value{Type: notebooks.TypeString, Text: s} }
func intValue(s string) notebooks.Value  { return notebooks.Value{Type: notebooks.TypeInt, Text: s} }
func floatValue(f float64) notebooks.Value {
	return notebooks.Value{Type: notebooks.TypeFloat, Float: f}
}

func TestValueForms(t *testing.T) {
	m := notebooks.Value{Type: notebooks.TypeMap, Entries: []notebooks.Entry{{intValue("1"), textValue("a")},
		{textValue("1"), textValue("b")},
		{notebooks.Value{Type: notebooks.TypeNull}, floatValue(1)}}}
	for _, c := range []struct {
		v                notebooks.Value
		json, wire, text string
	}{
		{notebooks.Value{Type: notebooks.TypeNull}, `null`, `null`, ``},
		{notebooks.Value{Type: notebooks.TypeBool, Bool: true}, `true`, `true`, `true`},
		{intValue("9007199254740991"), `9007199254740991`, `9007199254740991`, `9007199254740991`},
		{intValue("9007199254740992"), `9007199254740992`, `{"$int":"9007199254740992"}`, `9007199254740992`},
		{intValue("-9007199254740992"), `-9007199254740992`, `{"$int":"-9007199254740992"}`, `-9007199254740992`},
		{floatValue(1), `1.0`, `{"$float":"1.0"}`, `1.0`},
		{floatValue(math.Copysign(0, -1)), `-0.0`, `{"$float":"-0.0"}`, `-0.0`},
		{floatValue(1e22), `1e+22`, `{"$float":"1e+22"}`, `1e+22`},
		{floatValue(1e15), `1000000000000000.0`, `{"$float":"1000000000000000.0"}`, `1000000000000000.0`},
		{floatValue(1e-7), `1e-07`, `{"$float":"1e-07"}`, `1e-07`},
		{floatValue(math.NaN()), `"NaN"`, `{"$float":"nan"}`, `nan`},
		{floatValue(math.Inf(-1)), `"-Infinity"`, `{"$float":"-inf"}`, `-inf`},
		{textValue("a\"\u2028"), "\"a\\\"\u2028\"", "\"a\\\"\u2028\"", "a\"\u2028"},
		{notebooks.Value{Type: notebooks.TypeDate, Text: "2026-11-21"}, `"2026-11-21"`, `{"$date":"2026-11-21"}`, `2026-11-21`},
		{notebooks.Value{Type: notebooks.TypeDuration, Text: "1h30m", Float: 5400}, `"1h30m"`,
			`{"$duration":5400,"text":"1h30m"}`, `1h30m`},
		{notebooks.Value{Type: notebooks.TypeBytes, Text: "\xff\x00"}, `"/wA="`, `{"$bytes":"/wA="}`, `/wA=`},
		{notebooks.Value{Type: notebooks.TypeSecret, Text: "hush"}, `"***"`, `{"$secret":"hush"}`, `***`},
		{m, `{"1 (int)":"a","1":"b","null":1.0}`, `{"$map":[[1,"a"],["1","b"],[null,{"$float":"1.0"}]]}`,
			`{"1 (int)":"a","1":"b","null":1.0}`},
		{notebooks.Value{Type: notebooks.TypeMap}, `{}`, `{"$map":[]}`, `{}`},
		{notebooks.Value{Type: notebooks.TypeList, List: []notebooks.Value{textValue("a")}}, `["a"]`, `["a"]`, `["a"]`},
	} {
		if got := string(c.v.JSON()); got != c.json {
			t.Errorf("JSON %s, want %s", got, c.json)
		}
		if got := string(c.v.Wire()); got != c.wire {
			t.Errorf("Wire %s, want %s", got, c.wire)
		}
		if got := c.v.String(); got != c.text {
			t.Errorf("String %s, want %s", got, c.text)
		}
	}
	if s := (notebooks.Value{Type: notebooks.TypeSecret, Text: "hush"}); s.Reveal() != "hush" {
		t.Errorf("Reveal %q", s.Reveal())
	}
}

func TestSecretInsideIsMasked(t *testing.T) {
	v := notebooks.Value{Type: notebooks.TypeList, List: []notebooks.Value{{Type: notebooks.TypeSecret, Text: "hush"}}}
	if s := string(v.JSON()) + v.String(); strings.Contains(s, "hush") {
		t.Error(s)
	}
	if n := v.Native().([]any)[0]; n != "***" {
		t.Errorf("%v", n)
	}
}

func TestParseWireRefuses(t *testing.T) {
	for _, bad := range []string{``, `1.0`, `1e3`, `{}`, `{"a":1}`, `{"$map":[[1]]}`, `{"$float":1}`,
		`{"$int":"007"}`, `{"$int":"x"}`,
		`{"$float":"abc"}`, `{"$what":"x"}`, `{"$date":"a","text":"b"}`, `[1`, `{"$bytes":"*"}`,
		`{"$duration":"x","text":"y"}`} {
		if v, err := notebooks.ParseWire([]byte(bad)); err == nil {
			t.Errorf("%s is read as %s", bad, v.Wire())
		}
	}
}

func TestEqual(t *testing.T) {
	a := notebooks.Value{Type: notebooks.TypeMap, Entries: []notebooks.Entry{{textValue("a"), intValue("1")},
		{textValue("b"), intValue("2")}}}
	b := notebooks.Value{Type: notebooks.TypeMap, Entries: []notebooks.Entry{{textValue("b"), intValue("2")},
		{textValue("a"), intValue("1")}}}
	if !a.Equal(b) || !floatValue(math.NaN()).Equal(floatValue(math.NaN())) {
		t.Error("equal values differ")
	}
	for _, p := range [][2]notebooks.Value{{intValue("1"), textValue("1")}, {intValue("1"), floatValue(1)},
		{floatValue(0), floatValue(math.Copysign(0, -1))},
		{a, {Type: notebooks.TypeMap, Entries: a.Entries[:1]}}} {
		if p[0].Equal(p[1]) {
			t.Errorf("%s equals %s", p[0].Wire(), p[1].Wire())
		}
	}
}

// anyValue makes values of every type, lists and maps to a depth.
func anyValue(depth int) *rapid.Generator[notebooks.Value] {
	of := func(t notebooks.Type, texts *rapid.Generator[string]) *rapid.Generator[notebooks.Value] {
		return rapid.Map(texts, func(s string) notebooks.Value { return notebooks.Value{Type: t, Text: s} })
	}
	scalars := []*rapid.Generator[notebooks.Value]{
		rapid.Just(notebooks.Value{Type: notebooks.TypeNull}),
		rapid.Map(rapid.Bool(), func(b bool) notebooks.Value {
			return notebooks.Value{Type: notebooks.TypeBool,
				Bool: b}
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) notebooks.Value {
			n := new(big.Int).SetBytes(b)
			if len(b)%2 == 1 {
				n.Neg(n)
			}
			return intValue(n.String())
		}),
		rapid.Map(rapid.Uint64(), func(bits uint64) notebooks.Value { return floatValue(math.Float64frombits(bits)) }),
		of(notebooks.TypeString, rapid.String()), of(notebooks.TypePath, rapid.String()), of(notebooks.TypeDate,
			rapid.String()),
		of(notebooks.TypeSecret, rapid.String()),
		rapid.Map(rapid.SliceOf(rapid.Byte()),
			func(b []byte) notebooks.Value { return notebooks.Value{Type: notebooks.TypeBytes, Text: string(b)} }),
		rapid.Custom(func(t *rapid.T) notebooks.Value {
			return notebooks.Value{Type: notebooks.TypeDuration, Text: rapid.String().Draw(t, "text"),
				Float: rapid.Float64Range(-1e9, 1e9).Draw(t, "seconds")}
		}),
	}
	scalar := rapid.OneOf(scalars...)
	if depth == 0 {
		return scalar
	}
	inner := anyValue(depth - 1)
	return rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(inner, 0, 4),
			func(l []notebooks.Value) notebooks.Value { return notebooks.Value{Type: notebooks.TypeList, List: l} }),
		rapid.Custom(func(t *rapid.T) notebooks.Value {
			m := notebooks.Value{Type: notebooks.TypeMap}
			seen := make(map[string]bool)
			for range rapid.IntRange(0, 4).Draw(t, "n") {
				k := scalar.Draw(t, "key")
				if !seen[string(k.Wire())] {
					seen[string(k.Wire())] = true
					m.Entries = append(m.Entries, notebooks.Entry{k, inner.Draw(t, "value")})
				}
			}
			return m
		}))
}

func TestWireRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(3).Draw(t, "value")
		canonical, err := codec.Marshal(v.Wire())
		if err != nil {
			t.Fatal(err)
		}
		for _, wire := range [][]byte{v.Wire(), canonical} {
			back, err := notebooks.ParseWire(wire)
			if err != nil {
				t.Fatal(err)
			}
			if !back.Equal(v) || string(back.Wire()) != string(v.Wire()) {
				t.Fatalf("%s became %s", v.Wire(), back.Wire())
			}
		}
		var any any
		if err := codec.Unmarshal(v.JSON(), &any); err != nil {
			t.Fatalf("JSON %s: %v", v.JSON(), err)
		}
	})
}
