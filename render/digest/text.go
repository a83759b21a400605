package digest

import (
	"fmt"
	"strings"
	"time"

	"markmill/render"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
	"markmill/runs/index"
)

// bars show how bad a state is by their height; a dot is not known.
var bars = []string{"·", "▁", "▄", "█", "█", "█"}

// Bars is a strip as text.
func Bars(strip []string) string {
	var b strings.Builder
	for _, state := range strip {
		b.WriteString(bars[max(Severity(state), 0)])
	}
	return b.String()
}

// Name is the name of a row: that of the check.
func Name(check string) string {
	if check == "" {
		return "run"
	}
	return plain.OneLine(check)
}

// Percent is a share of time in words: "99.53 %", "–" where none is known. It never rounds up to 100.
func Percent(p *float64) string {
	if p == nil {
		return "–"
	}
	text := fmt.Sprintf("%.2f", *p)
	if *p < 100 && text == "100.00" {
		text = "99.99"
	}
	return text + " %"
}

// Millis is a time in milliseconds in words.
func Millis(ms *float64) string {
	if ms == nil {
		return "–"
	}
	return render.Duration(time.Duration(*ms * float64(time.Millisecond)))
}

// Left is what is left of an error budget: "3h10m (88 %)".
func Left(l *index.Level) string {
	if l.Left == nil {
		return "–"
	}
	share := 0.0
	if *l.Budget > 0 {
		share = 100 * *l.Left / *l.Budget
	}
	sign, seconds := "", *l.Left
	if seconds < 0 {
		sign, seconds = "−", -seconds
	}
	return fmt.Sprintf("%s%s (%.0f %%)", sign, render.Duration(time.Duration(seconds*float64(time.Second))), share)
}

// Counts is how many runs ended how: "12 runs: 10 pass, 2 fail".
func (n *Notebook) Counts() string {
	words := plain.Counted(n.Runs, "run")
	sep := ": "
	for _, status := range []runs.Status{runs.Pass, runs.Partial, runs.Fail, runs.Blocked, runs.Interrupted,
		runs.Running, runs.Damaged} {
		if count := n.Statuses[string(status)]; count > 0 {
			words += fmt.Sprintf("%s%d %s", sep, count, status)
			sep = ", "
		}
	}
	return words
}

// Span is the time of the digest in words.
func (d *Digest) Span() string {
	return d.From.Format("2006-01-02 15:04") + " to " + d.To.Format("2006-01-02 15:04") + " UTC"
}

// When is a time of the digest: with the day.
func When(t time.Time) string { return t.UTC().Format("01-02 15:04") }

// words are those of a change.
func (c *Change) words() string {
	words := fmt.Sprintf("%s is %s, it was %s", Name(c.Check), c.State, c.Before)
	if c.Says != "" {
		words += ": " + plain.OneLine(c.Says)
	}
	return words
}

// inline is text in a line of Markdown.
func inline(text string, most int) string { return safe.Inline(plain.Cut(plain.OneLine(text), most)) }

// Markdown is the document of the digest.
func (d *Digest) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Digest\n\n%s\n", d.Span())
	if len(d.Notebooks) == 0 {
		b.WriteString("\nNo runs.\n")
		return b.String()
	}
	b.WriteString("\nEach history goes from the beginning of the period to its end. A dot is time of which nothing is" +
		" known; it counts as neither up nor down.\n")
	for i := range d.Notebooks {
		n := &d.Notebooks[i]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", inline(n.Notebook, 200), n.Counts())
		if len(n.Rows) > 0 {
			b.WriteString("\n| check | state | history | uptime | p95 | budget left | says |\n" +
				"| --- | --- | --- | ---: | ---: | ---: | --- |\n")
		}
		for j := range n.Rows {
			r := &n.Rows[j]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", inline(Name(r.Check), 100), r.State,
				Bars(r.Strip), Percent(r.Uptime), Millis(r.P95), Left(&r.Level), inline(r.Says, 100))
		}
		if len(n.Changes) > 0 {
			b.WriteString("\n")
		}
		for j := range n.Changes {
			fmt.Fprintf(&b, "- %s: %s\n", When(n.Changes[j].Time), inline(n.Changes[j].words(), 200))
		}
	}
	return b.String()
}
