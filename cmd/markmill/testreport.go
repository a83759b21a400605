package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"markmill/render/compare"
	"markmill/render/junit"
	"markmill/render/plain"
	"markmill/runs"
)

// testReport is what test --json prints (docs/review.md).
type testReport struct {
	Status    string            `json:"status"` // the worst of the notebooks'
	Notebooks []*testedNotebook `json:"notebooks"`
}

// badness orders the statuses of notebooks: what decides of several.
var badness = []string{testSkipped, testSame, testUpdated, testBlocked, testMissing, testDifferent, testFailed, testError, testInterrupted}

// report shows what came of all notebooks, and gives the exit code.
func (t *tester) report(paths []string, all []*testedNotebook) error {
	worst, signal, compared := 0, 0, 0
	code := exitPass
	for _, n := range all {
		for i, status := range badness {
			if n.Status == status {
				worst = max(worst, i)
			}
		}
		if n.Status != testSkipped {
			compared++
		}
		if n.err != nil {
			code = max(code, min(exitOf(n.err), exitUsage))
			if exitOf(n.err) == exitBlocked && code == exitPass {
				code = exitBlocked
			}
		}
		signal = max(signal, n.signal)
	}
	if err := t.print(all, badness[worst]); err != nil {
		return err
	}
	if t.o.junit != "" {
		if err := t.writeJUnit(all); err != nil {
			return err
		}
	}
	if compared == 0 {
		return usagef("%s: no notebook there has a stored output, so that nothing was compared", strings.Join(paths, ", "))
	}
	switch status := badness[worst]; {
	case signal > 0:
		return exit(128 + signal)
	case status == testInterrupted:
		return exit(128 + 2)
	case code != exitPass:
		return exit(code)
	case status == testBlocked:
		return exit(exitBlocked)
	case status == testMissing || status == testDifferent || status == testFailed:
		return exit(exitFail)
	}
	return nil
}

// print writes the results for people, or as JSON; and annotations.
func (t *tester) print(all []*testedNotebook, worst string) error {
	if t.o.json {
		if t.o.annotate {
			t.annotateAll(t.stderr, all)
		}
		if all == nil {
			all = []*testedNotebook{}
		}
		return t.printJSON("test", testReport{worst, all})
	}
	var b strings.Builder
	for _, n := range all {
		t.show(&b, n)
	}
	fmt.Fprintf(&b, "%s\n", counts(all))
	text := b.String()
	if t.o.annotate {
		text = unheard(t.random, text)
	}
	to := t.stdout
	if t.o.junit == "-" {
		to = t.stderr
	}
	if _, err := io.WriteString(to, text); err != nil {
		return err
	}
	if t.o.annotate {
		t.annotateAll(to, all)
	}
	return nil
}

// show writes what came of one notebook.
func (t *tester) show(b *strings.Builder, n *testedNotebook) {
	mark := "✗"
	switch n.Status {
	case testSame, testUpdated:
		mark = "✓"
	case testSkipped, testBlocked:
		mark = "○"
	}
	fmt.Fprintf(b, "%s %s · %s\n", mark, plain.Escape(n.Notebook), n.summary())
	switch {
	case !n.Stale || n.Status == testUpdated:
	case n.job.output.merged():
		fmt.Fprintf(b, "%s: a merge made it of the outputs of two runs\n", plain.Escape(n.Stored))
	default:
		fmt.Fprintf(b, "%s: it is the output of another source than that of %s now\n", plain.Escape(n.Stored), plain.Escape(name(n.job.path)))
	}
	for _, words := range n.Words {
		fmt.Fprintf(b, "%s\n", plain.Escape(words))
	}
	for _, s := range n.Steps {
		if s.Verdict != string(compare.Different) && s.Verdict != string(compare.Failed) {
			continue
		}
		fmt.Fprintf(b, "%s: step %q: %s: %s\n", plain.Escape(place(n.Notebook, s.Line)), s.Step, s.Verdict, plain.Escape(s.Words))
		for line := range strings.Lines(s.Diff) {
			b.WriteString(t.paintDiff(line))
		}
		if len(s.Normalize) > 0 {
			list := strings.Join(s.Normalize, ", ")
			fmt.Fprintf(b, "only what varies from run to run is off: normalize: [%s] in the front matter, or normalize=%s at the step, masks it\n",
				list, strings.ReplaceAll(list, ", ", ","))
		}
	}
	if len(n.dirty) > 0 && (n.Status == testDifferent || n.Status == testFailed) && t.o.dirty == "ignore" {
		fmt.Fprintf(b, "uncommitted, and so not in the run: %s; --dirty include takes it along\n", plain.Escape(some(n.dirty)))
	}
	if n.Run != "" && n.Status != testSame && n.Status != testUpdated {
		fmt.Fprintf(b, "the run: %s\n", plain.Escape(shortPath(n.Run)))
	}
}

