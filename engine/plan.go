package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"markmill/engine/kernel"
	"markmill/engine/mask"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/inject"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/percent"
	"markmill/runs"
)

// Plan is a run that is decided and has not started: nothing of the notebook's has run, nothing
// was written.
type Plan struct {
	Request    Request
	Notebook   *notebooks.Notebook
	Bound      []notebooks.Bound
	Steps      []PlannedStep
	Source     *worktree.Source // nil outside a repository
	Base       worktree.OID
	DirtyPaths []string // the user's uncommitted changes
	Depth      int      // runs around this one
	Gates      []runs.GateData
	Sandbox    runs.SandboxData // what will hold the steps

	// What the policies of the repository add. Notebook.Front is as they leave it.
	Narrowed       []runs.NarrowedData
	AllowAlso      [][]string    // lists like allow:, each of which a path must match too
	StepTimeoutMax time.Duration // most that a step may take; 0 is none
	RunTimeout     time.Duration // of the whole run; 0 is none
	policies       []placedPolicy

	mask *mask.Set // of the secrets
}

// PlannedStep is a step, what will interpret it, and whether it will run.
type PlannedStep struct {
	*notebooks.Step
	Kernel  kernel.Kernel // nil: no kernel is there, and the step is tagged skip
	Session string        // name of the live session
	Skip    string        // why it will not run; "" runs
	LeftOut string        // the option that leaves it out: "--only"
}

// Parse reads the notebook of a request, in the language that the request adds. The error is that of forms.Parse.
func (e *Engine) Parse(req Request) (*notebooks.Notebook, error) {
	nb, err := forms.Parse(req.Path, req.Source)
	e.speak(nb, req)
	return nb, err
}

// Plan reads a notebook, binds its parameters and decides every gate. The error is a
// notebooks.ErrorList of everything that is wrong with the request; a gate that is not met is no
// error but stands in Plan.Gates.
func (e *Engine) Plan(ctx context.Context, req Request) (*Plan, error) {
	nb, err := e.Parse(req)
	if err != nil {
		return nil, e.withKernels(req, nb, err)
	}
	if req.Markers {
		nb.ApplyMarkers()
	}
	if req.AllowErrors || nb.Front.AllowErrors {
		nb.AllowErrors()
	}
	p := &Plan{Request: req, Notebook: nb}
	var errs errorList
	base := p.chooseBase(ctx, e.homes())
	if base == nil {
		errs.add(p.usePolicies(e))
	}
	p.Bound, err = notebooks.Bind(req.Path, nb.Params, req.Given, notebooks.BindOptions{AllowUnknown: req.AllowUnknown, IsName: p.isName, Unread: nb.Unread(), Getenv: e.Getenv, MissingSecrets: true})
	errs.add(err)
	errs.add(p.maskSecrets(e.Getenv))
	errs.add(p.checkPaths(e.Cache))
	errs.add(e.checkAll(p))
	errs.add(p.choose())
	errs.add(base)
	if !req.Empty {
		errs.add(noSteps(nb))
	}
	if err := errs.err(); err != nil {
		return nil, err
	}
	if req.Resume != nil {
		if err := req.Resume.same(p); err != nil {
			return nil, err
		}
	}
	return p, p.gates(ctx, e)
}

// isName says whether the language of the values has a variable of that name.
func (p *Plan) isName(name string) bool { return inject.IsName(p.spoken(), name) }

// spoken is the language in which given values are written.
func (p *Plan) spoken() string {
	if p.Notebook.DefaultLanguage == "" && len(p.Notebook.Steps) > 0 {
		return p.Notebook.Steps[0].Lang
	}
	return p.Notebook.DefaultLanguage
}

