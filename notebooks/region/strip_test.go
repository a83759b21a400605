package region

import (
	"bytes"
	"strings"
	"testing"

	"markmill/notebooks"
	"markmill/notebooks/blocks"
	"markmill/notebooks/codec"
	"markmill/notebooks/markdown"
)

const twoSteps = "# T\n\n```bash {#one}\necho\n```\n\nwords\n\n```bash {#two}\necho\n```\n\nlast\n"

func outputOf(src, one, two string) string {
	nb, err := markdown.Parse("a.md", []byte(src))
	if err != nil {
		panic(err)
	}
	return string(Splice([]byte(src), []Region{
		{ID: "one", At: nb.Step("one").Fence.End, Body: []byte(one)},
		{ID: "two", At: nb.Step("two").Fence.End, Body: []byte(two)},
	}, notebooks.Manifest{Status: "pass"}))
}

func problems(s Stripped) string {
	var list []string
	for _, p := range s.Problems {
		list = append(list, p.Error())
	}
	return strings.Join(list, "\n")
}

// The output notebook, as it stands in the file.
func TestSplice(t *testing.T) {
	src := "```bash {#a}\necho hi\n```\ntext\n"
	out := Splice([]byte(src), []Region{{ID: "a", At: 25, Body: []byte("```text {.output}\nhi\n```\n")}},
		notebooks.Manifest{Status: "pass", Parameters: []notebooks.ManifestParam{{Name: "n", Value: codec.Raw("1")},
			{Name: "bad", Value: codec.Raw("{")}}})
	want := src[:25] + `
<!-- markmill:out a DIGEST -->
` + "```text {.output}\nhi\n```" + `

<!-- markmill:end DIGEST -->
text

<!-- markmill:manifest MANIFEST -->
<details><summary>manifest · pass · 1 region</summary>

` + "```json {.manifest}" + `
{
  "parameters": [
    {
      "name": "n",
      "value": 1
    },
    {
      "name": "bad",
      "value": "{"
    }
  ],
  "regions": [
    {
      "digest": "DIGEST",
      "id": "a"
    }
  ],
  "source": "` + DigestOf([]byte(src)) + `",
  "status": "pass"
}
` + "```" + `

</details>

<!-- markmill:end MANIFEST -->
`
	got := Strip("a.md", out)
	if len(got.Regions) != 1 || len(got.Problems) > 0 {
		t.Fatalf("%s\n%v", out, got.Problems)
	}
	want = strings.ReplaceAll(strings.ReplaceAll(want, "DIGEST", got.Regions[0].Digest), "MANIFEST", lastDigest(out))
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	if r := got.Regions[0]; r.ID != "a" || r.Line != 5 || string(r.Body) != "```text {.output}\nhi\n```\n" {
		t.Errorf("%+v", r)
	}
	if m := got.Manifest; m.Status != "pass" || m.Source != DigestOf([]byte(src)) || len(m.Parameters) != 2 {
		t.Errorf("%+v", m)
	}
}

// TestSpliceFencesWhatRunsOn: a body with an unclosed construct is shown as text.
func TestSpliceFencesWhatRunsOn(t *testing.T) {
	for body, fenced := range map[string]bool{
		"```\nclosed\n```\n": false, "words\n": false, "<details>\n\n</details>\n": false, "": false,
		"```\nopen\n": true, "<!-- open\n": true, "~~~~\n": true, "[a]: /url\n": true, "<script>\n": true,
		"````\n```\n": true,
	} {
		got := string(selfContained(blocks.NewParser(), canonical([]byte(body))))
		if strings.Contains(got, "text {.output}") != fenced {
			t.Errorf("%q became %q", body, got)
		}
	}
}

