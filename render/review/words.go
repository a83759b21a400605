package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/render/plain"
)

// Signs of a notebook, a finding or an output.
const (
	signBad     = "✗" // the review objects to it
	signOff     = "!" // something is off
	signClaimed = "○" // nothing is off, and nothing but the output notebook itself says so
	signWell    = "✓"
	signDecide  = "?" // a person decides
)

// Sign returns the sign of a notebook and its outputs.
func (r *Review) Sign(n *Notebook) string {
	switch {
	case r.Objects(n):
		return signBad
	case n.off():
		return signOff
	case n.Claimed():
		return signClaimed
	}
	return signWell
}

func (n *Notebook) off() bool {
	return n.Conditions[0] != OnChanged || slices.ContainsFunc(n.members, (*Notebook).off)
}

// Claimed reports whether an output of the notebook is only claimed.
func (n *Notebook) Claimed() bool {
	for i := range n.Outputs {
		if p := n.Outputs[i].Proof; p != nil && p.Level.rank() == 0 {
			return true
		}
	}
	return slices.ContainsFunc(n.members, (*Notebook).Claimed)
}

// VerdictSign returns the sign of the review. Claimed outputs get no mark of approval.
func (r *Review) VerdictSign() string {
	switch {
	case r.Verdict == "fail":
		return signBad
	case r.Verdict == "decide":
		return signDecide
	case len(r.Findings) > 0:
		return signOff
	case slices.ContainsFunc(r.Notebooks, (*Notebook).Claimed):
		return signClaimed
	}
	return signWell
}

// VerdictWords summarizes the review on one line.
func (r *Review) VerdictWords() string {
	var words string
	switch n, decide := r.Objections(), r.Decisions(); {
	case n > 0 && decide > 0:
		words = plain.Counted(n, "objection") + ", " + plain.Counted(decide, "decision")
	case n > 0:
		words = plain.Counted(n, "objection")
	case decide > 0:
		words = plain.Counted(decide, "decision")
	case len(r.changed)+r.changedNotebooks == 0 && len(r.Notebooks) == 0:
		return "nothing changed"
	case len(r.uncovered()) > 0:
		words = plain.Counted(len(r.changed), "file") + " changed; no notebook covers them"
		if len(r.changed) == 1 {
			words = "1 file changed; no notebook covers it"
		}
	case len(r.Findings) > 0:
		words = "no objection, " + plain.Counted(len(r.lines()), "thing") + " to look at"
	case slices.ContainsFunc(r.Notebooks, (*Notebook).Claimed):
		words = "no objection, and nothing but the outputs says that they passed"
	default:
		words = "no objection"
	}
	switch {
	case r.Judged != nil:
		return words + " · " + r.Judged.VerdictWords()
	case !r.covered():
		return words
	}
	return words + " · not judged with main's tests: add --judge"
}

// CountStates lists counts of outputs, the worst state first.
func CountStates(counts map[State]int) string { return countWords(counts, stateOrder) }

