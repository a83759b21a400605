package status

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"markmill/cmd/internal/branchreview"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/fresh"
	"markmill/render/review"
	"markmill/runs"
)

// Options say what is judged.
type Options struct {
	Paths []string // files and folders, from the root of the repository; none is all of it
	At    string   // a revision; "" is the checkout, with its uncommitted changes
	// Getenv looks up the environment variables that notebooks declare as inputs; nil is the environment of the
	// process.
	Getenv func(string) (string, bool)
	Store  runs.Store // the records that are kept here, and the key that compares ignored files
}

// Status lists notebooks and the states of their outputs. Its JSON is docs/schemas/status.json.
type Status struct {
	Tree    string               `json:"tree"`            // what was judged: "working tree", or the revision
	Commit  string               `json:"commit,omitzero"` // of the revision
	Current bool                 `json:"current"`         // every output is
	Counts  map[review.State]int `json:"counts"`          // by the worst state of each
	Outputs []Output             `json:"outputs"`         // by path of the source
}

// Output is one output of a notebook. Of a source that was never run it is the one that is missing.
type Output struct {
	review.Output
	State review.State `json:"state"`         // the worst of states
	Why   string       `json:"why,omitzero"`  // on one line; of a current one empty
	Fix   []string     `json:"fix,omitempty"` // the command that makes it current, for the root of the repository

	back  string // the commit that has it, of an output that was removed
	dirty bool   // an uncommitted change made it outdated
}

// Of judges a tree of a repository.
func Of(ctx context.Context, repo *worktree.Source, o Options) (*Status, error) {
	head, base, err := o.trees(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer head.files.Close()
	return o.survey(ctx, head, review.Input{Base: base.tree(nil), BaseName: base.name})
}

// side is a tree that is read.
type side struct {
	files *worktree.Files
	name  review.Revision
}

func (s *side) tree(on *branchreview.Machine) review.Tree {
	if s == nil || s.files == nil {
		return nil
	}
	return branchreview.Tree(s.files, on)
}

// trees are the tree that is judged and, of the checkout, that of HEAD, which may have outputs that are gone.
func (o *Options) trees(ctx context.Context, repo *worktree.Source) (head, base *side, err error) {
	head, base = &side{name: review.Revision{Name: "working tree"}}, &side{}
	if o.At == "" {
		head.files, err = repo.CheckoutFiles(ctx)
	}
	at, rev := head, o.At
	if o.At == "" {
		at, rev = base, "HEAD"
	}
	if err != nil {
		return nil, nil, err
	}
	commit, err := repo.Resolve(rev)
	if err == nil {
		at.name = review.Revision{Name: rev, Commit: string(commit)}
		at.files, err = repo.CommitFiles(commit)
	}
	if err != nil && head.files != nil {
		err = errors.Join(err, head.files.Close())
	}
	return head, base, err
}

// survey judges head. in has the rest of what a review is given.
func (o *Options) survey(ctx context.Context, head *side, in review.Input) (*Status, error) {
	cfg, err := branchreview.Settings(head.files)
	if err != nil {
		return nil, err
	}
	var on *branchreview.Machine
	if head.name.Commit == "" {
		on = &branchreview.Machine{Context: ctx, Getenv: o.Getenv, Store: o.Store}
		if on.Getenv == nil {
			on.Getenv = os.LookupEnv
		}
	}
	in.Head, in.HeadName, in.Output = head.tree(on), head.name, branchreview.ConfiguredOutput(cfg)
	list, err := review.Survey(in)
	if err != nil {
		return nil, err
	}
	st := &Status{Tree: head.name.Name, Commit: head.name.Commit, Current: true, Counts: map[review.State]int{},
		Outputs: []Output{}}
	uncommitted := head.files.Uncommitted()
	for _, out := range list {
		if !o.below(out.Source) && !o.below(out.Path) {
			continue
		}
		s := Output{Output: out, State: out.States[0], Why: out.Why()}
		s.dirty = slices.ContainsFunc(out.Reasons, func(r fresh.Reason) bool {
			return r.Path != out.Source && slices.ContainsFunc(uncommitted, func(p string) bool {
				return r.Path == "." || r.Path == p || strings.HasPrefix(p, r.Path+"/")
			})
		})
		if s.State != review.Current {
			st.Current, s.Fix = false, s.Command(func(p string) string { return p })
		}
		st.Counts[s.State]++
		st.Outputs = append(st.Outputs, s)
	}
	return st, nil
}

// below reports whether a path is one of those that are listed, or in one.
func (o *Options) below(name string) bool {
	if len(o.Paths) == 0 {
		return true
	}
	for _, p := range o.Paths {
		if name != "" && (p == "." || path.Clean(p) == name || strings.HasPrefix(name, path.Clean(p)+"/")) {
			return true
		}
	}
	return false
}

// Command is the command that makes an output current: a run with the parameters that the last one was given, to the
// same path. at turns a path from the root of the repository into one for the reader.
func (o *Output) Command(at func(string) string) []string {
	if o.back != "" {
		words := []string{"git", "checkout", o.back, "--", at(o.Path)}
		if o.Lost() {
			words = append(words, at(o.Source))
		}
		return words
	}
	if o.Lost() {
		return []string{"git", "rm", "--", at(o.Path)}
	}
	word := func(name string) string {
		if name = at(name); strings.HasPrefix(name, "-") { // no option
			name = "./" + name
		}
		return name
	}
	words := []string{"markmill", "run", word(o.Subject()), word(o.Target())}
	if o.dirty {
		words = append(words, "--dirty", "include")
	}
	for _, p := range o.Given {
		words = append(words, "-p", p.Name+"="+valueText(p))
	}
	if o.Source == "" && (o.Has(review.Altered) || o.Has(review.Damaged)) {
		words = append(words, "--drop-damaged")
	}
	return words
}

// valueText is a value as -p takes it.
func valueText(p notebooks.ManifestParam) string {
	var text string
	if codec.Unmarshal(p.Value, &text) == nil {
		return text
	}
	return string(p.Value)
}

// shown spells what is not UTF-8 in the paths of an output as records do, for JSON.
func (o *Output) shown() {
	list := []*string{&o.Path, &o.Source, &o.Why}
	for i := range o.Reasons {
		list = append(list, &o.Reasons[i].Path)
	}
	for _, words := range [][]string{o.Problems, o.Fix} {
		for i := range words {
			list = append(list, &words[i])
		}
	}
	for _, s := range list {
		*s = worktree.ShownPath(*s)
	}
}

// ForJSON makes every path UTF-8.
func (s *Status) ForJSON() *Status {
	for i := range s.Outputs {
		s.Outputs[i].shown()
	}
	return s
}

// Words counts the states: "3 current, 1 outdated".
func (s *Status) Words() string {
	if len(s.Outputs) == 0 {
		return "no notebooks"
	}
	return review.CountStates(s.Counts)
}

// Missing returns an error if a path that was named has no notebook.
func (s *Status) Missing(paths []string) error {
	for _, p := range paths {
		one := Options{Paths: []string{p}}
		found := false
		for i := range s.Outputs {
			found = found || one.below(s.Outputs[i].Source) || one.below(s.Outputs[i].Path)
		}
		if !found {
			return fmt.Errorf("%s: there is no notebook", p)
		}
	}
	return nil
}
