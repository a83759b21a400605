package render_test

import (
	"strings"
	"testing"

	"markmill/render/compare"
	"markmill/render/safe"
)

func TestSanitize(t *testing.T) {
	for _, c := range []struct{ pattern, replace, text, want string }{
		{`\d{1,2}/\d{1,2}/\d{2,4}`, "DATE-STAMP", "on 1/2/2026", "on DATE-STAMP"},
		{`<(.*?) at 0x[0-9a-f]+>`, `<\1>`, "<X at 0x7f01>", "<X>"},
		{`(?P<name>\w+)=\d+`, `\g<name>=$1`, "id=12", "id=$1"},
		{`a(b)?c`, `\g<1>\\`, "abc", `b\`},
		{`end\Z`, "", "the end", "the "},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			text := strings.ReplaceAll("[any]\n# words\nregex: "+c.pattern+"\nreplace: "+c.replace+"\n", "\n", end)
			list, err := compare.Sanitize("s.cfg", []byte(text))
			if err != nil {
				t.Errorf("%s: %v", c.pattern, err)
				continue
			}
			rules, err := safe.NewRules(list)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.Line(c.text); got != c.want {
				t.Errorf("%s → %s: %q gives %q, not %q", c.pattern, c.replace, c.text, got, c.want)
			}
		}
	}
}

func TestSanitizeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "s.cfg:1: no regex: line is in it",
		"regex: a":                      "s.cfg:1: a regex without a replace",
		"  regex: a\nreplace: b":        "s.cfg:1: nbval does not read this line",
		"regex = a\nreplace = b":        "s.cfg:1: nbval does not read this line",
		"regex: a\nreplace:\n":          "s.cfg:2: nbval does not read an empty replace",
		"regex: \nreplace: 0":           "s.cfg:1: the expression is empty",
		"[x]\nregex: (?!a)\nreplace: b": "s.cfg:2: the expression \"(?!a)\" is Python's and not RE2's: it looks around",
		"regex: (a)\\1\nreplace: b":     "is Python's and not RE2's: error parsing",
		"regex: a\\nb\nreplace: b":      "reaches over the end of a line",
		"regex: a\nreplace: \\g1":       `s.cfg:2: \g without <group>`,
		"regex: a\nreplace: x\\ny":      "would break the line",
	} {
		if _, err := compare.Sanitize("s.cfg", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	f.Add("regex: a(b)\nreplace: \\1", "ab")
	f.Add("regex: \\d+\nreplace: \\g<0>$", "12")
	f.Fuzz(func(t *testing.T, text, line string) {
		list, err := compare.Sanitize("s.cfg", []byte(text))
		if err != nil {
			return
		}
		rules, err := safe.NewRules(list)
		if err != nil {
			t.Fatalf("%q was read and is no rule: %v", text, err)
		}
		rules.Line(line)
	})
}
