package review

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/branchreview"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/views"
	"markmill/cmd/markmill/diff"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/html"
	"markmill/render/review"
	"markmill/render/terminal"
)

// reviewOptions are the options of markmill review.
type reviewOptions struct {
	json, markdown, all bool
	html                string
	limit               int
	bounded             bool // the user gave the limit
	failOn              []string
	require             []string
	tolerance           []string
	merge, explain      bool
	JudgeOptions
	showJudges     bool
	accept, reason string
}

func Command(a *program.App) *cobra.Command {
	var o reviewOptions
	c := &cobra.Command{
		Use: "review [BASE..HEAD | --merge BASE HEAD]", Short: "Review the notebooks of a branch, for a pull request",
		Long: `Compares every notebook and output notebook that differs between two commits. For each output it says whether
it is as its run wrote it, whether that run passed, whether its source and all that its run read are as they were
(current, outdated, unknown, edited, damaged, missing, failed, partial), whether the branch has the files as the
run left them, and how far all that can be trusted: claimed (by the notebook itself, which proves nothing),
recorded (the record of the run is here and verifies), signed, repeated.

The first screen decides: the verdict, what changed, the findings with the command that shows more of each, and
what the tests of each notebook came to. Then follow the changed code and, folded, each notebook.

BASE..HEAD are two commits, BASE...HEAD is HEAD and where it left BASE. One commit is compared with the
checkout, uncommitted changes included. Without an argument the checkout is compared with the commit at which
it left origin/HEAD, or else the upstream of its branch, or else main or master.

Standard output gets Markdown for a comment on a pull request, or text when it is a terminal.

--fail-on lists the conditions that make the exit code 1. --explain prints them all. Some always do, unless the
list has them with a minus (-fewer). none by itself means that nothing does.

--merge BASE HEAD merges the two in memory, and runs on the merged tree the notebooks that the merge touches: those
of which no side has a result whose inputs are all as they are there. It names what is green on both sides and red
together. The checkout and the Git directory are only read; the runs have records as any other. It needs Git 2.38.

--judge runs, for each notebook of BASE that has test or review steps, BASE's tests on the code of HEAD: test files,
fixtures, settings and drivers are put back as BASE has them (--show-judges lists which), with the contract and
settings of BASE, in the sandbox, and never an agent's step. A test that then fails is an objection if the branch
left it as it is, removed it or skips it; it is to be decided if the branch changed it on purpose. --accept ID
--reason TEXT settles such a finding for these two trees. What could not be judged is told.

Exit codes: 0 no objection, 1 an objection (with --merge: a conflict, or a notebook that fails on the merged tree),
2 the two cannot be compared, 4 no objection, and somebody must decide.`,
		Example: "  markmill review --judge main...HEAD\n  markmill review --merge main HEAD\n" +
			"  markmill review main..HEAD\n" +
			"  markmill review origin/main...HEAD --require recorded\n  markmill review --html review.html HEAD~1\n" +
			"  markmill review --json main...feature",
		Args: program.Args(0, 2),
		RunE: func(c *cobra.Command, words []string) error {
			o.bounded = c.Flags().Changed("max-bytes") || c.Flags().Changed("limit")
			if err := o.check(); err != nil {
				return err
			}
			switch {
			case o.accept != "":
				return acceptFinding(a, o.accept, o.reason)
			case o.showJudges:
				return program.Troubled(showJudges(a, program.WordOr(words, "")))
			case o.merge:
				return reviewMerge(a, c, o, words)
			case len(words) == 2:
				return program.Usagef("review takes BASE..HEAD as one word; --merge BASE HEAD reviews the merge of two")
			}
			return program.Troubled(run(c.Context(), a, o, words))
		},
	}
	f := c.Flags()
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown on a terminal as well")
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &o.json, "review")
	f.StringVar(&o.html, "html", "", "also write one HTML page, which loads nothing")
	f.IntVar(&o.limit, "max-bytes", render.CommentLimit,
		"limit of what is printed, in bytes; without it text and JSON have no limit")
	f.IntVar(&o.limit, "limit", render.CommentLimit, "as --max-bytes")
	f.Lookup("limit").Hidden = true
	f.StringSliceVar(&o.failOn, "fail-on", ConditionWords(review.DefaultFailOn),
		"what makes the exit code 1, separated by commas; -NAME removes what always does")
	f.StringSliceVar(&o.require, "require", nil,
		"what every output must be: current, and a level of proof: recorded, signed or repeated")
	f.BoolVar(&o.merge, "merge", false, "merge BASE and HEAD in memory, and run what the merge touches")
	program.ParameterFlag(f, &o.Given)
	o.Flags(f)
	f.BoolVar(&o.showJudges, "show-judges", false, "print which files judge a branch, by the settings of BASE")
	f.BoolVar(&o.explain, "explain", false, "print the conditions of --fail-on, and which of them fail a review")
	f.StringVar(&o.accept, "accept", "", "accept the finding `ID` of --judge, with --reason")
	f.StringVar(&o.reason, "reason", "", "with --accept: why")
	f.BoolVar(&o.all, "all", false, "compare noise as well")
	f.StringArrayVar(&o.tolerance, "tolerance", nil,
		"how far a scrap's number may move: 0.01 or 1%, NAME=1% of one scrap; repeatable")
	return c
}

