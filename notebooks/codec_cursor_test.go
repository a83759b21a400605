package notebooks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"markmill/notebooks/codec"
)

func TestCursorGivesPlaces(t *testing.T) {
	const text = ` { "a" : [ 1 , "x\ny" ] , "\u0062" : {} } `
	c := codec.NewCursor([]byte(text), 0)
	var got []string
	whole, err := c.Object(func(name []byte, at codec.Span) error {
		value, err := c.Skip()
		got = append(got, string(name), string(at.Of([]byte(text))), string(value.Of([]byte(text))))
		return err
	})
	if err != nil || c.End() != nil {
		t.Fatal(err)
	}
	got = append(got, string(whole.Of([]byte(text))))
	want := []string{"a", `"a"`, `[ 1 , "x\ny" ]`, "b", `"\u0062"`, "{}", strings.TrimSpace(text)}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCursorAcceptsPythonNumbers(t *testing.T) {
	c := codec.NewCursor([]byte(`[NaN, Infinity, -Infinity, "\ud83d\ude00", "\ud83d", "\ud83dx\ude00"]`), 0)
	var texts []string
	_, err := c.Array(func() error {
		if c.Kind() != '"' {
			_, err := c.Skip()
			return err
		}
		text, err := c.String()
		texts = append(texts, text)
		return err
	})
	if got := strings.Join(texts, " "); err != nil || got != "😀 \ufffd \ufffdx\ufffd" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCursorRefusesDepth(t *testing.T) {
	const most = 10_000 // as cursor.go says
	deep := strings.Repeat("[", most+1) + strings.Repeat("]", most+1)
	if _, err := codec.NewCursor([]byte(deep), 0).Skip(); err == nil {
		t.Error("took it")
	}
	if _, err := codec.NewCursor([]byte(deep), 1).Skip(); err != nil {
		t.Error(err)
	}
}

// FuzzCursor: the cursor accepts what the standard library accepts, plus only Python's numbers.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,false,null,"\u00e9\n"]}`, `"0123456789abcdef\\"`, `[01]`,
		`"abcdefg` + "\n" + `h"`, `[1,]`, `{"a" 1}`, "\"\x7f\u20ac\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		c := codec.NewCursor(in, 0)
		_, err := c.Skip()
		if err == nil {
			err = c.End()
		}
		var syntax *codec.SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset > len(in)) {
			t.Fatalf("%v has no place", err)
		}
		plain := !bytes.Contains(in, []byte("NaN")) && !bytes.Contains(in, []byte("Infinity"))
		if json.Valid(in) && err != nil || plain && err == nil && !json.Valid(in) {
			t.Fatalf("%q: %v", in, err)
		}
		var want string
		if utf8.Valid(in) && json.Unmarshal(in, &want) == nil && string(bytes.TrimSpace(in)) != "null" {
			c := codec.NewCursor(in, 0)
			c.Kind()
			if got, err := c.String(); err != nil || got != want {
				t.Fatalf("%q is %q, not %q, %v", in, got, want, err)
			}
		}
	})
}
