//go:build unix

package kernel

import (
	"context"
)

// pythonStart compiles the driver under a name that tracebacks are trimmed by. It stands in an
// argument, like any -c program, and leaves "" (the working directory) first on sys.path.
const pythonStart = `import sys;D=sys.argv[1:];sys.argv[1:]=[];sys.argv[0]="";G={};exec(compile(D[0],"<markmill>","exec"),G);G["_mm_main"](D[1],D[2],D[3])`

// Start starts the interpreter with its driver.
func (k python) Start(ctx context.Context, o Options) (Session, error) {
	if err := canHoldAll(k, o.Params); err != nil {
		return nil, err
	}
	program := o.Program
	if program == "" {
		program = "python3"
	}
	l, err := newLive(o, k.Name(), program, []string{"-c", pythonStart, pythonScraps + pythonDriver, o.Private, o.Scraps, pythonMore})
	if err != nil {
		return nil, err
	}
	return codeSession{live: l, plain: true}.begin(ctx, o.Params)
}
