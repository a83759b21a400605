package mask

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"markmill/notebooks/ansi"
)

// torn draws a value with effects around and inside it, and with parts written out of order.
func torn(value string) *rapid.Generator[string] {
	effect := rapid.SampledFrom([]string{"\r", "\b", "\b\b\b", "\x1b[1;31m", "\x1b[m", "\x1b[K", "\x1b[1K", "\x1b[2K",
		"\x1b[3G", "\x1b[D", "\x1b[2D", "\x1b[C", "\x1b[4C",
		"\x1b[J", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b(B", "\x1b", "\x1b[", "\x1b]0;", "\x1bP",
		"\x1b[999C", "\x1b[1G", "\n", "\r\n", "\r\r\n", " ", "x", "é", "e\u0301", "\xff", "\x07", "\x1b\\"})
	piece := rapid.Custom(func(t *rapid.T) string {
		from := rapid.IntRange(0, len(value)).Draw(t, "from")
		return value[from:rapid.IntRange(from, len(value)).Draw(t, "to")]
	})
	inside := rapid.Custom(func(t *rapid.T) string { // the value in order, with something between its characters
		var b strings.Builder
		for i := range len(value) {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				b.WriteString(effect.Draw(t, "effect"))
			case 1:
				b.WriteString(value[i:i+1] + "\b")
			case 2:
				b.WriteString("x\x1b[D")
			}
			b.WriteByte(value[i])
		}
		return b.String()
	})
	swapped := rapid.Custom(func(t *rapid.T) string { // its end before its beginning
		n := rapid.IntRange(1, len(value)-1).Draw(t, "cut")
		return "\r\x1b[" + string(rune('0'+n%10)) + "C" + value[n:] + "\r" + value[:n]
	})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(effect, effect, piece, inside, swapped, rapid.Just(value)), 1, 12),
		func(parts []string) string { return strings.Join(parts, "") })
}

// views returns what readers of a stream may see: each line as a terminal shows it, when it ends and at every moment
// before; and the text without control sequences.
func views(stream string) (list []string) {
	list = append(list, stream)
	var whole strings.Builder
	for raw := range strings.SplitSeq(stream, "\n") {
		var line ansi.Line
		line.Write([]byte(raw), nil)
		whole.WriteString(line.String() + "\n")
		var now ansi.Line
		for rest := []byte(strings.TrimSuffix(raw, "\r")); len(rest) > 0; {
			kind, n := ansi.Next(rest, true)
			for i := 0; kind == ansi.Text && i < n; {
				i += now.Put(rest[i:])
				list = append(list, now.String())
			}
			if kind == ansi.Move {
				now.Move(rest[:n])
				list = append(list, now.String())
			}
			rest = rest[n:]
		}
	}
	return append(list, whole.String())
}

// left returns a stream without its control sequences. It drops lines in which the cursor moves.
func left(stream string) string {
	var b strings.Builder
	for raw := range strings.SplitAfterSeq(stream, "\n") {
		body := strings.TrimSuffix(strings.TrimSuffix(raw, "\n"), "\r")
		text, moved := "", false
		for rest := []byte(body); len(rest) > 0; {
			kind, n := ansi.Next(rest, true)
			if moved = moved || kind == ansi.Move; kind == ansi.Text {
				text += string(rest[:n])
			}
			rest = rest[n:]
		}
		if moved {
			text = "\r"
		}
		b.WriteString(text)
		b.WriteString(strings.TrimPrefix(raw, body))
	}
	return b.String()
}

func maskedIn(t *rapid.T, s *Set, text, name string) string {
	m := s.Stream()
	var out bytes.Buffer
	for rest := []byte(text); len(rest) > 0; {
		n := rapid.IntRange(1, len(rest)).Draw(t, name)
		out.Write(m.Next(rest[:n]))
		rest = rest[n:]
	}
	out.Write(m.Rest())
	return out.String()
}

// Whatever effects assemble a value, a terminal never shows it; the output does not depend on how the stream was split;
// and a stream that shows no value passes unchanged.
func TestEffectsShowNoValue(t *testing.T) {
	for _, value := range []string{"s3cr-et", "two ab\ncd end", "abcabd"} {
		s := New([]string{value})
		rapid.Check(t, func(t *rapid.T) {
			text := torn(value).Draw(t, "text")
			got := maskedIn(t, s, text, "cut")
			shows := false
			for _, v := range append(views(text), left(text)) {
				shows = shows || strings.Contains(v, value)
			}
			for _, v := range append(views(got), left(got)) {
				if strings.Contains(v, value) {
					t.Fatalf("%q gives %q, which shows %q", text, got, v)
				}
			}
			if again := maskedIn(t, s, text, "other cut"); again != got {
				t.Fatalf("%q gives %q, and cut otherwise %q", text, got, again)
			}
			if shows && !s.In([]byte(text)) {
				t.Fatalf("the value in %q is not found", text)
			}
			if !s.In([]byte(text)) && got != text {
				t.Fatalf("%q shows no value, and gives %q", text, got)
			}
			if s.In([]byte(got)) {
				t.Fatalf("%q gives %q, where a value is found", text, got)
			}
		})
	}
}

// Texts that once made the search panic or pass a value, however they are cut.
func TestEffectsFound(t *testing.T) {
	const value = "two ab\ncd end"
	for _, text := range []string{
		"\x1b\x1b[1;31m" + value + value + value,
		"two ab\nx\bcd end", // the line above was passed on as text that begins no value
		"\r\r\ntwo ab\nx\x1b[Dcx\x1b[Ddx\x1b[D end",
	} {
		for n := 1; n <= len(text); n++ {
			s := New([]string{value})
			m := s.Stream()
			var out bytes.Buffer
			for rest := []byte(text); len(rest) > 0; {
				cut := min(n, len(rest))
				out.Write(m.Next(rest[:cut]))
				rest = rest[cut:]
			}
			out.Write(m.Rest())
			for _, v := range append(views(out.String()), left(out.String())) {
				if strings.Contains(v, value) {
					t.Errorf("%q, cut after every %d bytes, gives %q", text, n, out.String())
				}
			}
		}
	}
}
