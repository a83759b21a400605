package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/html"
	"markmill/render/review"
	"markmill/render/terminal"
	"markmill/runs"
)

// reviewOptions are the options of markmill review.
type reviewOptions struct {
	json, markdown, all bool
	html                string
	limit               int
	bounded             bool // the user gave the limit
	failOn              []string
	require             string
	tolerance           []string
}

func (a *app) reviewCommand() *cobra.Command {
	var o reviewOptions
	c := &cobra.Command{
		Use: "review [BASE..HEAD]", Short: "Say what became of the notebooks of a branch, for a pull request",
		Long: `Compares every notebook and output notebook that differs between two commits, and says of each output whether
it is as its run left it, whether that run passed, whether it is the output of the source as it stands now (fresh, stale,
edited, damaged, missing, failed, partial), whether the branch has the very files that the run left, and how far all that
can be trusted: claimed (by the notebook itself, which proves nothing), recorded (the record of the run is here and
verifies), signed, repeated.

First comes what a reviewer must not miss: rules of the repository that became weaker, what turned red, contracts and
steps that were weakened, tests that became fewer.

BASE..HEAD are two commits, BASE...HEAD is HEAD and where it left BASE. One commit is compared with the checkout as it
stands, uncommitted changes included. Without an argument the checkout is compared with the commit at which it left
origin/HEAD, or else the upstream of its branch, or else main or master.

Standard output gets Markdown for a comment on a pull request, or text where it is a terminal.

--fail-on lists what the exit code objects to: red (a test or step passed before and does not now), failed, edited,
damaged, stale, missing, unapplied (the branch does not have the change of a run), rules (any file of the rules changed),
changed (any notebook). Always, unless the list has them with a minus (-fewer): policy (the rules are weaker), differs (the branch has
other files than the run left), weakened (contracts or steps), fewer (tests), partial (runs), proof (less than --require).
none by itself objects to nothing.

Exit codes: 0 nothing to object to, 1 something is, 2 the two cannot be compared.`,
		Example: "  markmill review main..HEAD\n  markmill review origin/main...HEAD --require recorded\n" +
			"  markmill review --html review.html HEAD~1\n  markmill review --json main...feature",
		Args: args(0, 1),
		RunE: func(c *cobra.Command, words []string) error {
			o.bounded = c.Flags().Changed("max-bytes") || c.Flags().Changed("limit")
			err := a.review(c.Context(), o, words)
			var code exit
			if err == nil || errors.As(err, &code) {
				return err
			}
			return trouble{err}
		},
	}
	f := c.Flags()
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown on a terminal, too")
	jsonFlag(c, &o.json, "review")
	f.StringVar(&o.html, "html", "", "write one HTML page, too, that loads nothing")
	f.IntVar(&o.limit, "max-bytes", render.CommentLimit, "the most bytes of what is printed; text and JSON are not bounded without it")
	f.IntVar(&o.limit, "limit", render.CommentLimit, "as --max-bytes")
	f.Lookup("limit").Hidden = true
	f.StringSliceVar(&o.failOn, "fail-on", conditionWords(review.DefaultFailOn), "what makes the exit code 1, by commas; -NAME leaves out what always does")
	f.StringVar(&o.require, "require", "", "the level of proof that every output must have: recorded, signed or repeated")
	f.BoolVar(&o.all, "all", false, "compare what is noise, too")
	f.StringArrayVar(&o.tolerance, "tolerance", nil, "how far a scrap's number may move: 0.01 or 1%, NAME=1% of one scrap; repeatable")
	return c
}

func conditionWords(list []review.Condition) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = string(c)
	}
	return out
}

