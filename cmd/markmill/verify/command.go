package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/rerun"
	"markmill/cmd/internal/views"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/runs"
)

// Verified is what verify --json prints.
type Verified struct {
	Run      runs.RunID     `json:"run_id,omitzero"`
	Sweep    runs.SweepID   `json:"sweep_id,omitzero"`
	OK       bool           `json:"ok"`
	Made     bool           `json:"made_here"`       // by this user, on this machine; false of a sweep
	Proof    review.Level   `json:"proof,omitzero"`  // claimed where something does not match
	Events   int            `json:"events,omitzero"` // of the journal
	Head     runs.Digest    `json:"head,omitzero"`   // hash of the last: kept elsewhere, it shows every later change
	Findings []runs.Finding `json:"findings"`
	Signed   *runs.SignedBy `json:"signed,omitempty"`
	// Carried lists the steps that ran in earlier runs.
	Carried []runs.CarriedSteps `json:"carried,omitempty"`
	// Decisions are those of operators on the run, the oldest first.
	Decisions []runs.DecisionSummary `json:"decisions,omitempty"`
	Notes     []string               `json:"notes,omitempty"` // what was not verified
}

func Command(a *program.App) *cobra.Command {
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
		Args:    program.Args(0, 1),
		RunE: func(c *cobra.Command, words []string) error {
			word := program.WordOr(words, "last")
			again.allowed, again.json = allowed, asJSON
			if again.rerun {
				return verifyAgain(a, c, word, signed, again)
			}
			for _, name := range []string{"base", "number", "parameters", "parameters-file", "parameters-raw",
				"parameters-yaml",
				"parameters-base64"} {
				if c.Flags().Changed(name) {
					return program.Usagef("--%s is for --rerun", name)
				}
			}
			out, holds, err := Document(a, word, allowed, signed)
			if err != nil {
				return err
			}
			info, err := os.Stat(word)
			switch output := err == nil && info.Mode().IsRegular(); {
			case out.Proof == "": // of a sweep
			case output && !out.OK && !asJSON:
				out.Findings = append(out.Findings, runs.Finding{Where: word,
					Message: "is only claimed: nothing but the notebook itself says what its run did"})
			case output:
				holds += "; " + word + " is " + string(out.Proof)
			case out.Proof != review.Claimed:
				holds += "; it is " + string(out.Proof)
			}
			return printVerified(a, out, holds, asJSON)
		},
	}
	a.RepoFlag(c.Flags())
	program.JSONFlag(c, &asJSON, "verify")
	c.Flags().BoolVar(&signed, "signed", false, "fail unless a key that counts has signed it")
	c.Flags().StringVar(&allowed, "allowed-signers", "",
		"file with the keys that count (default: allowed_signers of the policy)")
	c.Flags().BoolVar(&again.rerun, "rerun", false, "run it again in a clean clone, and compare what comes of it")
	c.Flags().IntVarP(&again.number, "number", "n", 1, "with --rerun: up to `N` times, until a result differs")
	c.Flags().StringVar(&again.base, "base", "",
		"with --rerun: begin with the commit `REV`; what it has of the run's change is taken back first")
	a.ParamFlags(c.Flags(), &again.given, &stdin)
	return c
}

// Document verifies the run, sweep, directory or output notebook that a word names. allowed is as of Verify; signed
// makes a signature that does not count a finding. holds is the line for what holds.
func Document(a *program.App, word, allowed string, signed bool) (out Verified, holds string, err error) {
	dir, err := a.SweepNamed(word)
	if err == nil && dir == "" {
		dir, err = lanesOutput(a, word)
	}
	switch {
	case err != nil:
		return out, "", err
	case dir != "" && signed:
		return out, "", program.Usagef("--signed is for runs, and a sweep has no signature: verify its runs")
	case dir != "":
		return verifySweep(a, dir, allowed)
	}
	got, commits, err := Verify(a, word, allowed)
	if err != nil {
		return out, "", err
	}
	if signed && !got.Signed.Counts() {
		got.Findings = append(got.Findings, unsigned(got))
	}
	out = Verified{OK: len(got.Findings) == 0, Made: got.Made, Findings: append([]runs.Finding{}, got.Findings...),
		Signed: got.Signed, Decisions: got.Decisions, Notes: got.Notes, Proof: review.Claimed}
	if got.Run != nil {
		out.Run, out.Carried = got.Run.ID, got.Run.Carried()
		out.Events, out.Head = got.Run.Events, got.Run.Head
	}
	switch {
	case !out.OK:
		return out, "", nil
	case got.Signed.Counts():
		out.Proof = review.Signed
	case got.Made:
		out.Proof = review.Recorded
	}
	return out, holdsWords(word, got, commits), nil
}

// printVerified prints what was verified, and ends with the exit code of that. holds is the line when all of it holds.
func printVerified(a *program.App, out Verified, holds string, asJSON bool) error {
	if asJSON {
		return cmp.Or(a.PrintJSON("verify", out), program.PassIf(out.OK))
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
	_, err := io.WriteString(a.Stdout, b.String())
	return cmp.Or(err, program.PassIf(out.OK))
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

// Verify recomputes a run, which is named by its id, its directory or its output notebook: its record, its views and
// its commits. commits says what was verified of the commits. allowed is the file of signers whose signatures count;
// "" takes that of the policy.
func Verify(a *program.App, word, allowed string) (v *runs.Verification, commits string, err error) {
	if v, err = VerifyRecord(a, word, allowed); err != nil || v.Run == nil {
		return v, "", err
	}
	if commits, err = verifyCommits(a, v); err != nil {
		return v, commits, err
	}
	store, _, err := a.Indexed()
	if err == nil {
		err = rerun.Check(store, v)
	}
	return v, commits, err
}

func VerifyRecord(a *program.App, word, allowed string) (*runs.Verification, error) {
	store, src, err := a.Here()
	if err != nil {
		return nil, err
	}
	signers, err := a.Signers(allowed, engines.RootOf(src))
	if err != nil {
		return nil, err
	}
	at := a.Path(word)
	info, err := os.Stat(at)
	switch {
	case err == nil && info.IsDir():
		return runs.At(at).Verify(views.FoldView, signers)
	case err == nil:
		return runs.VerifyOutput(at, store, views.FoldView, signers)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	_, dir, err := store.Find(word)
	if err != nil {
		return nil, err
	}
	return runs.At(dir).Verify(views.FoldView, signers)
}

// verifyCommits adds findings about the commits of the run.
func verifyCommits(a *program.App, v *runs.Verification) (words string, err error) {
	if v.Run.Contract.TargetRepository == "" {
		return "", nil
	}
	_, src, err := a.Here()
	if err != nil {
		return "", err
	}
	looked, err := records.VerifyCommits(v, src)
	if looked.Commits > 0 {
		words = fmt.Sprintf(", %d commits", looked.Commits)
	}
	if looked.NoBase {
		words += "; its base commit is not here, so that the patch was not applied to it"
	}
	return words, err
}
