package keys

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const pem = "-----BEGIN RSA PRIVATE KEY-----\n" +
	"MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu\n" +
	"KUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQJAIJLixBy2qpFoS4DSmoEm\n-----END RSA PRIVATE KEY-----"

// token draws a token of each form.
var anyToken = rapid.Custom(func(t *rapid.T) string {
	f := forms[rapid.IntRange(0, len(forms)-1).Draw(t, "form")]
	return f.prefix + rapid.StringMatching(f.rest).Filter(func(s string) bool {
		return varied([]byte(s)) && !strings.HasSuffix(s, "EXAMPLE")
	}).Draw(t, "rest")
})

// Each form is found alone, quoted, in JSON, and after other text; nothing else is.
func TestForms(t *testing.T) {
	if len(forms) > 29 {
		t.Errorf("%d forms", len(forms))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := anyToken.Draw(t, "token")
		if !marked([]byte(text[:least])) {
			t.Fatalf("%q has none of the marks", text)
		}
		for _, around := range [][2]string{{"", ""}, {"key: ", "\n"}, {`{"a":"\n`, `"}`}, {"https://x:", "@host/"},
			{"it is ", ".\n"}} {
			got, found := Shown(nil).Hide([]byte(around[0] + text + around[1]))
			if want := strings.Count(string(got), ", not shown"); want != 1 || len(found) != 1 ||
				!strings.HasPrefix(string(got), around[0]) || !strings.HasSuffix(string(got), around[1]) {
				t.Fatalf("%q in %q gives %q", text, around, got)
			}
		}
	})
	for _, text := range []string{"AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"sk-learn-is-a-library-of-python",
		"-----BEGIN PRIVATE KEY-----\nis how it begins",
		"-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIB", 30) + "\n",
		"a_ghp_" + strings.Repeat("aB1cD2eF3", 4), "-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("MIIB", 30)} {
		if got, _ := Shown(nil).Hide([]byte(text)); string(got) != text {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

func TestPrivateKeys(t *testing.T) {
	encrypted := "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"
	for text, want := range map[string]string{
		"a\n" + pem + "\nb\n": "a\nprivate key, not shown\nb\n",
		`{"key": "` + strings.ReplaceAll(pem, "\n", `\n`) + `\n"}`: `{"key": "private key, not shown\n"}`,
		"+" + strings.ReplaceAll(pem, "\n", "\n+") + "\n+x\n":      "+private key, not shown\n+x\n",
		"  " + strings.ReplaceAll(pem, "\n", "\r\n  ") + "\r\n":    "  private key, not shown\r\n",
		pem[:120] + "\nthat is all\n":                              "private key, not shown\nthat is all\n",
		strings.Replace(pem, "\n", encrypted, 1):                   "private key, not shown",
	} {
		if got, _ := Shown(nil).Hide([]byte(text)); string(got) != want {
			t.Errorf("%q gives %q; want %q", text, got, want)
		}
	}
	shown := Shown{}
	shown.Add([]byte(pem))
	for _, text := range []string{pem, strings.ReplaceAll(pem, "\n", `\n`),
		"+" + strings.ReplaceAll(pem, "\n", "\n  ")} {
		if got, found := shown.Hide([]byte(text)); string(got) != text || found != nil {
			t.Errorf("a key that is shown: %q gives %q", text, got)
		}
	}
}

// What a stream becomes does not depend on how it was cut, and At follows it.
func TestStreamAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(anyToken, rapid.Just(pem), rapid.SampledFrom([]string{"\n", " ", "-", "-----", `\n`, `\t`, "\\",
			"-----BEGIN ", "PRIVATE KEY", "-----BEGIN PRIVATE KEY-----\n", "AKIA", "ghp_", "x", "word", "MIIBOgIBAAJ\n",
			"-----END RSA PRIVATE KEY-----"}))
		text := strings.Join(rapid.SliceOfN(part, 1, 12).Draw(t, "parts"), "")
		s := Shown(nil).Stream()
		var out bytes.Buffer
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			out.Write(s.Next(bytes.Clone(rest[:n])))
			rest = rest[n:]
		}
		out.Write(s.Rest())
		want, _ := Shown(nil).Hide([]byte(text))
		if out.String() != string(want) {
			t.Fatalf("%q gives %q, and at once %q", text, out.String(), want)
		}
		if at := s.At(int64(len(text))); at != int64(out.Len()) {
			t.Fatalf("the end of %q is at %d of %q", text, at, out.String())
		}
	})
}

// One byte of eight that is of no word is seen, in each place and beside each other byte.
func TestSeparated(t *testing.T) {
	for c := range 256 {
		for other := range 256 {
			for place := range 8 {
				b := bytes.Repeat([]byte{byte(other)}, 8)
				b[place] = byte(c)
				if got := separated(binary.LittleEndian.Uint64(b)); got == (word[c] && word[other]) {
					t.Fatalf("%q: %t", b, got)
				}
			}
		}
	}
}

// A key that is too long to hold does not make the search slow, and no more of it is shown than lies beyond the bound.
func TestLongKey(t *testing.T) {
	text := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("MIIB", 16)+"\n", 400)
	got, _ := Shown(nil).Hide([]byte(text))
	if len(got) > len(text)-mostKey+64 || !regexp.MustCompile(`^private key, not shown`).Match(got) {
		t.Errorf("%d of %d bytes: %.60q", len(got), len(text), got)
	}
}

func benchmark(b *testing.B, line string) {
	chunk := []byte(strings.Repeat(line, max(1, 32<<10/len(line))))
	b.SetBytes(int64(len(chunk)))
	s := Shown(nil).Stream()
	for b.Loop() {
		s.Next(chunk)
	}
}

func BenchmarkText(b *testing.B) {
	benchmark(b, "2026-11-21T10:52:20Z INFO build: compiling package engine/worktree ok\n")
}

// Words of a text, in no order that a processor learns.
func BenchmarkWords(b *testing.B) {
	words := strings.Fields("the of run step output engine/worktree 2026-11-21T10:52:20Z ok a compiling " +
		"file=notebook.md INFO package line 17 to passed in github.com/owner/name: error 0.25s")
	var text []byte
	for random := rand.New(rand.NewPCG(1, 2)); len(text) < 256<<10; {
		text = append(append(text, words[random.IntN(len(words))]...), " \n"[random.IntN(10)/9])
	}
	benchmark(b, string(text))
}

func BenchmarkBar(b *testing.B) { benchmark(b, strings.Repeat("x", 100)+"\n") }

func BenchmarkBase64(b *testing.B) { benchmark(b, strings.Repeat("IVb9", 19)+"\n") }
