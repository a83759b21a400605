package review

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/contract"
	"markmill/notebooks/diff"
)

// Weakness is an attribute or tag that lets a step pass, omits it, or hides its output.
type Weakness struct {
	Step  string `json:"step"`
	Name  string `json:"name"`           // as its author wrote it: "expect-exit=1", "allow-failure"
	Words string `json:"words"`          // what it does
	New   bool   `json:"new,omitzero"`   // the step did not have it, or is new itself
	Grave bool   `json:"grave,omitzero"` // it can turn a failure into a pass; of a test, or of a step that did not have it
}

// weakness is a Weakness of one step. A grave one can turn a failure into a pass.
type weakness struct {
	name, words string
	grave       bool
}

// weaknesses returns those of a step.
func weaknesses(c *diff.Cell) []weakness {
	var out []weakness
	if c == nil || c.Kind != diff.Code {
		return nil
	}
	add := func(name, words string, grave bool) { out = append(out, weakness{name, words, grave}) }
	for _, tag := range c.Tags {
		switch tag {
		case notebooks.TagSkip:
			add(tag, "the step does not run", true)
		case notebooks.TagRaises:
			add(tag, "the step passes when it fails", true)
		case notebooks.TagAllowFailure:
			add(tag, "a failure of the step does not count", true)
		case notebooks.TagVolatile:
			add(tag, "what the step prints is not kept or compared", false)
		case notebooks.TagHideOutput:
			add(tag, "what the step prints is folded away", false)
		}
	}
	for _, o := range c.Options {
		value := plainValue(o.Value)
		name := o.Name + "=" + value
		switch o.Name {
		case "expect-exit":
			if value != "0" {
				add(name, "the step passes only when it exits with "+value, true)
			}
		case "if":
			words := "the step runs only where that is true"
			if value == "false" {
				words = "the step never runs"
			}
			add(name, words, true)
		case "retries":
			add(name, fmt.Sprintf("a failing step is tried again, %s at most", times(value)), false)
		case "needs":
			add(name, "the step is left out unless those passed", false)
		case "normalize":
			add(name, "what varies in its output is masked", false)
		}
	}
	return out
}

func times(n string) string {
	if n == "1" {
		return "once"
	}
	return n + " times"
}

// plainValue formats a JSON value as its author may have written it.
func plainValue(v codec.Raw) string {
	var s string
	var list []string
	switch {
	case codec.Unmarshal(v, &s) == nil:
		return s
	case codec.Unmarshal(v, &list) == nil:
		return strings.Join(list, ",")
	}
	return string(v)
}

// weaken finds the weaknesses of changed and added steps.
func (n *Notebook) weaken() {
	for i := range n.Diff.Cells {
		ch := &n.Diff.Cells[i]
		if ch.New == nil || ch.What == diff.Same && !ch.Moved && !ch.Renamed && len(ch.Options) == 0 && ch.Tags == nil {
			continue
		}
		had := weaknesses(ch.Old)
		for _, w := range weaknesses(ch.New) {
			is := Weakness{Step: ch.Label(), Name: w.name, Words: w.words,
				New: !slices.ContainsFunc(had, func(h weakness) bool { return h.name == w.name })}
			is.Grave = w.grave && is.New && (ch.Old != nil || judges(ch.New))
			n.Weak = append(n.Weak, is)
		}
		if ch.Old == nil {
			continue
		}
		for _, lost := range [][2]string{{notebooks.TagTest, "the step is no test any more"},
			{notebooks.TagReview, "the step cannot reject the run any more"},
			{notebooks.TagNoChange, "the step may change files now"}} {
			if slices.Contains(ch.Old.Tags, lost[0]) && !slices.Contains(ch.New.Tags, lost[0]) {
				n.Weak = append(n.Weak, Weakness{Step: ch.Label(), Name: "no " + lost[0], Words: lost[1], New: true, Grave: true})
			}
		}
	}
	slices.SortStableFunc(n.Weak, func(a, b Weakness) int { return graveness(a) - graveness(b) })
}

// widen finds what the contract of a notebook newly allows.
func (r *reviewer) widen(n *Notebook) {
	old, now := r.pairs[n][0], r.pairs[n][1]
	if old == nil || now == nil {
		return
	}
	var words []string
	if n.TextAt == "" && old.front != nil && now.front != nil {
		words = contract.Wider(contract.Of(*old.front), contract.Of(*now.front))
	}
	// Only the manifests show what the command line and the policy made of it.
	if was, is := old.manifest(), now.manifest(); was != nil && is != nil && was.Contract != nil && is.Contract != nil {
		words = append(words, contract.Wider(contract.OfManifest(was.Contract), contract.OfManifest(is.Contract))...)
	}
	source := r.told[n.Of]
	for _, w := range words {
		if !slices.Contains(n.Contract, w) && (source == nil || !slices.Contains(source.Contract, w)) {
			n.Contract = append(n.Contract, w)
		}
	}
}

func graveness(w Weakness) int {
	if w.Grave {
		return 0
	}
	return 1
}

// judges reports whether the verdict depends on a step.
func judges(c *diff.Cell) bool {
	return slices.Contains(c.Tags, notebooks.TagTest) || slices.Contains(c.Tags, notebooks.TagReview)
}
