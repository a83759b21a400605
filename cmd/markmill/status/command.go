package status

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/outdated"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/status"
	reviewcmd "markmill/cmd/markmill/review"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/terminal"
)

// statusOptions are the options of status.
type statusOptions struct {
	at                   string
	json, porcelain, nul bool
	gate                 bool
	gateOptions
}

func Command(a *program.App) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use: "status [PATH…]", Short: "Show which outputs still hold; --gate fails unless all that matters do",
		Long: `Lists every notebook below PATH (default: the repository) with the state of its output, compared with the
checkout, uncommitted changes included: current, outdated (the source or something that its run read changed;
the reason names the steps), failed, blocked, partial, unknown (it was not recorded what its run read), edited,
damaged, missing (never run, or the output is gone). It needs no records: a clone gives the same answer.

--porcelain prints a line for each output, for programs: the state, the output and the source, with tabs
between them; of one that is missing or its own source that column may be empty. With -z each of the three
ends with a NUL, and paths are as they are; without it unusual ones are quoted as Git does.

--gate gives one exit code for a commit, a pull request, or a coding agent that wants to stop: every output notebook is
current (it passed, and its source and all that its run read are as they were), and has the level of proof that
--require and gate: of markmill.yaml demand. It prints the reasons, and for each the command that fixes it. It takes
[REV | BASE..HEAD] [PATH…]. Without a revision the checkout is judged, uncommitted changes included, and with paths only
what is below them. The settings of the base decide, so that a branch does not choose who judges it: BASE, or with ...
where HEAD left it; else where the work left the default branch. --judge runs BASE's tests on the code of HEAD, too: see
markmill review.

Exit codes: 0 all are current, or the gate passes; 1 something is not, or an objection; 2 PATH or the revision cannot be
read; 4 --gate: no objection, and somebody must decide.`,
		Example: "  markmill status\n  markmill status reports --at main\n  markmill status --json | jq '.outputs[] " +
			"| select(.state != \"current\")'\n" +
			"  markmill status --gate\n  markmill status --gate origin/main...HEAD --require recorded\n" +
			"  markmill status --gate v1.2 --json",
		Args: program.Args(0, -1),
		RunE: func(c *cobra.Command, words []string) error {
			if o.gate {
				for _, name := range []string{"at", "porcelain", "null"} {
					if c.Flags().Changed(name) {
						return program.Usagef("--gate and --%s exclude each other", name)
					}
				}
				return program.Troubled(gate(c.Context(), a, words, o))
			}
			for _, name := range []string{"require", "strict", "judge", "judge-limit", "parameters"} {
				if c.Flags().Changed(name) {
					return program.Usagef("--%s is for --gate", name)
				}
			}
			return program.Troubled(run(c.Context(), a, words, o))
		},
	}
	f := c.Flags()
	f.StringVar(&o.at, "at", "", "compare with the revision `REV` instead of the checkout")
	f.BoolVar(&o.json, "json", false, "print one JSON object (docs/schemas/status.json, gate.json)")
	f.BoolVar(&o.porcelain, "porcelain", false, "print lines for programs, whose form stays as it is")
	f.BoolVarP(&o.nul, "null", "z", false, "with --porcelain: end each column with a NUL")
	f.BoolVar(&o.gate, "gate", false, "fail unless every notebook that matters is current and passed")
	f.StringSliceVar(&o.require, "require", nil, "the level of proof that every output must have: recorded, signed "+
		"or repeated")
	f.BoolVar(&o.strict, "strict", false, "object to outputs of runs that read Git's history, which are current as of "+
		"their commit")
	program.ParameterFlag(f, &o.Given)
	o.JudgeOptions.Flags(f)
	return c
}

func run(ctx context.Context, a *program.App, paths []string, o statusOptions) error {
	switch {
	case o.json && o.porcelain:
		return program.Usagef("--json and --porcelain exclude each other")
	case o.nul && !o.porcelain:
		return program.Usagef("-z is for --porcelain")
	}
	repo, st, err := outdated.StatusOf(ctx, a, "", paths, o.at)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		err = a.PrintJSON("status", st.ForJSON())
	case o.porcelain:
		for i := range st.Outputs {
			out := &st.Outputs[i]
			format, row := "%s\t%s\t%s\n", []any{out.State, worktree.QuotedPath(out.Path),
				worktree.QuotedPath(out.Source)}
			if o.nul {
				format, row = "%s\x00%s\x00%s\x00", []any{out.State, out.Path, out.Source}
			}
			if _, err = fmt.Fprintf(a.Stdout, format, row...); err != nil {
				return err
			}
		}
	default:
		err = printStatus(a, repo, st)
	}
	if err != nil {
		return err
	}
	return program.PassIf(st.Current)
}

