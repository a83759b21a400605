package region

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/renderer/html"
	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
)

// anchors returns the places of a source where a region may stand.
func anchors(src []byte) []int {
	body := blocks.FindFrontMatter(src).Body
	places := []int{body}
	fences, _ := blocks.Scan(src, body)
	for _, f := range fences {
		if f.Inside == "" && f.Closed {
			places = append(places, f.Span.End)
		}
	}
	return places
}

// validRegion returns a region as Splice writes it, for sources that quote one.
func validRegion(id, body string) string {
	var b bytes.Buffer
	writeRegion(&b, markerOut+id, canonical([]byte(body)), "\n")
	return b.String()
}

var sourceLines = []string{
	"", "", "text", "# Head", "```bash {#a}", "```", "````", "~~~python {.test}", "~~~",
	"    indented", "- item", "  ```sh {#in}",
	"  ```", "> quote", "> ```", "1. one", "<div>", "</div>", "<!-- remark -->", "<!--", "-->",
	"<details>", "</details>", "<foo>",
	"[link]: /url", "[link]", "===", "---", "+++", "...", "title: x", "\ttab", "```\r",
	"a\rb", "***", "| a | b |", "|---|---|",
	"<!-- markmill:out a 0123456789abcdef -->", "<!-- markmill:end 0123456789abcdef -->",
	"<!-- markmill:manifest 0123456789abcdef -->", "<!-- markmill:verdict 0123456789abcdef -->",
	"<<<<<<< HEAD", "=======", ">>>>>>> side", "<!-- markmill:nothing -->", "ä€😀", "<script>", "</script>", "<pre>",
	"<?php", "?>",
	"````markdown\n" + validRegion("a", "quoted") + "````",
	"- list\n\n" + strings.ReplaceAll(validRegion("b", "in a list"), "\n", "\n  "),
	"<!--\n" + validRegion("c", "in a comment"),
}

func sourceGen() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		lines := rapid.SliceOfN(rapid.SampledFrom(sourceLines), 0, 20).Draw(t, "lines")
		ends := rapid.SampledFrom([]string{"\n", "\r\n", "mixed"}).Draw(t, "ends")
		var b strings.Builder
		if rapid.IntRange(0, 9).Draw(t, "bom") == 0 {
			b.WriteString("\ufeff")
		}
		if rapid.IntRange(0, 4).Draw(t, "front") == 0 {
			lines = append([]string{"---"}, lines...)
		}
		for i, line := range lines {
			end := ends
			if ends == "mixed" {
				end = rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
			}
			b.WriteString(strings.ReplaceAll(line, "\n", end))
			if i < len(lines)-1 || rapid.Bool().Draw(t, "final") {
				b.WriteString(end)
			}
		}
		return []byte(b.String())
	})
}

var bodyLines = []string{
	"", "text", "```", "````", "~~~", "<!--", "-->", "</details>", "<details>", "<div>",
	"[link]: /evil", "---", "- item", "    code",
	"\x00", "\xff\xfe", "\x1b[31mred\x1b[0m", "\u202eevil", "a\rb", "x\r", "===", "<script>",
	"<pre>", "]]>", "<foo", "\ufeff",
	"<!-- markmill:out a 0123456789abcdef -->", "<!-- markmill:end 0123456789abcdef -->", "<<<<<<< HEAD", ">>>>>>> x",
	validRegion("a", "forged"), "````\n" + validRegion("a", "fenced") + "\n````", "```json {.manifest}\n{}\n```",
}

func bodyGen() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		if rapid.IntRange(0, 5).Draw(t, "raw") == 0 {
			return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		}
		lines := rapid.SliceOfN(rapid.SampledFrom(bodyLines), 0, 8).Draw(t, "body")
		return []byte(strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "bodyEnd")))
	})
}

func regionsGen(src []byte) *rapid.Generator[[]Region] {
	places := anchors(src)
	return rapid.Custom(func(t *rapid.T) []Region {
		var regions []Region
		for i := range rapid.IntRange(0, 4).Draw(t, "count") {
			regions = append(regions, Region{ID: fmt.Sprintf("r%d", i),
				At: rapid.SampledFrom(places).Draw(t, "at"), Body: bodyGen().Draw(t, "body")})
		}
		if rapid.Bool().Draw(t, "verdict") {
			regions = append(regions, Region{Verdict: true, Body: bodyGen().Draw(t, "verdict body")})
		}
		return regions
	})
}

// isSource reports whether a text is a source by definition: no region stands in it where Markdown sees one.
func isSource(src []byte) bool {
	got := Strip("x.md", src)
	return bytes.Equal(got.Source, src) && len(got.Regions) == 0 && got.Manifest == nil && len(got.Problems) == 0
}

func TestStripGivesTheSourceBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := sourceGen().Draw(t, "source")
		if !isSource(src) {
			t.Skip("an output notebook")
		}
		regions := regionsGen(src).Draw(t, "regions")
		out := Splice(src, regions, notebooks.Manifest{Status: "pass"})
		got := Strip("x.md", out)
		if !bytes.Equal(got.Source, src) {
			t.Fatalf("source\n%q\noutput\n%q\nstripped\n%q\nproblems %v", src, out, got.Source, got.Problems)
		}
		found := len(got.Regions)
		if got.Verdict != nil {
			found++
		}
		if len(got.Problems) > 0 || found != len(regions) || got.Manifest == nil {
			t.Fatalf("output\n%q\n%d of %d regions, problems:\n%v", out, len(got.Regions), len(regions), got.Problems)
		}
		if again := Splice(got.Source, regions, notebooks.Manifest{Status: "pass"}); !bytes.Equal(again, out) {
			t.Fatal("the output of the same regions is not the same")
		}
		for _, ends := range []string{"\n", "\r\n"} { // as Git may convert the file
			text := bytes.ReplaceAll(bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte(ends))
			if conv := Strip("x.md", text); len(conv.Problems) > 0 && !bytes.Contains(src, []byte{'\r'}) {
				t.Fatalf("after a change of line ends: %v\n%q", conv.Problems, text)
			}
		}
	})
}

// TestStripKeepsSources: unmatched marker lines in a source stay.
func TestStripKeepsSources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := sourceGen().Draw(t, "source")
		got := Strip("x.md", src)
		edited := got.Manifest != nil || got.Verdict != nil || len(got.Regions) > 0
		for _, p := range got.Problems {
			edited = edited || strings.HasPrefix(p.Msg, "the manifest was edited") ||
				strings.HasPrefix(p.Msg, "the manifest holds")
		}
		if !edited && !bytes.Equal(got.Source, src) {
			t.Fatalf("%q\nbecame\n%q", src, got.Source)
		}
		if again := Strip("x.md", got.Source); edited && len(again.Source) > len(got.Source) {
			t.Fatal("stripping twice adds bytes")
		}
	})
}

func renderHTML(t interface{ Fatal(...any) }, src []byte) string {
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert(src, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// withoutRegionHTML removes from the page what is between the markers of each region.
func withoutRegionHTML(page string, digests map[string]bool) string {
	for at := 0; ; {
		n := strings.Index(page[at:], blocks.MarkerHead)
		if n < 0 {
			return page
		}
		at += n
		m, ok := parseMarker([]byte(page[at:blocks.LineEnd([]byte(page), at)]))
		if ok && m.head != "" && digests[m.digest] {
			_, after, _ := strings.Cut(page[at:], blocks.MarkerHead+markerEnd+m.digest+markerTail)
			page = page[:at] + strings.TrimPrefix(after, "\n")
			continue
		}
		at++
	}
}

func TestRegionsLeaveTheAuthorsHTMLAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := sourceGen().Draw(t, "source")
		if !isSource(src) {
			t.Skip("an output notebook")
		}
		start := blocks.FindFrontMatter(src).Body
		fences, markups := blocks.Scan(src, start)
		for _, m := range markups {
			if m.Open {
				t.Skip("Parse refuses it")
			}
		}
		for _, f := range fences {
			if !f.Closed || f.Inside != "" {
				t.Skip("Parse refuses it")
			}
		}
		regions := regionsGen(src).Draw(t, "regions")
		out := Splice(src, regions, notebooks.Manifest{Status: "pass"})
		got := Strip("x.md", out)
		digests := map[string]bool{lastDigest(out): true}
		for _, r := range got.Regions {
			digests[r.Digest] = true
		}
		if got.Verdict != nil {
			digests[got.Verdict.Digest] = true
		}
		lf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
		want := renderHTML(t, lf(src[start:]))
		have := withoutRegionHTML(renderHTML(t, lf(out[start:])), digests)
		if strings.TrimRight(want, "\r\n") != strings.TrimRight(have, "\r\n") {
			t.Fatalf("source\n%q\noutput\n%q\nwant\n%s\nhave\n%s", src, out, want, have)
		}
	})
}

// lastDigest returns the digest of the marker that ends the text.
func lastDigest(out []byte) string {
	out = bytes.TrimRight(out, "\r\n")
	m, _ := parseMarker(out[bytes.LastIndexByte(out, '\n')+1:])
	return m.digest
}
