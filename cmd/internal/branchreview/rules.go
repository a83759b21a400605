package branchreview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/rerun"
	"markmill/cmd/internal/views"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/review"
	"markmill/runs"
	"markmill/runs/outfile"
	"markmill/runs/sshsig"
)

// rules are the changed files that say what runs may do: the settings, what they name, and workflows of CI. It compares
// the settings of the base, which may be unread, with those of the branch.
func rules(was, is engine.Config, unread error, changes []worktree.PathChange) []review.Rule {
	var out []review.Rule
	for _, c := range changes {
		for name, change := range changedPaths(c) {
			rule := review.Rule{Path: name, Change: change}
			switch programs := programsNamed(name, was, is); {
			case name == engine.ConfigFile:
				rule.Kind = review.RuleSettings
				rule.Weaker, rule.Words = engine.Loosened(was, is)
				if unread != nil {
					rule.Weaker = append(rule.Weaker, "what it said cannot be read: "+unread.Error())
				}
			case signersOf(was) == name || signersOf(is) == name:
				rule.Kind, rule.Weaker = review.RuleSettings, []string{"it says whose approvals count"}
			case len(programs) > 0:
				rule.Kind = review.RuleSettings
				rule.Weaker = []string{fmt.Sprintf("it is the program of the kernel %s", strings.Join(programs, ", "))}
			case outfile.IsWorkflow(name):
				rule.Kind = review.RuleWorkflow
			default:
				continue
			}
			out = append(out, rule)
		}
	}
	slices.SortStableFunc(out, func(a, b review.Rule) int {
		if d := len(b.Weaker) - len(a.Weaker); d != 0 && (len(a.Weaker) == 0 || len(b.Weaker) == 0) {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out
}

// changedPaths are the paths that a change concerns, and what became of each.
func changedPaths(c worktree.PathChange) map[string]review.Change {
	switch {
	case c.From != "":
		return map[string]review.Change{c.From: review.Removed, c.Path: review.Added}
	case !c.Old:
		return map[string]review.Change{c.Path: review.Added}
	case !c.New:
		return map[string]review.Change{c.Path: review.Removed}
	}
	return map[string]review.Change{c.Path: review.Edited}
}

func signersOf(cfg engine.Config) string {
	if cfg.Policy == nil {
		return ""
	}
	return cfg.Policy.Signers
}

// Settings reads the settings of one side.
func Settings(side *worktree.Files) (engine.Config, error) {
	text, err := side.Read(engine.ConfigFile, files.MaxNotebook)
	if errors.Is(err, fs.ErrNotExist) {
		return engine.Config{}, nil
	}
	if err != nil {
		return engine.Config{}, err
	}
	return engine.ParseConfig(engine.ConfigFile, text)
}

// programsNamed are the kernels whose program, or a word of whose command, is a file of the repository.
func programsNamed(name string, sides ...engine.Config) []string {
	var out []string
	for _, cfg := range sides {
		for kernel, k := range cfg.Kernels {
			for _, word := range append([]string{k.Program}, k.Command...) {
				if word != "" && path.Clean(word) == name && !slices.Contains(out, kernel) {
					out = append(out, kernel)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// judges are the keys whose signatures count, by the allowed_signers file that the settings of the base name.
func judges(base *worktree.Files, file string, now time.Time) (runs.Signers, error) {
	signers := runs.Signers{Now: now}
	if file == "" || base == nil && !filepath.IsAbs(file) {
		return signers, nil
	}
	read := os.ReadFile
	if !filepath.IsAbs(file) {
		read = func(name string) ([]byte, error) { return base.Read(name, files.MaxNotebook) }
	}
	text, err := read(file)
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(file) {
		return signers, nil // no key counts
	}
	signers.Allowed = sshsig.ParseAllowedSigners(text, signers.Now.Location())
	return signers, err
}

// RecordProver returns a function that says how far the record in a folder can be trusted, by the keys that the
// settings of a base name; base may be nil where keys are not files of the repository. What it says is claimed does not
// verify.
func RecordProver(base *worktree.Files, settings engine.Config, store runs.Store, now time.Time) (
	func(dir string) review.Proof, runs.Signers, error) {
	signers, err := judges(base, signersOf(settings), now)
	if err != nil {
		return nil, signers, err
	}
	reruns := sync.OnceValues(store.Reruns)
	return func(dir string) review.Proof {
		v, err := runs.At(dir).Verify(views.FoldView, signers)
		switch {
		case err != nil:
			return review.Proof{Level: review.Claimed, Words: fmt.Sprintf("its record cannot be read: %v", err)}
		case len(v.Findings) > 0:
			return review.Proof{Level: review.Claimed, Words: fmt.Sprintf("its record does not verify: %s: %s",
				v.Findings[0].Where, v.Findings[0].Message)}
		case v.Run == nil:
			return review.Proof{Level: review.Claimed}
		}
		p := review.Proof{Level: review.Recorded, Run: string(v.Run.ID)}
		if v.Signed.Counts() {
			p = review.Proof{Level: review.Signed, Run: string(v.Run.ID), Signed: true, Words: v.Signed.Words()}
		} else if !v.Made {
			p = review.Proof{Level: review.Claimed, Words: "its record was " + runs.NotMadeHere +
				", and no allowed signer signed it"}
		}
		repetitions, err := reruns()
		own := slices.DeleteFunc(slices.Clone(repetitions[v.Run.ID]), func(r *runs.Record) bool {
			return !r.Made()
		})
		if err != nil || len(own) == 0 {
			return p
		}
		by, err := rerun.Agreeing(store, v, own, settings.Normalize, signers)
		if err == nil && by != "" {
			p.Level, p.Words = review.Repeated, strings.TrimPrefix(p.Words+"; repeated by "+string(by), "; ")
		}
		return p
	}, signers, nil
}

// ProverAt is RecordProver by the settings and keys of a commit; an empty one has none.
func ProverAt(repo *worktree.Source, commit worktree.OID, store runs.Store, now time.Time) (
	prove func(dir string) review.Proof, signers runs.Signers, err error) {
	var base *worktree.Files
	var settings engine.Config
	if commit != "" {
		if base, err = repo.CommitFiles(commit); err != nil {
			return nil, signers, err
		}
		defer base.Close()
		if settings, err = Settings(base); err != nil {
			return nil, signers, err
		}
	}
	return RecordProver(base, settings, store, now)
}

// Prover returns a function that says how far an output notebook can be trusted, by the keys that the settings of a
// base name. The records that are kept here are listed once.
func Prover(base *worktree.Files, settings engine.Config, store runs.Store, now time.Time) (
	func(path string, output []byte) review.Proof, error) {
	prove, signers, err := RecordProver(base, settings, store, now)
	if err != nil {
		return nil, err
	}
	outputs := sync.OnceValue(func() map[runs.Digest][]string {
		made, _ := store.Outputs() // without records every output is only claimed
		return made
	})
	return func(path string, output []byte) review.Proof {
		proof := review.Proof{Level: review.Claimed}
		for _, dir := range outputs()[runs.DigestOf(output)] {
			switch p := prove(dir); {
			case p.Signed:
				return p
			case p.Level != review.Claimed:
				proof = p
			case p.Words != "":
				proof.Words = p.Words
			}
		}
		by, err := runs.SignedOutput(path, output, signers)
		switch {
		case err != nil:
			proof.Words = "the signature of its manifest does not hold: " + err.Error()
		case by.Counts():
			proof.Signed, proof.Words = true, strings.TrimSuffix(by.Words()+"; "+proof.Words, "; ")
			if proof.Level != review.Repeated {
				proof.Level, proof.Words = review.Signed, by.Words()
			}
		case by != nil && proof.Level == review.Claimed:
			proof.Words = by.Words()
		}
		return proof
	}, nil
}
