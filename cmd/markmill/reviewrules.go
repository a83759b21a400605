package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/cmd/api/files"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/render/review"
	"markmill/runs"
	"markmill/runs/sshsig"
)

// rules are the changed files that say what runs may do: the settings and what they name, and what CI does. The branch
// is held against the settings of the base.
func rules(old, now *worktree.Files, changes []worktree.PathChange) ([]review.Rule, error) {
	was, err := settingsOf(old)
	if err != nil { // those of the base are as they are, and what they asked is not known
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
				rule.Kind, rule.Weaker = review.RuleSettings, []string{fmt.Sprintf("it is the program of the kernel %s", strings.Join(programs, ", "))}
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

// reviewSettings are the settings of one side.
type reviewSettings struct {
	engine.Config
	unread error
}

func (s *reviewSettings) signers() string {
	if s.Policy == nil {
		return ""
	}
	return s.Policy.Signers
}

func settingsOf(tree *worktree.Files) (reviewSettings, error) {
	text, err := tree.Read(engine.ConfigFile, files.MaxNotebook)
	if errors.Is(err, fs.ErrNotExist) {
		return reviewSettings{}, nil
	}
	if err != nil {
		return reviewSettings{}, err
	}
	cfg, err := engine.ParseConfig(engine.ConfigFile, text)
	return reviewSettings{Config: cfg}, err
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

// baseJudges are the keys whose signatures count and the patterns of protected files, by the settings of the base: a
// branch does not choose who judges it.
func (a *app) baseJudges(base *worktree.Files) (runs.Signers, []string, error) {
	signers := runs.Signers{Now: a.now()}
	cfg, err := settingsOf(base)
	if err != nil || cfg.Policy == nil { // settings that cannot be read are told by rules
		return signers, nil, nil
	}
	if file := cfg.Policy.Signers; filepath.IsAbs(file) {
		signers, err = a.signers(file, "")
	} else if file != "" {
		var text []byte
		if text, err = base.Read(file, files.MaxNotebook); err == nil {
			signers.Allowed = sshsig.ParseAllowedSigners(text, signers.Now.Location())
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil // then no key counts
		}
	}
	return signers, cfg.Policy.Rules.Protect, err
}
