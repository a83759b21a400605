package review

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
)

// Applied compares the branch with the change that a run made.
type Applied struct {
	State  Application `json:"state"`
	Files  []string    `json:"files,omitempty"`  // of the run's change, those that the branch has otherwise
	Others []string    `json:"others,omitempty"` // where the change is not applied: what the branch changes instead
	Unseen int         `json:"unseen,omitzero"`  // how many changed files the manifest does not list
}

// Application says whether the branch has the change of a run.
type Application string

const (
	// every file is as the run left it, or as a later run of the branch left it
	AppliedExactly Application = "applied"
	NotApplied     Application = "not applied" // every file is as it was before the run
	Differs        Application = "differs"     // anything else
)

// applied compares the change in an output's manifest with the files of the branch. It does so only for outputs that
// the branch adds or changes; the history tells what became of older ones.
func (r *reviewer) applied(output string, m *notebooks.Manifest) *Applied {
	if len(m.Changes) == 0 || !r.brought[output] {
		return nil
	}
	r.learn()
	a := &Applied{Unseen: m.ChangesOmitted}
	untouched, links := 0, true
	for i := range m.Changes {
		c := &m.Changes[i]
		is, was := r.has(c)
		switch {
		case is:
			continue
		case was:
			untouched++
		}
		a.Files = append(a.Files, c.Path)
		links = links && c.NewMode == "120000" && c.Status == "added"
	}
	switch {
	case len(a.Files) == 0:
		a.State = AppliedExactly
	case untouched < len(m.Changes):
		a.State = Differs
	case links: // what a run linked to, as node_modules of the checkout, is no code of the branch
		a.State, a.Files = NotApplied, nil
	default:
		a.State = NotApplied
		a.Files = nil
		if a.Others = r.others(); len(a.Others) > 0 { // the branch has code, and not the code that ran
			a.State = Differs
		}
	}
	return a
}

// has reports whether the branch has a changed file as the run left it, or as it was before the run.
func (r *reviewer) has(c *notebooks.ManifestChange) (is, was bool) {
	now := r.head.version(c.Path)
	is = r.reaches(c.Path, version{c.NewBlob, c.NewMode}, now)
	was = now.same(version{c.OldBlob, c.OldMode})
	if c.OldPath == "" || c.OldPath == c.Path { // not a rename
		return is, was
	}
	gone := r.head.version(c.OldPath)
	return is && r.reaches(c.OldPath, version{}, gone), now == version{} && gone.same(version{c.OldBlob, c.OldMode})
}

// version is a file's content and mode. The zero value is a missing file.
type version struct{ blob, mode string }

func (s *side) version(name string) version {
	blob, mode, there, err := s.Entry(name)
	s.failed(err)
	if !there {
		return version{}
	}
	return version{blob, mode}
}

// same compares two versions. A mode that a manifest omits matches any.
func (v version) same(w version) bool {
	return v.blob == w.blob && (v.mode == w.mode || v.mode == "" || w.mode == "")
}

// reaches reports whether a file is as a run left it, or as later runs on the branch left it that started from
// there.
func (r *reviewer) reaches(name string, left, now version) bool {
	reached := []version{left}
	for i := 0; i < len(reached); i++ {
		v := reached[i]
		if v.same(now) {
			return true
		}
		for _, step := range r.changes[name] {
			if step[0].same(v) && !slices.Contains(reached, step[1]) {
				reached = append(reached, step[1])
			}
		}
	}
	return false
}

// learn reads the changes of all outputs on the branch, once: several runs in a row may change one file.
func (r *reviewer) learn() {
	if r.changes != nil {
		return
	}
	r.changes = map[string][][2]version{}
	for name := range r.brought {
		m := r.head.book(name).look().manifest()
		if m == nil {
			continue
		}
		for _, c := range m.Changes {
			old, now := version{c.OldBlob, c.OldMode}, version{c.NewBlob, c.NewMode}
			if c.OldPath != "" && c.OldPath != c.Path {
				r.changes[c.OldPath] = append(r.changes[c.OldPath], [2]version{old, {}})
				old = version{}
			}
			r.changes[c.Path] = append(r.changes[c.Path], [2]version{old, now})
		}
	}
}

// others returns the changed files that no run of the branch claims, except notebooks, their pictures, and rules.
func (r *reviewer) others() []string {
	var out []string
	for _, p := range r.changed {
		if _, known := r.changes[p]; !known && (!IsNotebookName(p) || isScript(p)) && !strings.Contains(p, "_files/") &&
			!isRule(r.in.Rules, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

func isRule(rules []Rule, name string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Path == name })
}

// words describes how the branch compares with the change of a run.
func (a *Applied) words() string {
	words := "the branch differs from what the run left: " + some(a.Files)
	switch {
	case a.State == AppliedExactly:
		words = "its change is applied exactly"
	case a.State == NotApplied:
		words = "its change is not applied"
	case len(a.Files) == 0:
		words = "its change is not applied, and the branch changes " + some(a.Others) + " instead"
	}
	if a.Unseen > 0 {
		words += fmt.Sprintf(" (%s more are not listed, and not compared)", plain.Counted(a.Unseen, "file"))
	}
	return words
}

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
