package status

import (
	"context"
	"fmt"
	"strings"
	"time"

	"markmill/cmd/internal/branchreview"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/render/review"
)

// GateOptions say what a gate judges by.
type GateOptions struct {
	Options              // At is not used
	Require review.Level // at least this level of proof, in addition to what the settings demand
	Now     time.Time    // decides which keys are valid
	Strict  bool         // no output may be pinned to a commit, because its run read Git's history
}

// Gated is the answer of a gate. Its JSON is docs/schemas/gate.json.
type Gated struct {
	Pass       bool            `json:"pass"`
	Tree       string          `json:"tree"`            // what was judged: "working tree", or the revision
	Commit     string          `json:"commit,omitzero"` // of the revision
	Base       review.Revision `json:"base"`            // the commit whose settings decide
	Require    review.Level    `json:"require,omitzero"`
	Checked    int             `json:"checked"` // how many outputs matter
	Objections []Objection     `json:"objections"`
	Removed    []Objection     `json:"removed,omitempty"` // outputs that were removed, where the settings allow that
	// Judged is what BASE's tests say of the code, with --judge; Findings are what it came to, and Decide says that
	// nothing is objected to, and a person must decide.
	Judged   *review.Judged   `json:"judged,omitempty"`
	Findings []review.Finding `json:"findings,omitempty"`
	Decide   bool             `json:"decide,omitzero"`

	strict bool
}

// Judge adds what the base's tests say.
func (g *Gated) Judge(j *review.Judged) {
	g.Judged, g.Findings = j, j.Findings()
	for _, f := range g.Findings {
		switch f.Condition {
		case review.OnJudged:
			g.Pass = false
		case review.OnDecide:
			g.Decide = true
		}
	}
	g.Decide = g.Decide && g.Pass
}

// Objection is one output that does not meet the demands.
type Objection struct {
	Output
	Words string `json:"words"`
}

