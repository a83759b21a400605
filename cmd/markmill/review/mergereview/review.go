package mergereview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/files"
	"markmill/cmd/internal/retest"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/params"
	"markmill/render/plain"
	"markmill/runs"
)

// Options configure the runs on the merged tree.
type Options struct {
	Given []params.Given // the values of secrets, which nothing stored has
	Sinks engine.Sinks   // of each run
	// Running is called before each run, with the name of the revision.
	Running func(notebook, on string)
}

// Revision is a commit, by the name that was given for it.
type Revision struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// State is what is known of a notebook on a side, or on the merged tree.
type State string

const (
	Green    State = "green"    // a run passed, and everything that it read is as it is there
	Red      State = "red"      // a run did not pass, on just these inputs
	Outdated State = "outdated" // its runs read something else
	Missing  State = "missing"  // no run is known, or the notebook is not there
	Broken   State = "error"    // it cannot be run: Words says why
)

// Side is the state of a notebook in a tree.
type Side struct {
	State State  `json:"state"`
	Words string `json:"words,omitzero"` // the first reason why it is red or outdated
	Run   string `json:"run_dir,omitzero"`
}

// Notebook is what the merge does to a notebook.
type Notebook struct {
	Notebook string   `json:"notebook"`
	Base     Side     `json:"base"`
	Head     Side     `json:"head"`
	Merged   Side     `json:"merged"`
	Touched  []string `json:"touched,omitempty"` // inputs that are as on neither side; nil: nothing ran
	// Together says that it is green on both sides and red on the merged tree.
	Together bool `json:"together,omitzero"`
}

// Review is the result.
type Review struct {
	Base      Revision `json:"base"`
	Head      Revision `json:"head"`
	Verdict   string   `json:"verdict"` // pass, fail, conflict
	Conflicts []string `json:"conflicts,omitempty"`
	// Outputs are output notebooks that conflict, which is no conflict: a run makes them anew.
	Outputs   []string   `json:"conflicting_outputs,omitempty"`
	Notebooks []Notebook `json:"notebooks"`
}

// reviewing is the state of one review.
type reviewing struct {
	Options
	*Review
	eng    *engine.Engine // of the clone
	origin *worktree.Source
	merged *merged
	trees  map[string]tree // by commit
}

// Make merges two revisions in memory and runs what the merge touches.
func Make(ctx context.Context, eng *engine.Engine, src *worktree.Source, base, head string, o Options) (
	_ *Review, err error) {
	r := &reviewing{Options: o, origin: src, trees: map[string]tree{}, Review: &Review{Verdict: "pass",
		Base: Revision{Name: base}, Head: Revision{Name: head}, Notebooks: []Notebook{}}}
	for _, side := range []*Revision{&r.Base, &r.Head} {
		commit, err := src.Resolve(side.Name)
		if err != nil {
			return nil, err
		}
		side.Commit = string(commit)
	}
	id, err := eng.NewID("merge")
	if err != nil {
		return nil, err
	}
	clone, err := eng.Clone(ctx, src, id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, clone.Close()) }()
	if r.merged, err = merge(ctx, clone, src, r.Base, r.Head); err != nil {
		return nil, err
	}
	again := *eng
	again.Source, again.Config.Pool = clone.Source, "off"
	r.eng = &again
	return r.Review, r.all(ctx)
}

// all reviews every notebook of the merged tree of which a result is stored.
func (r *reviewing) all(ctx context.Context) error {
	machine := &branchreview.Machine{Context: ctx, Getenv: r.eng.Getenv}
	for _, commit := range []string{r.Base.Commit, r.Head.Commit, string(r.merged.commit)} {
		files, err := r.merged.CommitFiles(worktree.OID(commit))
		if err != nil {
			return err
		}
		r.trees[commit] = tree{files, branchreview.Tree(files, machine).Inputs()}
	}
	if r.conflicts(); len(r.Conflicts) > 0 {
		r.Verdict = "conflict"
		return nil
	}
	known, err := r.results()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		n, err := r.notebook(ctx, name, known[name])
		if err != nil {
			return err
		}
		if n.Merged.State == Red || n.Merged.State == Broken {
			r.Verdict = "fail"
		}
		r.Notebooks = append(r.Notebooks, *n)
	}
	return nil
}

