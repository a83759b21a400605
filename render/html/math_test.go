package html

import (
	"slices"
	"strings"
	"testing"
)

// shownFormulas returns the formulas on a page.
func shownFormulas(page []byte) (list []string) {
	for _, part := range strings.Split(string(page), mathBegin)[1:] {
		tex, _, _ := strings.Cut(part, "</span>")
		list = append(list, strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&#39;", "'").Replace(tex))
	}
	return list
}

// TestFormulas: Markdown means nothing in a formula, and prices and variables of a shell are none.
func TestFormulas(t *testing.T) {
	fence := "```"
	for _, c := range []struct {
		src   string
		want  []string
		still string // is on the page
	}{
		{`$a*b*c$ and $\{1\}$`, []string{`$a*b*c$`, `$\{1\}$`}, ""},
		{`$$A \\ B$$`, []string{`$$A \\ B$$`}, ""},
		{"\\begin{align}\na &= b \\\\\n- c\n\\end{align}", []string{
			"\\begin{align}\na &= b \\\\\n- c\n\\end{align}"}, ""},
		{`\begin{array}{c}\begin{array}{c}1\end{array}\end{array} x`,
			[]string{`\begin{array}{c}\begin{array}{c}1\end{array}\end{array}`}, "x"},
		{"words\n$$\na\n  - b\n+ c\n===\n# d\n1. e\n> f\n$$\nmore", []string{
			"$$\na\n- b\n+ c\n===\n# d\n1. e\n> f\n$$"}, "more"},
		{"> q\n> $$\n> a\n> - b\n> $$\n", []string{"$$\na\n- b\n$$"}, "<blockquote>"},
		{"- i $x_1 * y_2 * z$\n- j", []string{`$x_1 * y_2 * z$`}, "<li>j"},
		{"| a | b |\n| - | - |\n| $|x|$ | 2 |\n", []string{`$|x|$`}, "<td class=\"num\">2</td>"},
		{`**bold $x*y$ text**`, []string{`$x*y$`}, "<strong>bold "},
		{`\\(a*b*c\\) and \\[a*b*c\\]`, []string{`\\(a*b*c\\)`, `\\[a*b*c\\]`}, ""},
		{"$`a*b`$", []string{"$`a*b`$"}, ""},
		{`the $n$th, the $x$s, $ x $ and $ a + \alpha $`, []string{`$n$`, `$x$`, `$ x $`, `$ a + \alpha $`}, "th, the"},
		{`$\text{if $x$ holds} y$`, []string{`$\text{if $x$ holds} y$`}, ""},
		{`<p>$a_b$ <b>$c < d$</b> <code>$e$</code></p>`, []string{`$a_b$`, `$c < d$`}, "$e$"},
		{fence + "math\nE = mc^2\n" + fence, []string{"$$E = mc^2\n$$"}, ""},
		{fence + "{math}\n:label: e\nE\n" + fence, []string{"$$E\n$$"}, ""},
		{"> " + fence + "math\n> E\n> " + fence, []string{"$$E\n$$"}, ""},

		{`a price of $5 and $6`, nil, "$5 and $6"},
		{`$5 and $6, then $a*b*c$`, []string{`$a*b*c$`}, "$5 and $6"},
		{`from $10,000 to $20,000, or $5-$6, or US$5, and (US$)10`, nil, "$10,000 to $20,000"},
		{`set $HOME/bin:$PATH, $HOME and $PATH`, nil, "$HOME/bin:$PATH"},
		{`\$x\$ and \$y$`, nil, "$x$ and $y$"},
		{"`$a$` and `` `$b$ ``", nil, "<code>$a$</code>"},
		{"costs $5\n\nand x$", nil, "costs $5"},
		{"costs $5:\n" + fence + "\n$HOME\n" + fence + "\n", nil, "<pre>"},
		{fence + "\n$a$\n" + fence, nil, "$a$"},
		{`<a href="https://example.org/$a" title="b$">l</a>`, nil, `href="https://example.org/$a"`},
		{`[l](https://example.org/$a$b)`, nil, `href="https://example.org/$a$b"`},
		{"[l]\n\n[l]: https://example.org/$a$b\n", nil, `href="https://example.org/$a$b"`},
		{`<script>$a$</script>`, nil, ""},
	} {
		page, err := plainPage("x.md", []byte(c.src+"\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		checkSafe(t, page)
		if got := shownFormulas(page); !slices.Equal(got, c.want) {
			t.Errorf("%s\nhas the formulas %q, not %q", c.src, got, c.want)
		}
		if !strings.Contains(string(page), c.still) {
			t.Errorf("%s\nhas no %q any more", c.src, c.still)
		}
		if has := strings.Contains(string(page), "Temml"); has != (c.want != nil) {
			t.Errorf("%s\nhas the script for formulas: %v", c.src, has)
		}
	}
}

// TestFormulasOfJupyter: formulas in results, in the title, and in what Markdown cells contain as HTML.
func TestFormulasOfJupyter(t *testing.T) {
	page, _ := jupyter(t, map[string]any{"cell_type": "markdown", "source": "# The $x_1$ axis"},
		codeWith(1, shows(map[string]any{"text/plain": "x**2", "text/latex": `$\displaystyle x^{2}$`}),
			shows(map[string]any{"text/markdown": `$a*b*c$`, "text/plain": "<Markdown>"}),
			shows(map[string]any{"text/html": `<p>$\alpha$</p><p class="tex2jax_ignore">$\beta$</p>`}),
			shows(map[string]any{"text/plain": "plain", "text/latex": "no formula"})))
	want := []string{`$x_1$`, `$\displaystyle x^{2}$`, `$a*b*c$`, `$\alpha$`}
	if got := shownFormulas(page); !slices.Equal(got, want) {
		t.Errorf("the formulas are %q, not %q", got, want)
	}
	if !strings.Contains(string(page), `<h1 id="h-the-x_1-axis">The `+mathBegin) {
		t.Error("the title has no formula")
	}
}

// FuzzFormulas: formulas stand in their text one after the other, within a paragraph, and a page with them holds
// nothing that runs.
func FuzzFormulas(f *testing.F) {
	for _, text := range append([]string{`$a$ $$b$$ \\(c\\) \begin{x}d\end{x}`, "> $a\n> > b$", "$\n$", `\begin{x}`,
		"$a\n```\n$"}, hostile...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, src string) {
		at := 0
		for _, markdown := range []bool{false, true} {
			at = 0
			for _, s := range formulas(src, markdown) {
				if s.start < at || s.end <= s.start || s.end > len(src) {
					t.Fatalf("%q has a formula from %d to %d, after %d", src, s.start, s.end, at)
				}
				if strings.Contains(src[s.start:s.end], "\n\n") {
					t.Fatalf("%q is a formula", src[s.start:s.end])
				}
				at = s.end
			}
		}
		page, err := plainPage("x.md", []byte(src), nil)
		if err != nil {
			return
		}
		checkSafe(t, page)
	})
}

// TestFormulasThatDoNotEnd: in a paragraph, the search for an end that is not there stops: it takes the time of a text
// with the square of its length.
func TestFormulasThatDoNotEnd(t *testing.T) {
	if n := len(formulas(strings.Repeat("$a{ ", 1000)+"\n\n$b$", true)); n != maxTries+1 {
		t.Errorf("%d formulas, not %d", n, maxTries+1)
	}
}
