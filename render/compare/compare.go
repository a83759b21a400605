package compare

import (
	"fmt"
	"slices"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// Verdict is the outcome of comparing one step.
type Verdict string

const (
	Same      Verdict = "same"
	Different Verdict = "different"
	Failed    Verdict = "failed"    // it ran, or was to run, and did not end as it may
	Skipped   Verdict = "skipped"   // it did not run
	Unchecked Verdict = "unchecked" // it ran well, and its output is not compared
)

// Result is the comparison of one step.
type Result struct {
	Step    string
	Line    int // of the step in the notebook, from 1; 0 when the notebook has no such step
	Verdict Verdict
	Words   string   // why, for people; "" where there is nothing to say
	Diff    string   // unified, of what was stored and what came; "" without a difference
	Now     []string // what came, as it was masked
	// Normalize names built-in rules that would mask the whole difference; nil if none would.
	Normalize []string
}

// Options say what is compared and how.
type Options struct {
	Marked bool       // only steps that are marked: tag check-output, or nbval's comment
	Rules  safe.Rules // besides those of the notebook
	From   string     // how the diff calls what was stored
	To     string     // and what came
}

// Compare compares the outputs of a run with the stored ones, in notebook order; steps that only the stored output
// has come last. run may have steps that were not reached.
func Compare(nb *notebooks.Notebook, run *runs.Run, stored, now Output, o Options) ([]Result, error) {
	records := map[notebooks.StepID]*runs.StepRecord{}
	for i := range run.Steps {
		records[run.Steps[i].Planned.ID] = &run.Steps[i]
	}
	var out []Result
	known, failed := map[string]bool{}, ""
	before, after := stored.byID(), now.byID()
	for _, s := range nb.Steps {
		known[string(s.ID)] = true
		r := Result{Step: string(s.ID), Line: s.Line}
		rules, err := o.rules(nb, s)
		if err != nil {
			return nil, err
		}
		a, b := mask(before[r.Step], rules), mask(after[r.Step], rules)
		r.Now = b
		switch rec := records[s.ID]; {
		case rec == nil || rec.Status() == runs.StepPending:
			r.Verdict, r.Words = Failed, "it was not reached"
		case rec.Status() == runs.StepFailed || rec.Status() == runs.StepTimeout:
			r.Verdict, r.Words = Failed, firstLine(b, string(rec.Status()))
			r.Diff = o.diff(r.Step, a, b)
			failed = r.Step
		case rec.Planned.Action == runs.ActionSkip:
			r.Verdict, r.Words = Skipped, rec.Planned.Reason
		case rec.Status() == runs.StepSkipped && failed != "":
			r.Verdict, r.Words = Skipped, fmt.Sprintf("step %s failed before it", failed)
		default:
			if r.Words = o.passOver(s, before[r.Step]); r.Words != "" {
				r.Verdict = Unchecked
				break
			}
			r.Verdict = Same
			if a == nil && len(b) == 1 && s.Has(notebooks.TagParameters) {
				break // the cell that declares parameters: a run of the text that it was made of has no step for it
			}
			if r.Diff = o.diff(r.Step, a, b); r.Diff != "" {
				r.Verdict, r.Words, r.Normalize = Different, difference(a, b), maskedBy(a, b)
			}
		}
		out = append(out, r)
	}
	for _, s := range stored.Steps {
		if !known[s.ID] && !o.Marked {
			a := mask(&s, o.Rules)
			out = append(out, Result{Step: s.ID, Verdict: Different, Words: "the notebook has no such step any more",
				Diff: o.diff(s.ID, a, nil)})
		}
	}
	return out, nil
}

// rules returns the rules of a step, then those of the comparison.
func (o Options) rules(nb *notebooks.Notebook, s *notebooks.Step) (safe.Rules, error) {
	of := safe.NewRuleBook(nb).Of
	if notebooks.IsJupyterName(nb.Name) { // as nbval compares them
		of = safe.NewRuleBook(nb).Asked
	}
	own, err := of(s)
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, File: nb.Name,
			Line: s.Line, Step: s.ID, Msg: err.Error(),
			Err: err}
	}
	return append(slices.Clip(own), o.Rules...), nil
}

// passOver returns why the output of a step is not compared, "" if it is.
func (o Options) passOver(s *notebooks.Step, stored *Step) string {
	m := s.Markers()
	switch {
	case stored != nil && stored.Unrun:
		return "the notebook was saved without running it: there is nothing to compare with"
	case m.Check:
		return ""
	case s.Has(notebooks.TagVolatile):
		return "volatile: its output is not compared"
	case m.Ignore:
		return "NBVAL_IGNORE_OUTPUT: its output is not compared"
	case o.Marked && !s.Has(notebooks.TagCheck):
		return "not marked: its output is not compared"
	}
	return ""
}

func (o Options) diff(step string, a, b []string) string {
	return Unified(o.From+" ("+step+")", o.To+" ("+step+")", a, b)
}

// maskedBy names the fewest built-in rules that make two texts equal, nil if none do.
func maskedBy(a, b []string) []string {
	if len(a) != len(b) {
		return nil
	}
	same := func(names []string) bool {
		var list []notebooks.Normalize
		for _, name := range names {
			list = append(list, notebooks.Normalize{Name: name})
		}
		rules, err := safe.NewRules(list)
		return err == nil && slices.EqualFunc(a, b, func(x, y string) bool {
			return x == y || rules.Line(x) == rules.Line(y)
		})
	}
	all := safe.NormalizeNames()
	for _, name := range all {
		if same([]string{name}) {
			return []string{name}
		}
	}
	if !same(all) {
		return nil
	}
	for i := 0; i < len(all); {
		if without := slices.Delete(slices.Clone(all), i, i+1); same(without) {
			all = without
		} else {
			i++
		}
	}
	return all
}

// difference summarizes a difference.
func difference(a, b []string) string {
	switch {
	case len(a) == 0:
		return "nothing was stored of it"
	case len(b) == 0:
		return "it left nothing this time"
	case a[0] != b[0]:
		return "was: " + a[0] + "; now: " + b[0]
	}
	return "its output is another"
}

// mask applies rules to the lines of a step; s may be nil.
func mask(s *Step, rules safe.Rules) []string {
	if s == nil {
		return nil
	}
	out := make([]string, len(s.Lines))
	for i, line := range s.Lines {
		out[i] = plain.Escape(rules.Line(line))
	}
	return out
}

func firstLine(lines []string, without string) string {
	if len(lines) == 0 {
		return without
	}
	return lines[0]
}
