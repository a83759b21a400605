package review

import (
	"slices"
	"strings"
)

// Rule is a changed file that says what runs may do, or that judges them.
type Rule struct {
	Path   string   `json:"path"`
	Kind   RuleKind `json:"kind"`
	Change Change   `json:"change"`
	Weaker []string `json:"weaker,omitempty"` // what is allowed that was not before, in words
	Words  []string `json:"words,omitempty"`  // what else is another
}

// RuleKind is the kind of a rule.
type RuleKind string

const (
	RuleSettings  RuleKind = "settings"  // markmill.yaml, allowed signers, and programs that run steps
	RuleProtected RuleKind = "protected" // a file that protect: names
	RuleWorkflow  RuleKind = "workflow"  // what CI and hooks do
)

// condition returns the condition that a changed rule meets.
func (r *Rule) condition() Condition {
	if len(r.Weaker) > 0 {
		return OnPolicy
	}
	return OnRules
}

// protected adds the changed files that protect: names, in the base's settings or in a manifest under review.
func (r *reviewer) protected(known []Rule) []Rule {
	patterns := slices.Clone(r.in.Protect)
	for _, s := range []*side{r.base, r.head} {
		for _, b := range s.books {
			if m := b.look().manifest(); m != nil && m.Contract != nil {
				patterns = append(patterns, m.Contract.Protect...)
			}
		}
	}
	if len(patterns) == 0 || r.in.Matches == nil {
		return known
	}
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	for _, p := range r.changed {
		if !isRule(known, p) && r.in.Matches(patterns, p) {
			known = append(known, Rule{Path: p, Kind: RuleProtected, Change: r.changeOf(p)})
		}
	}
	return known
}

func (r *reviewer) changeOf(name string) Change {
	_, _, was, _ := r.in.Base.Entry(name)
	_, _, is, _ := r.in.Head.Entry(name)
	switch {
	case !was:
		return Added
	case !is:
		return Removed
	}
	return Edited
}

// words describes a changed rule.
func (r *Rule) words() string {
	words := map[RuleKind]string{RuleSettings: "settings", RuleProtected: "protected file",
		RuleWorkflow: "workflow file"}[r.Kind] + " " + string(r.Change)
	if list := append(slices.Clone(r.Weaker), r.Words...); len(list) > 0 {
		words += ": " + strings.Join(list, "; ")
	}
	return words
}
