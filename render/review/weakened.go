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
	Name  string `json:"name"`         // as its author wrote it: "expect-exit=1", "allow-failure"
	Words string `json:"words"`        // what it does
	New   bool   `json:"new,omitzero"` // the step did not have it, or is new itself
	// it can turn a failure into a pass; of a test, or of a step that did not have it
	Grave bool `json:"grave,omitzero"`
}

// weakTags says what the tags do that weaken a step. Grave ones can turn a failure into a pass.
var weakTags = map[string]Weakness{
	notebooks.TagSkip:         {Words: "the step does not run", Grave: true},
	notebooks.TagRaises:       {Words: "the step passes when it fails", Grave: true},
	notebooks.TagAllowFailure: {Words: "a failure of the step does not count", Grave: true},
	notebooks.TagInterrupt:    {Words: "a step that catches the interrupt of its time limit passes", Grave: true},
	notebooks.TagVolatile:     {Words: "what the step prints is not kept or compared"},
	notebooks.TagHideOutput:   {Words: "what the step prints is folded away"},
}

// weaknesses returns those of a step.
func weaknesses(c *diff.Cell) []Weakness {
	var out []Weakness
	if c == nil || c.Kind != diff.Code {
		return nil
	}
	add := func(name, words string, grave bool) {
		out = append(out, Weakness{Step: c.Label, Name: name, Words: words, Grave: grave})
	}
	for _, tag := range c.Tags {
		if w, weak := weakTags[tag]; weak {
			add(tag, w.Words, w.Grave)
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
			times := value + " times"
			if value == "1" {
				times = "once"
			}
			add(name, fmt.Sprintf("a failing step is tried again, %s at most", times), false)
		case "needs":
			add(name, "the step is left out unless those passed", false)
		case "normalize":
			add(name, "what varies in its output is masked", false)
		}
	}
	return out
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
			w.New = !slices.ContainsFunc(had, func(h Weakness) bool { return h.Name == w.Name })
			w.Grave = w.Grave && w.New && (ch.Old != nil || notebooks.Judge(ch.New.Tags))
			n.Weak = append(n.Weak, w)
		}
		if ch.Old == nil {
			continue
		}
		for _, lost := range [][2]string{{notebooks.TagTest, "the step is no test any more"},
			{notebooks.TagReview, "the step cannot reject the run any more"},
			{notebooks.TagNoChange, "the step may change files now"}} {
			if slices.Contains(ch.Old.Tags, lost[0]) && !slices.Contains(ch.New.Tags, lost[0]) {
				n.Weak = append(n.Weak, Weakness{Step: ch.Label(), Name: "no " + lost[0],
					Words: lost[1], New: true, Grave: true})
			}
		}
	}
	slices.SortStableFunc(n.Weak, func(a, b Weakness) int { return trueFirst(a.Grave, b.Grave) })
}

// trueFirst orders true before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// widen finds what the contract of a notebook newly allows. A new notebook is compared with the defaults.
func (r *reviewer) widen(n *Notebook) {
	old, now := r.pairs[n][0], r.pairs[n][1]
	if now == nil {
		return
	}
	var words []string
	if old == nil {
		if is := now.frontMatter(); n.TextAt == "" && is != nil {
			words = contract.Wider(contract.Terms{}, contract.Of(*is))
		}
		r.addContract(n, words)
		return
	}
	if was, is := old.frontMatter(), now.frontMatter(); n.TextAt == "" && was != nil && is != nil {
		words = contract.Wider(contract.Of(*was), contract.Of(*is))
	}
	// Only the manifests show what the command line and the policy made of it.
	if was, is := old.manifest(), now.manifest(); was != nil && is != nil && was.Contract != nil && is.Contract != nil {
		words = append(words, contract.Wider(contract.OfManifest(was.Contract), contract.OfManifest(is.Contract))...)
	}
	r.addContract(n, words)
}

// looseAllow says that a new output notebook's contract lets every file change, and what its run changed; "" otherwise.
func (r *reviewer) looseAllow(n *Notebook) string {
	now := r.pairs[n][1]
	if n.Change != Added || now == nil || now.manifest() == nil {
		return ""
	}
	m := now.manifest()
	if m.Contract == nil || !slices.Contains(m.Contract.Allow, "**") || len(m.Changes) == 0 {
		return ""
	}
	var changed []string
	for _, c := range m.Changes {
		changed = append(changed, c.Path)
	}
	return "allow lets every file change, and its run changed " + some(changed)
}

// addContract adds to the contract of a notebook what that of its source does not say already.
func (r *reviewer) addContract(n *Notebook, words []string) {
	source := r.told[n.Of]
	for _, w := range words {
		if !slices.Contains(n.Contract, w) && (source == nil || !slices.Contains(source.Contract, w)) {
			n.Contract = append(n.Contract, w)
		}
	}
}
