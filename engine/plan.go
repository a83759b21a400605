package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"markmill/engine/kernel"
	"markmill/engine/mask"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/engine/worktree/listing"
	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/inject"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/markdown"
	"markmill/notebooks/params"
	"markmill/notebooks/percent"
	"markmill/runs"
)

// Plan is a run that is decided and has not started: nothing of the notebook has run and nothing was written.
// Engine.Plan makes it, and it does not change afterwards.
type Plan struct {
	request    Request
	notebook   *notebooks.Notebook
	bound      []notebooks.Bound
	steps      []PlannedStep
	source     *worktree.Source // nil outside a repository
	base       worktree.OID
	included   []string // patterns of the base's .worktreeinclude
	hasData    bool     // data: names something
	dirtyPaths []string // the user's uncommitted changes that the run does not make itself
	depth      int      // runs around this one
	gates      []runs.Blocker
	sandbox    runs.SandboxData
	offline    runs.SandboxData // what cuts the network of agents that are to have none

	// What the repository's policies add. notebook.Front is as they leave it.
	narrowed       []runs.NarrowedData
	allowAlso      [][]string    // lists like allow:, each of which a path must match too
	stepTimeoutMax time.Duration // the most that a step may take; 0 is none
	runTimeout     time.Duration // of the whole run; 0 is none
	policies       []placedPolicy
	floor          notebooks.Front // what Engine.Floor imposes, as the policies

	agents      map[notebooks.StepID]*runs.EligibilityData // which backend does an agent's step
	mask        *mask.Set                                  // of the secrets
	interrupted *InterruptedRun
	fork        *runs.ForkData // nil: the run is no fork
	notReused   string         // see NotReused

	began, ended time.Time // of planning, for the trace
	uncommitted  []string  // all changes of the user
	read         *Plan     // as it was before the values were bound, for PlanAgain
}

// Request is what the plan was made of.
func (p *Plan) Request() Request { return p.request }

// Notebook is the notebook as the repository's policies leave it. The caller must not change it.
func (p *Plan) Notebook() *notebooks.Notebook { return p.notebook }

// Base is the commit that the run begins with; "" outside a repository.
func (p *Plan) Base() string { return string(p.base) }

// DirtyPaths are the paths of the user's uncommitted changes.
func (p *Plan) DirtyPaths() []string { return slices.Clone(p.dirtyPaths) }

// Gates are the gates that are not met. With any of them the run is blocked.
func (p *Plan) Gates() []runs.Blocker { return slices.Clone(p.gates) }

// NotConfined lists what the sandbox does not confine.
func (p *Plan) NotConfined() []string { return slices.Clone(p.sandbox.NotHeld) }

// PlannedStep is a step with its kernel, and whether it will run.
type PlannedStep struct {
	*notebooks.Step
	Kernel  kernel.Kernel // nil: no kernel is there, and the step is tagged skip
	Session string        // name of the live session
	Skip    string        // why it will not run; "" runs
	LeftOut string        // the option that leaves it out: "--only"
}

// Parse reads the notebook of a request and applies the request's language. The error is that of forms.Parse.
func (e *Engine) Parse(req Request) (*notebooks.Notebook, error) {
	nb, err := forms.Parse(req.Path, req.Source)
	e.chooseLanguage(nb, req)
	return nb, err
}

// Plan reads a notebook, binds its parameters and decides every gate. The error is a notebooks.ErrorList of everything
// that is wrong with the request. A gate that is not met is no error: it stands in Plan.Gates.
func (e *Engine) Plan(ctx context.Context, req Request) (*Plan, error) {
	began := e.Now()
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
	if nb.Front.InterruptOnTimeout {
		nb.InterruptOnTimeout()
	}
	nb.Front.Artifacts = slices.Concat(e.Config.Artifacts, nb.Front.Artifacts)
	if req.Judge != nil {
		req.Judge.skipOthers(nb)
	}
	p := &Plan{request: req, notebook: nb, began: began}
	defer func() { p.ended = e.Now() }()
	if p.source, err = e.source(req.Repository); err != nil {
		return nil, err
	}
	if err := p.source.CheckStore(e.Store(p.root()).Dir); err != nil {
		return nil, err
	}
	var errs errorList
	base := p.chooseBase(ctx, e.homes())
	if base == nil {
		errs.add(p.usePolicies(e))
		errs.add(p.inPlaceByNotebook(e.Floor))
	}
	return p.bind(ctx, e, errs, base)
}