// conditions reads --fail-on: what it lists, and what a review always objects to and the list does not leave out.
func conditions(words []string) ([]review.Condition, error) {
	listed, without := map[review.Condition]bool{}, map[review.Condition]bool{}
	for _, word := range words {
		word = strings.TrimSpace(word)
		if word == "none" && len(words) == 1 {
			return []review.Condition{}, nil
		}
		name, minus := strings.CutPrefix(word, "-")
		if !slices.Contains(review.Conditions, review.Condition(name)) {
			known := conditionWords(review.Conditions)
			if near := notebooks.Suggest(name, known); near != "" {
				return nil, usagef("--fail-on %s is not known; did you mean %s?", word, near)
			}
			return nil, usagef("--fail-on %s is not known; known: %s, each with a minus before it to leave it out, and none by itself", word, strings.Join(known, ", "))
		}
		if minus {
			without[review.Condition(name)] = true
		} else {
			listed[review.Condition(name)] = true
		}
	}
	for _, c := range review.Always {
		listed[c] = true
	}
	if len(without) == len(words) { // only what is left out was given: of what holds without a list
		for _, c := range review.DefaultFailOn {
			listed[c] = true
		}
	}
	out := []review.Condition{}
	for _, c := range review.Conditions {
		if listed[c] && !without[c] {
			out = append(out, c)
		}
	}
	return out, nil
}

