package html

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"markmill/notebooks"
	"markmill/notebooks/markdown"
	"markmill/notebooks/region"
)

// hostile are outputs that try to break out of their place. HOST stands for a server that must not be contacted.
var hostile = []string{
	`<script>document.documentElement.setAttribute("data-ran","script")</script>`,
	`<ScRiPt src="HOST/x.js"></sCrIpT>`,
	`<img src=x onerror="document.documentElement.setAttribute('data-ran','onerror')">`,
	`<img src="HOST/img.png"><img srcset="HOST/srcset.png 2x">`,
	`<svg onload="document.documentElement.setAttribute('data-ran','svg')">` +
		`<script>document.documentElement.setAttribute("data-ran","svgscript")</script>` +
		`<image href="HOST/svg.png"/></svg>`,
	`<math><mtext><table><mglyph><style><img src=x ` +
		`onerror="document.documentElement.setAttribute('data-ran','mxss')"></style></mglyph></table></mtext></math>`,
	`<a href="javascript:document.documentElement.setAttribute('data-ran','js')" autofocus>x</a>`,
	`<a href=" java` + "\t" +
		`script:alert(1)">x</a><a href="data:text/html,<script>alert(1)</script>">y</a><a href="vbscript:x">z</a><a ` +
		`href="//evil.example/x">w</a>`,
	`</style><script>document.documentElement.setAttribute("data-ran","style")</script>`,
	`</script><script>document.documentElement.setAttribute("data-ran","endscript")</script>`,
	`</pre></div></details></main></body></html>` +
		`<script>document.documentElement.setAttribute("data-ran","close")</script>`,
	`<meta http-equiv="refresh" content="0;url=HOST/refresh">`,
	`<iframe src="HOST/frame"></iframe><iframe ` +
		`srcdoc="<script>parent.document.documentElement.setAttribute('data-ran','srcdoc')</script>"></iframe>`,
	`<object data="HOST/object"></object><embed src="HOST/embed"><base href="HOST/">`,
	`<link rel=stylesheet href="HOST/css"><style>@import url("HOST/import"); body{background:url(HOST/bg)}</style>`,
	`<div style="background:url(HOST/inline);position:fixed;inset:0">over all</div>`,
	`<form action="HOST/form"><input name=a autofocus ` +
		`onfocus="document.documentElement.setAttribute('data-ran','focus')">` +
		`<button formaction="HOST/b">go</button></form>`,
	`<video src="HOST/video" autoplay onloadstart="document.documentElement.setAttribute('data-ran','video')">` +
		`</video><audio src="HOST/audio">`,
	`<details open ontoggle="document.documentElement.setAttribute('data-ran','toggle')"><summary>x`,
	`<p id="main" class="step fail">✗ Failed<p id="theme"><a name="help">`,
	`<template><img src="HOST/template"></template><noscript><img src="HOST/noscript"></noscript><textarea><img ` +
		`src="HOST/textarea">`,
	`<!--[if IE]><script>1</script><![endif]--><!-->` +
		`<script>document.documentElement.setAttribute("data-ran","comment")</script>-->`,
	`<![CDATA[<script>document.documentElement.setAttribute("data-ran","cdata")</script>]]>`,
	`<?php echo 1 ?><!DOCTYPE html><html manifest="HOST/manifest"><body ` +
		`onload="document.documentElement.setAttribute('data-ran','body')">`,
	"![x](javascript:alert(1)) [y](javascript:alert(1)) [z](data:text/html;base64,PHNjcmlwdD4=) ![w](HOST/md.png) " +
		"<javascript:alert(1)>",
	"[x](http://example.org/\"onmouseover=\"alert(1)) [a]: javascript:alert(1)",
	"bidi \u202e\u2066 gnp.exe\u2069 zero\u200bwidth \u0085 \u2028 \ufeff",
	"\x1b]0;title\x07\x1b[31mred\x1b[0m\x1b[2J\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07",
	"nul \x00 and \xff\xfe bytes \xc0\xaf",
	"%s%d%!(EXTRA) {{.}} ${x} &lt;script&gt; &#x3c;script&#x3e;",
	strings.Repeat("<div>", 2000) + "deep",
	strings.Repeat("<b><i>", 300),
	strings.Repeat("[", 5000) + strings.Repeat("> ", 500),
	"<table><script>1</script><tr><td><img src=x onerror=1></table><select><option><script>2</script></select>",
	"<span class=\"step top verdict\">x</span><h2 id=\"h-a\">x</h2><h2 id=\"h-a\">y</h2>\n\n## a\n",
}

// hostileSVG runs a script and loads a picture, where an SVG may.
const hostileSVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10" ` +
	`height="10" onload="document.documentElement.setAttribute('data-ran','svgfile')">
<script>parent.document.documentElement.setAttribute("data-ran","svgfile")</script>` +
	`<image xlink:href="HOST/insvg.png" width="9" height="9"/><style>@import url("HOST/insvg.css");</style></svg>`

