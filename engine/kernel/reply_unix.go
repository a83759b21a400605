//go:build unix

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

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

// plainParams splits off the parameters that need no JSON: kind, name and text, each ended by NUL. To
// read them costs an interpreter nothing that it must load first.
func plainParams(bound []notebooks.Bound) (plain []byte, rest []notebooks.Bound) {
	var b bytes.Buffer
	for _, p := range bound {
		kind, text := "", p.Value.Text
		switch p.Value.Type {
		case notebooks.TypeNull:
			kind = "null"
		case notebooks.TypeBool:
			kind, text = "bool", ""
			if p.Value.Bool {
				text = "1"
			}
		case notebooks.TypeInt:
			kind = "int"
		case notebooks.TypeFloat:
			kind, text = "float", strconv.FormatFloat(p.Value.Float, 'g', -1, 64)
		case notebooks.TypeString, notebooks.TypePath, notebooks.TypeSecret:
			kind = "str"
		}
		const longInt = 600 // digits; above, Python has a limit that the other way lifts
		if kind == "" || strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) || kind == "int" && len(text) > longInt {
			rest = append(rest, p)
			continue
		}
		encodeNUL(&b, kind)
		encodeNUL(&b, p.Param.Name)
		encodeNUL(&b, text)
	}
	return b.Bytes(), rest
}

// codeSession is an interpreter that survives its steps: Python and Node.
type codeSession struct {
	*live
	plain bool // its driver reads plain parameters
}

// begin starts the program with its driver and the parameters.
func (s codeSession) begin(ctx context.Context, bound []notebooks.Bound) (Session, error) {
	err := s.writeParams(bound)
	if err == nil {
		err = s.start(ctx)
	}
	s.removeParams()
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s codeSession) writeParams(bound []notebooks.Bound) error {
	if s.plain {
		var plain []byte
		plain, bound = plainParams(bound)
		if err := s.write("plain", plain); err != nil {
			return err
		}
	}
	wire, err := wireParams(bound)
	if err != nil {
		return err
	}
	return s.write("params", wire)
}

// removeParams takes away what may hold secrets.
func (s codeSession) removeParams() {
	os.Remove(s.path("plain"))
	os.Remove(s.path("params"))
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
	printed := [2]counted{{w: r.Stdout}, {w: r.Stderr}}
	e, err := s.step(ctx, &printed[0], &printed[1])
	out := e.outcome()
	if err != nil {
		return out, err
	}
	if e.reply {
		if err := s.readReply(&out); err != nil {
			return out, err
		}
	}
	if r.Ordered && s.plain {
		if out.Outputs, err = s.readOutputs(e.reply, out.Err, printed[0].n, printed[1].n); err != nil {
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
	ordered := ""
	if r.Ordered && s.plain {
		ordered = " 1"
	}
	return s.order(meta.Bytes(), fmt.Sprintf(" %d %d%s", meta.Len(), len(r.Code), ordered))
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