// Check finds what Plan would refuse whatever the parameters are. What is odd but runs stands in the notebook's
// Warnings; the notebook is never nil.
func (e *Engine) Check(req Request) (*notebooks.Notebook, error) {
	nb, err := e.Parse(req)
	if err != nil {
		return nb, e.withKernels(req, nb, err)
	}
	if f := nb.Front; f.Schedule != "" || len(f.Alerts) > 0 {
		nb.Warnings = append(nb.Warnings, &notebooks.Error{Kind: notebooks.KindOption, File: req.Path, Line: 1,
			Msg: "schedule: and alerts: are for a scheduler to read", Hint: "markmill run does not act on them"})
	}
	p := &Plan{Request: req, Notebook: nb}
	if err := p.useHeadPolicies(e); err != nil {
		return nb, err
	}
	nb.Warnings = append(nb.Warnings, p.missingSecrets(e.Getenv, nb.Params)...)
	var errs errorList
	errs.add(noSteps(nb))
	errs.add(e.checkAll(p))
	return nb, errs.err()
}

// withKernels adds to the mistakes of a notebook that cannot be read whole those of the steps that were read, so that
// all are told at once.
func (e *Engine) withKernels(req Request, nb *notebooks.Notebook, err error) error {
	var errs errorList
	errs.add(err)
	errs.add((&Plan{Request: req, Notebook: nb}).chooseKernels(e))
	slices.SortStableFunc(errs.list, func(a, b *notebooks.Error) int { return cmp.Compare(a.Line, b.Line) })
	return errs.err()
}

// noSteps refuses a notebook of which nothing would run: a pass would say nothing. Fences that are almost steps are
// named with it.
func noSteps(nb *notebooks.Notebook) error {
	if len(nb.Steps) > 0 || nb.Form == ipynb.Form { // a Jupyter notebook of text alone runs as under papermill
		return nil
	}
	hint := "a fence is one when it has an id or a tag, as ```bash {#build} and ```bash {.test}, " +
		"or its language in braces, as ```{python}"
	if nb.Form == percent.Form {
		hint = "a step begins with a comment of %%"
	}
	list := notebooks.ErrorList{{Kind: notebooks.KindSyntax, File: nb.Name, Line: 1,
		Msg: "the notebook has no step: nothing would run", Hint: hint}}
	nb.Warnings = slices.DeleteFunc(nb.Warnings, func(w *notebooks.Error) bool {
		almost := strings.HasPrefix(w.Msg, notebooks.NoStep)
		if almost {
			list = append(list, w)
		}
		return almost
	})
	return list
}

// Narrow is a notebook as the policies of the repository leave it, and who restricts what, for a run
// of the commit that is checked out. Whether its kernels are there does not matter: nothing is to run.
func (e *Engine) Narrow(req Request) (*notebooks.Notebook, []runs.NarrowedData, error) {
	nb, err := e.Parse(req)
	if err != nil {
		return nil, nil, err
	}
	p := &Plan{Request: req, Notebook: nb}
	if err = p.useHeadPolicies(e); err == nil {
		err = p.checkFront()
	}
	return nb, p.Narrowed, err
}

// useHeadPolicies narrows a plan that is only looked at.
func (p *Plan) useHeadPolicies(e *Engine) error {
	if p.Request.Repository == nil {
		return nil
	}
	p.Source = p.Request.Repository
	var err error
	if p.Base, err = p.Source.Head(); err != nil {
		return err
	}
	return p.usePolicies(e)
}

// usePolicies finds the policies that hold and makes the notebook keep to them.
func (p *Plan) usePolicies(e *Engine) error {
	var err error
	if p.policies, err = e.policies(p.Source, p.Base); err != nil {
		return err
	}
	p.narrow()
	return p.inPlaceRefused()
}

func (e *Engine) checkAll(p *Plan) error {
	var errs errorList
	errs.add(p.checkFront())
	errs.add(p.chooseKernels(e))
	for _, u := range p.unset() {
		p.Notebook.Warnings = append(p.Notebook.Warnings, u.Warning(p.Request.Path))
	}
	return errs.err()
}

// unset are the variables of shells that nobody sets, and that are nearly parameters.
func (p *Plan) unset() []notebooks.Unset {
	return p.Notebook.UnsetNames(func(name string) bool { _, ok := fixed[name]; return ok || slices.Contains(passed, name) })
}

// errorList collects errors of any kind as mistakes of the notebook or the request.
type errorList struct{ list notebooks.ErrorList }