// PlanAgain is Plan for a request that differs from that of an earlier plan in its values, its backend, its output and
// its id. What
// the earlier plan read is not read again: the notebook, the base commit, the policies and the user's uncommitted
// changes. If it differs in more, or the run depends on these changes, it is planned anew.
func (e *Engine) PlanAgain(ctx context.Context, was *Plan, req Request) (*Plan, error) {
	a, b := was.request, req
	for _, r := range []*Request{&a, &b} {
		r.ID, r.Given, r.Output, r.Assets, r.Sweep, r.Backend = "", nil, "", "", nil, ""
	}
	if was.seesChanges() || a.Branch != "" || a.Resume != "" || !reflect.DeepEqual(a, b) {
		return e.Plan(ctx, req)
	}
	p := *was.read
	p.request, p.began = req, e.Now()
	defer func() { p.ended = e.Now() }()
	return p.bind(ctx, e, errorList{}, nil)
}

// seesChanges reports whether what the user has not committed matters for the run.
func (p *Plan) seesChanges() bool {
	return p.request.Dirty == DirtyInclude || p.request.Dirty == DirtyBlock ||
		slices.Contains(p.notebook.Front.Require, "clean") || p.source != nil && p.mode() == runs.MutationInPlace
}

// bind completes a plan that was read: it binds the values and decides what depends on them. errs and base are what is
// wrong with it already.
func (p *Plan) bind(ctx context.Context, e *Engine, errs errorList, base error) (*Plan, error) {
	req, read := p.request, *p
	p.read = &read
	nb := *p.notebook // whose warnings are those of these values
	nb.Warnings = slices.Clone(nb.Warnings)
	p.notebook = &nb
	patterns, _ := p.dataPatterns(e)
	p.hasData = len(patterns) > 0
	p.dirtyPaths = slices.DeleteFunc(slices.Clone(p.uncommitted), func(path string) bool {
		return e.Beside != nil && e.Beside(path) ||
			req.Dirty != DirtyInclude && p.isOutput(path) // what is taken along is named whole
	})
	var err error
	p.bound, err = params.Bind(req.Path, nb.Params, req.Given, params.Options{AllowUnknown: req.AllowUnknown,
		IsName: p.isName, Unread: params.Unread(&nb), Almost: nb.AlmostDeclares, Getenv: e.Getenv,
		MissingSecrets: true})
	errs.add(err)
	errs.add(p.maskSecrets(e))
	errs.add(p.checkText(e))
	errs.add(e.checkAll(p))
	if base == nil {
		p.warnPath(e)
	}
	errs.add(p.selectSteps())
	errs.add(base)
	if !req.Empty {
		errs.add(noSteps(&nb))
	}
	if err := errs.err(); err != nil {
		return nil, err
	}
	if req.Resume != "" {
		if err := p.goOn(e); err != nil {
			return nil, err
		}
	}
	if err := p.decideGates(ctx, e); err != nil {
		return p, err
	}
	return p, p.carry(ctx, e) // the sandbox is decided: it is part of the environment
}

// goOn reads the run that this one resumes or is a fork of, and checks that it can be.
func (p *Plan) goOn(e *Engine) (err error) {
	dir := e.Store(p.request.Repository).Path(p.request.Resume)
	if !p.request.Fork {
		if p.interrupted, err = e.Interrupted(dir); err != nil {
			return err
		}
		return p.interrupted.same(p)
	}
	if p.interrupted, err = e.Forked(dir); err != nil {
		return err
	}
	p.fork, err = p.interrupted.fork(e, p)
	return err
}

// isName reports whether a name is valid for a variable in the language of the given values.
func (p *Plan) isName(name string) bool { return inject.IsName(p.spoken(), name) }

// spoken is the language in which given values are written.
func (p *Plan) spoken() string {
	if p.notebook.DefaultLanguage == "" && len(p.notebook.Steps) > 0 {
		return p.notebook.Steps[0].Lang
	}
	return p.notebook.DefaultLanguage
}