func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// paintDiff colours a line of a diff on a terminal.
func (t *tester) paintDiff(line string) string {
	if !t.colour(t.stdout) {
		return line
	}
	color := map[byte]string{'+': "32", '-': "31", '@': "36"}[line[0]]
	if color == "" {
		return line
	}
	return "\x1b[" + color + "m" + strings.TrimSuffix(line, "\n") + "\x1b[0m\n"
}

// summary says in a few words what came of a notebook.
func (n *testedNotebook) summary() string {
	if len(n.Steps) == 0 {
		return n.Status
	}
	count := map[string]int{}
	for _, s := range n.Steps {
		count[s.Verdict]++
	}
	var parts []string
	for _, v := range []compare.Verdict{compare.Same, compare.Different, compare.Failed, compare.Unchecked, compare.Skipped} {
		if c := count[string(v)]; c > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c, v))
		}
	}
	words := strings.Join(parts, ", ")
	switch n.Status {
	case testUpdated:
		return "updated " + n.Stored + ": " + words
	case testSame, testDifferent, testFailed:
		return words
	}
	return n.Status + ": " + words
}

// counts is the last line: how many notebooks ended how.
func counts(all []*testedNotebook) string {
	var parts []string
	for _, status := range badness {
		n := 0
		for _, one := range all {
			if one.Status == status {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	noun := "notebooks"
	if len(all) == 1 {
		noun = "notebook"
	}
	if len(parts) == 0 {
		return "0 notebooks"
	}
	return fmt.Sprintf("%d %s: %s", len(all), noun, strings.Join(parts, ", "))
}

// writeJUnit writes the results as JUnit's XML: a suite a notebook, a case a step.
func (t *tester) writeJUnit(all []*testedNotebook) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	var suites []junit.Suite
	for _, n := range all {
		suites = append(suites, n.suite(host))
	}
	b, err := junit.Report("markmill test", suites)
	if err != nil {
		return err
	}
	if t.o.junit == "-" {
		_, err = t.stdout.Write(b)
		return err
	}
	if err := checkTarget("--junit", t.o.junit); err != nil {
		return err
	}
	return runs.WriteFile(t.o.junit, b)
}

func (n *testedNotebook) suite(host string) junit.Suite {
	s := junit.Suite{Name: n.Notebook, Host: host, Start: n.started, Time: seconds(n.Seconds)}
	var out strings.Builder
	for i, step := range n.Steps {
		c := junit.Case{Name: step.Step, Class: n.Notebook, Time: seconds(step.Seconds)}
		where := place(n.Notebook, step.Line)
		switch compare.Verdict(step.Verdict) {
		case compare.Different, compare.Failed:
			if n.Status == testUpdated {
				break
			}
			c.Failure = &junit.Words{Message: where + ": " + step.Words, Type: step.Verdict, Text: where + "\n" + step.Words + "\n" + step.Diff}
			fmt.Fprintf(&out, "%s (%s)\n%s\n", where, step.Step, strings.Join(n.results[i].Now, "\n"))
		case compare.Skipped:
			c.Skipped = true
		}
		s.Cases = append(s.Cases, c)
	}
	words := strings.Join(n.Words, "\n")
	first, _, _ := strings.Cut(words, "\n")
	whole := junit.Case{Name: "(run)", Class: n.Notebook, Time: seconds(n.Seconds)}
	switch n.Status {
	case testMissing, testFailed, testDifferent:
		if words == "" {
			break
		}
		whole.Failure = &junit.Words{Message: first, Type: n.Status, Text: n.Notebook + "\n" + words}
	case testBlocked, testInterrupted, testError:
		whole.Error = &junit.Words{Message: first, Type: n.Status, Text: n.Notebook + "\n" + words}
	case testSkipped:
		whole.Skipped = true
	}
	if whole.Failure != nil || whole.Error != nil || whole.Skipped {
		s.Cases = append(s.Cases, whole)
	}
	s.Out = out.String()
	return s
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