func (l *errorList) add(err error) {
	var list notebooks.ErrorList
	var one *notebooks.Error
	switch {
	case err == nil:
	case errors.As(err, &list):
		l.list = append(l.list, list...)
	case errors.As(err, &one):
		l.list = append(l.list, one)
	default:
		l.list = append(l.list, &notebooks.Error{Kind: notebooks.KindInternal, Msg: err.Error(), Err: err})
	}
}

// err is the list, or nil when it is empty.
func (l *errorList) err() error {
	if len(l.list) == 0 {
		return nil
	}
	return l.list
}

// checkPaths refuses places whose names the record, which is JSON, cannot hold.
func (p *Plan) checkPaths(cache string) error {
	for _, path := range []string{p.Request.Path, p.Request.Output, p.root(), cache} {
		if !utf8.ValidString(path) {
			return &notebooks.Error{Kind: notebooks.KindInput, Msg: "the path " + runs.QuotePath(path) + " is not UTF-8, and the record of a run cannot name it",
				Hint: "rename it, or work in a clone elsewhere"}
		}
	}
	return nil
}

// checkFront checks what only the engine can: patterns, words that choose a behaviour.
func (p *Plan) checkFront() error {
	f := p.Notebook.Front
	bad := func(msg, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindOption, File: p.Request.Path, Line: 1, Msg: msg, Hint: hint}
	}
	var errs errorList
	for _, l := range []struct {
		key      string
		patterns []string
	}{{"allow", f.Allow}, {"forbid", f.Forbid}, {"protect", f.Protect}} {
		if pattern := badPattern(l.patterns); pattern != "" || slices.Contains(l.patterns, "") {
			errs.add(bad(fmt.Sprintf("%s: %q is not a pattern of paths in the worktree", l.key, pattern),
				`patterns are relative and use / , as "reports/**"`))
		}
	}
	return errs.err()
}

// chooseKernels finds what interprets each step, and whether it can hold the parameters.
func (p *Plan) chooseKernels(e *Engine) error {
	var errs errorList
	table := kernels{cfg: e.Config, getenv: e.env, spec: p.jupyter()}
	p.preferIPython(&table)
	told := map[string]bool{}
	type choice struct {
		lang  string
		apart bool
	}
	chosen := map[choice]kernel.Kernel{} // looking for a kernelspec reads files
	for _, s := range p.Notebook.Steps {
		lang := s.Lang
		var err *notebooks.Error
		k, ok := chosen[choice{lang, s.Apart}]
		if !ok {
			if k, err = table.forStep(lang, s.Apart, p.Request.Kernel, p.Notebook.Front.Kernel); err == nil {
				chosen[choice{lang, s.Apart}] = k
			}
		}
		if err != nil && s.Has(notebooks.TagSkip) { // what does not run needs nothing to run it
			p.Steps = append(p.Steps, PlannedStep{Step: s, Session: lang})
			continue
		}
		if err != nil {
			if !told[err.Msg] || !table.spec { // what a Jupyter notebook names is the same of every cell
				err.File, err.Line, err.Col, err.Step = p.Request.Path, s.Line, 1, s.ID
				errs.add(err)
			}
			told[err.Msg] = true
			continue
		}
		errs.add(p.reaches(k, s))
		session := s.Kernel
		if session == "" {
			session = k.Name()
		}
		p.Steps = append(p.Steps, PlannedStep{Step: s, Kernel: k, Session: session})
	}
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if s.Kernel == nil || seen[s.Kernel.Name()] {
			continue
		}
		seen[s.Kernel.Name()] = true
		for _, b := range p.values() {
			errs.add(s.Kernel.CanHold(b))
		}
	}
	p.foretellCell()
	return errs.err()
}

// values are the parameters whose value is known before the first step runs: a default that only
// an interpreter can work out (an expression in a code-language block) is left to it.
func (p *Plan) values() []notebooks.Bound {
	var out []notebooks.Bound
	for _, b := range p.Bound {
		if b.Given || b.Param.HasDefault {
			out = append(out, b)
		}
	}
	return out
}

// Given are the values that were not the notebook's own.
func (p *Plan) Given() []notebooks.Bound { return p.given() }

