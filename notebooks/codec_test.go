package notebooks_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks/codec"
)

func TestMarshalIsCanonical(t *testing.T) {
	type inner struct {
		B int    `json:"b"`
		A string `json:"a"`
	}
	for _, c := range []struct {
		name string
		in   any
		want string
	}{
		{"fields are sorted", inner{B: 1, A: "x"}, `{"a":"x","b":1}`},
		{"map keys are sorted", map[string]any{"b": 1, "a": map[string]any{"d": 1, "c": 2}},
			`{"a":{"c":2,"d":1},"b":1}`},
		{"by UTF-16 code units", map[string]int{"\ufb33": 1, "\U0001f600": 2},
			`{"` + "\U0001f600" + `":2,"` + "\ufb33" + `":1}`},
		{"raw is sorted and compact", codec.Raw(" { \"b\" : 1 ,\n\"a\" : [ 1 , 2 ] } "), `{"a":[1,2],"b":1}`},
		{"strings are spelled shortest", codec.Raw(`"\u0041\/\u00e9"`), `"A/é"`},
		{"no HTML escapes", "<a&b>", `"<a&b>"`},
		{"big integers stay", codec.Raw(`12345678901234567890123`), `12345678901234567890123`},
		{"decimals stay", codec.Raw(`[1.10,1e400,-0,0.1000,1E5]`), `[1.10,1e400,-0,0.1000,1E5]`},
		{"a raw within a struct", struct{ V codec.Raw }{codec.Raw(`{"z":12345678901234567890123,"y":1.0}`)},
			`{"V":{"y":1.0,"z":12345678901234567890123}}`},
		{"int64 is exact", int64(9007199254740993), `9007199254740993`},
		{"uint64 is exact", uint64(18446744073709551615), `18446744073709551615`},
		{"nil slice", []string(nil), `[]`},
		{"nil raw", codec.Raw(nil), `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := codec.Marshal(c.in)
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestMarshalRefuses(t *testing.T) {
	for _, in := range []any{"\xff", codec.Raw(`{"a":1,"a":2}`), codec.Raw(`{`), codec.Raw(`"\ud800"`), codec.Raw(`1 2`)} {
		if got, err := codec.Marshal(in); err == nil {
			t.Errorf("%q became %s", in, got)
		}
	}
}

func TestIsCanonical(t *testing.T) {
	for text, want := range map[string]bool{`{"a":[1.10,"é"],"b":1E5}`: true, `{"b":1,"a":2}`: false, `{"a": 1}`: false,
		`"\u00e9"`: false, ` 1`: false, "1\n": false} {
		if got, err := codec.IsCanonical(codec.Raw(text)); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"a":1,"a":2}`, `{`, "\"\xff\"", `1 2`, ``} {
		if _, err := codec.IsCanonical(codec.Raw(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestUnmarshalIsStrict(t *testing.T) {
	type target struct {
		A int `json:"a"`
	}
	for _, c := range []struct{ name, in string }{
		{"duplicate key", `{"a":1,"a":2}`},
		{"duplicate key, escaped", `{"a":1,"\u0061":2}`},
		{"duplicate key of an unknown member", `{"x":{"q":1,"q":2}}`},
		{"text after the value", `{"a":1} x`},
		{"two values", `{"a":1}{"a":1}`},
		{"invalid UTF-8", "{\"a\":1,\"b\":\"\xff\"}"},
		{"lone surrogate", `{"b":"\ud800"}`},
		{"nothing", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, into := range []any{new(target), new(map[string]any), new(any), new(codec.Raw),
				new(map[string]codec.Raw)} {
				if err := codec.Unmarshal([]byte(c.in), into); err == nil {
					t.Errorf("%T took it", into)
				}
			}
		})
	}
	got := target{A: 7}
	if err := codec.Unmarshal([]byte(`{"A":1}`), &got); err != nil || got.A != 7 {
		t.Errorf("a name of another case was taken: %+v, %v", got, err)
	}
}

func TestRawPassesUnharmed(t *testing.T) {
	const text = `{"value":12345678901234567890123.4500}`
	var got struct {
		Value codec.Raw `json:"value"`
	}
	if err := codec.Unmarshal([]byte(text), &got); err != nil || string(got.Value) != `12345678901234567890123.4500` {
		t.Fatalf("got %s, %v", got.Value, err)
	}
	if back, err := codec.Marshal(got); err != nil || string(back) != text {
		t.Errorf("got %s, %v", back, err)
	}
}

func TestIndent(t *testing.T) {
	got, err := codec.Indent(map[string]any{"b": []int{1}, "a": codec.Raw(`12345678901234567890123`)})
	want := "{\n  \"a\": 12345678901234567890123,\n  \"b\": [\n    1\n  ]\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

// value draws what JSON can hold.
func value(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.String().Filter(func(s string) bool { return strings.ToValidUTF8(s, "") == s }).AsAny(),
		rapid.Float64Range(-1e300, 1e300).AsAny(),
		rapid.Bool().AsAny(),
		rapid.Just[any](nil),
	}
	if depth > 0 {
		inner := value(depth - 1)
		scalars = append(scalars, rapid.SliceOfN(inner, 0, 4).AsAny(),
			rapid.MapOfN(rapid.StringMatching(`[a-zé"\\ -~]{0,6}`), inner, 0, 4).AsAny())
	}
	return rapid.OneOf(scalars...)
}

func TestMarshalAgreesWithStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := value(3).Draw(t, "value")
		got, err := codec.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		again, err := codec.Marshal(in)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("%s and then %s, %v", got, again, err)
		}
		std, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := codec.Marshal(codec.Raw(std))
		if err != nil {
			t.Fatal(err)
		}
		compareMeaning(t, got, std)
		compareMeaning(t, canonical, std)
	})
}

type fataler interface{ Fatalf(string, ...any) }

// compareMeaning reads both with the standard library, and the first with Unmarshal too.
func compareMeaning(t fataler, ours, std []byte) {
	var a, b, c any
	if err := json.Unmarshal(ours, &a); err != nil {
		t.Fatalf("the standard library does not read %s: %v", ours, err)
	}
	if err := json.Unmarshal(std, &b); err != nil {
		t.Fatalf("%s: %v", std, err)
	}
	if err := codec.Unmarshal(ours, &c); err != nil {
		t.Fatalf("%s: %v", ours, err)
	}
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(a, c) {
		t.Fatalf("%s does not mean %s", ours, std)
	}
}

// FuzzUnmarshal: what Unmarshal accepts has the same meaning in the standard library; the canonical form is stable.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[true,null,"\u00e9\ud83d\ude00"]}`, `12345678901234567890123`, `1e999`, ` {"a" : 1.10 } `,
		`{"a":1,"a":2}`, "\"\xff\"", `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var raw codec.Raw
		if codec.Unmarshal(in, &raw) != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatalf("%q is not JSON", in)
		}
		once, err := codec.Marshal(raw)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", in, err)
		}
		twice, err := codec.Marshal(codec.Raw(once))
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q, then %q, %v", in, once, twice, err)
		}
		if numbers(once) != numbers(in) {
			t.Fatalf("numbers of %q and %q differ", in, once)
		}
		var number any
		decoder := json.NewDecoder(bytes.NewReader(in))
		decoder.UseNumber()
		if err := decoder.Decode(&number); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		std, err := json.Marshal(number)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := codec.Marshal(codec.Raw(std)); err != nil || !bytes.Equal(again, once) {
			t.Fatalf("%q is %q to the standard library and %q here, %v", in, again, once, err)
		}
	})
}

// numbers counts the bytes of all numbers, whose spelling must not change.
func numbers(text []byte) int {
	n := 0
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return n
		}
		if number, ok := token.(json.Number); ok {
			n += len(number)
		}
	}
}
