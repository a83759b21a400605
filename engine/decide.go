package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// selectSteps decides which steps run.
func (p *Plan) selectSteps() error {
	var ids []string
	for _, s := range p.steps {
		ids = append(ids, string(s.ID))
	}
	from, until, err := p.bounds(ids)
	if err != nil {
		return err
	}
	skipped := map[notebooks.StepID]string{}
	for i := range p.steps {
		s := &p.steps[i]
		if s.Skip, s.LeftOut = p.skips(s, i < from, i > until); s.Skip != "" {
			skipped[s.ID] = s.Skip
		}
	}
	var errs errorList
	for _, s := range p.steps {
		for _, need := range s.Needs {
			if why := skipped[need]; s.Skip == "" && why != "" {
				errs.add(&notebooks.Error{Kind: notebooks.KindOption, File: p.request.Path, Line: s.Line, Step: s.ID,
					Msg: fmt.Sprintf("needs %q, which does not run: %s", need, why), Hint: fmt.Sprintf("let %s run too",
						need)})
			}
		}
	}
	return errs.err()
}

// noStep is the error of an option that names a step which the notebook does not have.
func noStep(flag, id string, ids []string) *notebooks.Error {
	return &notebooks.Error{Kind: notebooks.KindOption, Hint: notebooks.DidYouMean(id, ids),
		Msg: fmt.Sprintf("%s: no step has the id %q; steps: %s", flag, id, strings.Join(ids, ", "))}
}

// bounds are the indices of --from and --until. The error names every option with a step that does not exist.
func (p *Plan) bounds(ids []string) (from, until int, err error) {
	var errs errorList
	find := func(flag, id string) int {
		at := slices.Index(ids, id)
		if at < 0 {
			errs.add(noStep(flag, id, ids))
		}
		return at
	}
	req := p.request
	for _, id := range req.Only {
		find("--only", id)
	}
	until = len(ids) - 1
	if req.From != "" {
		from = find("--from", string(req.From))
	}
	if req.Until != "" {
		until = find("--until", string(req.Until))
	}
	if errs.list == nil && req.From != "" && req.Until != "" && from > until {
		errs.add(&notebooks.Error{Kind: notebooks.KindOption,
			Msg:  fmt.Sprintf("--from %s stands after --until %s, so that no step would run", req.From, req.Until),
			Hint: "exchange the two"})
	}
	return from, until, errs.err()
}

// skips says why a step does not run, and which option leaves it out.
func (p *Plan) skips(s *PlannedStep, before, after bool) (why, option string) {
	req := p.request
	always := s.Parameters || s.Has(notebooks.TagSetup) || s.Has(notebooks.TagFinally)
	switch {
	case s.Has(notebooks.TagSkip):
		return "it is tagged skip", ""
	case slices.ContainsFunc(req.SkipTags, s.Has):
		return "its tag was left out by --skip-tag", "--skip-tag"
	case always:
	case len(req.Only) > 0 && !slices.Contains(req.Only, string(s.ID)):
		return "--only names other steps", "--only"
	case before:
		return "it stands before --from", "--from"
	case after:
		return "it stands after --until", "--until"
	}
	return "", ""
}

