package render_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"markmill/render/junit"
)

const (
	mostText = 64 << 10 // of a failure
	mostOut  = 256 << 10
)

// TestReportIsWellFormed: for any texts, the file is well-formed XML with every case, and its text has no control
// characters.
func TestReportIsWellFormed(t *testing.T) {
	hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"]]>", "<!--", "&amp;#xA;", "\x00\x01\x1b[31m",
		"\xff\xfe", "\uFFFE\uFFFF", "a\r\nb\tc", "</failure>", strings.Repeat("é", mostText)}))
	rapid.Check(t, func(t *rapid.T) {
		words := func(label string) *junit.Words {
			return &junit.Words{Message: hostile.Draw(t, label), Type: hostile.Draw(t, label),
				Text: hostile.Draw(t, label)}
		}
		s := junit.Suite{Name: hostile.Draw(t, "name"), Host: hostile.Draw(t, "host"), Start: time.Unix(0, 0),
			Out: hostile.Draw(t, "out"),
			Cases: []junit.Case{{Name: hostile.Draw(t, "case"), Class: "c", Failure: words("failure")},
				{Error: words("error")},
				{Skipped: true}, {}}}
		b, err := junit.Report("r", []junit.Suite{s})
		if err != nil {
			t.Fatal(err)
		}
		cases := 0
		for d := xml.NewDecoder(strings.NewReader(string(b))); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, b)
			}
			switch x := token.(type) {
			case xml.StartElement:
				if x.Name.Local == "testcase" {
					cases++
				}
			case xml.CharData:
				if strings.ContainsFunc(string(x), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
					t.Fatalf("a control character in %q", x)
				}
			}
		}
		if cases != 4 || len(b) > 3*mostText*6+mostOut {
			t.Fatalf("%d cases, %d bytes", cases, len(b))
		}
	})
}

// TestTextsAreWhole: texts within the limit are unchanged, and cut ones say how much is missing.
func TestTextsAreWhole(t *testing.T) {
	const diff = "--- a\n+++ b\n-\told ]]> &#xA; &amp;\n"
	b, err := junit.Report("r", []junit.Suite{{Cases: []junit.Case{{Failure: &junit.Words{Message: "m", Type: "t",
		Text: diff}}},
		Out: strings.Repeat("x", mostOut+7)}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tests int `xml:"tests,attr"`
		Suite struct {
			Failures int    `xml:"failures,attr"`
			Text     string `xml:"testcase>failure"`
			Out      string `xml:"system-out"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 1 || got.Suite.Failures != 1 || got.Suite.Text != diff {
		t.Errorf("%+v", got.Suite.Text)
	}
	if !strings.HasSuffix(got.Suite.Out, "cut here: there are 8 bytes more\n") {
		t.Errorf("the end of what is cut: %q", got.Suite.Out[len(got.Suite.Out)-60:])
	}
}
