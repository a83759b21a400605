//go:build unix

package kernel

import (
	"context"
	"errors"
	"os"
	"strconv"

	"markmill/notebooks"
)

// bind hands the driver parameters that it sets over what the author's code has set.
func (l *live) bind(ctx context.Context, params []byte) error {
	if err := l.write("params", params); err != nil {
		return err
	}
	defer os.Remove(l.path("params")) // it may hold secrets
	l.number++
	number := strconv.Itoa(l.number)
	if _, err := l.in.f.WriteString("b" + number + "\n"); err != nil {
		return err
	}
	e, ok := l.wait(number, ctx.Done(), nil)
	switch {
	case !ok:
		return context.Cause(ctx)
	case e.gone:
		return errors.New("the interpreter ended while its parameters were set")
	case e.exit != 0:
		return errors.New("the interpreter cannot set the parameters over what the block declares (a constant?)")
	}
	return nil
}

// Bind sets parameters again.
func (s *shellSession) Bind(ctx context.Context, params []notebooks.Bound) error {
	if err := canHoldAll(s.kernel, params); err != nil {
		return err
	}
	return s.bind(ctx, s.kernel.params(params))
}

// Bind sets parameters again.
func (s codeSession) Bind(ctx context.Context, params []notebooks.Bound) error {
	wire, err := wireParams(params)
	if err != nil {
		return err
	}
	return s.bind(ctx, wire)
}
