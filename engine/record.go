package engine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/mask"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// data is the plan as it is recorded.
func (p *Plan) data() runs.PlanData {
	d := runs.PlanData{Language: p.notebook.DefaultLanguage}
	for _, s := range p.steps {
		step := runs.PlannedStep{ID: s.ID, Index: s.Index, Lang: s.Lang, Kernel: s.Session,
			Tags:   p.recordedTags(s.Step),
			Action: "run"}
		if s.Skip != "" {
			step.Action, step.Reason, step.LeftOut = "skip", s.Skip, s.LeftOut
		}
		d.Steps = append(d.Steps, step)
	}
	return d
}

// recordedTags are the tags of a step; hide-output is among them exactly if the step's output is hidden.
func (p *Plan) recordedTags(s *notebooks.Step) []string {
	hidden := p.notebook.OutputOf(s) == notebooks.OutputHidden
	switch has := s.Has(notebooks.TagHideOutput); {
	case hidden && !has:
		return append(slices.Clone(s.Tags), notebooks.TagHideOutput)
	case !hidden && has:
		return slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool { return tag == notebooks.TagHideOutput })
	}
	return s.Tags
}

// Parameters are the bound parameters as they are recorded, without the values of secrets.
func (p *Plan) Parameters() []runs.ParamData {
	var out []runs.ParamData
	for _, b := range p.values() {
		value, err := p.mask.JSON(b.Value.JSON(), true)
		if err != nil {
			value = codec.Raw(`"` + mask.Mark + `"`)
		}
		out = append(out, runs.ParamData{Name: b.Param.Name, Type: string(b.Value.Type), Value: value, From: b.From,
			Given: b.Given})
	}
	return out
}

// root is the root of the user's checkout, also of a run in a clone of it; "" outside a repository.
func (p *Plan) root() string {
	if p.source == nil {
		return ""
	}
	return cmp.Or(p.request.Origin, p.source.Root())
}

