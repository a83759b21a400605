package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render"
	"markmill/render/review"
	"markmill/render/terminal"
	"markmill/runs"
)

func (a *app) runsCommand() *cobra.Command {
	list := a.runsList()
	c := &cobra.Command{
		Use: "runs", Short: "Look at runs that were kept: list, show, log, verify, attest, apply, …",
		Long: `Works on the runs that were kept for the repository around the working directory (outside one:
for no repository). RUN is an id, a part of one that names one run only, or last.`,
		Args: knownCommand, RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list, a.runsShow(), a.runsLog(), a.runsVerify(), a.runsAttest(), a.runsApply(), a.runsResume(), a.runsReconcile(), a.runsPrune())
	return c
}

// here is the store and the repository of the working directory.
func (a *app) here() (runs.Store, *worktree.Source, error) {
	wd, err := os.Getwd()
	if err != nil {
		return runs.Store{}, nil, err
	}
	src, err := worktree.Open(wd)
	if errors.Is(err, worktree.ErrNoRepository) {
		return a.store(""), nil, nil
	}
	if err != nil {
		return runs.Store{}, nil, err
	}
	return a.store(src.Root()), src, nil
}

// find loads one run.
func (a *app) find(word string) (*runs.Run, string, error) {
	store, _, err := a.here()
	if err != nil {
		return nil, "", err
	}
	_, dir, err := store.Find(word)
	if err != nil {
		return nil, "", err
	}
	run, _, err := runs.Load(dir)
	return run, dir, err
}

func (a *app) runsList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the runs, newest first", Args: args(0, 0),
		Example: "  markmill runs list\n  markmill runs list --json | jq '.[] | select(.status != \"pass\")'",
		RunE: func(*cobra.Command, []string) error {
			store, _, err := a.here()
			if err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			if !asJSON {
				return terminal.List(a.stdout, entries, a.colour(a.stdout))
			}
			return a.printJSON(append([]runs.Entry{}, entries...))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return c
}

