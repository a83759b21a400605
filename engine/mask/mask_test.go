package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

var letters = rapid.RuneFrom([]rune("ab-\n= "))

// The output does not depend on how a stream is split into writes: every byte that a pattern covers is gone,
// overlapping matches have one mark, and every other byte remains.
func TestStreamAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOfN(rapid.StringOfN(letters, 2, 6, -1), 1, 4).Draw(t, "plain")
		wrapped := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 2, 6, -1), 1, 3).Draw(t, "wrapped")
		s := newSet(newAutomaton(plain, false), newAutomaton(wrapped, true))
		text := rapid.StringOfN(letters, 0, 80, -1).Draw(t, "text") + plain[0] +
			rapid.StringOfN(letters, 0, 20, -1).Draw(t, "end")
		m := s.Stream()
		var out bytes.Buffer
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			out.Write(m.Next(rest[:n]))
			rest = rest[n:]
		}
		out.Write(m.Rest())
		if want := slowly(text, plain, wrapped); out.String() != want {
			t.Fatalf("%q of %q with %q, %q; want %q", out.String(), text, plain, wrapped, want)
		}
		last, _ := m.At(0)
		for n := range text {
			at, known := m.At(int64(n))
			within := slices.ContainsFunc(m.changed, func(p change) bool {
				return p.start < int64(n) && int64(n) < p.end
			})
			starts := slices.ContainsFunc(m.changed, func(p change) bool { return p.start == int64(n) })
			if !known || at < last || !within && !starts && out.String()[at] != text[n] || starts &&
				!strings.HasPrefix(out.String()[at:], Mark) {
				t.Fatalf("byte %d of %q stands at %d of %q", n, text, at, out.String())
			}
			last = at
		}
		if at, _ := m.At(int64(len(text))); at != int64(out.Len()) {
			t.Fatalf("the end is at %d of %q", at, out.String())
		}
	})
}

// slowly masks by trying every pattern at every position.
func slowly(text string, plain, wrapped []string) string {
	var found []place
	for end := 1; end <= len(text); end++ {
		longest := func(patterns []string, match func(string) int) {
			start, size := -1, 0
			for _, p := range patterns {
				if at := match(p); at >= 0 && len(p) > size {
					start, size = at, len(p)
				}
			}
			if start >= 0 {
				found = append(found, place{int64(start), int64(end)})
			}
		}
		longest(plain, func(p string) int {
			if strings.HasSuffix(text[:end], p) {
				return end - len(p)
			}
			return -1
		})
		longest(wrapped, func(p string) int { return wrappedSuffix(text[:end], p) })
	}
	slices.SortStableFunc(found, func(a, b place) int { return int(a.start - b.start) })
	var out strings.Builder
	at := int64(0)
	for _, p := range found {
		if p.start >= at {
			out.WriteString(text[at:p.start] + Mark)
		}
		at = max(at, p.end)
	}
	return out.String() + text[at:]
}

// wrappedSuffix returns where p begins if the text ends in it, ignoring what separates its characters.
func wrappedSuffix(text, p string) int {
	i := len(text)
	for k := len(p) - 1; k >= 0; k-- {
		for k < len(p)-1 && i > 0 && separates(text[i-1]) {
			i--
		}
		if i == 0 || text[i-1] != p[k] {
			return -1
		}
		i--
	}
	return i
}

