package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/api/status"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/terminal"
	"markmill/runs"
)

// statusOptions are the options of status.
type statusOptions struct {
	at                   string
	json, porcelain, nul bool
	gate                 bool
	gateOptions
}

func (a *app) statusCommand() *cobra.Command {
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
		Args: args(0, -1),
		RunE: func(c *cobra.Command, words []string) error {
			if o.gate {
				for _, name := range []string{"at", "porcelain", "null"} {
					if c.Flags().Changed(name) {
						return usagef("--gate and --%s exclude each other", name)
					}
				}
				return troubled(a.gate(c.Context(), words, o))
			}
			for _, name := range []string{"require", "strict", "judge", "judge-limit", "parameters"} {
				if c.Flags().Changed(name) {
					return usagef("--%s is for --gate", name)
				}
			}
			return troubled(a.status(c.Context(), words, o))
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
	parameterFlag(f, &o.given)
	o.judgeOptions.flags(f)
	return c
}

func (a *app) status(ctx context.Context, paths []string, o statusOptions) error {
	switch {
	case o.json && o.porcelain:
		return usagef("--json and --porcelain exclude each other")
	case o.nul && !o.porcelain:
		return usagef("-z is for --porcelain")
	}
	repo, st, err := a.statusOf(ctx, "", paths, o.at)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		err = a.printJSON("status", st.ForJSON())
	case o.porcelain:
		for i := range st.Outputs {
			out := &st.Outputs[i]
			format, row := "%s\t%s\t%s\n", []any{out.State, worktree.QuotedPath(out.Path),
				worktree.QuotedPath(out.Source)}
			if o.nul {
				format, row = "%s\x00%s\x00%s\x00", []any{out.State, out.Path, out.Source}
			}
			if _, err = fmt.Fprintf(a.stdout, format, row...); err != nil {
				return err
			}
		}
	default:
		err = a.printStatus(repo, st)
	}
	if err != nil {
		return err
	}
	return passIf(st.Current)
}

// statusOf judges the notebooks below paths, those of the repository without one, in the checkout or at a revision.
func (a *app) statusOf(ctx context.Context, folder string, paths []string, at string) (
	*worktree.Source, *status.Status, error) {
	store, repo, err := a.repository(folder)
	if err != nil {
		return nil, nil, err
	}
	o := status.Options{At: at, Getenv: a.getenv, Store: store}
	if o.Paths, err = pathsIn(repo, paths); err != nil {
		return nil, nil, err
	}
	st, err := status.Of(ctx, repo, o)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range o.Paths {
		// a folder without notebooks is no mistake
		if info, err := os.Stat(paths[i]); err == nil && info.IsDir() && at == "" {
			continue
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if err := st.Missing([]string{p}); err != nil {
			return nil, nil, usage{err}
		}
	}
	return repo, st, nil
}

// pathsIn are paths from the root of a repository, which holds all of them.
func pathsIn(repo *worktree.Source, paths []string) (list []string, err error) {
	for _, p := range paths {
		rel, ok := repo.Relative(p)
		if !ok {
			return nil, usagef("%s is not in the repository %s", p, repo.Root())
		}
		list = append(list, rel)
	}
	return list, nil
}

// repository is the one that a folder is in, with its store; "" is the working directory.
func (p *places) repository(folder string) (store runs.Store, repo *worktree.Source, err error) {
	if folder, err = filepath.Abs(folder); err == nil {
		repo, err = worktree.Open(folder)
	}
	if err == nil {
		store, err = p.store(repo)
	}
	return store, repo, err
}

// fromHere returns a function that turns paths from the root of a repository into paths from the working directory.
func fromHere(repo *worktree.Source) func(string) string {
	wd, err := os.Getwd()
	if err == nil {
		wd, err = filepath.EvalSymlinks(wd)
	}
	root, rootErr := filepath.EvalSymlinks(repo.Root())
	return func(p string) string {
		full := filepath.Join(root, filepath.FromSlash(p))
		if rel, relErr := filepath.Rel(wd, full); err == nil && rootErr == nil && relErr == nil {
			return rel
		}
		return filepath.Join(repo.Root(), filepath.FromSlash(p))
	}
}

// printStatus prints a line for each notebook, and the command that makes the first one current that is not.
func (a *app) printStatus(repo *worktree.Source, st *status.Status) error {
	at, color := fromHere(repo), a.colour(a.stdout)
	for i := range st.Outputs {
		if err := terminal.StatusLine(a.stdout, &st.Outputs[i].Output, at, color); err != nil {
			return err
		}
	}
	words := st.Words()
	again := slices.IndexFunc(st.Outputs,
		func(o status.Output) bool { return o.State != review.Current && !neverRun(&o) })
	if again >= 0 {
		words += "; markmill run --outdated runs again what is not current, or: " +
			commandLine(st.Outputs[again].Command(at))
	} else if never := slices.IndexFunc(st.Outputs, func(o status.Output) bool { return neverRun(&o) }); never >= 0 {
		words += "; to run one: " + commandLine(st.Outputs[never].Command(at))
	}
	a.tell("%s\n", words)
	return nil
}

// neverRun reports whether a notebook has no output of Markmill, nor a place that the settings name for one. --outdated
// leaves it out.
func neverRun(o *status.Output) bool { return o.Path == "" }

// commandLine writes a command as a shell reads it.
func commandLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = plain.Shell(w)
	}
	return plain.Escape(strings.Join(out, " "))
}

