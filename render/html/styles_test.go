package html

import (
	"fmt"
	"strings"
	"testing"
)

func TestDeclarations(t *testing.T) {
	for list, want := range map[string]string{
		"color: Red; TEXT-ALIGN:center !important; background: rgb(1, 2.5, 3 / 40%)": "color:red;text-align:center;" +
			"background:rgb(1, 2.5, 3 / 40%);",
		"background: linear-gradient(90deg, #d65f5f 33.3%, transparent 33.3%)": "background:linear-gradient(90deg, " +
			"#d65f5f 33.3%, transparent 33.3%);",
		"border-left: 1px solid #88f; padding: 0 .5em; width: 10em": "border-left:1px solid #88f;padding:0 " +
			".5em;width:10em;",
		"position: fixed; top: 0; z-index: 9; opacity: 0; content: x": "",
		"background: url(http://x/); background-image: image-set(x)":  "",
		"margin: -9em; width: 100vw; height: 99999px; display: none":  "",
		"color: rgb(1,2,3; color: x}p{color:red":                      "",
		`color: "x"; color: var(--page); font-family: \66`:            "",
		"color: a/**/b; padding: calc(1px); border-}: x":              "",
	} {
		if got := declarations(list); got != want {
			t.Errorf("%s\n got %s\nwant %s", list, got, want)
		}
	}
}

// styledResult makes the page of an HTML result.
func styledResult(t *testing.T, result string) string {
	t.Helper()
	page, _ := jupyter(t, codeWith(1, shows(map[string]any{"text/html": result})))
	return string(page)
}

func TestStyles(t *testing.T) {
	const table = `<style type="text/css">/* a */ #T_a th { color: navy } #T_a_row0 , #T_a_row1 {background-color: yellow;}
		td { color: green }
		#T_a > td, td:hover { color: red } @media x { td { color: red } }
		.c.d td.e { font-weight: bold } .other td { color: red } td tr th { color: red }</style>
		<table id="T_a" class="c d"><tr><th>h</th>
		<td id="T_a_row0" class="e">x</td><td style="color:teal">y</td></tr></table>`
	for result, want := range map[string][]string{
		`<p style="color:red">r <b style="color:red">s</b></p>`: {`<p class="x0 paper">r <b class="x0">s</b></p>`,
			".x0.x0.x0{color:red;}\n</style>"},
		`<tr style="x"><p style="text-align:right">r</p>`:         {`<p class="x0">r</p>`, "{text-align:right;}"},
		`<p style="position:absolute">r</p><style>b{}</style>`:    {`<p>r</p>`},
		`<b id="k">r</b><style>#k{color:red}b{color:tan}</style>`: {`class="x0 paper"`, "{color:tan;color:red;}"},
		table: {`<table class="paper">`, `<th class="x0">h</th>`, `<td class="x1">x</td><td class="x2">y</td>`,
			".x0{color:navy;}", ".x1{color:green;font-weight:bold;background-color:yellow;}",
			".x2{color:green;color:teal;}"},
	} {
		page := styledResult(t, result)
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s\nlacks %s", result, part)
			}
		}
		if _, own, found := strings.Cut(page, "<style>.x0"); found {
			own, _, _ = strings.Cut("<style>.x0"+own, "</style>")
			if policy := string(digestOf(markup(strings.TrimPrefix(own, "<style>")))); !strings.Contains(page, policy) {
				t.Errorf("%s: its style is not in the policy", result)
			}
		}
	}
}

// The styles of a page are bounded.
func TestManyStyles(t *testing.T) {
	var rules, cells strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&rules, "#r%d{color:#%06x}", i, i)
		fmt.Fprintf(&cells, "<b id=r%d>x</b>", i)
	}
	page := styledResult(t, "<style>"+rules.String()+"</style>"+cells.String())
	_, own, _ := strings.Cut(page, "<style>.x0")
	own, _, _ = strings.Cut(own, "</style>")
	if !strings.Contains(own, ".x9999.x9999.x9999{") || len(own) > maxLooks+100 {
		t.Errorf("the style has %d bytes", len(own))
	}
}
