package mask

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Of these secrets one begins another, and one has two lines.
var hostile = []string{"s3cr-et", "s3cr-et:and-more", "two ab\ncd end", "abcabd"}

// terminal is a small emulator of a terminal, written for these tests and independent of package ansi: a grid of cells
// that wide lines do not wrap.
type terminal struct {
	rows     [][]byte
	row, col int
	seen     func(text string) // called with the screen after every change; may be nil
}

func (t *terminal) text() string {
	var b strings.Builder
	for i, r := range t.rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.Write(bytes.TrimRight(r, " "))
	}
	return b.String()
}

func (t *terminal) show(stream string) {
	t.rows = append(t.rows, nil)
	for len(stream) > 0 {
		n := 1
		switch c := stream[0]; {
		case c == '\n':
			t.row, t.col = t.row+1, 0 // as a terminal line discipline adds the carriage return
			t.rows = append(t.rows, nil)
		case c == '\r':
			t.col = 0
		case c == '\b':
			t.col = max(0, t.col-1)
		case c == 0x1b:
			n = t.escape(stream)
		case c >= ' ' && c != 0x7f:
			for len(t.rows[t.row]) <= t.col {
				t.rows[t.row] = append(t.rows[t.row], ' ')
			}
			t.rows[t.row][t.col] = c
			t.col++
		}
		if t.seen != nil {
			t.seen(t.text())
		}
		stream = stream[n:]
	}
}

// escape carries out a sequence and returns its length.
func (t *terminal) escape(s string) int {
	if len(s) > 1 && s[1] == ']' {
		if end := strings.IndexByte(s, 7); end > 0 && !strings.Contains(s[:end], "\n") {
			return end + 1
		}
	}
	if len(s) > 2 && s[1] == '(' {
		return 3
	}
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	end, count := 2, 0
	for ; end < len(s) && s[end] >= '0' && s[end] <= '?'; end++ {
		if s[end] <= '9' {
			count = min(count*10+int(s[end]-'0'), 1000)
		}
	}
	if end == len(s) {
		return 1
	}
	r := &t.rows[t.row]
	switch s[end] {
	case 'C':
		t.col += max(1, count)
	case 'D':
		t.col = max(0, t.col-max(1, count))
	case 'G':
		t.col = max(1, count) - 1
	case 'K':
		if count == 0 && t.col < len(*r) {
			*r = (*r)[:t.col]
		}
		for i := 0; count == 1 && i <= t.col && i < len(*r); i++ {
			(*r)[i] = ' '
		}
		if count == 2 {
			*r = nil
		}
	}
	return end + 1
}

// torn draws a stream with effects around and inside the secrets, and with parts written out of order.
func torn(effects []string) *rapid.Generator[string] {
	effect := rapid.SampledFrom(append(effects, "\n", "\r\n", " ", "x"))
	parts := rapid.Custom(func(t *rapid.T) string {
		value := rapid.SampledFrom(hostile).Draw(t, "value")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return value
		case 1: // a piece
			from := rapid.IntRange(0, len(value)).Draw(t, "from")
			return value[from:rapid.IntRange(from, len(value)).Draw(t, "to")]
		case 2: // its end before its beginning
			n := rapid.IntRange(1, len(value)-1).Draw(t, "cut")
			return "\r\x1b[" + string(rune('0'+n%10)) + "C" + value[n:] + "\r" + value[:n]
		}
		var b strings.Builder // in order, with something between its characters
		for i := range len(value) {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				b.WriteString(effect.Draw(t, "effect"))
			case 1:
				b.WriteString(value[i:i+1] + "\b")
			}
			b.WriteByte(value[i])
		}
		return b.String()
	})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(effect, effect, parts), 1, 14),
		func(parts []string) string { return strings.Join(parts, "") })
}