// gateOptions are the options of status --gate.
type gateOptions struct {
	require []string
	strict  bool
	judgeOptions
}

func (a *app) gate(ctx context.Context, words []string, o statusOptions) error {
	level, _, err := review.ParseRequire(o.require)
	if err != nil {
		return usagef("--%w", err)
	}
	store, repo, err := a.repository("")
	if err != nil {
		return err
	}
	revisions := wordOr(words, "")
	if len(words) > 0 && !strings.Contains(revisions, "..") {
		_, resolved := repo.Resolve(revisions)
		if _, err := os.Lstat(revisions); resolved != nil && err == nil { // a path
			revisions = ""
		}
	}
	if revisions != "" {
		words = words[1:]
	}
	below, err := pathsIn(repo, words)
	if err != nil {
		return err
	}
	g, err := status.Gate(ctx, repo, revisions, status.GateOptions{Require: level, Strict: o.strict, Now: a.now(),
		Options: status.Options{Getenv: a.getenv, Store: store, Paths: below}})
	if err != nil {
		return err
	}
	if o.judge {
		judged, err := a.judged(ctx, repo, g.Base, review.Revision{Name: g.Tree, Commit: g.Commit}, o.judgeOptions)
		if err != nil {
			return err
		}
		g.Judge(judged)
	}
	if o.json {
		if err := a.printJSON("gate", g.ForJSON()); err != nil {
			return err
		}
		return endGate(g)
	}
	at := fromHere(repo)
	say := func(sign string, o *status.Objection) error {
		_, err := fmt.Fprintf(a.stdout, "%s %s: %s\n  %s\n", sign, plain.Escape(at(o.Target())), plain.Escape(o.Words),
			commandLine(o.Command(at)))
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
		_, werr := fmt.Fprintf(a.stdout, "%s %s: %s\n", f.Sign(), plain.Escape(f.Path), plain.Escape(f.Words))
		if f.ID != "" && f.Objection && werr == nil {
			_, werr = fmt.Fprintf(a.stdout, "  markmill review --accept %s --reason TEXT\n", f.ID)
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
	a.tell("%s %s (%s, by the settings of %s)\n", sign, g.Words(), plain.Escape(g.Tree), plain.Escape(g.Base.Name))
	if g.Judged != nil {
		a.tell("%s\n", g.Judged.CostWords())
	}
	return endGate(g)
}

// endGate is the exit code of a gate.
func endGate(g *status.Gated) error {
	if g.Decide {
		return exit(exitDecide)
	}
	return passIf(g.Pass)
}
