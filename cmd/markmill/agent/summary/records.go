package summary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/files"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
	"markmill/notebooks/lazyregexp"
	"markmill/render/review"
	"markmill/runs"
)

// most bounds how many records of a notebook are read, and how many of other runs for the newest decisions.
const most = 50

// proofKey finds the key in the front matter of a notebook that cannot be read.
var proofKey = lazyregexp.New(`(?m)^proof:`)

// survey is what is found in a repository.
type survey struct {
	o        Options
	repo     *worktree.Source
	prove    func(dir string) review.Proof
	books    []notebook
	found    map[string]*Agent
	params   map[string][]string // by agent: the -p of its newest proof
	problems []string
}

// notebook is one that proves a stage.
type notebook struct {
	path, stage string
	source      runs.Digest
	params      []string
}

func (s *survey) notebook(stage string) *notebook {
	if i := slices.IndexFunc(s.books, func(n notebook) bool { return n.stage == stage }); i >= 0 {
		return &s.books[i]
	}
	return nil
}

func (s *survey) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// look finds the notebooks and their runs.
func (s *survey) look(ctx context.Context) error {
	head, err := s.repo.Head()
	if err != nil {
		return err
	}
	if head != "" { // without a commit nothing can run
		if err := s.findNotebooks(ctx); err != nil {
			return err
		}
	}
	if err := s.findKeys(head); err != nil {
		return err
	}
	ids, err := s.o.Store.IDs()
	if err != nil {
		return err
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	for _, id := range ids[:min(most, len(ids))] {
		if run, _, err := s.o.Store.Record(id).Load(); err == nil {
			s.decisions(run)
		}
	}
	for i := range s.books {
		if err := s.runsOf(ctx, &s.books[i], ids); err != nil {
			return err
		}
	}
	return nil
}

// findNotebooks finds those of the checkout that prove a stage.
func (s *survey) findNotebooks(ctx context.Context) error {
	tree, err := s.repo.CheckoutFiles(ctx)
	if err != nil {
		return err
	}
	defer tree.Close()
	names, err := tree.All(review.IsNotebookName)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := tree.Read(name, files.MaxNotebook)
		if err != nil || !bytes.Contains(text, []byte("proof:")) {
			continue
		}
		if m, err := forms.Manifest(name, text); err == nil && m != nil && m.SourcePath != "" && m.SourcePath != name {
			continue // the output of another notebook
		}
		source, err := forms.Source(name, text, true)
		nb, parsed := forms.Parse(name, source)
		if err = errors.Join(err, parsed); err != nil {
			if proofKey.Match(text) {
				s.problem("%s cannot be read: markmill check %s", name, name)
			}
			continue
		}
		if nb.Front.Proof == "" {
			continue
		}
		n := notebook{path: name, stage: nb.Front.Proof, source: runs.DigestOf(source)}
		for _, p := range nb.Params {
			n.params = append(n.params, p.Name)
		}
		s.books = append(s.books, n)
	}
	return nil
}

// findKeys looks up whose signatures count, by the last commit.
func (s *survey) findKeys(head worktree.OID) (err error) {
	s.prove, _, err = branchreview.ProverAt(s.repo, head, s.o.Store, s.o.Now)
	return err
}

// runsOf reads the newest run of a notebook for each agent.
func (s *survey) runsOf(ctx context.Context, n *notebook, ids []runs.RunID) error {
	prefix := runs.NewRunID(time.Time{}, n.path, nil).Short()
	read, done := 0, map[string]bool{}
	for _, id := range ids {
		if rest, ok := strings.CutPrefix(id.Short(), prefix); !ok || strings.Contains(rest, "-") || read == most {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		read++
		run, _, err := s.o.Store.Record(id).Load()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has been removed, or is being made
		}
		if err != nil {
			s.problem("the record of a run of %s cannot be read: markmill verify %s", n.path, id)
			continue
		}
		if run.Started.SourcePath != n.path || run.Started.Rerun != nil { // a repetition makes that of the run stronger
			continue
		}
		proof, by := s.judge(n, run, s.o.Store.Path(id))
		for name, backend := range by {
			p := s.stage(name, n.stage)
			if done[name] || p.Run > id { // another notebook of the same stage may have a newer one
				continue
			}
			done[name] = true
			*p = proof
			if backend != nil {
				p.digest, p.Model = backend.Digest, backend.Model
			}
			p.given = given(run)
			if s.params[name] == nil || proof.State == Passed {
				s.params[name] = p.given
			}
		}
	}
	return nil
}