var anyEffect = []string{"\r", "\b", "\b\b\b", "\x1b[1;31m", "\x1b[m", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[3G",
	"\x1b[D", "\x1b[2D", "\x1b[C", "\x1b[4C", "\x1b[J", "\x1b[2A", "\x1b[H", "\x1b]0;title\x07",
	"\x1b]8;;http://x\x1b\\", "\x1b(B", "\x1b", "\x1b[", "\x1b]0;", "\x1bP", "\x1b[999C", "\x1b[>4m", "\r\r\n", "é",
	"e\u0301", "\xff", "\xc2", "\x9b", "\u009b", "\x07", "\x00", "\x0e", "\x7f", "\x1b\\"}

// pieces masks a stream cut by chance; before the i-th piece and after the last, look gets what came so far and what
// the end of the stream shows.
func pieces(t *rapid.T, s *Set, text, name string, look func(came, unfinished string)) string {
	m := s.Stream()
	var out bytes.Buffer
	for rest := []byte(text); len(rest) > 0; {
		n := rapid.IntRange(1, len(rest)).Draw(t, name)
		out.Write(m.Next(rest[:n]))
		if look != nil {
			look(out.String(), string(m.Unfinished()))
		}
		rest = rest[n:]
	}
	out.Write(m.Rest())
	return out.String()
}

// uncolored removes colours, and fails if anything but text and colours is there.
func uncolored(t *rapid.T, stream string) string {
	var b strings.Builder
	for i := 0; i < len(stream); i++ {
		c := stream[i]
		if c == 0x1b && strings.HasPrefix(stream[i:], "\x1b[") {
			n := strings.IndexFunc(stream[i+2:], func(r rune) bool { return !strings.ContainsRune("0123456789;:", r) })
			if n >= 0 && stream[i+2+n] == 'm' {
				i += n + 2
				continue
			}
		}
		if c < ' ' && c != '\n' && c != '\t' && (c != '\r' || i+1 == len(stream) || stream[i+1] != '\n') ||
			c == 0x7f || c == 0xc2 && i+1 < len(stream) && stream[i+1] >= 0x80 && stream[i+1] < 0xa0 {
			t.Fatalf("%q moves the cursor, or more", stream)
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Whatever effects assemble a value, no terminal shows it, not even for a moment; the output does not depend on how the
// stream was cut, nor on when somebody looked at its end.
func TestScreenShowsNoValue(t *testing.T) {
	s := New(hostile)
	rapid.Check(t, func(t *rapid.T) {
		text := torn(anyEffect).Draw(t, "text")
		shows := func(what, stream string) {
			view := terminal{seen: func(screen string) {
				for _, v := range hostile {
					if strings.Contains(screen, v) {
						t.Fatalf("%s of %q is %q, which shows %q", what, text, stream, v)
					}
				}
			}}
			view.seen(stream)
			view.seen(uncolored(t, stream))
			view.show(stream)
		}
		got := pieces(t, s, text, "cut", nil)
		shows("the output", got)
		again := pieces(t, s, text, "other cut", func(came, unfinished string) {
			shows("what came so far, with the unfinished line,", came+unfinished)
		})
		if again != got {
			t.Fatalf("%q gives %q, and cut otherwise %q", text, got, again)
		}
		if strings.Contains(got, Mark) && !s.In([]byte(text)) { // a Mark may be drawn over
			t.Fatalf("%q gives %q, but no value is found", text, got)
		}
		if s.In([]byte(got)) {
			t.Fatalf("%q gives %q, where a value is found", text, got)
		}
	})
}

// A stream that shows no value looks as before.
func TestScreenShowsTheRest(t *testing.T) {
	s := New([]string{"not in any of these"})
	rapid.Check(t, func(t *rapid.T) {
		text := torn([]string{"\r", "\b", "\x1b[31m", "\x1b[0m", "\x1b[K", "\x1b[1K", "\x1b[2K",
			"\x1b[3G", "\x1b[2D", "\x1b[4C",
			"\x1b]0;title\x07", "\x1b(B", "\x07", "\x7f"}).Draw(t, "text")
		var before, after terminal
		before.show(text)
		got := pieces(t, s, text, "cut", nil)
		after.show(got)
		if before.text() != after.text() {
			t.Fatalf("%q gives %q, which shows %q; want %q", text, got, after.text(), before.text())
		}
	})
}

// What a live view gets early is what the finished stream has there, unless the cursor moves back afterwards: nothing
// of it belongs to a value.
func TestUnfinishedBelongsToNoValue(t *testing.T) {
	s := New(hostile)
	rapid.Check(t, func(t *rapid.T) {
		text := torn([]string{"\x1b[31m", "\x1b[0m", "\x1b]0;title\x07", "\x07", "\x00"}).Draw(t, "text")
		text = strings.NewReplacer("\r\n", "\n", "\r", "", "\b", "", "\x1b[", "\x1b[0").Replace(text)
		text = strings.ReplaceAll(text, "C", "m") // movements become colours
		var early []string
		got := pieces(t, s, text, "cut", func(came, unfinished string) { early = append(early, came+unfinished) })
		for _, e := range early {
			if !strings.HasPrefix(got, e) {
				t.Fatalf("%q gives %q, and %q was shown before", text, got, e)
			}
		}
	})
}

func TestUnfinished(t *testing.T) {
	m := New(hostile).Stream()
	for _, c := range [][2]string{{"password: s3c", "password: "}, {"x", "password: s3cx"},
		{"\rs3cr-et:a", "***sword: s3cx"},
		{"\n", ""}, {"two ab\n", ""}, {"cd e", ""}, {"x", "two ab\ncd ex"}} {
		m.Next([]byte(c[0]))
		if got := string(m.Unfinished()); got != c[1] {
			t.Errorf("after %q: %q, want %q", c[0], got, c[1])
		}
	}
}

// A colour that was set before a line is drawn over stays what it was.
func TestScreenKeepsColors(t *testing.T) {
	s := New(hostile)
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m\n":                    "\x1b[31mred\x1b[0m\n",
		"\x1b[31m10%\r\x1b[32m100%\x1b[0m done\n": "\x1b[0m\x1b[31m\x1b[32m100%\x1b[0m done\n",
		"\x1b[1mab\x1b[0mcd\rx\n":                 "x\x1b[0m\x1b[1mb\x1b[0mcd\n",
		"ab\r\x1b[31m\n":                          "ab\x1b[0m\x1b[31m\n",
		"s3c\x1b[1mr-et\x1b[0m and\n":             "***\x1b[1m\x1b[0m and\n",
		"s3cr-\x1b[2Get\n":                        "***\n",
	} {
		if got := s.Text(text + "s3cr-et"); got != want+Mark {
			t.Errorf("%q gives %q; want %q", text, got, want+Mark)
		}
	}
}

// Streams that earlier versions let through.
func TestFound(t *testing.T) {
	key := "MIIEvQIBADANBgkqhkiG9w0BAQ\nAgEAAoIBAQC7VJTUt9Us8cKjMzE"
	for _, c := range []struct {
		secrets, pieces []string
		want            string
	}{
		{[]string{key}, []string{key[:len(key)-1], key[len(key)-1:] + "\x1b[0m\n"}, "***\x1b[0m\n"},
		{[]string{"deploy-bot", "deploy-bot:Tr0ub4dor-and-3"}, []string{"deploy-bot:Tr0ub4dor-and-", "3\x1b[0m\n"},
			"***\x1b[0m\n"},
		{hostile, []string{"two ab\nx\bcd end"}, "***"},
		{hostile, []string{"s\x003\x00c\x00r\x00-\x00e\x00t\x00"}, "***"},
		{hostile, []string{"s3cr\x07-\x7fet s3c\u009br-et"}, "*** ***"},
	} {
		m := New(c.secrets).Stream()
		var got []byte
		for _, p := range c.pieces {
			got = append(got, m.Next([]byte(p))...)
		}
		if got = append(got, m.Rest()...); string(got) != c.want {
			t.Errorf("%q gives %q; want %q", c.pieces, got, c.want)
		}
	}
}

// Where a line is too long to hold, a value and a sequence are found across the place where it is cut.
func TestLongTail(t *testing.T) {
	s := New(hostile)
	for _, tail := range []int{maxLine - 1, maxLine, maxLine + 1, 4 * maxLine} {
		pieces := []string{"line\n" + strings.Repeat("x", tail), "y s3cr-et", " end\n"}
		m, got := s.Stream(), ""
		for _, piece := range pieces {
			got += string(m.Next([]byte(piece)))
		}
		got += string(m.Rest())
		if want := s.Text(strings.Join(pieces, "")); got != want {
			t.Fatalf("a tail of %d bytes: %q; want %q", tail, got[max(0, len(got)-30):], want[max(0, len(want)-30):])
		}
	}
}

func TestLongLine(t *testing.T) {
	s := New(hostile)
	for n := maxLine - 30; n < maxLine+3; n++ {
		text := strings.Repeat("x", n) + "\x1b[1m \x1b]0;title\x07s3c\x1b[1mr-et\u009b \n"
		if got, want := s.Text(text), strings.Repeat("x", n)+"\x1b[1m ***\x1b[1m \n"; got != want {
			t.Fatalf("after %d bytes: %q; want %q", n, got[n:], want[n:])
		}
	}
}