func ConditionWords(list []review.Condition) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = string(c)
	}
	return out
}

// Conditions reads --fail-on: what it lists, and what always counts unless the list removes it.
func Conditions(words []string) ([]review.Condition, error) {
	listed, without := map[review.Condition]bool{}, map[review.Condition]bool{}
	for _, word := range words {
		word = strings.TrimSpace(word)
		if word == "none" && len(words) == 1 {
			return []review.Condition{}, nil
		}
		name, minus := strings.CutPrefix(word, "-")
		if name == "stale" { // as it was called before
			name = string(review.OnOutdated)
		}
		if !slices.Contains(review.Conditions, review.Condition(name)) {
			known := ConditionWords(review.Conditions)
			return nil, program.Usagef("--fail-on %s is not known; %s", word, cmp.Or(notebooks.DidYouMean(name, known),
				"known: "+strings.Join(known, ", ")+", each with a minus before it to remove it, and none by itself"))
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
	if len(without) == len(words) { // the list only removes: from the defaults
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

// check refuses options about the form of a review that exclude each other.
func (o *reviewOptions) check() error {
	switch {
	case o.json && o.markdown:
		return program.Usagef("--json and --markdown exclude each other")
	case o.html == "-":
		return program.Usagef("--html - would mix with the review on standard output; give it a path")
	case o.limit < review.LeastLimit:
		return program.Usagef("--max-bytes %d is too small; the minimum is %d", o.limit, review.LeastLimit)
	}
	return nil
}

// input is how a branch is reviewed by the options.
func (o *reviewOptions) input() (in branchreview.Options, err error) {
	if in.FailOn, err = Conditions(o.failOn); err != nil {
		return in, err
	}
	if in.Require, in.Current, err = review.ParseRequire(o.require); err != nil {
		return in, program.Usagef("--%w", err)
	}
	if in.Current {
		in.FailOn = slices.DeleteFunc(slices.Clone(review.Conditions), func(c review.Condition) bool {
			return !slices.Contains(in.FailOn, c) && !slices.Contains(review.RequireCurrent, c)
		})
	}
	in.Compare, err = diff.CompareOptions(diff.DiffOptions{All: o.all, Tolerance: o.tolerance})
	return in, err
}

// Document is what review --json prints of revisions, without options.
func Document(ctx context.Context, a *program.App, revisions string) ([]byte, error) {
	in, err := (&reviewOptions{}).input()
	if err != nil {
		return nil, err
	}
	r, err := reviewed(ctx, a, JudgeOptions{}, in, revisions)
	if err != nil {
		return nil, err
	}
	text, err := r.JSON(0)
	if err != nil {
		return nil, err
	}
	return views.Document("review", text)
}

func reviewed(ctx context.Context, a *program.App, o JudgeOptions, in branchreview.Options, revisions string) (
	*review.Review, error) {
	store, repo, err := a.Repository("")
	if err != nil {
		return nil, err
	}
	in.Store, in.Now = store, a.Now()
	if o.Judge {
		base, head, err := branchreview.Revisions(repo, revisions)
		if err != nil {
			return nil, err
		}
		if in.Judged, err = Judged(ctx, a, repo, base, head, o); err != nil {
			return nil, err
		}
	}
	return branchreview.Review(ctx, repo, revisions, in)
}

func run(ctx context.Context, a *program.App, o reviewOptions, words []string) error {
	in, err := o.input()
	if err != nil {
		return err
	}
	if o.explain {
		_, err := a.Stdout.WriteString(review.Explain(in.FailOn))
		return err
	}
	r, err := reviewed(ctx, a, o.JudgeOptions, in, program.WordOr(words, ""))
	if err != nil {
		return err
	}
	err = showReview(a, o, r.View(), func(most int) error {
		text, err := r.JSON(most)
		if err == nil {
			err = a.PrintJSON("review", text)
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.Verdict == "decide" {
		return program.Exit(program.ExitDecide)
	}
	return program.PassIf(r.Verdict == "pass")
}

func showReview(a *program.App, o reviewOptions, v *review.View, asJSON func(most int) error) error {
	if o.html != "" {
		if err := a.WriteResult("--html", o.html, html.Review(v)); err != nil {
			return err
		}
	}
	switch {
	case o.json:
		most := 0
		if o.bounded {
			most = max(1, o.limit-program.SchemaLine)
		}
		return asJSON(most)
	case !o.markdown && a.Terminal(a.Stdout):
		to := &program.BoundedWriter{To: a.Stdout}
		if o.bounded {
			to.Most = o.limit
		}
		return errors.Join(terminal.Review(to, v, a.Colour(a.Stdout)), to.End())
	}
	_, err := a.Stdout.Write(v.Markdown(o.limit))
	return err
}
