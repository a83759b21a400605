package cmdtest

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// remedied checks that the terminal says what to do against a code, once.
func (c *closed) remedied(run *runs.Run, code, terminal string) {
	c.t.Helper()
	i := slices.IndexFunc(run.Causes(), func(cause runs.Cause) bool { return cause.Code == code })
	if i < 0 {
		c.t.Fatalf("%s is no cause", code)
	}
	cause := run.Causes()[i]
	says := "markmill: " + run.Say(cause)
	if n := strings.Count(terminal, strings.SplitN(says, "\n", 2)[0]); n != 1 {
		c.t.Errorf("the terminal says %d times %q:\n%s", n, says, terminal)
	}
	if cause.Advice() == "" && runs.Fix(code) == "" && cause.Step != "" &&
		!strings.Contains(terminal, "\n  resume  markmill resume last\n") {
		c.t.Errorf("nothing says what to do:\n%s", terminal)
	}
}

// pageVerdict is the verdict on a page.
var pageVerdict = regexp.MustCompile(`<p class="verdict"><span class="sign">(.*?)</span>(.*?)</p>`)

// oneVerdict checks that all views say the same words of the last run.
func (c *closed) oneVerdict(run *runs.Run, terminal string) {
	t := c.t
	t.Helper()
	var doc struct {
		Verdict string `json:"verdict"`
	}
	shown, _ := c.markmill("show", "--json", "last")
	c.must(codec.Unmarshal([]byte(shown), &doc))
	want := doc.Verdict
	if want == "" || !strings.Contains(terminal, "\n"+want+" · ") {
		t.Errorf("show --json says %q, the terminal\n%s", want, terminal)
	}
	page, _ := c.markmill("show", "last")
	if first, _, _ := strings.Cut(page, "\n"); first != want && !strings.HasPrefix(first, want+" · ") {
		t.Errorf("show says %q, show --json %q", first, want)
	}
	record := runs.At(c.last())
	output, err := record.ReadFile(runs.OutputFile)
	c.must(err)
	_, verdict, _ := strings.Cut(string(output), "> ")
	verdict, _, _ = strings.Cut(verdict, "\n")
	if got := strings.NewReplacer("**", "", "`", "", `\`, "").Replace(verdict); got != want {
		t.Errorf("the output notebook says %q, show --json %q", got, want)
	}
	report, err := record.ReadFile(runs.ReportPageFile)
	c.must(err)
	_, facts, _ := strings.Cut(want, " · ")
	if !strings.Contains(strings.ReplaceAll(string(report), `\`, ""), "\n"+facts+".\n") {
		t.Errorf("report.md does not say %q:\n%.500s", facts, report)
	}
	m := pageVerdict.FindStringSubmatch(c.expect(0, "convert", "--to", "html", "last", "-"))
	if m == nil || html.UnescapeString(m[1]+" "+m[2]) != want {
		t.Errorf("the page says %q, show --json %q", m, want)
	}
}

// TestOneVerdict: the terminal, show, its JSON, the output notebook, its page and the report say the same of every way
// to end. TestFailClosed does the same for every code.
func TestOneVerdict(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"passed", "```bash {#a .test}\ntrue\n```\n",
			"✓ passed · 1 of 1 step passed · tests: 1 passed · nothing changed"},
		{"allowed", "```bash {#a .allow-failure}\nfalse\n```\n",
			"✓ passed · 1 step failed as allowed · no tests · nothing changed"},
		{"expected", "```bash {#a expect-exit=1 .test}\nfalse\n```\n\n```bash {#b}\necho x >x\n```\n",
			"✓ passed · 1 of 2 steps passed, 1 failed as expected · tests: 1 failed as expected · 1 file +1 −0"},
		{"raises", "```python {#a .raises-exception}\n1/0\n```\n\n```bash {#b .test .allow-failure}\nfalse\n```\n",
			"✓ passed · 0 of 2 steps passed, 1 failed as expected, 1 failed as allowed · " +
				"tests: 1 failed as allowed · nothing changed"},
		{"skipped", "```bash {#a}\ntrue\n```\n\n```bash {#b if=\"1 > 2\"}\ntrue\n```\n",
			"✓ passed · 1 of 2 steps passed, 1 skipped · no tests · nothing changed"},
		{"check", "```bash {#a .check}\ncheck disk critical\n```\n",
			"✗ failed · 0 of 1 step passed, 1 failed a check · no tests · nothing changed"},
		{"rule", "---\nforbid: [x]\n---\n\n```bash {#a}\ntrue\n```\n\n```bash {#b}\necho x >x\n```\n",
			"✗ failed · 1 of 2 steps passed, 1 broke a rule · no tests · 1 file +1 −0"},
		{"failed", "```bash {#a}\ntrue\nexit 4\n```\n\n```bash {#b}\ntrue\n```\n",
			"✗ failed · 0 of 2 steps passed, 1 failed, 1 skipped · no tests · nothing changed"},
		{"late", "```bash {#a timeout=0.2}\nsleep 60\n```\n",
			"⊘ blocked · 0 of 1 step passed, 1 timed out · no tests · nothing changed"},
		{"gate", "---\nsecrets: [MISSING_TOKEN]\n---\n\n```bash {#a}\ntrue\n```\n",
			"⊘ blocked · nothing ran · no tests · change not checked"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newClosed(t)
			c.commit("n.md", row.text)
			out, _ := c.markmill("run", "n.md", "--no-progress-bar")
			if !strings.Contains("\n"+out, "\n"+row.want+" · ") {
				t.Errorf("expected %q:\n%s", row.want, out)
			}
			c.oneVerdict(c.load(c.last()), "\n"+out)
		})
	}
}