func (p *Plan) given() []notebooks.Bound {
	var out []notebooks.Bound
	for _, b := range p.Bound {
		if b.Given {
			out = append(out, b)
		}
	}
	return out
}

// choose decides which steps run.
func (p *Plan) choose() error {
	var ids []string
	for _, s := range p.Steps {
		ids = append(ids, string(s.ID))
	}
	unknown := func(flag, id string) *notebooks.Error {
		e := &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%s: no step has the id %q; steps: %s", flag, id, strings.Join(ids, ", "))}
		if near := notebooks.Suggest(id, ids); near != "" {
			e.Hint = fmt.Sprintf("did you mean %s?", near)
		}
		return e
	}
	req := p.Request
	var errs notebooks.ErrorList
	for _, id := range req.Only {
		if !slices.Contains(ids, id) {
			errs = append(errs, unknown("--only", id))
		}
	}
	from, until := 0, len(p.Steps)-1
	if req.From != "" {
		if from = slices.Index(ids, string(req.From)); from < 0 {
			errs = append(errs, unknown("--from", string(req.From)))
		}
	}
	if req.Until != "" {
		if until = slices.Index(ids, string(req.Until)); until < 0 {
			errs = append(errs, unknown("--until", string(req.Until)))
		}
	}
	if len(errs) == 0 && req.From != "" && req.Until != "" && from > until {
		errs = append(errs, &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("--from %s stands after --until %s, so that no step would run", req.From, req.Until),
			Hint: "exchange the two"})
	}
	if len(errs) > 0 {
		return errs
	}
	skipped := map[notebooks.StepID]string{}
	for i := range p.Steps {
		s := &p.Steps[i]
		always := s.Parameters || s.Has(notebooks.TagSetup) || s.Has(notebooks.TagFinally)
		switch {
		case s.Has(notebooks.TagSkip):
			s.Skip = "it is tagged skip"
		case slices.ContainsFunc(req.SkipTags, s.Has):
			s.Skip, s.LeftOut = "its tag was left out by --skip-tag", "--skip-tag"
		case always:
		case len(req.Only) > 0 && !slices.Contains(req.Only, string(s.ID)):
			s.Skip, s.LeftOut = "--only names other steps", "--only"
		case i < from:
			s.Skip, s.LeftOut = "it stands before --from", "--from"
		case i > until:
			s.Skip, s.LeftOut = "it stands after --until", "--until"
		}
		if s.Skip != "" {
			skipped[s.ID] = s.Skip
		}
	}
	for _, s := range p.Steps {
		for _, need := range s.Needs {
			if why := skipped[need]; s.Skip == "" && why != "" {
				errs = append(errs, &notebooks.Error{Kind: notebooks.KindOption, File: req.Path, Line: s.Line, Step: s.ID,
					Msg: fmt.Sprintf("needs %q, which does not run: %s", need, why), Hint: fmt.Sprintf("let %s run too", need)})
			}
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// chooseBase finds the base commit and what of the user's is not in it.
func (p *Plan) chooseBase(ctx context.Context, homes []string) error {
	req := p.Request
	if req.Repository == nil {
		for _, o := range []struct {
			flag string
			set  bool
		}{{"--base", req.Base != ""}, {"--branch", req.Branch != ""}} {
			if o.set {
				return &notebooks.Error{Kind: notebooks.KindOption, Msg: o.flag + " needs a Git repository, and the notebook is in none",
					Hint: "run it inside one, or leave the option out"}
			}
		}
		return p.checkFolder(homes)
	}
	p.Source = req.Repository
	var err error
	if req.Base == "" {
		p.Base, err = p.Source.Head()
	} else {
		p.Base, err = p.Source.Resolve(req.Base)
	}
	if err != nil {
		return err
	}
	if req.Branch != "" {
		if err := worktree.CheckBranch(p.Source, req.Branch, p.Base); err != nil {
			return err
		}
	}
	if p.DirtyPaths, err = p.Source.Dirty(ctx); req.Dirty != DirtyInclude { // what is taken along is named whole
		p.DirtyPaths = slices.DeleteFunc(p.DirtyPaths, p.isOutput)
	}
	return err
}

// isOutput says whether a path of the checkout is OUTPUT or one of its pictures, which a run before may have left.
func (p *Plan) isOutput(name string) bool {
	output, ok := p.Source.Relative(p.Request.Output)
	if !ok || p.Request.Output == "" {
		return false
	}
	assets := path.Join(path.Dir(output), filepath.ToSlash(p.Request.Assets))
	return name == output || p.Request.Assets != "" && strings.HasPrefix(name, assets+"/")
}

// gates decides what must hold before anything starts. What does not hold stands in p.Gates.
func (p *Plan) gates(ctx context.Context, e *Engine) error {
	block := func(code, rule, words string) {
		p.Gates = append(p.Gates, runs.GateData{Code: code, Rule: rule, Words: words})
	}
	f := p.Notebook.Front
	if v, ok := e.Getenv("MARKMILL_DEPTH"); ok && v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("MARKMILL_DEPTH is %q, not a number of runs", v), Hint: "unset it"}
		}
		p.Depth = n
	}
	if p.Depth > MaxDepth {
		block(runs.CodeDepthExceeded, "", fmt.Sprintf("this run is %d runs deep, and %d is the limit", p.Depth, MaxDepth))
	}
	if (slices.Contains(f.Require, "clean") || p.Request.Dirty == DirtyBlock) && len(p.DirtyPaths) > 0 {
		rule := "require: clean"
		if !slices.Contains(f.Require, "clean") {
			rule = "--dirty block"
		}
		p.Gates = append(p.Gates, runs.GateData{Code: runs.CodeDirtyStartingTree, Rule: rule, Paths: firstPaths(p.DirtyPaths),
			Words: fmt.Sprintf("a clean start is required, and these are not committed: %s; commit or stash them", firstOf(p.DirtyPaths))})
	}
	if slices.Contains(f.Require, "tests") && !slices.ContainsFunc(p.Steps, func(s PlannedStep) bool { return s.Has(notebooks.TagTest) && s.Skip == "" }) {
		block(runs.CodeMissingTestCommand, "require: tests", "tests are required, and no step that runs is tagged test")
	}
	for _, m := range p.missingSecrets(e.Getenv, p.open()) {
		block(runs.CodeSecretMissing, "secrets", m.Msg+"; "+m.Hint)
	}
	if refusal := p.contain(ctx, e); refusal != "" {
		block(runs.CodeProviderUnavailable, "", refusal)
	}
	return nil
}