// SourcePath is the path of the notebook in its output: relative to the root of the repository, or outside one ("") to
// the working directory. It is "" if the notebook has no path or is elsewhere.
func (r *Request) SourcePath(root string) string {
	if r.MadeOf != "" { // what is run again is the output of the same source
		return r.MadeOf
	}
	if r.Path == "-" || strings.Contains(r.Path, "://") {
		return ""
	}
	var err error
	if root == "" {
		if root, err = os.Getwd(); err != nil {
			return ""
		}
	}
	path, err := filepath.Abs(r.Path)
	if err != nil {
		return ""
	}
	for _, resolve := range []func(string) (string, error){filepath.EvalSymlinks,
		func(s string) (string, error) { return s, nil }} {
		from, err := resolve(root)
		if err != nil {
			continue
		}
		dir, err := resolve(filepath.Dir(path)) // a link to a notebook is a notebook of its own
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(from, filepath.Join(dir, filepath.Base(path))); err == nil &&
			filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

// contract is what the run was asked to do and what it may do.
func (r *run) contract() runs.ContractData {
	c := r.plan.Contract()
	c.Parameters, c.Environment = r.parameters(), names(r.ws.environment(&workdir{}, ""))
	if r.eng.Job != nil {
		c.Job = r.eng.Job.ID
	}
	return c
}

// ByAgent reports whether an agent does a step of the notebook, and that it runs.
func (p *Plan) ByAgent(s *notebooks.Step) bool {
	return p.agents[s.ID] != nil && slices.ContainsFunc(p.steps,
		func(is PlannedStep) bool { return is.ID == s.ID && is.Skip == "" })
}

// Contract is that of a run of the plan, without the parameters and the environment.
func (p *Plan) Contract() runs.ContractData {
	f := p.notebook.Front
	dirty := p.request.Dirty
	if dirty == "" {
		dirty = DirtyIgnore
	}
	c := runs.ContractData{
		ContractRules: runs.ContractRules{
			TaskID: p.TaskID(), TargetRepository: p.root(), BaseCommit: string(p.base),
			AllowedPaths: f.Allow, ForbiddenPaths: f.Forbid, ProtectedPaths: f.Protect, ProtectMode: f.ProtectMode,
			ForbiddenActions: f.ForbiddenActions,
			Limits:           runs.LimitsData{Files: f.Limits.Files, Lines: f.Limits.Lines, Bytes: f.Limits.Bytes},
			MutationMode:     p.mode(), EvidenceExpectations: f.Require, RiskClass: f.Risk, Dirty: string(dirty),
			RunTimeoutNS: int64(p.runTimeout), Processes: f.Processes,
		},
		Artifacts: f.Artifacts, ApprovalRequired: p.needsApproval(), DirtyFiles: len(p.dirtyPaths),
		AllowedAlso: p.allowAlso, StepTimeoutMaxNS: int64(p.stepTimeoutMax), Sandbox: f.Sandbox, Network: f.Network,
		Tree: f.Tree, Narrowed: p.narrowed, WorktreeInclude: p.included,
	}
	for _, each := range p.policies {
		c.Policies = append(c.Policies, runs.PolicyData{Commit: string(each.commit), Digest: each.digest,
			Signers: each.Signers})
	}
	for _, f := range p.request.Reverse {
		c.Reversed = append(c.Reversed, f.Path)
	}
	for _, s := range p.steps {
		if s.Has(notebooks.TagTest) && s.Skip == "" {
			c.VerificationCommands = append(c.VerificationCommands, string(s.ID))
		}
	}
	return c
}

// terms are what an approval of this run covers: the contract as it was recorded, and everything else that decides what
// the run does.
func (r *run) terms(store runs.Approvals) (*runs.Terms, error) {
	p, c := r.plan, r.contract()
	t := &runs.Terms{Notebook: runs.DigestOf(p.notebook.Source), Folder: p.folder(),
		StepTimeoutNS: p.request.StepTimeoutNS, Cwd: p.request.Cwd, Copy: p.copies(), Branch: p.request.Branch}
	t.Cover(&c, p.data())
	var err error
	for i, shown := range p.Parameters() {
		param := runs.TermsParam{Name: shown.Name, Type: shown.Type, Value: shown.Value}
		switch value := p.values()[i].Value; {
		case value.Type == notebooks.TypeSecret && r.eng.Job != nil:
			param.Value = runs.WorkersSecret
		case value.Type == notebooks.TypeSecret:
			if param.Value, err = store.Conceal(value.Reveal(), r.eng.Random); err != nil {
				return nil, err
			}
		case p.mask.In(value.JSON()):
			param.Masked, err = store.Conceal(string(value.JSON()), r.eng.Random)
			if err != nil {
				return nil, err
			}
		}
		t.Parameters = append(t.Parameters, param)
	}
	if p.request.Dirty == DirtyInclude || p.mode() == runs.MutationInPlace {
		if t.DirtyFiles, err = p.dirtyDigest(); err != nil {
			return nil, err
		}
	}
	if len(p.request.Reverse) > 0 {
		if t.Reversed, err = digestOf(p.request.Reverse); err != nil {
			return nil, err
		}
	}
	if kernels := r.eng.Config.Kernels; len(kernels) > 0 {
		if t.Kernels, err = digestOf(kernels); err != nil {
			return nil, err
		}
	}
	text, err := p.writer().JSON(t) // the contract is that of what stands in the request
	if err != nil {
		return nil, err
	}
	shown := &runs.Terms{}
	return shown, codec.Unmarshal(text, shown)
}

// digestOf is the digest of a value's JSON.
func digestOf(v any) (runs.Digest, error) {
	text, err := codec.Marshal(v)
	return runs.DigestOf(text), err
}

// dirtyDigest is a digest of the uncommitted changes: each path with its present content.
func (p *Plan) dirtyDigest() (runs.Digest, error) {
	content := map[string]string{}
	for _, path := range p.dirtyPaths {
		name := filepath.Join(p.root(), filepath.FromSlash(path))
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			content[runs.QuotePath(path)] = "gone"
			continue
		case err != nil:
			return "", err
		}
		said := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			said += " " + string(runs.DigestOf(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			if err != nil {
				return "", err
			}
			said += " " + string(runs.DigestOf([]byte(to)))
		}
		content[runs.QuotePath(path)] = said
	}
	return digestOf(content)
}
