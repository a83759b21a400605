package render_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/render/plain"
)

func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat("x", rapid.IntRange(0, 2).Draw(t, "x")) +
			"\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07 \u009b1m\u202e\n10%\r20%\x1b[K\nend\x1b[6n"
		var out strings.Builder
		w := plain.NewWriter(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := text[:strings.IndexByte(text, 0x1b)] + "\x1b[31mred\x1b[0m " + `\x1b]52;c;aGk=\x07 \u009b1m\u202e` +
			"\x1b[0m\n20%\n" + `end\x1b[6n`
		if out.String() != want {
			t.Fatalf("%q; want %q", out.String(), want)
		}
	})
}
