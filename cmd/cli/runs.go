package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/api"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/engine/worktree/pool"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/runs"
)

// here is the store and the repository of the working directory.
func (p *places) here() (runs.Store, *worktree.Source, error) {
	store, src, err := p.indexed()
	if err == nil {
		_ = store.EmptyTrash() // what a killed prune left; the next prune reports what cannot be removed
	}
	return store, src, err
}

// hereOr is here for the repository around a folder that was named; "" names none.
func (p *places) hereOr(folder string) (runs.Store, *worktree.Source, error) {
	if folder == "" {
		return p.here()
	}
	src, err := worktree.Open(folder)
	if err != nil {
		return runs.Store{}, nil, fmt.Errorf("--repo %s: %w", plain.Escape(folder), err)
	}
	store, err := p.store(src)
	return store, src, err
}

// indexed is here without a look through the folder of the runs, which takes long where there are many.
func (p *places) indexed() (runs.Store, *worktree.Source, error) {
	wd, err := os.Getwd()
	if err != nil {
		return runs.Store{}, nil, err
	}
	src, err := worktree.Open(wd)
	if err != nil && !errors.Is(err, worktree.ErrNoRepository) {
		return runs.Store{}, nil, err
	}
	store, err := p.store(src)
	return store, src, err
}

// recordOf is the directory of one run.
func (p *places) recordOf(word string) (dir string, err error) {
	store, _, err := p.here()
	if err == nil {
		_, dir, err = store.Find(word)
	}
	return dir, err
}

// find loads one run.
func (p *places) find(word string) (*runs.Run, string, error) {
	dir, err := p.recordOf(word)
	if err != nil {
		return nil, "", err
	}
	run, _, err := runs.At(dir).Load()
	return run, dir, err
}

// engineHere makes the engine of the repository of the working directory. It returns an error outside of one; need
// says what needs which repository.
func (p *places) engineHere(need string) (*engine.Engine, error) {
	_, src, err := p.here()
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, usagef("%s, and the working directory is in none", need)
	}
	eng, err := p.engine(src.Root())
	if err == nil {
		eng.Source = src
	}
	return eng, err
}

func wordOr(words []string, fallback string) string {
	if len(words) == 0 {
		return fallback
	}
	return words[0]
}

// logOptions are the options of show --log.
type logOptions struct {
	step          string // its id, or allSteps
	stderr, patch bool
}

// allSteps is the value of --log without one.
const allSteps = " "