// TestForms covers every documented spelling, with values that need quoting everywhere.
func TestForms(t *testing.T) {
	for _, value := range []string{"hunter2-is-it", `it's "a\b" <&> $x/y+z=`, "grüße 漢字 \U0001F600!",
		"two\nlines\tand more", "0123456789abcdef", strings.Repeat("long/+ ", 60) + "end"} {
		s := New([]string{value})
		quoted, _ := json.Marshal(value)
		twice, _ := json.Marshal(string(quoted))
		for name, text := range map[string]string{
			"plain": value, "json": string(quoted), "json in json": string(twice), "ascii json": asciiJSON(value),
			"go": fmt.Sprintf("%q", value), "ascii go": strconv.QuoteToASCII(value),
			"query": url.QueryEscape(value), "path": url.PathEscape(value), "hex": hex.EncodeToString([]byte(value)),
			"HEX": strings.ToUpper(hex.EncodeToString([]byte(value))), "html": html.EscapeString(value),
			"printf %q": bashQuoted(value), "trace": "'" + strings.ReplaceAll(value, "'", `'\''`) + "'",
			"crlf": strings.ReplaceAll(value, "\n", "\r\n"), "upper-case json": upperEscapes(asciiJSON(value)),
			"hex:colons": dump(value, "%02x", ":"), "hex spaces": dump(value, "%02X", " "),
			"hex-dashes": dump(value, "%02x", "-"), `hex \x`: dump(value, `\x%02x`, ""),
			"hex 0x":   dump(value, "0x%02x", ", "),
			"utf-16le": inUTF16(value, false), "utf-16be": inUTF16(value, true),
			"nul between letters": strings.Join(strings.Split(value, ""), "\x00"),
		} {
			if got := s.Text("<" + text + ">"); !strings.Contains(got, Mark) || len(got) > len(Mark)+8 {
				t.Errorf("%s of %q: %q", name, value, got)
			}
		}
		for before := range 4 {
			for after := range 4 {
				text := strings.Repeat("x", before) + value + strings.Repeat("y", after)
				for name, enc := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding,
					"raw std": base64.RawStdEncoding, "raw url": base64.RawURLEncoding} {
					line := enc.EncodeToString([]byte(text))
					if got := s.Text("key: " + line + "."); !strings.Contains(got, Mark) || len(got) > len(Mark)+22 {
						t.Errorf("%s base64 of %q+%d+%d: %q", name, value, before, after, got)
					}
					for _, width := range []int{4, 60, 76} {
						var wrapped strings.Builder
						for i, c := range line {
							if i > 0 && i%width == 0 {
								wrapped.WriteString("\r\n   ")
							}
							wrapped.WriteRune(c)
						}
						if got := s.Text(wrapped.String()); strings.Contains(got, line[6:10]) && len(line) > 16 {
							t.Errorf("%s base64 of %q+%d+%d in lines of %d: %q", name, value, before, after, width, got)
						}
						if !s.In([]byte(wrapped.String())) {
							t.Errorf("%s base64 of %q+%d+%d in lines of %d is not found", name, value, before, after,
								width)
						}
					}
				}
			}
		}
	}
}

func dump(s, format, between string) string {
	var list []string
	for i := range len(s) {
		list = append(list, fmt.Sprintf(format, s[i]))
	}
	return strings.Join(list, between)
}

func inUTF16(s string, big bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		if high, low := byte(unit>>8), byte(unit); big {
			b.Write([]byte{high, low})
		} else {
			b.Write([]byte{low, high})
		}
	}
	return b.String()
}

func TestLatin1(t *testing.T) {
	if got := New([]string{"grüße an alle"}).Text("<gr\xfc\xdfe an alle>"); got != "<"+Mark+">" {
		t.Errorf("%q", got)
	}
}

