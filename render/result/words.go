package result

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// Mark returns the sign of a step.
func Mark(s *notebooks.ManifestStep) string {
	if s.Interrupted {
		return "✗"
	}
	return StatusMark(s.Status)
}

// StatusMark returns the sign of a step's status.
func StatusMark(status string) string {
	switch runs.StepStatus(status) {
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

// RunMark returns the sign of a run's status.
func RunMark(s runs.Status) string {
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

// asExpected reports whether a step failed and had to: the failure of others is only allowed.
func asExpected(s *notebooks.ManifestStep) bool {
	return s.Tolerated() && (s.Status != string(runs.StepAllowed) || slices.Contains(s.Tags, notebooks.TagRaises))
}

// Words describes how a step ended. It holds no time or anything else that varies between runs.
func Words(s *notebooks.ManifestStep) (words []string) {
	status := runs.StepStatus(s.Status)
	failed := status == runs.StepFailed || status == runs.StepTimeout
	exit := ""
	if s.Exit != nil {
		exit = fmt.Sprintf("exit %d", *s.Exit)
		switch {
		case status == runs.StepAllowed && slices.Contains(s.Tags, notebooks.TagInterrupt) &&
			!slices.Contains(s.Tags, notebooks.TagRaises):
			exit = "interrupted at its time limit, allowed"
		case asExpected(s):
			exit += ", as expected"
		case s.Tolerated():
			exit += ", allowed"
		case s.EndedBy != "":
			exit += ", ended by " + s.EndedBy
		}
	}
	switch status {
	case runs.StepPending:
		if s.Interrupted {
			return []string{"interrupted"}
		}
		return []string{"not reached"}
	case runs.StepSkipped:
		if s.Reason == "" {
			return []string{"skipped"}
		}
		return []string{"skipped: " + s.Reason}
	case runs.StepTimeout:
		words = []string{"timed out"}
		if _, limit, ok := strings.Cut(s.Reason, "the step passed its time limit of "); ok {
			words[0] += " after " + limit
		}
	case runs.StepPassed, runs.StepAllowed:
		words = []string{exit}
	default:
		words = []string{exit}
		if s.Error != "" {
			words = append(words, s.Error)
		} else if !strings.HasPrefix(s.Reason, "exit ") {
			words = append(words, s.Reason)
		}
	}
	if c := s.Failed; c != nil && failed {
		words = append(words, fmt.Sprintf("line %d: %s", c.Line, c.Command))
	}
	if s.LostIn != "" {
		words = append(words, "new interpreter: the one before ended in "+string(s.LostIn))
	}
	if s.Attempts > 1 {
		words = append(words, plain.Counted(s.Attempts, "attempt"))
	}
	if s.Running == 1 {
		words = append(words, "1 process still running")
	} else if s.Running > 1 {
		words = append(words, plain.Grouped(s.Running)+" processes still running")
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// Line joins Words.
func Line(s *notebooks.ManifestStep) string { return strings.Join(Words(s), " · ") }

// Earlier says of a step that it ran in an earlier run.
const Earlier = "in an earlier run"

// Summary is Words with the tests of the step and the size of its change, and says that it ran in an earlier run.
func Summary(s *notebooks.ManifestStep) []string {
	words := Words(s)
	if s.Carried {
		words = append(words, Earlier)
	}
	if s.Tests != nil {
		words = append(words, TestWords(s.Tests.Passed, s.Tests.Failed, s.Tests.Skipped, s.Tests.From))
	}
	if s.Files > 0 {
		words = append(words, ChangeWords(s.Files, s.Added, s.Deleted))
	}
	return words
}

// StepLine returns the sign and the Line of a recorded step.
func StepLine(rec runs.StepRecord) (mark, words string) {
	s := Of(rec)
	return Mark(&s), Line(&s)
}

// ChangeWords says "1 file +1 −1".
func ChangeWords(files, added, deleted int) string {
	return fmt.Sprintf("%s +%d −%d", plain.Counted(files, "file"), added, deleted)
}

// TestWords says "3 passed, 1 failed (printed)" of what a test runner counted. from is where the counts come from, as
// in notebooks.ManifestTests, and runner, which may be left out, the runner.
func TestWords(passed, failed, skipped int, from string, runner ...string) string {
	words := fmt.Sprintf("%d passed", passed)
	if failed > 0 {
		words += fmt.Sprintf(", %d failed", failed)
	}
	if skipped > 0 {
		words += fmt.Sprintf(", %d skipped", skipped)
	}
	if from == notebooks.Printed || from == notebooks.Reported {
		runner = append([]string{from}, runner...)
	}
	if len(runner) > 0 {
		words += " (" + strings.Join(runner, ", ") + ")"
	}
	return words
}