func TestStripReportsDamage(t *testing.T) {
	out := outputOf(twoSteps, "first\n", "second\n")
	region := func(s, id string) string { // the whole region, as it stands
		i := strings.Index(s, "\n"+blocks.MarkerHead+markerOut+id+" ")
		j := i + strings.Index(s[i:], blocks.MarkerHead+markerEnd)
		return s[i:blocks.LineEnd([]byte(s), j)]
	}
	one := region(out, "one")
	other := outputOf(twoSteps, "another first\n", "second\n")
	otherOne := region(other, "one")
	manifest := out[strings.Index(out, "\n"+blocks.MarkerHead+markManifest):]
	otherManifest := other[strings.Index(other, "\n"+blocks.MarkerHead+markManifest):]
	hunk := func(a, b string) string { return "<<<<<<< HEAD\n" + a + "=======\n" + b + ">>>>>>> side\n" }
	// Git begins a conflict at the first line that differs.
	inner := strings.Replace(strings.Replace(one, "first\n", hunk("first\n", "another first\n"), 1), "XX", "", 1)
	mixed := strings.Replace(out, one, "\n"+hunk(one[1:], otherOne[1:]), 1)
	mixed = strings.Replace(mixed, manifest, "\n"+hunk(manifest[1:], otherManifest[1:]), 1)

	cases := []struct{ name, text, source, want string }{
		{"whole", out, twoSteps, ""},
		{"moved on by the author", strings.Replace(out, "words", "more words\n\nand more", 1),
			strings.Replace(twoSteps, "words", "more words\n\nand more", 1), ""},
		{"words after the fence", strings.Replace(out, "```\n\n<!--", "```\n\nnew\n\n<!--", 1),
			strings.Replace(twoSteps, "```\n", "```\n\nnew\n", 1), ""},
		{"words after the manifest", out + "\nmore\n", twoSteps + "\nmore\n", ""},
		{"empty line lost", strings.Replace(out, one, one[1:], 1), twoSteps, ""},
		{"edited", strings.Replace(out, "first", "First", 1), twoSteps,
			`a.md:7:1: step "one": the region of this step was edited: its digest is another; undo the edit, or ` +
				`strip the file and run it again`},
		{"deleted", strings.Replace(out, one, "", 1), twoSteps,
			`a.md:43:1: step "one": the region of this step was deleted: the manifest lists it; restore it, or ` +
				`strip the file and run it again`},
		{"no manifest", strings.Replace(out, manifest, "", 1), twoSteps,
			`a.md:23:1: the manifest that closes an output notebook is missing; restore it, or ` +
				`strip the file and run it again`},
		{"edited manifest", strings.Replace(out, `"pass"`, `"fail"`, 1), twoSteps,
			`a.md:25:1: the manifest was edited: its digest is another; undo the edit, or ` +
				`strip the file and run it again`},
		{"region of another run", strings.Replace(out, one, otherOne, 1), twoSteps,
			`a.md:7:1: step "one": the region of this step is of another run: the manifest does not list it; ` +
				`strip the file and run it again` +
				"\n" + `a.md:48:1: step "one": the region of this step was deleted: the manifest lists it; restore ` +
				`it, or strip the file and run it again`},
		{"merge lines in a region", strings.Replace(out, one, inner, 1), twoSteps,
			`a.md:7:1: step "one": the region of this step holds the conflict lines of a merge (<<<<<<<, =======, ` +
				`>>>>>>>); take one side of the conflict whole, or strip the file and run it again`},
		{"merge lines around", mixed, twoSteps,
			`a.md:8:1: step "one": the region of this step holds the conflict lines of a merge (<<<<<<<, =======, ` +
				`>>>>>>>); take one side of the conflict whole, or strip the file and run it again` +
				"\n" + `a.md:33:1: the manifest holds the conflict lines of a merge (<<<<<<<, =======, >>>>>>>); ` +
				`take one side of the conflict whole, or strip the file and run it again`},
	}
	for _, c := range cases {
		got := Strip("a.md", []byte(c.text))
		if text := problems(got); text != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, text, c.want)
		}
		if string(got.Source) != c.source {
			t.Errorf("%s: source\n%q\nwant\n%q", c.name, got.Source, c.source)
		}
	}
	// Without an end marker the end of a region is unknown: everything stays.
	i := strings.Index(out, blocks.MarkerHead+markerEnd)
	torn := out[:i] + out[blocks.LineEnd([]byte(out), i):]
	got := Strip("a.md", []byte(torn))
	if !strings.Contains(problems(got), `a.md:7:1: step "one": the marker that ends this region is missing`) ||
		!bytes.Contains(got.Source, []byte("first")) {
		t.Errorf("%s\n%s", problems(got), got.Source)
	}
}