// conflicts tells conflicts from those in output notebooks.
func (r *reviewing) conflicts() {
	for _, name := range r.merged.conflicts {
		output := false
		for _, commit := range []string{r.Base.Commit, r.Head.Commit} {
			text, err := r.trees[commit].Read(name, files.MaxJupyter)
			if err != nil {
				continue // removed there, or a file of another kind
			}
			m := manifestOf(name, text)
			output = m != nil && m.SourcePath != "" && path.Clean(m.SourcePath) != name
			if !output {
				break
			}
		}
		if output {
			r.Outputs = append(r.Outputs, name)
		} else {
			r.Conflicts = append(r.Conflicts, name)
		}
	}
}

// notebook says what the merge does to a notebook.
func (r *reviewing) notebook(ctx context.Context, name string, known []stored) (*Notebook, error) {
	n := &Notebook{Notebook: name}
	reasons := map[*Side][][]string{}
	var err error
	for _, at := range []struct {
		side   *Side
		commit string
	}{{&n.Base, r.Base.Commit}, {&n.Head, r.Head.Commit}, {&n.Merged, string(r.merged.commit)}} {
		if *at.side, reasons[at.side], err = r.side(name, known, r.trees[at.commit]); err != nil {
			return nil, err
		}
	}
	if n.Merged.State == Outdated && !same(reasons[&n.Merged], reasons[&n.Base]) &&
		!same(reasons[&n.Merged], reasons[&n.Head]) {
		n.Touched = slices.Concat(reasons[&n.Merged]...)
		slices.Sort(n.Touched)
		n.Touched = slices.Compact(n.Touched)
		if n.Merged, err = r.run(ctx, name, known[0], Revision{"the merge", string(r.merged.commit)}); err != nil {
			return nil, err
		}
	}
	if n.Merged.State != Red {
		return n, nil
	}
	for _, at := range []struct {
		side *Side
		on   Revision
	}{{&n.Base, r.Base}, {&n.Head, r.Head}} {
		if at.side.State == Outdated { // whether it is the merge that makes it red
			if *at.side, err = r.run(ctx, name, known[0], at.on); err != nil {
				return nil, err
			}
		}
	}
	n.Together = n.Base.State == Green && n.Head.State == Green
	return n, nil
}

// same reports whether the merged tree is, to what is stored of a notebook, like that of a side.
func same(merged, side [][]string) bool { return slices.EqualFunc(merged, side, slices.Equal) }

// side judges what is stored of a notebook in a tree. The reasons are why each of it does not hold there.
func (r *reviewing) side(name string, known []stored, t tree) (_ Side, reasons [][]string, err error) {
	source, err := retest.SourceIn(t.Files, name)
	if err != nil || source == nil {
		return Side{State: Missing}, nil, err
	}
	side := Side{State: Missing}
	for _, k := range known {
		words, err := k.outdated(name, source, t)
		if err != nil {
			return side, nil, err
		}
		if reasons = append(reasons, words); words == nil && side.State != Green {
			side = Side{State: Green, Run: k.dir}
			if !k.passed {
				side.State, side.Words = Red, k.cause
			}
		} else if words != nil && side.State == Missing {
			side = Side{State: Outdated, Words: plain.Some(words, notebooks.MaxInputs)}
		}
	}
	return side, reasons, nil
}