// Check finds what Plan would refuse whatever the parameters are. Questionable things that run go into the notebook's
// Warnings; the notebook is never nil.
func (e *Engine) Check(req Request) (*notebooks.Notebook, error) {
	nb, err := e.Parse(req)
	if err != nil {
		return nb, e.withKernels(req, nb, err)
	}
	p := &Plan{request: req, notebook: nb}
	if err := p.useHeadPolicies(e); err != nil {
		return nb, err
	}
	nb.Warnings = append(nb.Warnings, p.missingSecrets(e.Getenv, nb.Params)...)
	nb.Warnings = append(nb.Warnings, p.inPlaceByNotebook(e.Floor)...)
	var errs errorList
	errs.add(noSteps(nb))
	errs.add(schedule.Check(nb, e.Getenv))
	errs.add(e.checkAll(p))
	nb.Warnings = append(nb.Warnings, p.missingPrograms(e)...)
	return nb, errs.err()
}

// missingPrograms warns of the built-in kernels that cannot be started here: a run is blocked.
func (p *Plan) missingPrograms(e *Engine) (list notebooks.ErrorList) {
	told := map[string]bool{}
	for _, s := range p.steps {
		if s.Kernel == nil || told[s.Kernel.Name()] || e.Config.Kernels[s.Kernel.Name()].Program != "" ||
			s.Has(notebooks.TagSkip) {
			continue
		}
		told[s.Kernel.Name()] = true
		if missing := kernel.Missing(s.Kernel.Name(), e.env("PATH")); missing != nil {
			missing.File, missing.Line, missing.Col, missing.Step = p.request.Path, s.Line, 1, s.ID
			list = append(list, missing)
		}
	}
	return list
}

// withKernels adds to the mistakes of an unreadable notebook those of the steps that could be read, so that all are
// reported at once.
func (e *Engine) withKernels(req Request, nb *notebooks.Notebook, err error) error {
	var errs errorList
	errs.add(err)
	errs.add((&Plan{request: req, notebook: nb}).chooseKernels(e))
	slices.SortStableFunc(errs.list, func(a, b *notebooks.Error) int { return cmp.Compare(a.Line, b.Line) })
	return errs.err()
}

// noSteps returns an error for a notebook of which nothing would run: a pass would mean nothing. It names fences that
// are almost steps.
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
		almost := markdown.IsAlmost(w)
		if almost {
			list = append(list, w)
		}
		return almost
	})
	return list
}

// Narrow returns a notebook as the policies of the repository leave it, and who restricts what, for a run of the commit
// that is checked out. Kernels may be missing, because nothing is to run.
func (e *Engine) Narrow(req Request) (*notebooks.Notebook, []runs.NarrowedData, error) {
	nb, err := e.Parse(req)
	if err != nil {
		return nil, nil, err
	}
	p := &Plan{request: req, notebook: nb}
	if err = p.useHeadPolicies(e); err == nil {
		err = p.checkFront()
	}
	return nb, p.narrowed, err
}

// useHeadPolicies applies the policies to a plan that is only inspected.
func (p *Plan) useHeadPolicies(e *Engine) error {
	var err error
	if p.source, err = e.source(p.request.Repository); err != nil || p.source == nil {
		return err
	}
	if p.base, err = p.source.Head(); err != nil {
		return err
	}
	return p.usePolicies(e)
}

// usePolicies finds the policies that apply and makes the notebook obey them.
func (p *Plan) usePolicies(e *Engine) error {
	var err error
	if p.policies, err = e.policies(p.source, p.base); err != nil {
		return err
	}
	if err := e.Floor.impose(p); err != nil {
		return err
	}
	p.narrow()
	return p.inPlaceRefused()
}

func (e *Engine) checkAll(p *Plan) error {
	var errs errorList
	errs.add(p.checkFront())
	errs.add(p.chooseKernels(e))
	p.notebook.Warnings = append(p.notebook.Warnings, p.unknownTargets(e)...)
	for _, u := range p.unset() {
		p.notebook.Warnings = append(p.notebook.Warnings, u.Warning(p.request.Path))
	}
	return errs.err()
}

