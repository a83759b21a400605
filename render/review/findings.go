package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/render/diffview"
	"markmill/render/plain"
)

// Finding is something that a reviewer must not miss.
type Finding struct {
	Condition Condition `json:"condition"`
	Objection bool      `json:"objection"` // the review fails because of it
	Path      string    `json:"path"`      // of the notebook, the output, or the file
	Step      string    `json:"step,omitzero"`
	Words     string    `json:"words"`
	Files     []string  `json:"files,omitempty"` // what it is about
	ID        string    `json:"id,omitzero"`     // for review --accept
	Diff      string    `json:"diff,omitzero"`   // of the test that the branch changed
}

// decides reports whether a person must decide.
func (f *Finding) decides() bool { return f.Condition == OnDecide && f.Objection }

// find collects the findings of a notebook. An output that changed itself has its own.
func (r *reviewer) find(n *Notebook) {
	say := func(on Condition, name, step, words string, files ...string) {
		r.findings = append(r.findings, Finding{Condition: on, Path: name, Step: step, Words: words, Files: files})
		if !slices.Contains(n.Conditions, on) {
			n.Conditions = append(n.Conditions, on)
		}
	}
	if n.Error != "" {
		say(OnDamaged, n.Path, "", "cannot be read: "+n.Error)
	}
	for i := range n.Outputs {
		o := &n.Outputs[i]
		if o.Path == n.Path || r.told[o.Path] == nil {
			r.findOutput(o, say)
		}
	}
	if n.Diff == nil {
		return
	}
	for _, test := range []bool{true, false} {
		for _, c := range n.Diff.Results {
			if c.Turned == diff.Red && c.Test == test && c.Was != "" && c.Now != "" {
				n.Red = append(n.Red, c.Step)
				say(OnRed, n.Path, c.Step, "turned red: "+diffview.ResultWords(c))
			}
		}
	}
	if n.Change != Removed {
		if n.TextAt == "" {
			n.weaken()
		}
		r.widen(n)
		if words := r.looseAllow(n); words != "" {
			say(OnTold, n.Path, "", words)
		}
		for _, words := range n.Contract {
			say(OnWeakened, n.Path, "", "the contract is wider: "+words)
		}
		for _, w := range n.Weak {
			if w.Grave {
				say(OnWeakened, n.Path, w.Step, w.Name+": "+w.Words)
			}
		}
		for i := range n.Diff.Cells {
			if ch := &n.Diff.Cells[i]; ch.New != nil && notebooks.Judge(ch.New.Tags) && ch.New.Status == "allowed" &&
				(ch.Old == nil || ch.Old.Status != "allowed") && !slices.Contains(n.Red, ch.Label()) {
				say(OnWeakened, n.Path, ch.Label(),
					"the test failed, as it is expected to ("+ch.New.Words+
						"): it counts as expected to fail, and not as passed")
			}
		}
	}
	r.fewer(n, func(step, words string) { say(OnFewer, n.Path, step, words) })
}

// findOutput collects the findings of an output.
func (r *reviewer) findOutput(o *Output, say func(on Condition, name, step, words string, files ...string)) {
	if a := o.Applied; a != nil && a.State == Differs {
		say(OnDiffers, o.Path, "", a.words(), slices.Concat(a.Files, a.Others)...)
	}
	if len(o.elsewhere) > 0 {
		say(OnDiffers, o.Path, "", "its run began with files that neither side has: "+some(o.elsewhere), o.elsewhere...)
	}
	if len(o.inside) > 0 {
		say(OnPolicy, o.Path, "", "a program of the repository itself ran its steps: "+some(o.inside))
	}
	if len(o.replaced) > 0 {
		say(OnPolicy, o.Path, "", "a program was another file for a later step: "+some(o.replaced))
	}
	if words := o.UnreadWords(); words != "" {
		say(OnUnread, o.Path, "", words, o.Unread...)
	}
	if words := o.idleWords(); words != "" {
		say(OnUntested, o.Path, "", words)
	}
	for _, s := range o.States {
		on, off := stateConditions[s]
		step, words := "", o.says(s)
		switch {
		case !off, s == Unknown && !r.in.Current:
			continue
		case on == OnFailed:
			step, words = o.failure()
		case s == Altered, s == Damaged:
			words = strings.Join(append([]string{words}, o.Problems...), "; ")
		}
		say(on, o.Path, step, words)
	}
	if r.in.Require != "" && o.Proof != nil && !o.Proof.Reaches(r.in.Require) {
		say(OnProof, o.Path, "", fmt.Sprintf("%s is required, and it is only %s", r.in.Require, o.Proof.Summary()))
	}
	if a := o.Applied; a != nil && a.State == NotApplied {
		say(OnUnapplied, o.Path, "", a.words())
	}
}

// findRules collects the findings of changed rules.
func (r *reviewer) findRules(rules []Rule) []Finding {
	var out []Finding
	for i := range rules {
		out = append(out, Finding{Condition: rules[i].condition(), Path: rules[i].Path, Words: rules[i].words()})
	}
	return out
}

// sortFindings puts objections first, then orders by condition. Findings of one condition stay in notebook order.
func (r *Review) sortFindings() {
	for i := range r.Findings {
		r.Findings[i].Objection = r.ObjectsTo(r.Findings[i].Condition)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(trueFirst(a.Objection && !a.decides(), b.Objection && !b.decides()),
			trueFirst(a.Objection, b.Objection),
			slices.Index(Conditions, a.Condition)-slices.Index(Conditions, b.Condition))
	})
}

// Sign returns the sign of a finding.
func (f *Finding) Sign() string {
	switch {
	case f.decides():
		return signDecide
	case f.Objection:
		return signBad
	}
	return signOff
}

// some names the first few of many.
func some(names []string) string { return plain.Some(names, 5) }
