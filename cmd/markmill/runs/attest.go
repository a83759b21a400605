package runs

import (
	"github.com/spf13/cobra"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/verify"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
	"markmill/runs/attest"
)

func runsAttest(a *program.App) *cobra.Command {
	var key, out, verify string
	c := &cobra.Command{
		Use: "attest [RUN]", Short: "Write a signed in-toto statement of what a run made, from what and how",
		Long: `Writes an in-toto Statement v1 with a SLSA provenance v1 predicate: the run's commit, output notebook, patch,
report and SHA256SUMS; the notebook, parameters and base commit that they come from; and when. With --key it
is signed with an Ed25519 key (OpenSSH, or PEM with PKCS#8) in a DSSE envelope; without, it is the bare
statement. The run is verified first, and a run that does not verify is not attested.

--verify FILE checks an envelope with the public key of --key and, with RUN, that it is about that run as it
is kept here.

Exit codes: 0 written, or it verifies, 1 it does not, 2 there is no such run, key or file.`,
		Example: `  markmill runs attest last --key ~/.ssh/id_ed25519 -o run.dsse.json
  markmill runs attest --verify run.dsse.json --key id_ed25519.pub`,
		Args: program.Args(0, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			if verify != "" {
				return verifyAttestation(a, words, verify, key, out)
			}
			if len(words) == 0 {
				return program.Usagef("attest takes a run, and got none; last is the newest")
			}
			return writeStatement(a, words[0], key, out)
		},
	}
	f := c.Flags()
	f.StringVar(&key, "key", "", "private key to sign with; with --verify the public key")
	f.StringVarP(&out, "output", "o", "", "write to this file (default: standard output)")
	f.StringVar(&verify, "verify", "", "check this envelope instead")
	return c
}

// statement verifies a run and makes its statement. A run that does not verify is an error that has been printed.
func statement(a *program.App, word string) (*attest.Statement, error) {
	got, _, err := verify.Verify(a, word, "")
	if err != nil {
		return nil, err
	}
	if !got.OK() {
		f := got.Findings[0]
		a.Tell("markmill: the run does not hold: %s: %s\n", f.Where, f.Message)
		return nil, program.Exit(program.ExitFail)
	}
	digests := map[string]runs.Digest{}
	for _, name := range append(got.Run.OutputFiles(),
		runs.PatchFile, runs.ReportFile, runs.SumsFile, runs.JournalFile, runs.TestLogFile) {
		if left := got.Run.Left(name); left != nil { // the verification has rendered it again
			digests[name] = left.Digest
			continue
		}
		b, err := runs.At(got.Dir).ReadFile(name)
		if err != nil {
			return nil, err
		}
		digests[name] = runs.DigestOf(b)
	}
	if done := got.Run.Completed; done != nil && done.Bundle != nil {
		digests[done.Bundle.File] = done.Bundle.Digest // which the verification has compared
	}
	return attest.Of(got.Run, digests)
}

func writeStatement(a *program.App, word, key, out string) error {
	s, err := statement(a, word)
	if err != nil {
		return err
	}
	b, err := s.JSON()
	if err != nil {
		return err
	}
	if key != "" {
		private, err := attest.PrivateKey(key)
		if err != nil {
			return err
		}
		e, err := attest.Sign(b, private)
		if err != nil {
			return err
		}
		if b, err = codec.Marshal(e); err != nil {
			return err
		}
	}
	return a.WriteResult("--output", out, append(b, '\n'))
}

func verifyAttestation(a *program.App, words []string, file, key, out string) error {
	if key == "" || out != "" {
		return program.Usagef("--verify wants the public key as --key, and writes nothing")
	}
	public, err := attest.PublicKey(key)
	if err != nil {
		return err
	}
	envelope, err := a.ReadInput(file, "a statement", program.MaxParams)
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindInput, Msg: "--verify: " + files.ReadError(file, err).Error(),
			Hint: "name a file that markmill runs attest --key wrote", Err: err}
	}
	s, err := attest.Verify(envelope, public)
	if err != nil {
		_ = program.Say(a.Stdout, "%s: %s\n", file, err)
		return program.Exit(program.ExitFail)
	}
	if len(words) == 1 {
		own, err := statement(a, words[0])
		if err != nil {
			return err
		}
		if why := s.Matches(own); why != "" {
			_ = program.Say(a.Stdout, "%s: the signature holds, and %s\n", file, why)
			return program.Exit(program.ExitFail)
		}
	}
	return program.Say(a.Stdout, "%s: the signature holds, for the run %s and %d subjects\n",
		file, s.Predicate.RunDetails.Metadata.InvocationID, len(s.Subject))
}
