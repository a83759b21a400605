package html

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"markmill/notebooks/diff"
)

// doc is one side of a comparison, with a text in every field.
func hostileDocument(text, other string) *diff.Document {
	value := []byte(fmt.Sprintf("%q", "x"))
	cell := func(id, source string) diff.Cell {
		return diff.Cell{ID: id, Label: text + id, Kind: diff.Code, Lang: text,
			Source: source, Tags: []string{text, other},
			Status: other, Words: text,
			Tests: &diff.Tests{Passed: len(other)},
			Outputs: []diff.Output{{Name: diff.Stdout,
				Data: []diff.Datum{{MIME: "text/plain", Text: "a\n" + other + text}}},
				{Name: text, Data: []diff.Datum{{MIME: text, Text: text + other}}},
				{Name: diff.Display, Data: []diff.Datum{{MIME: "text/html", Text: text + other},
					{MIME: "image/svg+xml", Bytes: []byte(hostileSVG + other), Digest: "sha256:" + other}}}},
			Scraps: []diff.Scrap{{Name: text, Type: "json", Value: value},
				{Name: "b", Type: "file", File: text, Digest: text + other}},
			Files: []diff.FilePatch{{Path: text, Status: other,
				Lines: []string{"@@ -1 +1 @@", "-" + text, "+" + other}}},
			Options: []diff.Field{{Name: text, Value: value}, {Name: other, Value: value}}}
	}
	return &diff.Document{Name: text + other, Status: other, Params: []diff.Param{{Name: other, Value: value}},
		Notes: []string{text},
		Cells: []diff.Cell{cell("one", text), cell("two", other+"\n"+text+"\nend"),
			{Label: text, Kind: diff.Markdown, Source: other}}}
}

func TestHostileDiff(t *testing.T) {
	for _, text := range hostile {
		text = strings.ReplaceAll(text, "HOST", "http://127.0.0.1:1")
		checkSafe(t, Diff(diff.Compare(hostileDocument(text, "x"),
			hostileDocument(text, "y"), diff.Options{All: true})))
		checkSafe(t, Diff(diff.Compare(hostileDocument("x", text), hostileDocument("y", text+"z"), diff.Options{})))
		checkSafe(t, Diff(diff.Compare(&diff.Document{}, hostileDocument(text, text), diff.Options{})))
	}
}

func TestHostileDiffMixtures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringN(0, 30, 90))
		d := diff.Compare(hostileDocument(text.Draw(t, "a"), text.Draw(t, "b")),
			hostileDocument(text.Draw(t, "c"), text.Draw(t, "d")), diff.Options{})
		checkSafe(t, Diff(d))
	})
}

// compared returns the page that compares two notebooks of one code cell, and its text.
func compared(t *testing.T, a, b *diff.Document) (page []byte, text string) {
	t.Helper()
	page = Diff(diff.Compare(a, b, diff.Options{}))
	checkSafe(t, page)
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return page, textOf(root)
}

func code(id, source string) diff.Cell {
	return diff.Cell{ID: id, Label: id, Kind: diff.Code, Lang: "python", Source: source, Status: "pass"}
}

func TestDiffShowsImportantChangesFirst(t *testing.T) {
	a := &diff.Document{Name: "a.md", Status: "pass", Cells: []diff.Cell{code("keep", "1\n"), code("t", "x\n")}}
	b := &diff.Document{Name: "b.md", Status: "fail", Cells: []diff.Cell{code("keep", "1\n"), code("t", "x\n")}}
	b.Cells[1].Status, b.Cells[1].Tags, b.Cells[1].Words = "fail", []string{"test"}, "exit 1"
	a.Cells[1].Tags = []string{"test"}
	page, text := compared(t, a, b)
	last := 0
	for _, want := range []string{"1 step turned red", "Status", "pass → fail", "Tests", "unchanged cell: keep",
		"pass → fail, exit 1"} {
		i := strings.Index(text[last:], want)
		if i < 0 {
			t.Fatalf("%q does not stand after %q:\n%s", want, text[:last], text)
		}
		last += i
	}
	if !bytes.Contains(page, []byte(`class="step change fail red" id="step-t"`)) {
		t.Error("the step that turned red is not marked")
	}
	if _, text := compared(t, a, a); !strings.Contains(text, "No difference") || strings.Contains(text, "change:") {
		t.Errorf("a notebook and itself:\n%s", text)
	}
}

