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

	"markmill/cmd/api"
	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/review"
	"markmill/runs"
	"markmill/runs/sshsig"
)

// rules are the changed files that say what runs may do: the settings, what they name, and workflows of CI. It compares
// the settings of the base with those of the branch.
func rules(old, now *worktree.Files, changes []worktree.PathChange) ([]review.Rule, error) {
	was, err := settingsOf(old)
	if err != nil { // the base is what it is; what it asked for is not known
		was.unread = err
	}
	is, err := settingsOf(now)
	if err != nil {
		return nil, err
	}
	var out []review.Rule
	for _, c := range changes {
		for name, change := range changedPaths(c) {
			rule := review.Rule{Path: name, Change: change}
			switch programs := programsNamed(name, was.Config, is.Config); {
			case name == engine.ConfigFile:
				rule.Kind = review.RuleSettings
				rule.Weaker, rule.Words = engine.Loosened(was.Config, is.Config)
				if was.unread != nil {
					rule.Weaker = append(rule.Weaker, "what it said cannot be read: "+was.unread.Error())
				}
			case was.signers() == name || is.signers() == name:
				rule.Kind, rule.Weaker = review.RuleSettings, []string{"it says whose approvals count"}
			case len(programs) > 0:
				rule.Kind = review.RuleSettings
				rule.Weaker = []string{fmt.Sprintf("it is the program of the kernel %s", strings.Join(programs, ", "))}
			case review.IsWorkflow(name):
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
	return out, nil
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

// settings are those of one side.
type settings struct {
	engine.Config
	unread error
}

func (s *settings) signers() string {
	if s.Policy == nil {
		return ""
	}
	return s.Policy.Signers
}

func settingsOf(side *worktree.Files) (settings, error) {
	text, err := side.Read(engine.ConfigFile, files.MaxNotebook)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, nil
	}
	if err != nil {
		return settings{}, err
	}
	cfg, err := engine.ParseConfig(engine.ConfigFile, text)
	return settings{Config: cfg}, err
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

// judges are the keys whose signatures count and the patterns of protected files, by the settings of the base.
func (o Options) judges(base *worktree.Files) (runs.Signers, []string, error) {
	signers := runs.Signers{Now: o.Now}
	cfg, err := settingsOf(base)
	if err != nil || cfg.Policy == nil { // settings that cannot be read are reported by rules
		return signers, nil, nil
	}
	var text []byte
	switch file := cfg.Policy.Signers; {
	case file == "":
		return signers, cfg.Policy.Rules.Protect, nil
	case filepath.IsAbs(file):
		text, err = os.ReadFile(file)
	default:
		if text, err = base.Read(file, files.MaxNotebook); errors.Is(err, fs.ErrNotExist) {
			return signers, cfg.Policy.Rules.Protect, nil // no key counts
		}
	}
	signers.Allowed = sshsig.ParseAllowedSigners(text, signers.Now.Location())
	return signers, cfg.Policy.Rules.Protect, err
}

// prover returns a function that says how far an output notebook can be trusted. The records that are kept here are
// listed once.
func (o Options) prover(signers runs.Signers) func(path string, output []byte) review.Proof {
	outputs := sync.OnceValue(func() map[runs.Digest][]string {
		made, _ := o.Store.Outputs() // without records every output is only claimed
		return made
	})
	return func(path string, output []byte) review.Proof {
		proof := review.Proof{Level: review.Claimed}
		for _, dir := range outputs()[runs.DigestOf(output)] {
			v, err := runs.At(dir).Verify(api.FoldView, signers)
			switch {
			case err != nil:
				proof.Words = fmt.Sprintf("its record cannot be read: %v", err)
			case len(v.Findings) > 0:
				proof.Words = fmt.Sprintf("its record does not verify: %s: %s", v.Findings[0].Where, v.Findings[0].Message)
			case v.Run != nil && v.Signed.Counts():
				return review.Proof{Level: review.Signed, Run: string(v.Run.ID), Words: v.Signed.Words()}
			case v.Run != nil:
				proof = review.Proof{Level: review.Recorded, Run: string(v.Run.ID)}
			}
		}
		by, err := runs.SignedOutput(path, output, signers)
		switch {
		case err != nil:
			proof.Words = "the signature of its manifest does not hold: " + err.Error()
		case by.Counts():
			proof.Level, proof.Words = review.Signed, by.Words()
		case by != nil && proof.Level == review.Claimed:
			proof.Words = by.Words()
		}
		return proof
	}
}
