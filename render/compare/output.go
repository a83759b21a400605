package compare

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"

	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/linediff"
	"markmill/notebooks/region"
	"markmill/render/plain"
	"markmill/render/result"
)

// Output holds the outputs of a notebook's steps.
type Output struct {
	Steps []Step // those that left something, in their order
}

// Step holds the output of one step.
type Step struct {
	ID    string
	Lines []string // as text, without line ends: how it ended, then what it printed, showed, changed and recorded
	Unrun bool     // the notebook was saved without having run it: nothing is expected
}

// byID finds what each step left.
func (o *Output) byID() map[string]*Step {
	out := make(map[string]*Step, len(o.Steps))
	for i := range o.Steps {
		if s := &o.Steps[i]; out[s.ID] == nil {
			out[s.ID] = s
		}
	}
	return out
}

// Markdown reads the outputs of an output notebook. Regions that belong to no step are left out by their ids.
func Markdown(s region.Stripped, without string) Output {
	var out Output
	for _, r := range s.Regions {
		if r.ID != without {
			out.Steps = append(out.Steps, Step{ID: r.ID, Lines: bodyLines(r.Body)})
		}
	}
	return out
}

// bodyLines returns the lines of a region without the HTML that folds them. The summary comes first, as plain text.
func bodyLines(body []byte) []string {
	lines := summaryFirst(strings.Split(strings.TrimSuffix(string(body), "\n"), "\n"))
	head, ok := strings.CutPrefix(strings.TrimPrefix(lines[0], "<details open>"), "<details>")
	if summary, found := strings.CutPrefix(head, "<summary>"); found || ok {
		summary = strings.TrimSuffix(summary, "</summary>")
		summary = strings.NewReplacer("<code>", "", "</code>", "").Replace(summary)
		lines[0] = strings.Replace(html.UnescapeString(summary), " · "+result.Earlier, "", 1) // the result is the same
		if last := len(lines) - 1; last > 0 && lines[last] == "</details>" {
			lines = lines[:last]
		}
	}
	for len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		lines[i] = plain.Escape(line)
	}
	return lines
}

// summaryFirst moves the summary line before the results. If nothing is folded, it adds "No output.", as older
// versions wrote.
func summaryFirst(lines []string) []string {
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "<details") ||
			strings.HasPrefix(line, "<sub>")
	})
	if at < 0 {
		return lines
	}
	summary := lines[at]
	if text, alone := strings.CutPrefix(summary, "<sub>"); alone {
		summary = "<details><summary>" + strings.TrimSuffix(text, "</sub>") + "</summary>"
		if at == 0 && !strings.Contains(summary, "· skipped") {
			lines = append(lines, "", "No output.")
		}
	}
	summary = strings.NewReplacer("<strong>", "", "</strong>", "").Replace(summary)
	if at > 0 && at+1 < len(lines) { // results above, the rest below: no empty line between is lost or added
		return slices.Concat([]string{summary, ""}, lines[:at], lines[at+2:])
	}
	if at > 0 {
		return slices.Concat([]string{summary, ""}, lines[:at])
	}
	return slices.Concat([]string{summary}, lines[1:])
}

// pictureLine is a line that shows a picture, as the tool's own regions have it.
var pictureLine = lazyregexp.New(`^!\[.*\]\(([^()]+)\)$`)

// Pictures appends digest(link) to each line that shows a picture, so that another picture of the same name is a
// difference. digest returns "" for links to other files.
func (o *Output) Pictures(digest func(link string) string) {
	for _, s := range o.Steps {
		for i, line := range s.Lines {
			if m := pictureLine.FindStringSubmatch(line); m != nil {
				if d := digest(m[1]); d != "" {
					s.Lines[i] = line + " " + d
				}
			}
		}
	}
}

// Pairing is a step in two outputs. One side is nil if only the other has it.
type Pairing struct {
	ID       string
	Was, Now []string
}

// Pair pairs the steps of two outputs: those of now in order, then those that are gone.
func Pair(was, now Output) []Pairing {
	var out []Pairing
	before, after := was.byID(), now.byID()
	for _, s := range now.Steps {
		p := Pairing{ID: s.ID, Now: s.Lines}
		if old := before[s.ID]; old != nil {
			p.Was = old.Lines
		}
		out = append(out, p)
	}
	for _, s := range was.Steps {
		if after[s.ID] == nil {
			out = append(out, Pairing{ID: s.ID, Was: s.Lines})
		}
	}
	return out
}

// Unified returns the unified diff of two texts, "" if they are equal.
func Unified(from, to string, a, b []string) string {
	var out bytes.Buffer
	gone, come := linediff.Lines(a, b)
	linediff.Unified(&out, a, b, gone, come, func(line string) { out.WriteString(line + "\n") })
	if out.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("--- %s\n+++ %s\n%s", from, to, out.String())
}