// stage is the proof of an agent for a stage.
func (s *survey) stage(name, stage string) *Proof {
	a := s.agent(name)
	return &a.Proofs[slices.Index(notebooks.ProofStages, stage)]
}

// judge says what a run proves, and of which agents: those that were selected in it and in the runs inside it, or else
// the one that its parameter agent names.
func (s *survey) judge(n *notebook, run *runs.Run, dir string) (Proof, map[string]*runs.AdmittedAgent) {
	by := map[string]*runs.AdmittedAgent{}
	selected := func(r *runs.Run) {
		s.decisions(r)
		for i := range r.Steps {
			if d := r.Steps[i].Eligibility; d != nil && d.SelectedBackend != "" && d.Backend != nil {
				by[d.SelectedBackend] = d.Backend
			}
		}
	}
	selected(run)
	for _, list := range run.InnerRuns() {
		for _, inner := range list {
			if inner.RunID.Valid() && inner.Problem == "" {
				if r, _, err := s.o.Store.Record(inner.RunID).Load(); err == nil {
					selected(r)
				}
			}
		}
	}
	p := Proof{Stage: n.stage, State: string(run.Status()), Run: run.ID}
	if !run.FinishedAt.IsZero() {
		p.At = &run.FinishedAt
	}
	trusted := s.prove(dir)
	if trusted.Level != review.Claimed {
		p.Level = trusted.Level
	}
	switch {
	case run.Completed == nil:
		if runs.At(dir).Alive() {
			p.State = "running"
		}
		p.Why = "it has not ended"
	case trusted.Level == review.Claimed:
		p.State, p.Why = Damaged, trusted.Words
	case run.Status() != runs.Pass:
		if causes := run.Causes(); len(causes) > 0 {
			p.Why = causes[0].Code + ": " + causes[0].Message
		}
	case run.Source != n.source:
		p.State, p.Why = Outdated, "the notebook has changed since"
	case len(by) == 0:
		p.State, p.Why = Unproven, "no agent was selected in it"
	default:
		p.State = Passed
	}
	for _, one := range run.Contract.Parameters {
		var name string
		if len(by) == 0 && one.Name == "agent" && codec.Unmarshal(one.Value, &name) == nil &&
			notebooks.Slug(name) == name && name != "" {
			by[name] = nil
		}
	}
	return p, by
}

// decisions keeps the newest decision about each agent.
func (s *survey) decisions(run *runs.Run) {
	for i := range run.Steps {
		d := run.Steps[i].Eligibility
		if d == nil || d.SelectedBackend == "" {
			continue
		}
		a := s.agent(d.SelectedBackend)
		if a.Decision == nil || a.Decision.Run < run.ID {
			a.Decision = &Decision{ID: d.DecisionID, Run: run.ID, Mode: d.MutationMode, Risk: d.RiskClass,
				Missing: append([]string{}, d.Gates.Missing...)}
		}
	}
}

// given are the values that a run was given, as options; secrets are not.
func given(run *runs.Run) []string {
	words := []string{}
	for _, p := range run.Contract.Parameters {
		if !p.Given || p.Type == string(notebooks.TypeSecret) {
			continue
		}
		text := string(p.Value)
		_ = codec.Unmarshal(p.Value, &text) // of a text
		words = append(words, "-p", p.Name+"="+text)
	}
	return words
}