func (a *app) review(ctx context.Context, o reviewOptions, words []string) error {
	if o.json && o.markdown {
		return usagef("--json and --markdown are each a form of its own; give one")
	}
	if o.html == "-" {
		return usagef("--html - would mix with what standard output has; give it a path")
	}
	if o.limit < review.LeastLimit {
		return usagef("--max-bytes %d is too little to say anything; %d is the least", o.limit, review.LeastLimit)
	}
	in := review.Input{}
	var err error
	if in.FailOn, err = conditions(o.failOn); err != nil {
		return err
	}
	switch in.Require = review.Level(o.require); in.Require {
	case "", review.Recorded, review.Signed, review.Repeated:
	default:
		return usagef("--require %s is not known; known: recorded, signed, repeated", o.require)
	}
	if in.Compare, err = compareOptions(diffOptions{all: o.all, tolerance: o.tolerance}); err != nil {
		return err
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	repo, err := worktree.Open(wd)
	if err != nil {
		return err
	}
	word := ""
	if len(words) > 0 {
		word = words[0]
	}
	base, head, err := revisions(repo, word)
	if err != nil {
		return err
	}
	in.BaseName, in.HeadName = base, head
	old, err := repo.CommitFiles(worktree.OID(base.Commit))
	if err != nil {
		return err
	}
	var now *worktree.Files
	if head.Commit == "" {
		now, err = repo.CheckoutFiles(ctx)
	} else {
		now, err = repo.CommitFiles(worktree.OID(head.Commit))
	}
	if err != nil {
		return err
	}
	r, err := a.makeReview(in, old, now)
	if err = errors.Join(err, now.Close()); err != nil {
		return err
	}
	return a.showReview(o, r)
}

func (a *app) makeReview(in review.Input, old, now *worktree.Files) (*review.Review, error) {
	changes, err := worktree.Changes(old, now, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		in.Changed = append(in.Changed, c.Path)
		was, is := review.IsNotebookName(c.From), review.IsNotebookName(c.Path)
		switch {
		case is && (c.From == "" || was):
			in.Files = append(in.Files, review.File(c))
		case is: // of a file that was no notebook
			in.Files = append(in.Files, review.File{Path: c.Path, New: true})
		case was:
			in.Files = append(in.Files, review.File{Path: c.From, Old: true})
		}
		if c.From != "" {
			in.Changed = append(in.Changed, c.From)
		}
	}
	if in.Output, err = a.configuredOutput(now); err != nil {
		return nil, err
	}
	if in.Rules, err = rules(old, now, changes); err != nil {
		return nil, err
	}
	signers, protect, err := a.baseJudges(old)
	if err != nil {
		return nil, err
	}
	in.Base, in.Head, in.Matches, in.Protect, in.Proof = reviewTree{old}, reviewTree{now}, engine.MatchesAny, protect, a.prover(signers)
	return review.Make(in)
}

// reviewTree is the files of a side as a review asks for them.
type reviewTree struct{ *worktree.Files }

func (t reviewTree) Entry(name string) (blob, mode string, ok bool, err error) {
	id, mode, ok, err := t.Files.Entry(name)
	return string(id), mode, ok, err
}

// revisions reads what is compared. A revision without a commit is the checkout.
func revisions(repo *worktree.Source, word string) (base, head review.Revision, err error) {
	checkout := review.Revision{Name: "working tree"}
	if word == "" {
		name, at, err := repo.DefaultBase()
		return review.Revision{Name: name, Commit: string(at)}, checkout, err
	}
	from, to, range3 := strings.Cut(word, "...")
	range2 := false
	if !range3 {
		from, to, range2 = strings.Cut(word, "..")
	}
	resolve := func(rev string) (review.Revision, error) {
		if rev == "" {
			rev = "HEAD"
		}
		commit, err := repo.Resolve(rev)
		return review.Revision{Name: short(rev), Commit: string(commit)}, err
	}
	if base, err = resolve(from); err != nil {
		return base, head, err
	}
	if !range2 && !range3 {
		return base, checkout, nil
	}
	if head, err = resolve(to); err != nil || !range3 {
		return base, head, err
	}
	at, err := repo.MergeBase(worktree.OID(base.Commit), worktree.OID(head.Commit))
	base.Commit = string(at)
	return base, head, err
}

// short abbreviates the whole name of a commit, as CI passes it.
func short(rev string) string {
	if len(rev) >= 40 && strings.Trim(rev, "0123456789abcdef") == "" {
		return rev[:12]
	}
	return rev
}

// configuredOutput is where the markmill.yaml of a side wants outputs; nil where it does not say, or says it by what
// only a run knows.
func (a *app) configuredOutput(tree *worktree.Files) (func(string, []byte) (string, bool), error) {
	text, err := tree.Read(engine.ConfigFile, files.MaxNotebook)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cfg, err := engine.ParseConfig(engine.ConfigFile, text)
	if err != nil || cfg.Output == "" {
		return nil, err
	}
	noEnv := func(string) (string, bool) { return "", false }
	return func(name string, source []byte) (string, bool) {
		nb, err := notebooks.Parse(name, source)
		if err != nil {
			return "", false
		}
		bound, err := notebooks.Bind(name, nb.Params, nil, notebooks.BindOptions{AllowUnknown: true, Getenv: noEnv})
		if err != nil { // a parameter without a default
			return "", false
		}
		out, err := notebooks.ExpandPath(cfg.Output, bound, nil)
		if err != nil || path.IsAbs(out) || path.Ext(out) == "" || strings.HasPrefix(path.Clean(out), "../") {
			return "", false
		}
		return out, true
	}, nil
}

// showReview prints a review, and gives the exit code.
func (a *app) showReview(o reviewOptions, r *review.Review) error {
	if o.html != "" {
		if err := checkTarget("--html", o.html); err != nil {
			return err
		}
		if err := runs.WriteFile(o.html, html.Review(r)); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	var err error
	switch {
	case o.json:
		var text []byte
		most := 0
		if o.bounded {
			most = max(1, o.limit-schemaLine)
		}
		if text, err = r.JSON(most); err == nil {
			err = a.printJSON("review", text)
		}
	case !o.markdown && a.terminal(a.stdout):
		to := &boundedWriter{to: a.stdout}
		if o.bounded {
			to.most = o.limit
		}
		err = errors.Join(terminal.Review(to, r, a.colour(a.stdout)), to.end())
	default:
		_, err = a.stdout.Write(r.Markdown(o.limit))
	}
	if err != nil {
		return err
	}
	if r.Verdict != "pass" {
		return exit(exitFail)
	}
	return nil
}
