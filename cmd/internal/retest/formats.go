package retest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/cmd/internal/files"
	"markmill/render/compare"
	"markmill/render/junit"
)

// JUnit is the report in JUnit's XML: a suite for each notebook, a case for each step.
func (r *Report) JUnit() ([]byte, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	var suites []junit.Suite
	for _, n := range r.Notebooks {
		suites = append(suites, n.suite(host))
	}
	return junit.Report("markmill test", suites)
}

func (n *Notebook) suite(host string) junit.Suite {
	s := junit.Suite{Name: n.Notebook, Host: host, Start: n.started, Time: duration(n.Seconds)}
	var out strings.Builder
	for i, step := range n.Steps {
		c := junit.Case{Name: step.Step, Class: n.Notebook, Time: duration(step.Seconds)}
		where := place(n.Notebook, step.Line)
		switch step.Verdict {
		case compare.Different, compare.Failed:
			if n.Status == Updated {
				break
			}
			c.Failure = &junit.Words{Message: where + ": " + step.Words, Type: string(step.Verdict),
				Text: where + "\n" + step.Words + "\n" + step.Diff}
			fmt.Fprintf(&out, "%s (%s)\n%s\n", where, step.Step, strings.Join(n.results[i].Now, "\n"))
		case compare.Skipped:
			c.Skipped = true
		}
		s.Cases = append(s.Cases, c)
	}
	if whole, ok := n.wholeCase(); ok {
		s.Cases = append(s.Cases, whole)
	}
	s.Out = out.String()
	return s
}

// wholeCase is the case of what concerns the whole run; false without one.
func (n *Notebook) wholeCase() (junit.Case, bool) {
	words := strings.Join(n.Words, "\n")
	first, _, _ := strings.Cut(words, "\n")
	why := &junit.Words{Message: first, Type: string(n.Status), Text: n.Notebook + "\n" + words}
	whole := junit.Case{Name: "(run)", Class: n.Notebook, Time: duration(n.Seconds)}
	switch n.Status {
	case Missing, Failed, Different:
		whole.Failure = why
		return whole, words != ""
	case Blocked, Interrupted, Error:
		whole.Error = why
		return whole, true
	case Skipped:
		whole.Skipped = true
		return whole, true
	}
	return whole, false
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// maxAnnotation limits the text of an annotation, in bytes; GitHub truncates longer ones at 64 KiB with the log.
const maxAnnotation = 4 << 10

// Annotations is the report as workflow commands of GitHub Actions, which shows them at the lines of the files.
// workspace is the root of the checkout, GITHUB_WORKSPACE; "" is not known.
func (r *Report) Annotations(workspace string) string {
	var b strings.Builder
	for _, n := range r.Notebooks {
		if n.Status == Updated || n.Status == Skipped {
			continue
		}
		file := slashed(n.job.file.Path)
		if rel, err := filepath.Rel(workspace, files.Absolute(file)); workspace != "" && err == nil &&
			filepath.IsLocal(rel) {
			file = slashed(rel)
		}
		for _, words := range n.Words {
			b.WriteString(annotation(file, 0, "markmill test", words) + "\n")
		}
		for _, s := range n.Steps {
			if s.Verdict == compare.Different || s.Verdict == compare.Failed {
				b.WriteString(annotation(file, s.Line, fmt.Sprintf("step %s: %s", s.Step, s.Verdict),
					s.Words+"\n"+s.Diff) + "\n")
			}
		}
	}
	return b.String()
}

// annotation is one workflow command. Its values are escaped as GitHub's own toolkit does.
func annotation(file string, line int, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	at := "file=" + property.Replace(file)
	if line > 0 {
		at += fmt.Sprintf(",line=%d", line)
	}
	text = strings.TrimSuffix(text, "\n")
	if len(text) > maxAnnotation {
		text = strings.ToValidUTF8(text[:maxAnnotation], "") + "\n…"
	}
	return "::error " + at + ",title=" + property.Replace(title) + "::" + data.Replace(text)
}
