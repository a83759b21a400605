package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/mask"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// data is the plan as it is recorded.
func (p *Plan) data() runs.PlanData {
	d := runs.PlanData{Language: p.Notebook.DefaultLanguage}
	for _, s := range p.Steps {
		step := runs.PlannedStep{ID: s.ID, Index: s.Index, Lang: s.Lang, Kernel: s.Session, Tags: p.recordedTags(s.Step), Action: "run"}
		if s.Skip != "" {
			step.Action, step.Reason, step.LeftOut = "skip", s.Skip, s.LeftOut
		}
		d.Steps = append(d.Steps, step)
	}
	return d
}

// recordedTags are the tags of a step, with hide-output exactly where the output of the step is hidden.
func (p *Plan) recordedTags(s *notebooks.Step) []string {
	hidden := p.Notebook.OutputOf(s) == notebooks.OutputHidden
	switch has := s.Has(notebooks.TagHideOutput); {
	case hidden && !has:
		return append(slices.Clone(s.Tags), notebooks.TagHideOutput)
	case !hidden && has:
		return slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool { return tag == notebooks.TagHideOutput })
	}
	return s.Tags
}

// Parameters are the bound parameters as they are recorded; a secret's value is not.
func (p *Plan) Parameters() []runs.ParamData {
	var out []runs.ParamData
	for _, b := range p.values() {
		value, err := p.mask.JSON(b.Value.JSON(), true)
		if err != nil {
			value = codec.Raw(`"` + mask.Mark + `"`)
		}
		out = append(out, runs.ParamData{Name: b.Param.Name, Type: string(b.Value.Type), Value: value, From: b.From, Given: b.Given})
	}
	return out
}

// root is the user's checkout, "" outside a repository.
func (p *Plan) root() string {
	if p.Source == nil {
		return ""
	}
	return p.Source.Root()
}

