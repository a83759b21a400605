//go:build !unix

package kernel

import (
	"context"
	"runtime"

	"markmill/notebooks"
)

// needsUnix is why no kernel starts here: sessions are driven over named pipes and ended by
// process groups.
func needsUnix(name string) error {
	return &notebooks.Error{
		Kind: notebooks.KindProvider,
		Msg:  "the kernel " + name + " needs a Unix system (Linux, or macOS with less); this is " + runtime.GOOS,
		Hint: "run Markmill in WSL or in a container",
	}
}

// Start says that it cannot be done here.
func (k *shell) Start(context.Context, Options) (Session, error)   { return nil, needsUnix(k.name) }
func (k python) Start(context.Context, Options) (Session, error)   { return nil, needsUnix(k.Name()) }
func (k node) Start(context.Context, Options) (Session, error)     { return nil, needsUnix(k.Name()) }
func (k *command) Start(context.Context, Options) (Session, error) { return nil, needsUnix(k.name) }
func (k jupyterKernel) Start(context.Context, Options) (Session, error) {
	return nil, needsUnix(k.Name())
}
