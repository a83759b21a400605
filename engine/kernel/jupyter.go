package kernel

import (
	_ "embed" // the set-up of Python's kernels
	"strings"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
	"markmill/notebooks/inject"
)

//go:embed drivers/jupyter.py
var jupyterPython string

// jupyterKernel is an installed Jupyter kernel.
type jupyterKernel struct{ spec jupyter.Spec }

// NewJupyter makes a kernel of a kernelspec.
func NewJupyter(spec jupyter.Spec) Kernel { return jupyterKernel{spec} }

// JupyterPrefix begins the names of kernels that are installed for Jupyter.
const JupyterPrefix = "jupyter:"

func (k jupyterKernel) Name() string { return JupyterPrefix + k.spec.Name }

// Speaks says whether the kernel runs fences of the language lang, lower case.
func (k jupyterKernel) Speaks(lang string) bool {
	own := strings.ToLower(k.spec.Language)
	if own == lang {
		return true
	}
	a, okA := ForLanguage(own)
	b, okB := ForLanguage(lang)
	return okA && okB && a == b
}

// Language is that of the kernelspec, lower case.
func (k jupyterKernel) Language() string { return strings.ToLower(k.spec.Language) }

// Told says whether a step can have a folder and variables of its own. The protocol knows none: a kernel of Python is
// told by the same way as of its parameters.
func (k jupyterKernel) Told() bool { return k.isPython() }

// CanHold refuses what the kernel's language cannot hold. Values reach a kernel of Python by a side
// file; other languages have no such way, and get an assignment as papermill writes it.
func (k jupyterKernel) CanHold(b notebooks.Bound) error {
	if k.isPython() {
		return python{}.CanHold(b)
	}
	_, err := inject.Cell(k.spec.Language, []notebooks.Bound{b}, true)
	return err
}

func (k jupyterKernel) isPython() bool { return strings.EqualFold(k.spec.Language, "python") }