// countWords lists nonzero counts in order.
func countWords[K ~string](counts map[K]int, order []K) string {
	var parts []string
	for _, k := range order {
		if n := counts[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	return strings.Join(parts, ", ")
}

// A Note is one line about a notebook. Subject is a path or a step, and may be empty.
type Note struct {
	Sign    string
	Subject string
	Words   string
}

// Notes returns the notes on a notebook besides its comparison, the most important first.
func (n *Notebook) Notes() []Note {
	var out []Note
	if n.Error != "" {
		out = append(out, Note{signBad, "", "cannot be read: " + n.Error})
	}
	for i := range n.Outputs {
		if o := &n.Outputs[i]; o.Path == n.Path || !n.hasMember(o.Path) { // a member has its own
			out = append(out, o.notes()...)
		}
	}
	for _, words := range n.Contract {
		out = append(out, Note{signOff, "", "the contract is wider: " + words})
	}
	for _, w := range n.Weak {
		words := w.Name + ": " + w.Words
		if !w.New {
			words += " (as before)"
		}
		out = append(out, Note{signOff, w.Step, words})
	}
	return out
}

func (n *Notebook) hasMember(name string) bool {
	return slices.ContainsFunc(n.members, func(m *Notebook) bool { return m.Path == name })
}

// notes returns the notes on an output.
func (o *Output) notes() []Note {
	sign := signWell
	switch {
	case o.bad():
		sign = signBad
	case o.Has(Unknown):
		sign = signOff
	case o.Proof != nil && o.Proof.Level.rank() == 0:
		sign = signClaimed
	}
	var parts []string
	for _, s := range o.States {
		parts = append(parts, o.says(s))
	}
	words := strings.Join(parts, "; ")
	if o.Proof != nil {
		words += "; " + o.Proof.Summary()
	}
	out := []Note{{sign, o.Path, words}}
	add := func(words string) { out = append(out, Note{signOff, "", words}) }
	for _, p := range o.Problems {
		add(p)
	}
	for _, b := range o.Blockers {
		words := b.Code + ": " + b.Message
		if b.Fix != "" {
			words += " (" + b.Fix + ")"
		}
		add(words)
	}
	if o.Applied != nil {
		if o.Applied.State == AppliedExactly {
			out = append(out, Note{sign, "", o.Applied.words()})
		} else {
			add(o.Applied.words())
		}
	}
	for _, words := range o.Tree {
		add(words)
	}
	if len(o.Judges) > 0 {
		add("the branch changed what its tests read: " + some(o.Judges))
	}
	if o.Approval != "" {
		out = append(out, Note{signClaimed, "", "approval, as the notebook has it: " + o.Approval})
	}
	return out
}

// bad reports whether an output has a problem.
func (o *Output) bad() bool {
	return slices.ContainsFunc(o.States, func(s State) bool { return s != Current && s != Unknown && s != Unproven })
}

// says describes a state of an output.
func (o *Output) says(s State) string {
	switch s {
	case Failed, Blocked:
		return o.runWords()
	case Altered:
		return "edited: not as its run left it"
	case Partial:
		return "a partial run: " + o.Partial
	case Outdated:
		return "outdated: " + o.outdated()
	case Missing:
		return "missing: the output of " + o.Source
	case Unknown:
		return "unknown: " + o.Unknown
	case Current:
		return "current: the output of " + cmp.Or(o.Source, "its own text") + " as it is"
	case Unproven:
		return "a Jupyter notebook does not prove whose outputs these are"
	}
	return string(s)
}

// outdated says why an output is outdated.
func (o *Output) outdated() string {
	var words []string
	if o.gone != "" {
		words = append(words, o.gone+", of which it is an output, was removed")
	}
	for _, reason := range o.Reasons {
		words = append(words, reason.String())
	}
	return cmp.Or(plain.Some(words, 3), "the notebook itself changed since the run")
}

// Summary summarizes a changed notebook: "edited · 1 turned red · output failed, outdated".
func (n *Notebook) Summary() string {
	parts := []string{string(n.Change)}
	if n.From != "" {
		parts[0] += " from " + n.From
	}
	if len(n.Red) > 0 {
		parts = append(parts, fmt.Sprintf("%d turned red", len(n.Red)))
	}
	if n.Error != "" {
		parts = append(parts, "cannot be read")
	}
	outputs := slices.Clone(n.Outputs)
	if len(n.members) >= sweepOutputs {
		parts[0] += ", with " + plain.Counted(len(n.members), "output")
	}
	red := 0
	for _, m := range n.members {
		if len(n.members) < sweepOutputs {
			parts[0] += ", with " + m.Path
			if m.Change != n.Change {
				parts[0] += " " + string(m.Change)
			}
		}
		red += len(m.Red)
		outputs = append(outputs, m.Outputs...)
	}
	if red > 0 {
		parts = append(parts, fmt.Sprintf("%d turned red", red))
	}
	var states []string
	for _, s := range stateOrder {
		if slices.ContainsFunc(outputs, func(o Output) bool { return o.Has(s) && (s != Current || !o.bad()) }) {
			states = append(states, string(s))
		}
	}
	if states != nil {
		parts = append(parts, "output "+strings.Join(states, ", "))
	}
	return strings.Join(parts, " · ")
}

// Title returns the names of the two sides.
func (r *Review) Title() (base, head string) { return r.Base.Title(), r.Head.Title() }

// Title is the name of a side with its commit.
func (v Revision) Title() string {
	if v.Commit != "" && !strings.HasPrefix(v.Commit, v.Name) {
		return fmt.Sprintf("%s (%.12s)", v.Name, v.Commit)
	}
	return v.Name
}