// Gate judges a commit, the checkout ("") or the newer end of BASE..HEAD or BASE...HEAD. The settings of the base
// decide what is demanded: where the work left the default branch, if no other is named, else what is judged itself.
func Gate(ctx context.Context, repo *worktree.Source, revisions string, o GateOptions) (*Gated, error) {
	base, head, err := ends(repo, revisions)
	if err != nil {
		return nil, err
	}
	old, err := repo.CommitFiles(worktree.OID(base.Commit))
	if err != nil {
		return nil, err
	}
	o.At = head.Commit
	judged, _, err := o.trees(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer judged.files.Close()
	judged.name = head
	cfg, err := branchreview.Settings(old)
	if err != nil {
		return nil, err
	}
	level, _, err := review.ParseRequire(cfg.Gate.Require)
	if err != nil {
		return nil, err
	}
	g := &Gated{Pass: true, Tree: head.Name, Commit: head.Commit, Base: base, Require: level.Max(o.Require),
		strict: o.Strict, Objections: []Objection{}}
	in := review.Input{Base: branchreview.Tree(old, nil), BaseName: base}
	if g.Require != "" {
		if in.Proof, err = branchreview.Prover(old, cfg, o.Store, o.Now); err != nil {
			return nil, err
		}
	}
	st, err := o.survey(ctx, judged, in)
	if err != nil {
		return nil, err
	}
	for _, out := range st.Outputs {
		if !matters(cfg.Gate, &out) {
			continue
		}
		g.Checked++
		if words := g.against(&out); words != "" {
			out.Fix = out.Command(func(p string) string { return p })
			g.Pass, g.Objections = false, append(g.Objections, Objection{out, words})
		}
	}
	return g, g.removed(in, judged, cfg.Gate, &o.Options)
}

// removed adds the outputs that the base has and that were removed: whoever removes a proof that does not hold any more
// should not get past the gate with it.
func (g *Gated) removed(in review.Input, judged *side, cfg engine.GateConfig, only *Options) error {
	in.Head, in.HeadName = judged.tree(nil), judged.name
	list, err := review.RemovedOutputs(in)
	if err != nil {
		return err
	}
	for _, r := range list {
		o := Objection{Output: Output{Output: r, State: review.Missing, Why: r.Why()}, Words: r.Why()}
		if r.Lost() || r.Source == "" {
			o.back = g.Base.Commit
		}
		if !matters(cfg, &o.Output) || !only.below(o.Source) && !only.below(o.Path) {
			continue
		}
		o.Fix = o.Command(func(p string) string { return p })
		if cfg.Removed == "allow" {
			g.Removed = append(g.Removed, o)
			continue
		}
		g.Checked++
		g.Pass, g.Objections = false, append(g.Objections, o)
	}
	return nil
}

// ends are the commit whose settings decide, and what is judged.
func ends(repo *worktree.Source, revisions string) (base, head review.Revision, err error) {
	if strings.Contains(revisions, "..") {
		return branchreview.Revisions(repo, revisions)
	}
	head = review.Revision{Name: "working tree"}
	at := "HEAD"
	if revisions != "" {
		at = revisions
	}
	commit, err := repo.Resolve(at)
	if err != nil {
		return base, head, err
	}
	if revisions != "" {
		head = review.Revision{Name: revisions, Commit: string(commit)}
	}
	base = review.Revision{Name: at, Commit: string(commit)}
	if name, left, err := repo.DefaultBase(); err == nil {
		if left, err = repo.MergeBase(left, commit); err == nil {
			base = review.Revision{Name: name, Commit: string(left)}
		}
	}
	return base, head, nil
}

// matters reports whether the gate judges an output. A notebook that was never run matters only where an output is
// expected of it: by the setting output:, or because the gate's paths: name it.
func matters(cfg engine.GateConfig, o *Output) bool {
	named := func(patterns []string) bool {
		return o.Source != "" && engine.MatchesAny(patterns, o.Source) ||
			o.Path != "" && engine.MatchesAny(patterns, o.Path)
	}
	switch {
	case named(cfg.Ignore):
		return false
	case len(cfg.Paths) > 0:
		return named(cfg.Paths)
	}
	return o.Path != ""
}

// against says what the gate objects to in an output; "" if nothing.
func (g *Gated) against(o *Output) string {
	var words []string
	if g.strict && o.State == review.Current && o.Pinned != "" {
		words = append(words, "current "+o.Pinned+"; with inputs: [history] each commit makes it outdated")
	}
	if o.State != review.Current {
		words = append(words, fmt.Sprintf("%s: %s", o.State, o.Why))
	}
	if len(o.Unread) > 0 {
		words = append(words, o.UnreadWords())
	}
	if o.Proof != nil && !o.Proof.Reaches(g.Require) {
		words = append(words, fmt.Sprintf("%s is required, and it is only %s", g.Require, o.Proof.Summary()))
	}
	return strings.Join(words, "; ")
}

// ForJSON makes every path UTF-8.
func (g *Gated) ForJSON() *Gated {
	for _, list := range [][]Objection{g.Objections, g.Removed} {
		for i := range list {
			list[i].shown()
			list[i].Words = worktree.ShownPath(list[i].Words)
		}
	}
	return g
}

// Words is the answer on one line.
func (g *Gated) Words() string {
	words := g.outputWords()
	if g.Judged != nil {
		words += "; " + g.Judged.VerdictWords()
	}
	return words
}

func (g *Gated) outputWords() string {
	switch {
	case g.Checked == 0:
		return "no output to judge"
	case g.Pass && g.Require == "", !g.Pass && len(g.Objections) == 0:
		return fmt.Sprintf("%d of %d current", g.Checked, g.Checked)
	case g.Pass:
		return fmt.Sprintf("%d of %d current and %s", g.Checked, g.Checked, g.Require)
	}
	return fmt.Sprintf("%s to %s", plain.Counted(len(g.Objections), "objection"), plain.Counted(g.Checked, "output"))
}