// leavesOut says whether the command line leaves a step out of the run.
func (p *Plan) leavesOut() bool {
	return slices.ContainsFunc(p.Steps, func(s PlannedStep) bool { return s.LeftOut != "" })
}

// needsApproval says whether the run waits for one. It is decided when the run starts (approval.go),
// because a gate that takes an approval writes.
func (p *Plan) needsApproval() bool {
	f := p.Notebook.Front
	return f.Approval == approvalRequired || slices.Contains(f.Require, "approval")
}

// mode is the mutation mode of the contract.
func (p *Plan) mode() string {
	switch {
	case p.Notebook.Front.Mode == runs.MutationNone:
		return runs.MutationNone
	case p.inFolder() || p.Request.InPlace || p.Notebook.Front.Mode == runs.MutationInPlace:
		return runs.MutationInPlace
	}
	return runs.MutationWorktree
}

// fileName is how messages of interpreters call the notebook: without folders, which would differ
// from one place to the next.
func (p *Plan) fileName() string {
	if p.Request.Path == "-" {
		return p.sourceFile()
	}
	return path.Base(strings.ReplaceAll(p.Request.Path, `\`, "/"))
}

// TaskID is the notebook's name without folder and ending.
func (p *Plan) TaskID() string { return taskID(p.Request.Path) }

func taskID(notebook string) string {
	if notebook == "-" {
		return "stdin"
	}
	base := path.Base(strings.ReplaceAll(notebook, `\`, "/"))
	return strings.TrimSuffix(base, path.Ext(base))
}

func firstOf(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:3], ", ") + ", …"
}
