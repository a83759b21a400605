package review

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"markmill/notebooks"
	"markmill/notebooks/region"
	"markmill/render/fresh"
	"markmill/runs"
)

// stateOrder is the order in which states are listed.
var stateOrder = []State{Failed, Blocked, Partial, Altered, Damaged, Outdated, Missing, Unknown, Current, Unproven}

// stateConditions are the conditions that states meet.
var stateConditions = map[State]Condition{Failed: OnFailed, Blocked: OnFailed, Partial: OnPartial, Altered: OnEdited,
	Damaged: OnDamaged, Outdated: OnOutdated, Missing: OnMissing, Unknown: OnUnknown}

func (o *Output) sort() {
	slices.SortFunc(o.States, func(a, b State) int { return slices.Index(stateOrder, a) - slices.Index(stateOrder, b) })
	o.States = slices.Compact(o.States)
}

// output judges an output notebook of the new side.
func (r *reviewer) output(name string) Output {
	if o, ok := r.judged[name]; ok {
		return o
	}
	o := Output{Path: name}
	b := r.head.book(name).look()
	r.problems(&o, b)
	o.Source = r.owner(name)
	if m := b.manifest(); m != nil {
		r.tell(&o, m)
		own := region.DigestOf(b.stripped.Source)
		if b.jupyter != nil {
			own = b.sourceDigest()
		}
		r.stand(&o, b, m, own)
		o.Applied = r.applied(name, m)
		r.unread(&o, m)
	}
	r.prove(&o, b)
	o.sort()
	r.judged[name] = o
	return o
}

func hidesFailures(s notebooks.ManifestStep) bool { return s.HidesFailures() }

// tell copies what the manifest says of the run.
func (r *reviewer) tell(o *Output, m *notebooks.Manifest) {
	o.Status, o.Partial, o.cameTo = m.Status, m.Partial, CameTo(m)
	switch {
	case m.Partial != "" || m.Status == "partial":
		o.Partial = cmp.Or(m.Partial, "its run was partial")
		o.States = append(o.States, Partial)
		if m.Status != "partial" && m.Status != "pass" {
			o.States = append(o.States, Failed)
		}
	case m.Status == "blocked":
		o.States = append(o.States, Blocked)
	case m.Status != "pass" || slices.ContainsFunc(m.Steps, hidesFailures):
		o.States = append(o.States, Failed)
	}
	for _, p := range m.Parameters {
		if p.Given {
			o.Given = append(o.Given, p)
		}
	}
	if m.Contract != nil {
		o.Approval = m.Contract.Approval
	}
	for _, b := range m.Blockers {
		o.Blockers = append(o.Blockers, Blocker{Code: b.Code, Step: string(b.Step), Rule: b.Rule, Message: b.Message,
			Files: b.Paths, Fix: b.Fix})
	}
}

// stand compares an output with its source, and with what its run read. own is the digest of the output's own text.
func (r *reviewer) stand(o *Output, b *book, m *notebooks.Manifest, own string) {
	whole := len(o.Problems) == 0
	switch {
	case o.Source == "" && !whole: // what its own text was, cannot be told
	case o.Source == "" && r.lost(m, o.Path):
		o.States = append(o.States, Outdated)
		o.gone = path.Clean(m.SourcePath)
	case o.Source == "" && own != m.Source:
		o.States = append(o.States, Outdated)
		o.Problems = append(o.Problems,
			"the text of the notebook is another than at its run, and no source stands beside it")
	case o.Source != "" && r.head.book(o.Source).look().digestFor(o.Path) != m.Source:
		o.States = append(o.States, Outdated)
		o.Reasons = append(o.Reasons, fresh.Reason{Path: o.Source, Words: r.changedSource(b, o.Source)})
	}
	if o.Source != "" && own != m.Source && whole {
		o.States = append(o.States, Altered)
		o.Problems = append(o.Problems,
			"the text around the regions was edited: it is not that of the source at the run")
	} else if whole {
		r.judge(o, m)
	}
	switch {
	case !whole || len(o.States) > 0: // what was edited is not known to be the output of anything
	case o.Unknown != "":
		o.States = append(o.States, Unknown)
	default:
		o.States = append(o.States, Current)
	}
}

// lost reports whether the branch removed the source that a manifest names.
func (r *reviewer) lost(m *notebooks.Manifest, output string) bool {
	name := path.Clean(m.SourcePath)
	return m.SourcePath != "" && name != output && !r.head.there(name) && r.base.isNotebook(name)
}

// problems lists edited and missing regions.
func (r *reviewer) problems(o *Output, b *book) {
	list, edited := b.stripped.Problems, map[int]bool{} // by line
	for _, region := range b.stripped.Regions {
		if region.Edited {
			edited[region.Line] = true
		}
	}
	if b.jupyter != nil && b.manifest() != nil {
		list = b.jupyter.Damage()
		if len(list) > 0 {
			o.States = append(o.States, Altered)
		}
	}
	for _, p := range list {
		switch {
		case b.jupyter != nil:
		case p.Step != "" && edited[p.Line]:
			o.States = append(o.States, Altered)
		default:
			o.States = append(o.States, Damaged)
		}
		words := p.Msg
		if p.Step != "" {
			words = fmt.Sprintf("step %q: %s", string(p.Step), words)
		}
		if p.Line > 0 {
			words = fmt.Sprintf("line %d: %s", p.Line, words)
		}
		o.Problems = append(o.Problems, words)
	}
}

// jupyterOutput judges the outputs of a Jupyter notebook that Markmill did not run. No digest covers them, so much
// is unproven.
func (r *reviewer) jupyterOutput(n *Notebook, was, is bool, status string) {
	o := Output{Path: n.Path, Status: status}
	switch {
	case was && !is:
		o.States = []State{Missing}
		o.Problems = []string{"its cells had outputs, and have none"}
	case !is:
		return
	default:
		if status == "fail" {
			o.States = append(o.States, Failed)
		}
		o.States = append(o.States, Unproven)
		r.prove(&o, r.head.book(n.Path))
	}
	n.Outputs = append(n.Outputs, o)
}

// outputOf returns the output at a path among those of a notebook, nil without one.
func (n *Notebook) outputOf(name string) *Output {
	if i := slices.IndexFunc(n.Outputs, func(o Output) bool { return o.Path == name }); i >= 0 {
		return &n.Outputs[i]
	}
	return nil
}

// runWords says how the run of an output that did not pass ended.
func (o *Output) runWords() string {
	switch runs.Status(o.Status) {
	case runs.Fail:
		return "its run failed"
	case runs.Interrupted:
		return "its run was interrupted"
	case runs.Pass:
		return "it is said to have passed, and its test runner counted failed tests"
	}
	return "its run is " + o.Status
}

// names reports whether words name a step: one of id "a" is not named by "false".
func names(words, step string) bool {
	inID := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.", c) }
	return slices.Contains(strings.FieldsFunc(words, func(c rune) bool { return !inID(c) }), step)
}

// failure describes on one line why a run did not pass: the first cause, and its step.
func (o *Output) failure() (step, words string) {
	words = o.runWords()
	if len(o.Blockers) == 0 {
		return "", words
	}
	b := o.Blockers[0]
	words += ": "
	if b.Step != "" && !names(b.Message, b.Step) {
		words += "step " + b.Step + ": "
	}
	words += b.Message
	if more := len(o.Blockers) - 1; more > 0 {
		words += fmt.Sprintf(" (and %d more)", more)
	}
	return b.Step, words
}