// checkText returns an error for a name that the record cannot hold.
func (p *Plan) checkText(e *Engine) error {
	if err := p.request.checkText(); err != nil {
		return err
	}
	if a := p.request.Assets; a != "" && (!filepath.IsLocal(a) || strings.ContainsAny(a, `/\`)) { // of another's record
		return &notebooks.Error{Kind: notebooks.KindInput,
			Msg: fmt.Sprintf("the folder of pictures %q is no name beside the output notebook", a)}
	}
	home, _ := e.Getenv("HOME")
	for _, path := range []string{p.root(), e.Cache, e.Store(p.root()).Dir, home} {
		if err := notUTF8("the path", path); err != nil {
			return err
		}
	}
	return nil
}

// chooseBase finds the base commit and the user's changes that are not in it.
func (p *Plan) chooseBase(ctx context.Context, homes []string) error {
	req := p.request
	if p.source == nil {
		for _, o := range []struct {
			flag string
			set  bool
		}{{"--base", req.Base != ""}, {"--branch", req.Branch != ""}} {
			if o.set {
				return &notebooks.Error{Kind: notebooks.KindOption,
					Msg:  o.flag + " needs a Git repository, and the notebook is in none",
					Hint: "run it inside one, or leave the option out"}
			}
		}
		return p.checkFolder(homes)
	}
	var err error
	if req.Base == "" {
		p.base, err = p.source.Head()
	} else {
		p.base, err = p.source.Resolve(req.Base)
	}
	if err != nil {
		return err
	}
	if err := p.source.Complete(ctx, p.base); err != nil {
		return err
	}
	if req.Branch != "" && req.Rerun == nil {
		if err := p.source.CheckBranch(req.Branch, p.base); err != nil {
			return err
		}
	}
	missing, err := p.source.MissingFilters(ctx)
	if err != nil {
		return err
	}
	for _, f := range missing {
		p.gates = append(p.gates, runs.Blocker{Code: runs.CodeProviderUnavailable,
			Rule: "filter." + f.Name + ".required", Paths: []string{f.Path},
			Message: fmt.Sprintf("the filter %s of .gitattributes needs %s, which is not installed",
				f.Name, f.Program),
			Hint: fmt.Sprintf("install it, or take the files as they are stored: git config filter.%s.required false "+
				"&& git config filter.%[1]s.process '' && git config filter.%[1]s.clean cat && git config "+
				"filter.%[1]s.smudge cat", f.Name)})
	}
	if len(missing) > 0 {
		return nil
	}
	if p.uncommitted, err = p.source.Look(ctx); err != nil {
		return err
	}
	files, err := p.source.CommitFiles(p.base)
	if err != nil {
		return nil //nolint:nilerr // a repository without a commit
	}
	return p.readInclude(files)
}

// includeFile lists ignored files that each worktree of the repository gets too, as patterns of .gitignore. Other tools
// read it, too.
const includeFile = ".worktreeinclude"

// readInclude reads the patterns of the base's includeFile.
func (p *Plan) readInclude(files *worktree.Files) error {
	if p.mode() == runs.MutationInPlace {
		return nil
	}
	text, err := files.Read(includeFile, 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && line[0] != '#' {
			p.included = append(p.included, line)
		}
	}
	return err
}

// isOutput reports whether a path of the checkout is OUTPUT or one of its pictures, which an earlier run may have left.
func (p *Plan) isOutput(name string) bool {
	output, ok := p.source.Relative(p.request.Output)
	if !ok || p.request.Output == "" {
		return false
	}
	assets := path.Join(path.Dir(output), filepath.ToSlash(p.request.Assets))
	return name == output || p.request.Assets != "" && strings.HasPrefix(name, assets+"/")
}

// decideGates decides what must hold before anything starts. What does not hold goes into p.gates.
func (p *Plan) decideGates(ctx context.Context, e *Engine) error {
	block := func(code, rule, words string) {
		p.gates = append(p.gates, runs.Blocker{Code: code, Rule: rule, Message: words})
	}
	f := p.notebook.Front
	if v, ok := e.Getenv("MARKMILL_DEPTH"); ok && v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return &notebooks.Error{Kind: notebooks.KindOption,
				Msg: fmt.Sprintf("MARKMILL_DEPTH is %q, not a number of runs", v), Hint: "unset it"}
		}
		p.depth = n
	}
	if p.depth > MaxDepth {
		block(runs.CodeDepthExceeded, "", fmt.Sprintf("this run is %d runs deep, and %d is the limit",
			p.depth, MaxDepth))
	}
	if (slices.Contains(f.Require, "clean") || p.request.Dirty == DirtyBlock) && len(p.dirtyPaths) > 0 {
		rule := "require: clean"
		if !slices.Contains(f.Require, "clean") {
			rule = "--dirty block"
		}
		p.gates = append(p.gates, runs.Blocker{Code: runs.CodeDirtyStartingTree, Rule: rule,
			Paths: firstPaths(p.dirtyPaths),
			Message: fmt.Sprintf("a clean start is required, and these are not committed: %s; commit or stash them",
				firstOf(p.dirtyPaths))})
	}
	if slices.Contains(f.Require, "tests") && !slices.ContainsFunc(p.steps,
		func(s PlannedStep) bool { return s.Has(notebooks.TagTest) && s.Skip == "" }) {
		block(runs.CodeMissingTestCommand, "require: tests", "tests are required, and no step that runs is tagged test")
	}
	for _, m := range p.missingSecrets(e.Getenv, p.open()) {
		block(runs.CodeSecretMissing, "secrets", m.Msg+"; "+m.Hint)
	}
	for _, refusal := range []string{p.contain(ctx, e), p.checkTree(e)} {
		if refusal == "" {
			continue
		}
		block(runs.CodeProviderUnavailable, "", refusal)
	}
	p.decideAgents()
	return nil
}
