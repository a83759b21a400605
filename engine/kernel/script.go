package kernel

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// script drives an interpreter that runs a driver script of ours and survives its steps, as those of Python and Node
// do.
type script struct {
	conversation
	orders bool // its driver reports in which order results came

	now            Request
	stdout, stderr counted
}

// counted counts what goes through it.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}

// prepare writes the file of the step: what stepMeta writes, and the code. The words of the order are the sizes of the
// file and of the code, and "1" if the order of results is asked for.
func (d *script) prepare(r Request) (stdout, stderr io.Writer, err error) {
	d.now, d.stdout, d.stderr = r, counted{w: r.Stdout}, counted{w: r.Stderr}
	meta := stepMeta(r, encodeNUL, cmp.Or(r.File, "<step>"), strconv.Itoa(max(r.Line, 1)), r.Dir, r.DisplayDir)
	meta = append(meta, r.Code...)
	words := " " + strconv.Itoa(len(meta)) + " " + strconv.Itoa(len(r.Code))
	if r.Ordered && d.orders {
		words += " 1"
	}
	return &d.stdout, &d.stderr, d.setStep(meta, words)
}

func (d *script) reply(e ending, out *Outcome) error {
	var err error
	if e.reply {
		err = d.readReply(out)
	}
	if d.now.Ordered && d.orders {
		var err2 error
		out.Outputs, err2 = d.readOutputs(e.reply, out.Err, d.stdout.n, d.stderr.n)
		err = errors.Join(err, err2)
	}
	return err
}

// readReply reads the exception (name, value, traceback, line) and the displays (file, MIME type, text). Each field
// ends with NUL.
func (d *script) readReply(out *Outcome) error {
	raw, err := os.ReadFile(d.s.path(fileReply))
	if err != nil {
		return err
	}
	os.Remove(d.s.path(fileReply))
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

// wireParams is the parameter file of Python and Node: a JSON list of names and values in the wire form.
func wireParams(params []notebooks.Bound) (map[string][]byte, error) {
	if len(params) == 0 {
		return map[string][]byte{fileParams: nil}, nil
	}
	pairs := make([][2]codec.Raw, len(params))
	for i, b := range params {
		name, err := codec.Marshal(b.Param.Name)
		if err != nil {
			return nil, err
		}
		pairs[i] = [2]codec.Raw{name, b.Value.Wire()}
	}
	wire, err := codec.Marshal(pairs)
	return map[string][]byte{fileParams: wire}, err
}