// bashQuoted is the output of bash 5.2's printf %q for the values above.
func bashQuoted(s string) string {
	if strings.Contains(s, "\n") {
		return "$'" + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s) + "'"
	}
	return strings.NewReplacer(" ", `\ `, "'", `\'`, `"`, `\"`, `\`, `\\`, "<", `\<`, "&", `\&`, ">", `\>`, "$", `\$`,
		"!", `\!`).Replace(s)
}

func asciiJSON(s string) string {
	b, _ := json.Marshal(s)
	var out strings.Builder
	for _, r := range string(b) {
		if r < 0x80 {
			out.WriteRune(r)
		} else if r < 0x10000 {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return out.String()
}

// A stream of overlapping values is not held in memory.
func TestStreamOfOverlaps(t *testing.T) {
	m := New([]string{"aaaaaaaa"}).Stream()
	chunk := bytes.Repeat([]byte("a"), 4096)
	total := 0
	for range 1024 {
		total += len(m.Next(chunk))
		if len(m.line)+len(m.in)+len(m.given) > 3*maxUnit || len(m.raw.held)+len(m.raw.found) > 2*maxLine {
			t.Fatalf("%d bytes are held", len(m.line)+len(m.in)+len(m.raw.held))
		}
	}
	if total += len(m.Rest()); total != len(Mark) {
		t.Errorf("%d bytes came out", total)
	}
}

func TestNoSecrets(t *testing.T) {
	s := New(nil)
	if s != nil || s.Stream() != nil || s.In([]byte("x")) || s.Text("x") != "x" {
		t.Error("no secrets, and something is masked")
	}
}

func TestJSON(t *testing.T) {
	quote, hexed := `pass"word\1`, strings.Repeat("0123456789abcdef", 4)
	s := New([]string{quote, "987654", hexed})
	for raw, want := range map[string]string{
		`{"a":"x pass\"word\\1 y","pass\"word\\1":[1,"\u0070ass\"word\\1",null]}`: `{"***":[1,"***",null],"a":"x *** y"}`,
		`[1987654.5,"n 987654"]`:                            `[1987654.5,"n ***"]`,
		`"sha256:` + strings.Repeat("987654", 10) + `0000"`: `"sha256:******************************0000"`,
		`"sha256:00000` + strings.Repeat("f", 49) + `9876540000"`: `"sha256:00000` + strings.Repeat("f", 49) +
			`9876540000"`,
		`"` + hexed + `"`: `"***"`,
	} {
		if got, err := s.JSON([]byte(raw), false); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", raw, got, err, want)
		}
	}
	if got, err := s.JSON([]byte(`{"pin":1987654.5}`), true); err != nil || string(got) != `{"pin":"1***.5"}` {
		t.Errorf("%s, %v", got, err)
	}
}

func FuzzStream(f *testing.F) {
	s := New([]string{"hunter2-is-it", "b@d\npass/word"})
	f.Add([]byte("x hunter2-is-it aHVudGVyMi1p\ncy1pdA=="), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		if cut < 1 {
			return
		}
		m := s.Stream()
		var out []byte
		for part := range slices.Chunk(text, cut) {
			out = append(out, m.Next(part)...)
		}
		out = append(out, m.Rest()...)
		whole := s.Stream()
		want := append(slices.Clone(whole.Next(text)), whole.Rest()...)
		if !bytes.Equal(out, want) {
			t.Fatalf("%q in pieces of %d: %q, and at once %q", text, cut, out, want)
		}
	})
}

func benchmark(b *testing.B, s *Set, line string) {
	chunk := bytes.Repeat([]byte(line), 64<<10/len(line))
	b.SetBytes(int64(len(chunk)))
	m := s.Stream()
	for b.Loop() {
		m.Next(chunk)
	}
}

func BenchmarkStreamText(b *testing.B) {
	benchmark(b, New([]string{"hunter2-is-it", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}),
		"2026-11-21T10:52:20Z INFO build: compiling package engine/worktree ok\n")
}

func BenchmarkStreamColors(b *testing.B) {
	benchmark(b, New([]string{"hunter2-is-it", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}),
		"2026-11-21T10:52:20Z \x1b[32mINFO\x1b[0m build: \x1b[1mcompiling\x1b[0m package engine/worktree ok\n")
}

func BenchmarkStreamMovements(b *testing.B) {
	benchmark(b, New([]string{"hunter2-is-it", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}),
		"download 10%\x1b[2K\rdownload 20%\x1b[2K\rdownload 30%\x1b[2K\rdownload 40%\x1b[2K\rdone\n")
}

func BenchmarkStreamBase64(b *testing.B) {
	benchmark(b, New([]string{"hunter2-is-it", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}),
		base64.StdEncoding.EncodeToString([]byte("some bytes, as they are found in a picture: \x00\x01\x02\xff\xfe")))
}

func BenchmarkStreamPEM(b *testing.B) {
	var key strings.Builder
	for i := range 50 {
		fmt.Fprintf(&key, "%s\n", base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('!'+i)), 48))))
	}
	benchmark(b, New([]string{key.String()}), "2026-11-21T10:52:20Z INFO build: compiling package engine/worktree ok\n")
}
