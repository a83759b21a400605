//go:build unix

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// wireParams is the side file of the parameters for Python and Node: a JSON list of names and
// values in the wire form.
func wireParams(bound []notebooks.Bound) ([]byte, error) {
	if len(bound) == 0 {
		return nil, nil
	}
	pairs := make([][2]codec.Raw, len(bound))
	for i, b := range bound {
		name, err := codec.Marshal(b.Param.Name)
		if err != nil {
			return nil, err
		}
		pairs[i] = [2]codec.Raw{name, b.Value.Wire()}
	}
	return codec.Marshal(pairs)
}

// codeSession is an interpreter that survives its steps: Python and Node.
type codeSession struct{ *live }

// startCode starts a program with a driver and the parameters.
func startCode(ctx context.Context, l *live, bound []notebooks.Bound) (Session, error) {
	params, err := wireParams(bound)
	if err == nil {
		err = l.write("params", params)
	}
	if err == nil {
		err = l.start(ctx)
	}
	os.Remove(l.path("params")) // it may hold secrets
	if err != nil {
		l.close()
		return nil, err
	}
	return codeSession{l}, nil
}

func (s codeSession) Info() Info   { return s.info() }
func (s codeSession) Alive() bool  { return !s.proc.over() }
func (s codeSession) Close() error { return s.close() }

// Run runs one step.
func (s codeSession) Run(ctx context.Context, r Request) (Outcome, error) {
	if out, over := s.before(ctx); over {
		return out, nil
	}
	if err := s.hand(r); err != nil {
		return Outcome{}, err
	}
	e, err := s.step(ctx, r.Stdout, r.Stderr)
	out := e.outcome()
	if err != nil {
		return out, err
	}
	if e.reply {
		if err := s.readReply(&out); err != nil {
			return out, err
		}
	}
	s.settle()
	out.Died = s.proc.over()
	return out, nil
}

// hand puts the step where the driver reads it.
func (s codeSession) hand(r Request) error {
	name := r.File
	if name == "" {
		name = "<step>"
	}
	var meta bytes.Buffer
	for _, v := range []string{name, strconv.Itoa(max(r.Line, 1)), r.Dir, r.DisplayDir} {
		encodeNUL(&meta, v)
	}
	for _, name := range sortedNames(r.Env) {
		encodeNUL(&meta, name)
		encodeNUL(&meta, r.Env[name])
	}
	meta.Write(r.Code)
	return s.order(meta.Bytes(), fmt.Sprintf(" %d %d", meta.Len(), len(r.Code)))
}

// readReply reads the exception (name, value, traceback, line) and the displays (file, MIME
// type, text), each field ended by NUL.
func (s codeSession) readReply(out *Outcome) error {
	raw, err := os.ReadFile(s.path(fileReply))
	if err != nil {
		return err
	}
	os.Remove(s.path(fileReply))
	f := strings.Split(strings.ToValidUTF8(string(raw), "\uFFFD"), "\x00")
	if len(f) < 5 {
		return nil
	}
	if f[0] != "" {
		line, _ := strconv.Atoi(f[3])
		out.Err = &ExecError{Name: f[0], Value: f[1], Traceback: f[2], Line: line}
	}
	for f = f[4:]; len(f) > 3; f = f[3:] {
		out.Displays = append(out.Displays, Display{File: f[0], MIME: f[1], Alt: f[2]})
	}
	return nil
}
