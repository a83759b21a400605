package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/runs"
)

// Mark is the sign of a run's status.
func Mark(s runs.Status) string {
	switch s {
	case runs.Pass:
		return "✓"
	case runs.Fail:
		return "✗"
	case runs.Blocked:
		return "⊘"
	case runs.Partial:
		return "◐"
	default:
		return "…"
	}
}

// stepMark is the sign of a step's status.
func stepMark(s runs.StepStatus) string {
	switch s {
	case runs.StepPassed, runs.StepAllowed:
		return "✓"
	case runs.StepFailed:
		return "✗"
	case runs.StepTimeout:
		return "⏱"
	default:
		return "○"
	}
}

// Verdict says how a step ended: its sign, and the words of it on one line.
func Verdict(s runs.StepRecord) (mark, words string) {
	mark, parts := verdict(s)
	return mark, strings.Join(parts, " · ")
}

// verdict says how a step ended, without a time or anything else that varies between runs.
func verdict(s runs.StepRecord) (mark string, words []string) {
	f := s.Finished
	switch {
	case f == nil && s.Step != nil:
		return "✗", []string{"interrupted"}
	case f == nil && s.Planned.Action == runs.ActionSkip:
		return "○", []string{skipWords(s.Planned.Reason)}
	case f == nil || f.Status == runs.StepPending:
		return "○", []string{"not reached"}
	}
	exit := fmt.Sprintf("exit %d", f.Exit)
	switch f.Status {
	case runs.StepSkipped:
		return "○", []string{skipWords(f.Reason)}
	case runs.StepTimeout:
		words = []string{"timed out"}
		if _, limit, ok := strings.Cut(f.Reason, "the step passed its time limit of "); ok { // older records do not name it
			words[0] += " after " + limit
		}
	case runs.StepPassed, runs.StepAllowed:
		if f.Status == runs.StepAllowed && hasTag(s.Planned, notebooks.TagAllowFailure) {
			exit += ", allowed"
		} else if f.Exit != 0 || f.Status == runs.StepAllowed {
			exit += ", as expected"
		}
		words = []string{exit}
	default:
		if f.TerminatedBy != "" {
			exit += ", ended by " + f.TerminatedBy
		}
		words = []string{exit}
		if f.Error != nil && f.Error.Name != "" {
			words = append(words, f.Error.Name)
		} else if f.Reason != "" && !strings.HasPrefix(f.Reason, "exit ") {
			words = append(words, f.Reason)
		}
	}
	if c := f.Failed; c != nil && (f.Status == runs.StepFailed || f.Status == runs.StepTimeout) {
		words = append(words, fmt.Sprintf("line %d: %s", c.Line, c.Command))
	}
	if s.Step != nil && s.Step.LostIn != "" {
		words = append(words, "new interpreter: the one before ended in "+string(s.Step.LostIn))
	}
	if f.Attempts > 1 {
		words = append(words, counted(f.Attempts, "attempt"))
	}
	switch n := left(s); n {
	case 0:
	case 1:
		words = append(words, "1 process still running")
	default:
		words = append(words, grouped(n)+" processes still running")
	}
	return stepMark(f.Status), words
}

// left counts what the step left running. Of a program and what that has started in turn only the first counts: how
// many workers a server has at one moment is another number each time.
func left(s runs.StepRecord) (n int) {
	for _, p := range s.Finished.LeftRunning {
		if p.Since == s.Planned.ID && p.Parent == 0 {
			n++
		}
	}
	return n
}

func hasTag(p runs.PlannedStep, tag string) bool { return slices.Contains(p.Tags, tag) }

func skipWords(reason string) string {
	if reason == "" {
		return "skipped"
	}
	return "skipped: " + reason
}

// TestWords says "3 passed, 1 failed" of what a runner counted.
func TestWords(t *runs.TestCounts) string {
	words := fmt.Sprintf("%d passed", t.Passed)
	if t.Failed > 0 {
		words += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Skipped > 0 {
		words += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	return words
}

// Outcome says in one line what a run came to: the steps that passed, and what changed.
func Outcome(run *runs.Run) string {
	passed, planned := 0, 0
	for _, s := range run.Steps {
		if s.Planned.Action == runs.ActionSkip || s.Finished != nil && s.Finished.Status == runs.StepSkipped {
			continue
		}
		planned++
		if s.Finished != nil && (s.Finished.Status == runs.StepPassed || s.Finished.Status == runs.StepAllowed) {
			passed++
		}
	}
	words := fmt.Sprintf("%d of %s passed", passed, counted(planned, "step"))
	if n := len(run.Steps) - planned; n > 0 {
		words += fmt.Sprintf(", %d skipped", n)
	}
	switch d := run.Diff; {
	case d == nil || d.Skipped != "":
		words += " · change not checked"
	case len(d.Files) == 0:
		words += " · nothing changed"
	default:
		words += " · " + ChangeWords(d.Files)
	}
	return words
}

// IsTest says that a planned step's output belongs to the test log.
func IsTest(p runs.PlannedStep) bool { return hasTag(p, notebooks.TagTest) }

// Duration is a time that a step took, as short as it is of use.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "0ms"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// SandboxWords tells what held the steps of a run, "" where the record does not say.
func SandboxWords(d *runs.SandboxData) string {
	if d == nil {
		return ""
	}
	words := []string{"none: writes were not held"}
	if d.Writes != "" {
		words[0] = fmt.Sprintf("writes held by Landlock %d", d.Landlock)
	}
	if d.Asked == "off" {
		words[0] = "off"
	}
	if d.Filter != "" {
		words = append(words, "other processes and keys by "+d.Filter)
	}
	if d.Home == "own" {
		words = append(words, "a home of its own")
	}
	if d.Git != "" {
		words = append(words, "Git directory "+d.Git)
	}
	switch d.Network {
	case "namespace":
		words = append(words, "no network")
	case "landlock-tcp":
		words = append(words, "no TCP")
	}
	if n := len(d.Hidden); n > 0 {
		words = append(words, counted(n, "place")+" hidden")
	}
	if r := d.Resources; r != nil {
		for _, l := range []struct {
			name  string
			value int64
		}{{"memory", r.Memory}, {"processes", r.Processes}, {"file size", r.FileSize}, {"open files", r.OpenFiles}} {
			if l.value > 0 {
				words = append(words, fmt.Sprintf("%s at most %d", l.name, l.value))
			}
		}
	}
	if len(d.NotHeld) > 0 {
		words = append(words, "not held: "+strings.Join(d.NotHeld, "; "))
	}
	return strings.Join(words, "; ")
}

// ApprovalWords says how the approval of a run stands, and which it used.
func ApprovalWords(run *runs.Run) string {
	g := run.Granted
	if g == nil {
		return string(run.Approval)
	}
	words := fmt.Sprintf("%s: %s by %s", run.Approval, g.ID, g.Actor)
	if g.Key != "" {
		words += ", signed with " + g.Key
	}
	if g.Principals != "" {
		words += " of " + g.Principals
	}
	return words
}
