//go:build unix

package kernel

import (
	"context"
	"errors"
	"os"
	"strconv"

	"markmill/notebooks"
)

// bind has the driver read the parameters again, over what the author's code has set.
func (l *live) bind(ctx context.Context) error {
	l.number++
	number := strconv.Itoa(l.number)
	if err := l.tell("b" + number); err != nil {
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
	if err := s.write("params", s.kernel.params(params)); err != nil {
		return err
	}
	defer os.Remove(s.path("params")) // it may hold secrets
	return s.bind(ctx)
}

// Bind sets parameters again.
func (s codeSession) Bind(ctx context.Context, params []notebooks.Bound) error {
	defer s.removeParams()
	if err := s.writeParams(params); err != nil {
		return err
	}
	return s.bind(ctx)
}