func (a *app) runsShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show [RUN]", Short: "Show what a run was asked, did and left (default: the last one)", Args: args(0, 1),
		Example: "  markmill runs show\n  markmill runs show last --json | jq .blockers",
		RunE: func(_ *cobra.Command, words []string) error {
			run, dir, err := a.find(wordOr(words, "last"))
			if err != nil {
				return err
			}
			if !asJSON {
				return terminal.Show(a.stdout, run, record(dir), a.colour(a.stdout))
			}
			report, err := runs.NewReport(run, dir)
			if err != nil {
				return err
			}
			return a.printJSON(report)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func wordOr(words []string, fallback string) string {
	if len(words) == 0 {
		return fallback
	}
	return words[0]
}

func (a *app) runsLog() *cobra.Command {
	var stderr, patch bool
	c := &cobra.Command{
		Use: "log [RUN [STEP…]]", Short: "Print the raw output of a run's steps", Args: args(0, -1),
		Long: `Prints what the steps wrote to standard output, whole and as it was, in the order of the steps.
With step ids it prints only those.`,
		Example: "  markmill runs log last verify\n  markmill runs log last --stderr\n  markmill runs log last change --patch",
		RunE: func(_ *cobra.Command, words []string) error {
			run, dir, err := a.find(wordOr(words, "last"))
			if err != nil {
				return err
			}
			var ids []string
			for _, s := range run.Steps {
				ids = append(ids, string(s.Planned.ID))
			}
			only := words[min(1, len(words)):]
			for _, id := range only {
				if !slices.Contains(ids, id) {
					return usagef("run %s has no step %q; steps: %v", run.ID, id, ids)
				}
			}
			for _, s := range run.Steps {
				if s.Finished == nil || len(only) > 0 && !slices.Contains(only, string(s.Planned.ID)) {
					continue
				}
				file := s.Finished.Stdout.File
				if stderr {
					file = s.Finished.Stderr.File
				}
				if patch {
					file = ""
					if s.Patch != nil {
						file = s.Patch.Patch
					}
				}
				if err := a.print(dir, file); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&stderr, "stderr", false, "print standard error instead")
	c.Flags().BoolVar(&patch, "patch", false, "print what each step changed instead, as patches")
	return c
}

// print copies one file of a run directory to standard output; "" is none.
func (a *app) print(dir, file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(a.stdout, f)
	return err
}

// verified is what runs verify --json prints.
type verified struct {
	Run      runs.RunID     `json:"run_id,omitzero"`
	OK       bool           `json:"ok"`
	Proof    review.Level   `json:"proof,omitzero"` // of an output notebook
	Findings []runs.Finding `json:"findings"`
}

func (a *app) runsVerify() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "verify RUN|DIR|OUTPUT", Short: "Recompute everything of a run from its bytes",
		Long: `Recomputes the journal's chain, every digest, the report and the output notebook from the bytes
of a run directory, and says what does not hold. An output notebook is verified by itself and
against the run that made it, which is found by its digest: it is recorded where that holds, and only claimed else. Inside the repository that the run worked
on, the commits of its ref are held against the record, and its patch against their trees.

Exit codes: 0 everything holds, 1 something does not, 2 there is no such run.`,
		Example: "  markmill runs verify last\n  markmill runs verify health.out.md",
		Args:    args(1, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			got, commits, err := a.verify(words[0])
			if err != nil {
				return err
			}
			out := verified{OK: len(got.Findings) == 0, Findings: got.Findings}
			if got.Run != nil {
				out.Run = got.Run.ID
			}
			if out.Findings == nil {
				out.Findings = []runs.Finding{}
			}
			proof := ""
			if info, err := os.Stat(words[0]); err == nil && info.Mode().IsRegular() {
				out.Proof = review.Claimed
				if out.OK {
					out.Proof, proof = review.Recorded, "; "+words[0]+" is "+string(review.Recorded)
				}
			}
			if asJSON {
				err = a.printJSON(out)
			} else if out.OK {
				_, err = fmt.Fprintf(a.stdout, "%s: everything holds (%d events%s)%s\n", out.Run, got.Run.Events, commits, proof)
			} else {
				if out.Proof != "" {
					out.Findings = append(out.Findings, runs.Finding{Where: words[0], Words: "is only claimed: nothing but the notebook itself says what its run did"})
				}
				for _, f := range out.Findings {
					if _, err = fmt.Fprintf(a.stdout, "%s: %s\n", f.Where, f.Words); err != nil {
						break
					}
				}
			}
			if err == nil && !out.OK {
				return exit(exitFail)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func (a *app) runsApply() *cobra.Command {
	c := &cobra.Command{
		Use: "apply RUN", Short: "Put what a run changed onto the checkout",
		Long: `Applies the patch of a run to the files of the checkout: all of it, or, when it does not fit,
nothing. The index and the commits are left alone.

Exit codes: 0 applied, 1 it does not fit, 2 there is no such run.`,
		Example: "  markmill runs apply last", Args: args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			_, src, err := a.here()
			if err != nil {
				return err
			}
			if src == nil {
				return usagef("apply needs a Git repository, and the working directory is in none")
			}
			run, dir, err := a.find(words[0])
			if err != nil {
				return err
			}
			patch, err := os.ReadFile(filepath.Join(dir, runs.PatchFile))
			if err != nil {
				return err
			}
			if run.Diff == nil || runs.DigestOf(patch) != run.Diff.PatchDigest {
				return &notebooks.Error{Kind: notebooks.KindArtifact, File: filepath.Join(dir, runs.PatchFile),
					Msg: "is not the patch that the journal records", Hint: "see markmill runs verify"}
			}
			if err := worktree.Apply(c.Context(), src, patch); err != nil {
				fmt.Fprintln(a.stderr, "markmill: "+err.Error())
				return exit(exitFail)
			}
			fmt.Fprintf(a.stderr, "applied the change of %s: %s\n", run.ID, render.ChangeWords(run.Diff.Files))
			return nil
		},
	}
	return c
}

func (a *app) runsReconcile() *cobra.Command {
	return &cobra.Command{
		Use: "reconcile", Short: "Complete the records of runs that were cut", Args: args(0, 0),
		Long: `Finishes the record of every run that ended without saying so (a crash, a kill): its status becomes interrupted, and
markmill runs resume can go on with it. What it left half-done elsewhere is taken away: its private folder, an output notebook
that did not reach its place, temporary packs and locks in the repository. A run that was cut before its first event is removed:
nothing of it ran.`,
		Example: "  markmill runs reconcile",
		RunE: func(*cobra.Command, []string) error {
			store, src, err := a.here()
			if err != nil {
				return err
			}
			if err := a.tidy(src); err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			for _, e := range entries {
				if e.Status == runs.Damaged || e.Status == runs.Running {
					continue
				}
				done, err := runs.Reconcile(e.Dir, a.now, seal, a.rebuild)
				if _, gone := os.Stat(e.Dir); errors.Is(gone, fs.ErrNotExist) {
					continue // somebody has removed it meanwhile
				}
				if err != nil {
					return err
				}
				if done {
					fmt.Fprintf(a.stderr, "%s: completed as interrupted\n", e.ID)
				}
			}
			return nil
		},
	}
}

// tidy takes away what runs that were cut left outside their records.
func (a *app) tidy(src *worktree.Source) error {
	eng, err := a.engine(rootOf(src))
	if err != nil {
		return err
	}
	return eng.Tidy(rootOf(src))
}

// seal says in the end of a run that was cut which ref holds its commits, and carries their publishing to the end.
func seal(run *runs.Run, data *runs.CompletedData) error {
	if run.Contract.TargetRepository == "" || run.Diff == nil || run.Diff.ResultCommit == "" {
		return nil
	}
	data.ResultCommit = run.Diff.ResultCommit
	src, err := worktree.Open(run.Contract.TargetRepository)
	if err != nil || run.Diff.ResultCommit == run.Diff.BaseCommit {
		return nil // it is gone, and the commits with it; or there are none
	}
	data.Ref, err = worktree.Republish(src, string(run.ID), worktree.OID(run.Diff.ResultCommit))
	return err
}

// rebuild writes the views of a run directory anew.
func (a *app) rebuild(dir string, run *runs.Run) error {
	source, err := os.ReadFile(filepath.Join(dir, run.Started.SourceFile))
	if err != nil {
		return err
	}
	nb, err := render.Recorded(run, source)
	if err != nil {
		return err
	}
	for _, v := range a.views("") {
		if err := v.Write(engine.ViewInput{Dir: dir, Notebook: nb, Run: run}); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

func (a *app) runsPrune() *cobra.Command {
	var keep, days int
	c := &cobra.Command{
		Use: "prune", Short: "Remove old runs and their refs", Args: args(0, 0),
		Long:    "Removes runs that are older than --days and not among the newest --keep, with their refs. A run that is going on is left alone.",
		Example: "  markmill runs prune --keep 50 --days 7",
		RunE: func(c *cobra.Command, _ []string) error {
			store, src, err := a.here()
			if err != nil {
				return err
			}
			cfg, err := engine.LoadConfig(rootOf(src))
			if err != nil {
				return err
			}
			least, age := cfg.Retention.Bounds()
			if c.Flags().Changed("keep") {
				least = keep
			}
			if c.Flags().Changed("days") {
				age = time.Duration(days) * 24 * time.Hour
			}
			removed, err := a.prune(store, src, least, age)
			fmt.Fprintf(a.stderr, "removed %d runs\n", removed)
			return err
		},
	}
	c.Flags().IntVar(&keep, "keep", engine.DefaultRuns, "keep at least the newest so many (default: retention in markmill.yaml)")
	c.Flags().IntVar(&days, "days", engine.DefaultDays, "keep what is younger than so many days (default: retention in markmill.yaml)")
	return c
}

// prune removes old runs and the refs of those that it removed.
func (a *app) prune(store runs.Store, src *worktree.Source, keep int, age time.Duration) (removed int, err error) {
	ids, err := store.Prune(keep, age, a.now())
	for _, id := range ids {
		if src != nil {
			err = errors.Join(err, worktree.DeleteRef(src, string(id)))
		}
	}
	return len(ids), err
}
