package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"markmill/notebooks/codec"
	"markmill/render/plain"
)

const (
	maxDocument = 32 << 20        // bytes of a document of --json
	maxWords    = 16 << 10        // bytes of what a program says on standard error
	endTime     = 2 * time.Minute // that an interrupted run has for its record and its finally steps
)

// call is one call of the program.
type call struct {
	stdin []byte
	to    io.Writer // its standard output
	args  []string
}

// do starts the program in the root and waits for its end. When ctx ends, the program is interrupted, as by Ctrl-C. It
// returns the exit code, and the end of what the program said on standard error.
func (s *server) do(ctx context.Context, c call) (code int, words string, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return 0, "", context.Cause(ctx)
	}
	said := &end{most: maxWords}
	cmd := exec.CommandContext(ctx, s.Program, c.args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.root, bytes.NewReader(c.stdin), c.to, said
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = endTime
	apart(cmd)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel ends the program with the thread that started it
		defer runtime.UnlockOSThread()
		done <- cmd.Run()
	}()
	err = <-done
	if ctx.Err() != nil {
		return 0, said.String(), context.Cause(ctx)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), said.String(), nil
	}
	return 0, said.String(), err
}

// document returns the document that a command prints with --json. A document that says what is wrong with the call
// itself becomes an error.
func (s *server) document(ctx context.Context, args ...string) ([]byte, error) {
	var out most
	code, words, err := s.do(ctx, call{args: args, to: &out})
	switch {
	case err != nil:
		return nil, err
	case out.over:
		return nil, fmt.Errorf("the answer is longer than %d bytes; ask for less", maxDocument)
	}
	doc := bytes.TrimSpace(out.Bytes())
	if len(doc) == 0 || doc[0] != '{' {
		return nil, said(code, words)
	}
	var head struct {
		Schema string `json:"schema"`
		Errors []struct {
			File    string `json:"file"`
			Line    int    `json:"line"`
			Column  int    `json:"column"`
			Message string `json:"message"`
			Hint    string `json:"hint"`
		} `json:"errors"`
	}
	if strings.HasPrefix(string(doc), "{\n  \"schema\": \"markmill.error/") {
		if err := codec.Unmarshal(doc, &head); err != nil {
			return nil, err
		}
		var lines []string
		for _, e := range head.Errors {
			place := ""
			for _, part := range []any{e.File, e.Line, e.Column} {
				if part != "" && part != 0 {
					place += fmt.Sprint(part) + ":"
				}
			}
			line := strings.TrimSpace(place + " " + e.Message)
			if e.Hint != "" {
				line += "; " + e.Hint
			}
			lines = append(lines, plain.OneLine(line))
		}
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	return doc, nil
}

// said makes an error of what the program said.
func said(code int, words string) error {
	var lines []string
	for line := range strings.Lines(words) {
		lines = append(lines, strings.TrimPrefix(plain.Line([]byte(strings.TrimRight(line, "\r\n"))), "markmill: "))
	}
	if len(lines) == 0 {
		return fmt.Errorf("markmill ended with exit code %d and said nothing", code)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// most keeps what is written, up to a limit.
type most struct {
	bytes.Buffer
	over bool
}

func (m *most) Write(p []byte) (int, error) {
	if m.over = m.over || m.Len()+len(p) > maxDocument; !m.over {
		m.Buffer.Write(p)
	}
	return len(p), nil
}

// end keeps the last bytes of what is written.
type end struct {
	most int
	last []byte
	all  int64
}

func (e *end) Write(p []byte) (int, error) {
	e.all += int64(len(p))
	e.last = append(e.last, p[max(0, len(p)-e.most):]...)
	if over := len(e.last) - e.most; over > 0 {
		e.last = append(e.last[:0], e.last[over:]...)
	}
	return len(p), nil
}

func (e *end) String() string { return string(e.last) }
