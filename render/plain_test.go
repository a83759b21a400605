package render_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"markmill/render/plain"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"plain", "hello\tworld", "hello\tworld"},
		{"crlf", "dos\r", "dos"},
		{"progress", "10%\r50%\r100% done", "100% done"},
		{"shorter over longer", "downloading\rdone       ", "done"},
		{"shorter leaves the rest", "abcdef\rxy", "xycdef"},
		{"backspace", "abc\b\bX", "aXc"},
		{"backspace at the start", "\b\bab", "ab"},
		{"colour", "\x1b[1;31mred\x1b[0m text", "red text"},
		{"erase line", "loading\x1b[2K\rready", "ready"},
		{"erase to end", "loading\r\x1b[Kok", "ok"},
		{"column", "abcdef\x1b[3GX", "abXdef"},
		{"forward", "a\x1b[3Cb", "a   b"},
		{"forward without end", "a\x1b[999999999999C", "a"},
		{"forward again and again", strings.Repeat("\x1b[900Ca", 9), strings.Repeat(" ", 900) + "a" +
			strings.Repeat(" ", 99) + strings.Repeat("a", 8)},
		{"title", "\x1b]0;a title\x07text", "text"},
		{"link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"charset", "\x1b(Btext", "text"},
		{"string without end", "\x1b]0;all of the rest", `\x1b]0;all of the rest`},
		{"sequence without end", "a\x1b[12", `a\x1b[12`},
		{"lone escape", "a\x1b", `a\x1b`},
		{"nul", "a\x00b", `a\x00b`},
		{"bell and delete", "\x07\x7f", `\x07\x7f`},
		{"invalid", "a\xff\xfeb", `a\xff\xfeb`},
		{"replacement character is a character", "\ufffd", "\ufffd"},
		{"bidi", "\u202eabc\u2066\u200f\u061c", `\u202eabc\u2066\u200f\u061c`},
		{"c1", "\u009b31m", `\u009b31m`},
		{"separators", "\u2028\ufeff", `\u2028\ufeff`},
		{"tags", "\U000e0041", `\U000e0041`},
		{"combining", "e\u0301\x1b[0m", "e\u0301"},
		{"family", "👩\u200d👧", "👩\u200d👧"},
	} {
		if got := plain.Line([]byte(c.raw)); got != c.want {
			t.Errorf("%s: Line(%q) = %q, want %q", c.name, c.raw, got, c.want)
		}
	}
}

// rawLine draws lines with many of the sequences that Resolve handles.
func rawLine(t *rapid.T) []byte {
	parts := rapid.SliceOf(rapid.OneOf(
		rapid.SampledFrom([]string{"\x1b[", "\x1b]", "\x1b", "\r", "\b", "K", "2K",
			"1;31m", "12C", "\x07", "\x1b\\", "abc",
			"\u202e", "é", "\x00"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), func(b []byte) string { return string(b) }),
	)).Draw(t, "parts")
	return []byte(strings.Join(parts, ""))
}

func TestLineIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := plain.Line(rawLine(t))
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if s := string(r); plain.Escape(s) != s {
				t.Fatalf("%q holds %U", got, r)
			}
		}
		if again := plain.Line([]byte(got)); again != got {
			t.Fatalf("a safe line changed: %q to %q", got, again)
		}
	})
}

func TestEscapeJSONKeepsTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := strings.ToValidUTF8(string(rawLine(t)), "?") + "\U000e0041\u2028\x7f"
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text := plain.EscapeJSON(string(b))
		if plain.Escape(text) != text {
			t.Fatalf("%q holds what it should not", text)
		}
		var got string
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Fatalf("%q reads as %q (%v), want %q", text, got, err, want)
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add([]byte("\x1b[1;31mred\x1b[0m\r\b\xff\u202e\x1b]0;t\x07"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = []byte(strings.ReplaceAll(string(raw), "\n", ""))
		got := plain.Line(raw)
		if plain.Escape(got) != got {
			t.Fatalf("%q gives %q", raw, got)
		}
		if len(got) > 10*len(raw)+1000 {
			t.Fatalf("%d bytes give %d", len(raw), len(got))
		}
	})
}