// run runs a notebook as of a commit, with the values of a stored run.
func (r *reviewing) run(ctx context.Context, name string, like stored, on Revision) (side Side, err error) {
	t := r.trees[on.Commit]
	req := engine.Request{Path: name, Repository: r.merged.Root(), Origin: r.origin.Root(), Base: on.Commit,
		Dirty: engine.DirtyIgnore, Assets: views.AssetsFolder("")}
	broken := func(err error) (Side, error) {
		if refused, err := retest.Refused(ctx, err); refused == nil {
			return Side{}, err
		}
		return Side{State: Broken, Words: err.Error()}, nil
	}
	if req.Source, err = retest.SourceIn(t.Files, name); err != nil || req.Source == nil {
		return Side{State: Missing}, err
	}
	if req.Given, err = like.given(r.eng, r.origin, req, r.Given); err != nil {
		return broken(err)
	}
	if req.Reverse, _, err = retest.TakeBack(r.merged.Source, t.Files, like.manifest.Changes); err != nil {
		return broken(err)
	}
	r.Running(name, on.Name)
	ran, refused, err := retest.RunRequest(ctx, r.eng, req, r.Sinks)
	if refused != nil {
		return broken(refused)
	}
	if err != nil {
		return side, err
	}
	side = Side{State: Green, Run: ran.Dir}
	switch status := ran.Run.Status(); {
	case status == runs.Blocked || status == runs.Interrupted:
		side.State, side.Words = Broken, fmt.Sprintf("%s: %s", status, causeOf(ran.Run))
	case !status.Passed():
		side.State, side.Words = Red, causeOf(ran.Run)
	}
	return side, nil
}

// causeOf is the first cause why a run did not pass.
func causeOf(run *runs.Run) string {
	if causes := run.Causes(); len(causes) > 0 {
		return run.Located(causes[0].Blocker).Line()
	}
	return string(run.Status())
}

// merged is a merge in a clone of the repository.
type merged struct {
	*engine.Clone
	commit    worktree.OID
	conflicts []string // paths in which the tree has both sides, with marks
}

// merge merges two commits. Git reads the user's repository, with its settings and merge drivers, and writes objects
// into the clone.
func merge(ctx context.Context, clone *engine.Clone, src *worktree.Source, base, head Revision) (*merged, error) {
	objects := filepath.Join(clone.CommonDir(), "objects")
	env := []string{"GIT_OBJECT_DIRECTORY=" + objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(src.CommonDir(), "objects"),
		"GIT_AUTHOR_NAME=Markmill", "GIT_AUTHOR_EMAIL=markmill@localhost", "GIT_COMMITTER_NAME=Markmill",
		"GIT_COMMITTER_EMAIL=markmill@localhost"}
	out, err := worktree.RunGit(ctx, src.Root(), env, "merge-tree", "--write-tree", "-z", "--name-only",
		"--no-messages", base.Commit, head.Commit)
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	m := &merged{Clone: clone}
	var ended *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, &notebooks.Error{Kind: notebooks.KindProvider,
			Msg: "review --merge needs the git program, 2.38 or newer, and none is on PATH", Err: err}
	case errors.As(err, &ended) && ended.ExitCode() == 1 && len(names) > 1:
		m.conflicts = names[1:]
	case errors.As(err, &ended) && ended.ExitCode() == 129: // git's exit code for an unknown option
		return nil, &notebooks.Error{Kind: notebooks.KindProvider,
			Msg: "review --merge needs Git 2.38 or newer: this one's merge-tree writes no " +
				"tree", Hint: "git version shows which it is", Err: err}
	case err != nil:
		return nil, &notebooks.Error{Kind: notebooks.KindInput, Msg: fmt.Sprintf("%s and %s cannot be merged: %v",
			base.Name, head.Name, err), Err: err}
	}
	out, err = worktree.RunGit(ctx, src.Root(), env, "commit-tree", names[0], "-p", base.Commit, "-p", head.Commit,
		"-m", fmt.Sprintf("Merge of %s and %s, in memory", base.Name, head.Name))
	m.commit = worktree.OID(strings.TrimSpace(string(out)))
	return m, err
}
