package render

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"time"

	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// WriteTestLog writes test.log: the raw output of every test step below a line that names it. It streams, and never
// holds a log in memory.
func WriteTestLog(w io.Writer, run *runs.Run, files fs.FS) error {
	out := bufio.NewWriterSize(w, 64<<10)
	none := true
	for _, s := range run.Steps {
		if !IsTest(s.Planned) {
			continue
		}
		none = false
		_, words := result.StepLine(s)
		if s.Forked() {
			words += CarriedWords(s)
		}
		fmt.Fprintf(out, "=== %s: %s", plain.Escape(string(s.Planned.ID)), plain.Line([]byte(words)))
		f := s.Finished
		if f == nil {
			fmt.Fprintln(out)
			continue
		}
		if s.Step != nil {
			fmt.Fprintf(out, " · %s", Duration(time.Duration(f.DurationNS)))
		}
		if f.Tests != nil {
			fmt.Fprintf(out, " · %s", result.TestWords(f.Tests.Passed, f.Tests.Failed, f.Tests.Skipped, f.Tests.From,
				plain.Line([]byte(f.Tests.Runner))))
		}
		fmt.Fprintln(out)
		for _, stream := range []struct {
			name string
			data runs.StreamData
		}{{"output", f.Stdout}, {"error", f.Stderr}} {
			if stream.data.File == "" {
				continue
			}
			fmt.Fprintf(out, "--- %s, %s\n", stream.name, plain.Counted(int(stream.data.Bytes), "byte"))
			if err := copyFile(out, files, stream.data.File); err != nil {
				return fmt.Errorf("test log: step %q: %w", s.Planned.ID, err)
			}
		}
	}
	if none {
		fmt.Fprintln(out, "No step has the tag test: nothing was tested.")
	}
	return out.Flush()
}

// copyFile copies a file and ends it with a newline, so that the next header starts a line.
func copyFile(out *bufio.Writer, files fs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	last := lastByte{w: out}
	if _, err := io.Copy(&last, f); err != nil {
		return err
	}
	if last.b != '\n' {
		return out.WriteByte('\n')
	}
	return nil
}

// lastByte remembers the last byte written.
type lastByte struct {
	w io.Writer
	b byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return l.w.Write(p)
}