// printStatus prints a line for each notebook, and the command that makes the first one current that is not.
func printStatus(a *program.App, repo *worktree.Source, st *status.Status) error {
	at, color := outdated.FromHere(repo), a.Colour(a.Stdout)
	for i := range st.Outputs {
		if err := terminal.StatusLine(a.Stdout, &st.Outputs[i].Output, at, color); err != nil {
			return err
		}
	}
	words := st.Words()
	again := slices.IndexFunc(st.Outputs,
		func(o status.Output) bool { return o.State != review.Current && !outdated.NeverRun(&o) })
	if again >= 0 {
		words += "; markmill run --outdated runs again what is not current, or: " +
			program.CommandLine(st.Outputs[again].Command(at))
	} else if never := slices.IndexFunc(st.Outputs, func(o status.Output) bool {
		return outdated.NeverRun(
			&o)
	}); never >= 0 {
		words += "; to run one: " + program.CommandLine(st.Outputs[never].Command(at))
	}
	a.Tell("%s\n", words)
	return nil
}

// gateOptions are the options of status --gate.
type gateOptions struct {
	require []string
	strict  bool
	reviewcmd.JudgeOptions
}

// Gate judges what words name: [REV | BASE..HEAD] [PATH…], in the repository that is returned.
func Gate(ctx context.Context, a *program.App, words []string, o status.GateOptions) (*status.Gated,
	*worktree.Source, error) {
	store, repo, err := a.Repository("")
	if err != nil {
		return nil, nil, err
	}
	revisions := program.WordOr(words, "")
	if len(words) > 0 && !strings.Contains(revisions, "..") {
		_, resolved := repo.Resolve(revisions)
		_, err := os.Lstat(a.Path(revisions))
		switch {
		case resolved != nil && err == nil: // a path
			revisions = ""
		case resolved != nil && review.IsNotebookName(revisions):
			return nil, nil, program.Usagef("%s is neither a file nor a commit", revisions)
		}
	}
	if revisions != "" {
		words = words[1:]
	}
	below, err := outdated.PathsIn(a, repo, words)
	if err != nil {
		return nil, nil, err
	}
	o.Now, o.Options = a.Now(), status.Options{Getenv: a.Getenv, Store: store, Paths: below}
	g, err := status.Gate(ctx, repo, revisions, o)
	return g, repo, err
}

func gate(ctx context.Context, a *program.App, words []string, o statusOptions) error {
	level, _, err := review.ParseRequire(o.require)
	if err != nil {
		return program.Usagef("--%w", err)
	}
	g, repo, err := Gate(ctx, a, words, status.GateOptions{Require: level, Strict: o.strict})
	if err != nil {
		return err
	}
	if o.Judge {
		judged, err := reviewcmd.Judged(ctx, a, repo, g.Base, review.Revision{Name: g.Tree, Commit: g.Commit},
			o.JudgeOptions)
		if err != nil {
			return err
		}
		g.Judge(judged)
	}
	if o.json {
		if err := a.PrintJSON("gate", g.ForJSON()); err != nil {
			return err
		}
		return endGate(g)
	}
	at := outdated.FromHere(repo)
	say := func(sign string, o *status.Objection) error {
		_, err := fmt.Fprintf(a.Stdout, "%s %s: %s\n  %s\n", sign, plain.Escape(at(o.Target())), plain.Escape(o.Words),
			program.CommandLine(o.Command(at)))
		return err
	}
	for i := range g.Objections {
		err = errors.Join(err, say("✗", &g.Objections[i]))
	}
	for i := range g.Removed {
		err = errors.Join(err, say("!", &g.Removed[i]))
	}
	for i := range g.Findings {
		f := &g.Findings[i]
		_, werr := fmt.Fprintf(a.Stdout, "%s %s: %s\n", f.Sign(), plain.Escape(f.Path), plain.Escape(f.Words))
		if f.ID != "" && f.Objection && werr == nil {
			_, werr = fmt.Fprintf(a.Stdout, "  markmill review --accept %s --reason TEXT\n", f.ID)
		}
		err = errors.Join(err, werr)
	}
	if err != nil {
		return err
	}
	sign := "✓"
	switch {
	case !g.Pass:
		sign = "✗"
	case g.Decide:
		sign = "?"
	}
	a.Tell("%s %s (%s, by the settings of %s)\n", sign, g.Words(), plain.Escape(g.Tree), plain.Escape(g.Base.Name))
	if g.Judged != nil {
		a.Tell("%s\n", g.Judged.CostWords())
	}
	return endGate(g)
}

// endGate is the exit code of a gate.
func endGate(g *status.Gated) error {
	if g.Decide {
		return program.Exit(program.ExitDecide)
	}
	return program.PassIf(g.Pass)
}