// printLog prints what the steps of a run wrote, or one of them, in full: the bytes of the record, except on a
// terminal, where only colours control anything.
func (a *app) printLog(run *runs.Run, dir string, o logOptions) error {
	var ids []string
	for _, s := range run.Steps {
		ids = append(ids, string(s.Planned.ID))
	}
	if o.step != allSteps && !slices.Contains(ids, o.step) {
		return usagef("run %s has no step %q; steps: %v", run.ID, o.step, ids)
	}
	for _, s := range run.Steps {
		if s.Finished == nil || o.step != allSteps && o.step != string(s.Planned.ID) {
			continue
		}
		file := s.Finished.Stdout.File
		if o.stderr {
			file = s.Finished.Stderr.File
		}
		if o.patch {
			file = ""
			if s.Patch != nil {
				file = s.Patch.Patch
			}
		}
		if err := a.print(dir, file); err != nil {
			return err
		}
		for _, last := range run.Endings(s.Planned.ID) { // what its interpreter printed as it was closed
			if o.stderr || o.patch {
				break
			}
			if err := a.print(dir, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// print copies a file of a run directory to standard output; "" prints nothing.
func (a *app) print(dir, file string) error {
	if file == "" {
		return nil
	}
	f, err := runs.At(dir).Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.shown(func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// verified is what verify --json prints.
type verified struct {
	Run      runs.RunID     `json:"run_id,omitzero"`
	Sweep    runs.SweepID   `json:"sweep_id,omitzero"`
	OK       bool           `json:"ok"`
	Made     bool           `json:"made_here"`      // by this user, on this machine; false of a sweep
	Proof    review.Level   `json:"proof,omitzero"` // claimed where something does not match
	Findings []runs.Finding `json:"findings"`
	Signed   *runs.SignedBy `json:"signed,omitempty"`
	// Carried lists the steps that ran in earlier runs.
	Carried []runs.CarriedSteps `json:"carried,omitempty"`
	// Decisions are those of operators on the run, the oldest first.
	Decisions []runs.DecisionSummary `json:"decisions,omitempty"`
	Notes     []string               `json:"notes,omitempty"` // what was not verified
}

func (a *app) verifyCommand() *cobra.Command {
	var asJSON, signed bool
	var allowed string
	var again rerunOptions
	var stdin bool
	c := &cobra.Command{
		Use:   "verify [RUN|SWEEP|DIR|OUTPUT]",
		Short: "Verify the whole record of a run from its bytes (default: the last one)",
		Long: `Recomputes the journal's chain, every digest, the report and the output notebook from the bytes of a run
directory, and lists what does not match. An output notebook is verified by itself and against the run that
made it, which is found by its digest: it is recorded when both match and this user made the run on this
machine, signed when an allowed signer signed it, and only claimed otherwise. The
commits in the run's bundle are compared with the record and, inside a repository that has the base commit,
their trees with its patch.

Of a sweep it verifies the record, each of its runs, and that they are those which the sweep names. A run that was
pruned is listed as not looked at.

A signature of SHA256SUMS, or of the manifest of an output notebook without a record, is verified as well.
The keys that count are those of --allowed-signers, or of allowed_signers of the policy. So are the decisions of
operators (markmill runs accept, reject): that they are of this record, follow one another, and that none is missing which
decisions.jsonl beside the runs has.

With --rerun it verifies RUN and then runs its notebook again: in a clean clone of the repository, on the commit, with
the uncommitted changes, the values and the options of RUN, but with today's settings and policy. It compares how both
ended, the trees, and what each step changed, printed, recorded and showed, after the notebook's normalize rules; the
output of volatile steps is left out. The new run has a record of its own, which names RUN, and rerun.json beside it
says what differs. Files that Git ignores are not in the clone. Secrets, which no record holds, are given again with -p.
The notebook is code: whoever made the record chose what runs here. Ctrl-C leaves nothing of it.

Exit codes: 0 everything matches, and with --rerun the same came of it; 1 something does not; 2 there is no such run, or
it cannot be repeated; 3 the repetition was blocked; 130 interrupted.`,
		Example: "  markmill verify\n  markmill verify health.out.md\n  markmill verify last --rerun -n 3",
		Args:    args(0, 1),
		RunE: func(c *cobra.Command, words []string) error {
			word := wordOr(words, "last")
			again.allowed, again.json = allowed, asJSON
			if again.rerun {
				return a.verifyAgain(c, word, signed, again)
			}
			for _, name := range []string{"base", "number", "parameters", "parameters-file", "parameters-raw",
				"parameters-yaml",
				"parameters-base64"} {
				if c.Flags().Changed(name) {
					return usagef("--%s is for --rerun", name)
				}
			}
			dir, err := a.sweepNamed(word)
			if err == nil && dir == "" {
				dir, err = a.lanesOutput(word)
			}
			if err != nil || dir != "" {
				return errors.Join(err, a.verifySweep(dir, allowed, signed, asJSON))
			}
			got, commits, err := a.verify(word, allowed)
			if err != nil {
				return err
			}
			if signed && !got.Signed.Counts() {
				got.Findings = append(got.Findings, unsigned(got))
			}
			out := verified{OK: len(got.Findings) == 0, Made: got.Made, Findings: got.Findings, Signed: got.Signed,
				Decisions: got.Decisions, Notes: got.Notes}
			if got.Run != nil {
				out.Run, out.Carried = got.Run.ID, got.Run.Carried()
			}
			if out.Findings == nil {
				out.Findings = []runs.Finding{}
			}
			out.Proof = review.Claimed
			switch {
			case out.OK && got.Signed.Counts():
				out.Proof = review.Signed
			case out.OK && got.Made:
				out.Proof = review.Recorded
			}
			info, err := os.Stat(word)
			output := err == nil && info.Mode().IsRegular()
			holds := ""
			if out.OK && !asJSON {
				if holds = holdsWords(word, got, commits); output {
					holds += "; " + word + " is " + string(out.Proof)
				} else if out.Proof != review.Claimed {
					holds += "; it is " + string(out.Proof)
				}
			} else if output && !asJSON {
				out.Findings = append(out.Findings, runs.Finding{Where: word,
					Message: "is only claimed: nothing but the notebook itself says what its run did"})
			}
			return a.printVerified(out, holds, asJSON)
		},
	}
	jsonFlag(c, &asJSON, "verify")
	c.Flags().BoolVar(&signed, "signed", false, "fail unless a key that counts has signed it")
	c.Flags().StringVar(&allowed, "allowed-signers", "",
		"file with the keys that count (default: allowed_signers of the policy)")
	c.Flags().BoolVar(&again.rerun, "rerun", false, "run it again in a clean clone, and compare what comes of it")
	c.Flags().IntVarP(&again.number, "number", "n", 1, "with --rerun: up to `N` times, until a result differs")
	c.Flags().StringVar(&again.base, "base", "",
		"with --rerun: begin with the commit `REV`; what it has of the run's change is taken back first")
	a.paramFlags(c.Flags(), &again.given, &stdin)
	return c
}

// printVerified prints what was verified, and ends with the exit code of that. holds is the line when all of it holds.
func (a *app) printVerified(out verified, holds string, asJSON bool) error {
	if asJSON {
		return cmp.Or(a.printJSON("verify", out), passIf(out.OK))
	}
	var b strings.Builder
	if out.OK {
		b.WriteString(plain.Escape(holds) + "\n")
	} else {
		for _, f := range out.Findings {
			fmt.Fprintf(&b, "%s: %s\n", plain.Escape(f.Where), plain.Escape(f.Message))
		}
	}
	for _, d := range out.Decisions {
		fmt.Fprintf(&b, "  %s\n", plain.Escape(d.Words()))
	}
	for _, c := range out.Carried {
		fmt.Fprintf(&b, "  carried from run %s: %s\n", c.Run, plain.Escape(plain.Some(c.Steps, len(c.Steps))))
	}
	for _, note := range out.Notes {
		fmt.Fprintf(&b, "  not looked at: %s\n", plain.Escape(note))
	}
	_, err := io.WriteString(a.stdout, b.String())
	return cmp.Or(err, passIf(out.OK))
}

// unsigned says why a signature does not count, or that there is none.
func unsigned(v *runs.Verification) runs.Finding {
	if v.Signed == nil {
		return runs.Finding{Where: runs.SumsSignatureFile, Message: "there is no signature, and --signed asks for one"}
	}
	return runs.Finding{Where: runs.SumsSignatureFile, Message: v.Signed.Words()}
}

// holdsWords say what was verified, and who signed it.
func holdsWords(word string, v *runs.Verification, commits string) string {
	if v.Run == nil {
		return plain.Escape(word) + ": its manifest holds, " + v.Signed.Words() + "; its record is not here"
	}
	holds := "everything holds"
	if len(v.Notes) > 0 {
		holds = "what was looked at holds"
	}
	words := fmt.Sprintf("%s: %s (%d events%s)", v.Run.ID, holds, v.Run.Events, commits)
	if !v.Made {
		words += ", " + runs.NotMadeHere
	}
	if v.Signed != nil {
		words += ", " + v.Signed.Words()
	}
	return words
}

// changedRuns is what runs maintain reconcile --json and runs prune --json print: the runs that were completed, or
// removed.
type changedRuns struct {
	Runs []runs.RunID `json:"runs"`
}

func (a *app) runsPrune() *cobra.Command {
	var keep, days int
	var repo string
	var quiet, asJSON bool
	c := &cobra.Command{
		Use: "prune", Short: "Remove old runs", Args: args(0, 0),
		Long: `Removes runs that are older than --days and not among the newest --keep, and the worktrees kept for reuse
that no run has used for --days. A run that is still going is not removed. The record of a sweep goes with the last
of its runs. The repository is not changed: refs that runs fetch made stay until markmill runs maintain
reconcile --remove-refs. Each run prunes at its end;
markmill runs sizes shows what would be removed, and runs maintain install has the system prune every day.`,
		Example: "  markmill runs prune --keep 50 --days 7",
		RunE: func(c *cobra.Command, _ []string) error {
			store, src, err := a.hereOr(repo)
			if err != nil {
				return err
			}
			cfg, err := engine.LoadConfig(api.RootOf(src))
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
			prune := store.Prune
			if c.Flags().Changed("days") {
				prune = store.PruneAll
			}
			removed, err := prune(least, age, a.now())
			a.reindex(store, removed...)
			trees, perr := pool.New(filepath.Join(a.cache(), "pool")).Remove(a.now().Add(-age))
			if err = errors.Join(err, perr); err == nil {
				err = a.retainData(store, cfg.Retention)
			}
			if trees > 0 && !quiet {
				a.tell("removed %d worktrees that were kept for reuse\n", trees)
			}
			if !quiet {
				a.tell("removed %d runs\n", len(removed))
			}
			if err != nil || !asJSON {
				return err
			}
			return a.printJSON("runs-prune", changedRuns{append([]runs.RunID{}, removed...)})
		},
	}
	jsonFlag(c, &asJSON, "runs-prune")
	repoFlag(c.Flags(), &repo)
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "say nothing but errors")
	c.Flags().IntVar(&keep, "keep", engine.DefaultRuns,
		"how many of the newest runs to keep at least (default: retention in markmill.yaml)")
	c.Flags().IntVar(&days, "days", engine.DefaultDays,
		"keep runs that are younger than this, in days (default: retention in markmill.yaml)")
	return c
}
