package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

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