// hostileOutput puts a text into every field of a notebook and its outputs.
func hostileOutput(text string) []byte {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "?")), " ")
	clean := func(r rune) rune {
		if r == '\t' || r == '\n' || r >= 0x20 && r < 0x7f || r > 0xa0 && r != 0xfffe && r != 0xffff && r != 0xfeff &&
			r != 0x2028 && r != 0x2029 {
			return r
		}
		return -1
	}
	quoted := strings.ReplaceAll(strings.ReplaceAll(strings.Map(clean, line), `\`, `\\`), `"`, `\"`)
	prose := strings.ReplaceAll(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "?"), "\r", "")
	source := "---\ntitle: \"" + quoted + "\"\ndescription: \"" + quoted + "\"\n---\n\n" + line +
		"\n\n```yaml {.parameters}\nname: \"" + quoted + "\"  # " + strings.Map(clean, line) +
		"\n```\n\n```bash {#one}\ncat <<E\n" + strings.ReplaceAll(prose, "```", "") + "\nE\n```\n\n" +
		"1. item\n\n   ```html\n   " + line + "\n   ```\n"
	nb, err := markdown.Parse("x.md", []byte(source))
	if err != nil { // the text makes the notebook invalid there
		source = "```bash {#one}\necho\n```\n"
		if nb, err = markdown.Parse("x.md", []byte(source)); err != nil {
			panic(err)
		}
	}
	ticks := "````````````"
	body := "<details open><summary>✗ <code>" + line + "</code> · " + line + "</summary>\n\n" + ticks +
		"text {.output}\n" + text + "\n" + ticks + "\n\n" +
		ticks + "text {.turn}\n> " + line + "\n$ " + line + "\n+ " + line + "\n  " + line + "\n[exit 1]\n< " + line +
		"\n! " + line + "\n(edited " + line + ")\n(tool " + line + ")\n" + text + "\n" + ticks + "\n\n" +
		ticks + "text {.tests}\n" + text + "\n" + ticks + "\n\n" + ticks + "diff {.diff}\ndiff --git a/" + line +
		" b/" + line + "\n@@ -1 +1 @@\n-" + line + "\n+" + line + "\n" + ticks + "\n\n" +
		ticks + "json {.scraps}\n{\"a\": \"" + quoted + "\"}\n" + ticks + "\n\n" + "![" + line +
		"](evil.svg)\n\n" + text + "\n\n</details>\n"
	return region.Splice(nb.Source, []region.Region{{ID: "one", At: nb.Steps[0].Fence.End, Body: []byte(body)}},
		notebooks.Manifest{Status: line, Parameters: []notebooks.ManifestParam{{Name: line, Value: []byte(`"x"`)}}})
}

func hostileFiles(host string) fstest.MapFS {
	return fstest.MapFS{"evil.svg": {Data: []byte(strings.ReplaceAll(hostileSVG, "HOST", host))}}
}

func TestHostile(t *testing.T) {
	for i, text := range hostile {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			text = strings.ReplaceAll(text, "HOST", "http://127.0.0.1:1")
			for _, src := range [][]byte{hostileOutput(text), hostileOutput("a\n\n" + text + "\n\nb"), []byte(text)} {
				page, err := plainPage("x.md", src, hostileFiles("http://127.0.0.1:1"))
				if err != nil {
					continue // refused: no page
				}
				checkSafe(t, page)
				if bytes.Count(page, []byte("<details class=\"step")) > bytes.Count(src, []byte("```bash {#one}")) {
					t.Error("an output made a step")
				}
			}
		})
	}
}

func TestHostileMixtures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringN(0, 20, 60),
			rapid.SampledFrom([]string{"<", ">", "</", "<!--", "-->", `"`, "'", "`", "```", "\n\n", "<svg>", "<math>",
				"<style>", "<title>", "<a ", "<table>", "</p>", "<pre>\n\n"})), 1, 8).Draw(t, "parts")
		page, err := plainPage("x.md", hostileOutput(strings.Join(parts, "")), hostileFiles("x"))
		if err == nil {
			checkSafe(t, page)
		}
	})
}

// TestDeepNesting: HTML nested so deeply that the surrounding page would be cut is shown as text.
func TestDeepNesting(t *testing.T) {
	for _, n := range []int{100, 125, 150, 250, 1000} {
		s := sanitizer{page: newPage("x.md", nil)}
		got := s.sanitize(strings.Repeat("<b><i>", n) + "x")
		if found := unsafe(frame("t", "", "", got, "")); len(found) > 0 {
			t.Errorf("%d: %s", n, found)
		}
		if shown := strings.Contains(string(got), "&lt;b&gt;"); shown != (2*n > deepest) {
			t.Errorf("%d: its text is shown: %v", n, shown)
		}
	}
}

// FuzzSanitize: sanitized HTML is safe, and stable when it is parsed again.
func FuzzSanitize(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := func(text string) markup {
			s := sanitizer{page: newPage("x.md", nil)}
			s.page.anchors.used["a"] = true
			return s.sanitize(text)
		}
		once := clean(text)
		if found := unsafe(frame("t", "", "", once, "")); len(found) > 0 {
			t.Fatalf("%q\nbecame %q\nwhich holds %s", text, once, found)
		}
	})
}
