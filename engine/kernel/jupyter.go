package kernel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
	"markmill/notebooks/inject"
)

// jupyterKernel is an installed Jupyter kernel.
type jupyterKernel struct{ spec jupyter.Spec }

// NewJupyter returns the kernel of a kernelspec.
func NewJupyter(spec jupyter.Spec) Kernel { return jupyterKernel{spec} }

// JupyterPrefix begins the names of kernels that are installed for Jupyter.
const JupyterPrefix = "jupyter:"

func (k jupyterKernel) Name() string { return JupyterPrefix + k.spec.Name }

// Languages is the kernelspec's language, and every other word for it.
func (k jupyterKernel) Languages() []string {
	own := k.Language()
	builtIn, _ := find(func(k Kernel) bool { return slices.Contains(k.Languages(), own) })
	if builtIn == nil {
		return []string{own}
	}
	return builtIn.Languages()
}

// Speaks reports whether the kernel runs fences of the language lang, lower case.
func (k jupyterKernel) Speaks(lang string) bool { return slices.Contains(k.Languages(), lang) }

// Language is that of the kernelspec, lower case.
func (k jupyterKernel) Language() string { return strings.ToLower(k.spec.Language) }

// AcceptsStepEnv reports whether a step can have a folder and environment variables of its own. Jupyter's protocol has
// no way to pass them; Python gets them in a file, as it gets its parameters.
func (k jupyterKernel) AcceptsStepEnv() bool { return k.isPython() }

// ValidateParam returns an error for what the kernel's language cannot hold. Python reads values from a file; other
// languages get an assignment in papermill's form.
func (k jupyterKernel) ValidateParam(b notebooks.Bound) error {
	if k.isPython() {
		return python{}.ValidateParam(b)
	}
	params := k.assigned([]notebooks.Bound{b})
	if len(params) == 0 {
		return nil
	}
	_, err := inject.Cell(k.spec.Language, params, true)
	return err
}

// assigned returns the parameters that need an assignment: in a language that has none, not those that the code of the
// notebook sets itself.
func (k jupyterKernel) assigned(params []notebooks.Bound) []notebooks.Bound {
	if inject.Known(k.spec.Language) {
		return params
	}
	return slices.DeleteFunc(slices.Clone(params), func(b notebooks.Bound) bool { return b.Param.Code && !b.Given })
}

func (k jupyterKernel) isPython() bool { return strings.EqualFold(k.spec.Language, "python") }

// JupyterPython reports whether the kernel is a Jupyter kernel of Python. Its interpreters can be started before it is
// known what for (Options.Waits): nothing of a run reaches them but its environment, until they get parameters.
func JupyterPython(k Kernel) bool {
	j, ok := k.(jupyterKernel)
	return ok && j.isPython()
}

// Ready makes an interpreter that waits ready for steps. It does nothing to any other.
func Ready(ctx context.Context, live Session, params []notebooks.Bound) error {
	s, ok := live.(*session)
	if !ok || !s.o.Waits {
		return nil
	}
	s.o.Waits = false
	err := validateAll(s.kernel, params)
	if err == nil {
		err = s.driver.setParams(params)
	}
	if err == nil && len(params) > 0 {
		err = s.driver.(*jupyterDriver).silently(ctx, "get_ipython()._mm_first_params()", "it cannot set them")
	}
	s.driver.dropParams()
	if err != nil {
		return &notebooks.Error{Kind: notebooks.KindProvider, Err: err,
			Msg: "the kernel " + s.kernel.Name() + ", which had been started ahead, cannot be used: " + err.Error()}
	}
	return nil
}

// Start starts the kernel, again if another process took its port in between.
func (k jupyterKernel) Start(ctx context.Context, o Options) (Session, error) {
	const tries = 5
	for try := 1; ; try++ {
		d := &jupyterDriver{kernel: k, cells: map[int]place{}}
		s, err := open(ctx, k, o, d)
		if err == nil {
			d.s.family.Spare()
			return s, nil
		}
		taken := d.connection.Transport == "tcp" && d.s.child != nil &&
			(strings.Contains(err.Error(), "in use") || errors.Is(err, jupyter.ErrLost))
		if !taken || try == tries || ctx.Err() != nil {
			return nil, err
		}
	}
}