// sourcePath is the path of the notebook as its output names it: from the root of the repository, or outside one from
// the working directory. It is "" where the notebook has none, or lies elsewhere.
func (p *Plan) sourcePath() string {
	if p.Request.MadeOf != "" { // what is run again is the output of the same source
		return p.Request.MadeOf
	}
	if p.Request.Path == "-" || strings.Contains(p.Request.Path, "://") {
		return ""
	}
	root, err := p.root(), error(nil)
	if root == "" {
		if root, err = os.Getwd(); err != nil {
			return ""
		}
	}
	path, err := filepath.Abs(p.Request.Path)
	if err != nil {
		return ""
	}
	for _, resolve := range []func(string) (string, error){filepath.EvalSymlinks, func(s string) (string, error) { return s, nil }} {
		from, err := resolve(root)
		if err != nil {
			continue
		}
		dir, err := resolve(filepath.Dir(path)) // a link to a notebook is a notebook of its own
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(from, filepath.Join(dir, filepath.Base(path))); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

// contract is what the run was asked, and what it may do.
func (r *run) contract() runs.ContractData {
	p := r.plan
	f := p.Notebook.Front
	dirty := p.Request.Dirty
	if dirty == "" {
		dirty = DirtyIgnore
	}
	c := runs.ContractData{
		TaskID: p.TaskID(), BaseCommit: string(p.Base), AllowedPaths: f.Allow, ForbiddenPaths: f.Forbid, ProtectedPaths: f.Protect, ProtectMode: f.ProtectMode, ForbiddenActions: f.ForbiddenActions,
		Limits:       runs.LimitsData{Files: f.Limits.Files, Lines: f.Limits.Lines, Bytes: f.Limits.Bytes},
		MutationMode: p.mode(), ApprovalRequired: p.needsApproval(),
		EvidenceExpectations: f.Require, RiskClass: f.Risk, Parameters: r.parameters(),
		Environment: names(r.environment(&workdir{}, "")), DirtyFiles: len(p.DirtyPaths), Dirty: string(dirty),
		AllowedAlso: p.AllowAlso, StepTimeoutMaxNS: int64(p.StepTimeoutMax), RunTimeoutNS: int64(p.RunTimeout), Sandbox: f.Sandbox, Network: f.Network, Processes: f.Processes, Narrowed: p.Narrowed,
	}
	for _, each := range p.policies {
		c.Policies = append(c.Policies, runs.PolicyData{Commit: string(each.commit), Digest: each.digest, Signers: each.Signers})
	}
	for _, f := range p.Request.Reverse {
		c.Reversed = append(c.Reversed, f.Path)
	}
	c.TargetRepository = p.root()
	for _, s := range p.Steps {
		if s.Has(notebooks.TagTest) && s.Skip == "" {
			c.VerificationCommands = append(c.VerificationCommands, string(s.ID))
		}
	}
	return c
}

// publish puts the run's commits into its record, and on a branch of the source repository where one was asked for and
// the run passed. It comes last of what can fail.
func (r *run) publish(ctx context.Context) (err error) {
	if r.tree == nil || r.leaks() {
		return nil
	}
	if r.bundle, err = r.tree.Bundle(r.dir); err != nil {
		return fmt.Errorf("the run's commits cannot be written: %w", err)
	}
	name := r.plan.Request.Branch
	var commits *worktree.Bundle
	if r.bundle != nil && (name != "" || r.plan.mask != nil) {
		if commits, err = worktree.OpenBundle(filepath.Join(r.dir, runs.BundleFile)); err != nil {
			return err
		}
		defer commits.Close()
		if err := r.searchCommits(commits); err != nil {
			return err
		}
	}
	if name == "" || len(r.blockers) > 0 || r.whole.Err() != nil {
		return nil
	}
	total, err := r.tree.Total(ctx)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("%s\n\n%s: %s\n", r.title(), worktree.RunTrailer, r.id)
	_, err = worktree.Branch(r.plan.Source, commits, string(r.id), name, r.tree.Base(), total.Tree, message, author, r.eng.Now())
	return err
}

// searchCommits removes a bundle that shows a secret: the uncommitted changes that a run began with were not looked at
// before.
func (r *run) searchCommits(commits *worktree.Bundle) error {
	if r.plan.mask == nil {
		return nil
	}
	found, err := commits.Any(r.plan.mask.In)
	if err != nil || !found {
		return err
	}
	r.leak("", "the commits of the run, with the uncommitted changes that it began with")
	r.bundle = nil
	return os.Remove(filepath.Join(r.dir, runs.BundleFile))
}

func (r *run) title() string {
	if t := r.plan.Notebook.Front.Title; t != "" {
		return t
	}
	return r.plan.TaskID()
}

// finish writes the views and closes the record. All other files are written before the last event,
// of the record as it will stand with it: one that cannot be written makes the verdict a failure
// before it is given.
func (r *run) finish(ctx context.Context) (*runs.Run, error) {
	var order *runs.OrderError
	if err := runs.CheckOrder(r.events); errors.As(err, &order) && order.Missing != runs.RunCompleted {
		r.blockers = append(r.blockers, order.Blocker())
	}
	data := runs.CompletedData{Blockers: r.blockers, SourceRepositoryMutated: r.mutated, Bundle: r.bundle, InnerRuns: r.innerLate}
	data.Status = runs.Pass
	switch {
	case r.blocked:
		data.Status = runs.Blocked
	case len(r.blockers) > 0:
		data.Status = runs.Fail
	case r.plan.leavesOut():
		data.Status = runs.Partial
	}
	var signal Interrupt
	if errors.As(context.Cause(ctx), &signal) {
		data.Status, data.Signal = runs.Interrupted, signal.Signal
	}
	if r.gated {
		data.NotApplicable = []string{"steps: a gate was not met", "diff: nothing ran", "tests: nothing ran"}
	}
	if diff := r.lastCommit; diff != "" {
		data.ResultCommit = diff
	}
	event, record, err := r.conclude(&data)
	if err != nil {
		return nil, err
	}
	err = r.journal.Commit(event)
	if err != nil && r.reserve.Release() {
		err = r.journal.Commit(event)
	}
	if err != nil {
		return nil, artifact(err)
	}
	if r.eng.Observe != nil {
		r.eng.Observe(event)
	}
	if err := r.journal.Sync(); err != nil {
		return nil, artifact(err)
	}
	return record, nil
}

// conclude writes the views of the record as it will stand with data as its last event. A view that cannot be
// written or that refuses, and a secret that is found, change data, and the views are written anew.
func (r *run) conclude(data *runs.CompletedData) (event runs.Event, record *runs.Run, err error) {
	fail := func() {
		if data.Status.Passed() {
			data.Status = runs.Fail
		}
	}
	for told, refused, failed := false, false, false; ; {
		before := len(r.blockers)
		if event, err = r.last(data); err != nil {
			return event, nil, err
		}
		record, err = r.views(event, before)
		switch {
		case err == nil || failed && record != nil:
			return event, record, nil
		case errors.Is(err, errLeaked) && !told:
			told, data.Blockers = true, slices.Clone(r.blockers)
			fail()
		case errors.As(err, new(Refused)) && !refused:
			refused = true
			r.blockers = append(r.blockers, refusal(err))
			data.Blockers = slices.Clone(r.blockers)
			fail()
		case failed:
			return event, nil, err
		default:
			r.reserve.Release()
			failed, data.Status = true, runs.Fail
			data.Blockers = append(data.Blockers, runs.Blocker{Code: runs.CodeArtifactWriteFailure, Words: failureWords(err)})
		}
	}
}

// last prepares the last event, of data and of the output notebooks that the run directory does not keep, once OUTPUT
// is written.
func (r *run) last(data *runs.CompletedData) (runs.Event, error) {
	data.Outputs = nil
	var err error
	if data.Files, err = r.unnamed(); err != nil {
		return runs.Event{}, err
	}
	event, err := r.prepare(data)
	if err != nil {
		return event, err
	}
	if event, err = r.sign(data, event); err != nil || r.eng.Leave == nil || r.keeps || r.leaks() {
		return event, err
	}
	record, err := runs.Fold(append(slices.Clip(r.events), event))
	if err != nil {
		return event, err
	}
	data.Outputs = r.eng.Leave(ViewInput{Dir: r.dir, Notebook: r.plan.Notebook, Run: record, Clean: r.cleanView})
	if r.leaks() { // what shows a secret is given anew, with a record that says so
		data.Outputs = nil
	}
	if r.keeps = len(data.Outputs) == 0; r.keeps {
		return event, nil
	}
	return r.prepare(data)
}

// sign adds the signatures of the output notebooks to the last event.
func (r *run) sign(data *runs.CompletedData, event runs.Event) (runs.Event, error) {
	data.Signatures, r.signErr = nil, nil
	if r.eng.Sign == nil {
		return event, nil
	}
	record, err := runs.Fold(append(slices.Clip(r.events), event))
	if err != nil {
		return event, err
	}
	if data.Signatures, err = r.eng.Sign(ViewInput{Dir: r.dir, Notebook: r.plan.Notebook, Run: record, Clean: r.cleanView}); err != nil {
		r.signErr = fmt.Errorf("the output notebook cannot be signed: %w", err)
		return event, nil
	}
	return r.prepare(data)
}

// unnamed writes the trace, and gives the digests of the files of the record that no event names.
func (r *run) unnamed() ([]runs.SealedFile, error) {
	r.traceErr = r.trace.write(r.dir, r.id, r.eng.Version, r.clean) // told with the views, as theirs are
	record, err := runs.Fold(r.events)
	if err != nil {
		return nil, err
	}
	known := record.Digests()
	var files []runs.SealedFile
	add := func(name string) error {
		name = filepath.ToSlash(name)
		if _, named := known[name]; named {
			return nil
		}
		digest, err := digestOfFile(filepath.Join(r.dir, filepath.FromSlash(name)))
		known[name] = digest
		files = append(files, runs.SealedFile{File: name, Digest: digest})
		return err
	}
	for _, name := range []string{runs.TraceFile, runs.PatchFile} { // of a run that broke off before its event, also the patch
		if _, err := os.Stat(filepath.Join(r.dir, name)); err != nil {
			continue
		}
		if err := add(name); err != nil {
			return nil, artifact(err)
		}
	}
	for _, dir := range r.loose {
		err := filepath.WalkDir(filepath.Join(r.dir, filepath.FromSlash(dir)), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && (d.IsDir() || strings.HasPrefix(d.Name(), runs.TempPrefix)) {
				return nil
			}
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(r.dir, name)
			if err != nil {
				return err
			}
			return add(rel)
		})
		if err != nil {
			return nil, artifact(err)
		}
	}
	return files, nil
}

func (r *run) prepare(data *runs.CompletedData) (runs.Event, error) {
	raw, err := r.clean(data)
	if err != nil {
		return runs.Event{}, err
	}
	event, err := r.journal.Prepare(runs.RunCompleted, "", raw)
	if err != nil {
		return event, artifact(err)
	}
	return event, nil
}

// refusal is the blocker that a view gives.
func refusal(err error) runs.Blocker {
	var r Refused
	errors.As(err, &r)
	return runs.Blocker{Code: r.Code, Words: r.Words}
}

// views writes every view of the record that ends with event. The last one digests the others: before it, and
// at the end, the whole run directory is searched for secrets; before is how many blockers event knows of.
func (r *run) views(event runs.Event, before int) (*runs.Run, error) {
	record, err := runs.Fold(append(slices.Clip(r.events), event))
	if err != nil {
		return nil, err
	}
	known := record.Digests()
	if known[runs.JournalFile], err = r.journal.DigestWith(event); err != nil {
		return nil, err
	}
	// One that cannot be written does not keep the others from being: what can be read of the record is whole.
	var failures []error
	for _, err := range []error{r.traceErr, r.signErr} {
		if err != nil {
			failures = append(failures, err)
		}
	}
	search := func() error {
		replaced, err := r.withhold()
		for _, path := range replaced {
			delete(known, path)
		}
		if err == nil && len(r.blockers) > before {
			err = errLeaked
		}
		return err
	}
	partial := len(failures) > 0 // the record lacks a file
	for i, v := range r.eng.Views {
		if i == len(r.eng.Views)-1 {
			if err := search(); err != nil {
				return record, err
			}
		}
		err := v.Write(ViewInput{Dir: r.dir, Notebook: r.plan.Notebook, Run: record, Known: known, Clean: r.cleanView})
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", v.Name, err))
			partial = partial || !v.Beside && !errors.As(err, new(Refused))
		}
	}
	if partial {
		failures = append(failures, r.unsettle())
	}
	if err := search(); err != nil {
		return record, err
	}
	return record, errors.Join(failures...)
}

// unsettle takes away what says that the record is whole.
func (r *run) unsettle() error {
	if err := os.Remove(filepath.Join(r.dir, runs.SumsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// cleanView masks what a view is about to write outside the run directory.
func (r *run) cleanView(name string, b []byte) []byte {
	if r.plan.mask.In(b) {
		r.leak("", name)
	}
	return r.plan.mask.Bytes(b)
}