// TestDiffHoldsBothSides: the page has the lines of both sides, in order and numbered.
func TestDiffHoldsBothSides(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c d e\n", "c d f\n", "\n", "<b>\n", "\tx\n",
		"long line of words that goes on\n"})
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SliceOfN(line, 0, 30).Draw(t, "old")
		new := rapid.SliceOfN(line, 0, 30).Draw(t, "new")
		d := diff.Compare(&diff.Document{Cells: []diff.Cell{code("x", strings.Join(old, ""))}},
			&diff.Document{Cells: []diff.Cell{code("x", strings.Join(new, ""))}}, diff.Options{})
		if d.Cells[0].Source == nil {
			return
		}
		root, err := html.Parse(bytes.NewReader(Diff(d)))
		if err != nil {
			t.Fatal(err)
		}
		for class, want := range map[string][]string{"o": old, "n": new} {
			var got []string
			sideLines(root, class, &got)
			for i := range want {
				want[i] = fmt.Sprintf("%d %s", i+1, strings.TrimSuffix(want[i], "\n"))
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("side %s holds\n%s\nand not\n%s", class, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

// sideLines collects the numbered lines of one side.
func sideLines(n *html.Node, class string, out *[]string) {
	if c := strings.Fields(attribute(n, "class")); n.Data == "div" && len(c) > 0 && c[0] == class &&
		attribute(n, "data-n") != "" {
		*out = append(*out, attribute(n, "data-n")+" "+textOf(n))
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		sideLines(c, class, out)
	}
}

// TestHugeDiff: the comparison of huge texts opens.
func TestHugeDiff(t *testing.T) {
	huge := func(word string) *diff.Document {
		var b strings.Builder
		for i := range 60_000 {
			if i%3 == 0 {
				fmt.Fprintf(&b, "line %d %s\n", i, word)
			} else {
				fmt.Fprintf(&b, "line %d\n", i)
			}
		}
		c := code("x", "1\n")
		c.Outputs = []diff.Output{{Name: diff.Stdout, Data: []diff.Datum{{MIME: "text/plain", Text: b.String()}}}}
		return &diff.Document{Cells: []diff.Cell{c, code("y", strings.Repeat("z", 4<<20)+word)}}
	}
	page, text := compared(t, huge("a"), huge("b"))
	if len(page) > 4<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if !strings.Contains(text, "not on this page") {
		t.Error("the page does not say what is missing")
	}
}

func TestDiffPictures(t *testing.T) {
	picture := func(data string) *diff.Document {
		c := code("x", "1\n")
		c.Outputs = []diff.Output{{Name: diff.Display, Data: []diff.Datum{{MIME: "text/plain", Text: "<Figure " + data +
			">"}, {MIME: "image/png", Bytes: []byte(data), Digest: "sha256:" + data}}}}
		if data == "" {
			c.Outputs = nil
		}
		return &diff.Document{Cells: []diff.Cell{c}}
	}
	const a, b = "\x89PNG\r\n\x1a\na", "\x89PNG\r\n\x1a\nb"
	page, text := compared(t, picture(a), picture(b))
	if bytes.Count(page, []byte(`<img src="data:image/png;base64,`)) != 2 ||
		!bytes.Contains(page, []byte(`type="range"`)) || strings.Contains(text, "Figure") {
		t.Errorf("two pictures:\n%s", text)
	}
	for _, c := range [][2]string{{a, ""}, {"", b}} {
		page, text := compared(t, picture(c[0]), picture(c[1]))
		if bytes.Count(page, []byte("<img ")) != 1 || bytes.Contains(page, []byte(`type="range"`)) ||
			!strings.Contains(text, "only ") {
			t.Errorf("one picture:\n%s", text)
		}
	}
	if page, text := compared(t, picture("no picture"), picture(b)); bytes.Count(page, []byte("<img ")) != 1 {
		t.Errorf("other data is shown as a picture:\n%s", text)
	}
}
