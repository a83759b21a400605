package engine

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However a stream is cut into writes, what comes out is the whole stream with every secret replaced.
func TestMaskerAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab-")), 2, 6, -1)
		secrets := rapid.SliceOfN(word, 1, 3).Draw(t, "secrets")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab-\n")), 0, 60, -1).Draw(t, "text")
		text += secrets[0] + rapid.StringOfN(rapid.RuneFrom([]rune("ab-\n")), 0, 20, -1).Draw(t, "end")
		m := newMasker(secrets)
		var out bytes.Buffer
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			out.Write(m.next(rest[:n]))
			rest = rest[n:]
		}
		out.Write(m.rest())
		for _, s := range secrets {
			if strings.Contains(out.String(), s) {
				t.Fatalf("%q is in %q (of %q)", s, out.String(), text)
			}
		}
	})
}

func TestMaskerNone(t *testing.T) {
	if newMasker(nil) != nil || newMasker([]string{""}) != nil {
		t.Error("a masker without secrets")
	}
}

func TestMaskerKeepsTheRest(t *testing.T) {
	m := newMasker([]string{"hunter2"})
	var out bytes.Buffer
	for _, part := range []string{"password: hun", "ter2 and hunt", "er1"} {
		out.Write(m.next([]byte(part)))
	}
	out.Write(m.rest())
	if got := out.String(); got != "password: *** and hunter1" {
		t.Errorf("%q", got)
	}
}
