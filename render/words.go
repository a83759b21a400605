package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// ChangeWords says "1 file +1 −1" of a change; "" of none.
func ChangeWords(files []runs.ChangedFile) string {
	if len(files) == 0 {
		return ""
	}
	added, deleted := 0, 0
	for _, f := range files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	return result.ChangeWords(len(files), added, deleted)
}

// StepFacts is what one line says of a recorded step. All of it but Mark and Words may be empty.
type StepFacts struct{ Mark, Words, Took, Tests, Change string }

// FactsOf returns what to say of a recorded step.
func FactsOf(s runs.StepRecord) StepFacts {
	f := StepFacts{}
	f.Mark, f.Words = result.StepLine(s)
	f.Words += CarriedWords(s)
	if end := s.Finished; end != nil {
		if s.Step != nil {
			f.Took = Duration(time.Duration(end.DurationNS))
		}
		if t := end.Tests; t != nil {
			f.Tests = result.TestWords(t.Passed, t.Failed, t.Skipped, t.From)
		}
	}
	if s.Patch != nil {
		f.Change = ChangeWords(s.Patch.Files)
	}
	return f
}

// Besides lists how long the step took, its tests and its change.
func (f StepFacts) Besides() []string {
	return slices.DeleteFunc([]string{f.Took, f.Tests, f.Change}, func(s string) bool { return s == "" })
}

// IsTest reports whether a planned step's output belongs to the test log.
func IsTest(p runs.PlannedStep) bool { return slices.Contains(p.Tags, notebooks.TagTest) }

// Duration formats a duration with the precision that is useful.
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

// TreeWords says where the steps of a run found its worktree, "" if the record does not.
func TreeWords(d *runs.TreeData) string {
	if d == nil {
		return ""
	}
	words := d.Tree
	if d.Tree == runs.TreeMounted {
		words = "mounted at the checkout's path"
	}
	if d.Unchecked {
		words += ", unchecked"
	}
	if d.Why != "" {
		words += ": " + d.Why
	}
	if deps := DependencyWords(d); deps != "" {
		words += "; " + deps
	}
	if len(d.Servers) > 0 {
		words += "; servers of the checkout: " + plain.Some(d.Servers, 5)
	}
	return words
}

// DependencyWords says which folders of dependencies the steps of a run had, "" if none.
func DependencyWords(d *runs.TreeData) string {
	if d == nil || len(d.Dependencies) == 0 {
		return ""
	}
	var names, differ []string
	for _, dep := range d.Dependencies {
		names = append(names, dep.Path)
		if dep.Differs && !slices.Contains(differ, dep.Lock) {
			differ = append(differ, dep.Lock)
		}
	}
	words := "with " + plain.Some(names, 5) + " of the checkout"
	if len(differ) > 0 {
		words += "; at the base " + plain.Some(differ, 3) + " differs from what they were installed from"
	}
	return words
}

// SandboxWords describes the sandbox of a run, "" if the record does not.
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
		words = append(words, plain.Counted(n, "place")+" hidden")
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

// ApprovalWords describes the approval of a run.
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

// CarriedWords names the earlier run that ran a step, and says whether the step was replayed for its state. It
// returns "" for a step of this run. The output notebook omits this: it must not depend on whether a run was
// interrupted.
func CarriedWords(s runs.StepRecord) string {
	from := s.CarriedFrom()
	if from == "" {
		return ""
	}
	words := ", in run " + string(from)
	if s.Replayed != nil {
		words += "; run again for its state only"
		if len(s.Replayed.Differs) > 0 {
			words += ", and was another then: " + strings.Join(s.Replayed.Differs, ", ")
		}
	}
	return words
}