// unset are shell variables that nobody sets and whose names are close to those of parameters.
func (p *Plan) unset() []params.Unset {
	return params.UnsetNames(p.notebook, func(name string) bool {
		_, ok := fixed[name]
		return ok || slices.Contains(passed, name)
	})
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

// checkFront checks what only the engine can check: patterns.
func (p *Plan) checkFront() error {
	f := p.notebook.Front
	errs := errorList{}
	for _, e := range p.notebook.Refused {
		errs.add(e)
	}
	bad := func(msg, hint string) error {
		return &notebooks.Error{Kind: notebooks.KindOption, File: p.request.Path, Line: 1, Msg: msg, Hint: hint}
	}
	for _, l := range []struct {
		key      string
		patterns []string
	}{{"allow", f.Allow}, {"forbid", f.Forbid}, {"protect", f.Protect}, {"artifacts", f.Artifacts}} {
		if pattern := badPattern(l.patterns); pattern != "" || slices.Contains(l.patterns, "") {
			errs.add(bad(fmt.Sprintf("%s: %q is not a pattern of paths in the worktree", l.key, pattern),
				`patterns are relative and use / , as "reports/**"`))
		}
	}
	for _, in := range f.Inputs {
		if in.Kind == notebooks.InputEnv && slices.Contains(f.Secrets, in.Name) {
			errs.add(bad(fmt.Sprintf("inputs: %s is a secret, and the digest of an input is published", in.Name),
				"declare a variable that changes with it and tells nothing, such as the version of the secret"))
		}
	}
	return errs.err()
}

// values are the parameters whose value is known before the first step runs. A default that only an interpreter can
// compute (an expression in a code-language block) is left to it.
func (p *Plan) values() []notebooks.Bound {
	unknown := func(b notebooks.Bound) bool { return !b.Given && !b.Param.HasDefault }
	return slices.DeleteFunc(slices.Clone(p.bound), unknown)
}

// Given are the values that are not the notebook's own.
func (p *Plan) Given() []notebooks.Bound {
	return slices.DeleteFunc(slices.Clone(p.bound), func(b notebooks.Bound) bool { return !b.Given })
}

// leavesOut reports whether the command line leaves out a step.
func (p *Plan) leavesOut() bool {
	return slices.ContainsFunc(p.steps, func(s PlannedStep) bool { return s.LeftOut != "" })
}

// needsApproval reports whether the run needs an approval. That is decided when the run starts (approval.go), because
// taking an approval writes.
func (p *Plan) needsApproval() bool {
	f := p.notebook.Front
	return f.Approval == approvalRequired || slices.Contains(f.Require, "approval")
}

// mode is the mutation mode of the contract.
func (p *Plan) mode() string {
	switch {
	case p.notebook.Front.Mode == runs.MutationNone:
		return runs.MutationNone
	case p.request.Rerun != nil || p.request.Judge != nil:
		return runs.MutationWorktree
	case p.inFolder() || p.request.InPlace || p.notebook.Front.Mode == runs.MutationInPlace:
		return runs.MutationInPlace
	}
	return runs.MutationWorktree
}

// fileName is the notebook's name in messages of interpreters: without folders, which differ between places.
func (p *Plan) fileName() string {
	if p.request.Path == "-" {
		return p.sourceFile()
	}
	return path.Base(strings.ReplaceAll(p.request.Path, `\`, "/"))
}

// TaskID is the notebook's name without folder and extension.
func (p *Plan) TaskID() string { return taskID(p.request.Path) }

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

// Submodules lists the submodules that are empty in the run.
func (p *Plan) Submodules() (empty []worktree.Submodule, err error) {
	if p.source == nil || p.mode() == runs.MutationInPlace {
		return nil, nil
	}
	list, err := p.source.Submodules(p.base)
	return slices.DeleteFunc(list, func(s worktree.Submodule) bool { return s.Lack == "" }), err
}

// LeftBehind lists the uncommitted files that the run does not see. The notebook is not one of them: it runs as it is
// on disk. Neither is what was installed, or made by runs: output notebooks, and the pictures beside them.
func (p *Plan) LeftBehind() []string {
	if p.request.InPlace || p.request.Dirty != DirtyIgnore || p.source == nil {
		return nil
	}
	notebook, _ := p.source.Relative(p.request.Path)
	outputs := map[string]bool{} // without their extensions
	return slices.DeleteFunc(p.DirtyPaths(), func(name string) bool {
		made := false
		if notebooks.IsMarkdownName(name) || notebooks.IsJupyterName(name) {
			text, err := os.ReadFile(filepath.Join(p.source.Root(), filepath.FromSlash(name)))
			made = err == nil && listing.KindOf(name, text) == listing.Output
			outputs[strings.TrimSuffix(name, path.Ext(name))] = made
		}
		beside, pictures := strings.CutSuffix(path.Dir(name), "_files")
		return made || pictures && outputs[beside] || name == notebook || installedFile(name)
	})
}