// TestStripRestoresFinalNewline: editors and hooks add or remove the final newline; the manifest records what the
// source had.
func TestStripRestoresFinalNewline(t *testing.T) {
	for _, src := range []string{twoSteps, strings.TrimSuffix(twoSteps, "\n"),
		strings.ReplaceAll(twoSteps, "\n", "\r\n"),
		"```sh {#one}\n```\n```sh {#two}\n```"} {
		out := outputOf(src, "1", "2")
		for _, text := range []string{out, strings.TrimRight(out, "\r\n"), strings.TrimRight(out, "\r\n") + "\n",
			strings.TrimRight(out, "\r\n") + "\r\n"} {
			if got := Strip("a.md", []byte(text)); string(got.Source) != src {
				t.Errorf("%q\nof %q\nwant %q", got.Source, text[len(text)-30:], src)
			}
		}
	}
}

// A body must not complete a source: close its front matter, or end its last line.
func TestStripIdentityAtTheEdges(t *testing.T) {
	for _, src := range []string{
		"---\ntitle: x\n```sh {#a}\n```\n", // no front matter: the second --- would be the body's
		"+++\na = 1\n```sh {#a}\n```\n",
		"```sh {#a}\n```\r", "a\r", "\r", "", "\n", "\r\n", "\ufeff", "\ufeff```\n```", "---\na: b\n---",
		"---\r\na: b\r\n---\r\ntext\n",
		"```\r\n```\n```\n```\r\n",
	} {
		for _, body := range []string{"---\n", "+++\n", "a\r", "", "\r\n"} {
			var regions []Region
			places := anchors([]byte(src))
			for i, at := range places {
				if i == 0 && len(places) > 1 { // a region there would part the first --- from the rest
					continue
				}
				regions = append(regions, Region{ID: "r" + string(rune('a'+i)), At: at, Body: []byte(body)})
			}
			out := Splice([]byte(src), regions, notebooks.Manifest{})
			if got := Strip("a.md", out); string(got.Source) != src || len(got.Problems) > 0 ||
				len(got.Regions) != len(regions) {
				t.Errorf("%q with %q\nbecame %q\n%v\nfrom %q", src, body, got.Source, got.Problems, out)
			}
		}
	}
}

// What an author shows in a fence, a list, a quote or a comment is the author's, a whole valid region too.
func TestStripLeavesQuotedRegions(t *testing.T) {
	region := validRegion("one", "text")
	for _, src := range []string{
		"````markdown\n```bash {#one}\n```\n" + region + "````\n",
		"<!--\n" + strings.ReplaceAll(region, "-->", "-") + "-->\n",
		"- item\n" + strings.ReplaceAll(region, "\n", "\n  ") + "\n",
		strings.ReplaceAll("\n"+region, "\n", "\n> ") + "\n",
		strings.ReplaceAll("\n"+region, "\n", "\n    ") + "\n",
	} {
		src += "\n```bash {#two}\n```\n"
		if got := Strip("a.md", []byte(src)); string(got.Source) != src || len(got.Problems) > 0 {
			t.Errorf("%q\nbecame %q\n%v", src, got.Source, got.Problems)
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte(twoSteps), []byte("body"), uint8(1))
	f.Add([]byte(outputOf(twoSteps, "1", "2")), []byte("```"), uint8(0))
	f.Add([]byte("---\na: b\n---\r\n```\n```"), []byte("<!--\r"), uint8(3))
	for _, line := range sourceLines {
		f.Add([]byte(line+"\n```sh {#a}\n```"), []byte(line), uint8(2))
	}
	f.Fuzz(func(t *testing.T, src, body []byte, place uint8) {
		first := Strip("f.md", src)
		if !bytes.Equal(first.Source, src) || len(first.Problems) > 0 {
			return // an output notebook, or a damaged one
		}
		places := anchors(src)
		regions := []Region{{ID: "a", At: places[int(place)%len(places)], Body: body},
			{ID: "b", At: places[len(places)-1], Body: body}}
		out := Splice(src, regions, notebooks.Manifest{Status: "pass"})
		got := Strip("f.md", out)
		if !bytes.Equal(got.Source, src) || len(got.Problems) > 0 || len(got.Regions) != 2 {
			t.Fatalf("source %q\noutput %q\nstripped %q\n%v", src, out, got.Source, got.Problems)
		}
	})
}
