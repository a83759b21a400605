package kernel

import (
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks/codec"
	"markmill/notebooks/lazyregexp"
	"markmill/runs"
	"markmill/runs/scrapbook"
)

// jupyterStep gathers what a step prints over the protocol. Its processes write to the kernel's own streams.
type jupyterStep struct {
	r              Request
	stdout, stderr lockedWriter
	displays       []Display
	owners         []string          // of the displays: the widget Output in which each stands, "" for the cell
	held           map[string][]byte // see Outcome.Held
	heldBytes      int
	byID           map[string]int // displays that may be updated
	order          ordering
	clear          bool   // at the next output
	clearing       string // of this owner
	count          int
	err            *ExecError
	failed         error
	cells          map[int]place
	scraps         string // the file of scraps
	glued          map[string]bool
	at             place
	widgets        *widgets // of the session
}

// place is where in the notebook code stands that the kernel numbers from 1.
type place struct {
	file string
	line int // of the code's first line, as the kernel counts
}

// lockedWriter is written to by the protocol and by the kernel's own stream.
type lockedWriter struct {
	w     io.Writer
	name  string
	order *ordering
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.order.mu.Lock()
	defer l.order.mu.Unlock()
	l.order.stream(l.name, int64(len(p)))
	return l.w.Write(p)
}

// again writes the text of an output that is recorded on its own.
func (l *lockedWriter) again(text string) error {
	l.order.mu.Lock()
	defer l.order.mu.Unlock()
	l.order.add(runs.OutputData{Type: runs.OutputCleared, Name: l.name, Bytes: int64(len(text))})
	_, err := io.WriteString(l.w, text)
	return err
}

func newJupyterStep(r Request, python bool, cells map[int]place) *jupyterStep {
	s := &jupyterStep{r: r, byID: map[string]int{}, cells: cells, at: place{r.File, r.Line}}
	s.stdout, s.stderr = lockedWriter{r.Stdout, "stdout", &s.order}, lockedWriter{r.Stderr, "stderr", &s.order}
	s.order.kept = r.Ordered
	if python { // IPython drops empty lines before the code
		for line := range strings.Lines(string(r.Code)) {
			if strings.TrimSpace(line) != "" {
				break
			}
			s.at.line++
		}
	}
	return s
}

// kept are the MIME types that a display is kept as, the richest first; see METHODS of the driver
// of Python. Text alone is kept of what may be updated.
var kept = []struct{ mime, ext string }{
	{"image/svg+xml", "svg"}, {"image/png", "png"}, {"image/jpeg", "jpg"}, {"text/html", "html"},
	{"text/markdown", "md"},
	{"text/latex", "tex"}, {"application/json", "json"}, {"text/plain", "txt"},
}

func (s *jupyterStep) print(o jupyter.Output) {
	if o.Comm != "" {
		s.widgets.update(o)
		return
	}
	s.order.within(s.widgets.owner())
	if s.clear && o.Type != "clear_output" && s.clearing == s.order.owner {
		s.clear = false
		s.forget()
	}
	switch o.Type {
	case "stream":
		w := &s.stdout
		if o.Name == "stderr" {
			w = &s.stderr
		}
		s.fail(io.WriteString(w, o.Text))
	case "display_data", "execute_result":
		s.show(o, -1)
	case "update_display_data":
		at, ok := s.byID[o.DisplayID]
		if !ok { // of an earlier step, whose record is closed: this one's says what came of it
			at = -1
		}
		s.show(o, at)
	case "clear_output":
		if s.clear, s.clearing = o.Wait, s.order.owner; !o.Wait {
			s.forget()
		}
	case "error":
		s.raised(o.Ename, o.Evalue, o.Traceback)
	}
}

// forget drops the displays of the cell, or of the widget Output that asks, as clear_output requests. It keeps the
// streams: they are evidence.
func (s *jupyterStep) forget() {
	displays, owners := s.displays, s.owners
	s.displays, s.owners, s.byID = nil, nil, map[string]int{}
	for i, d := range displays {
		if owners[i] == s.order.owner {
			s.drop(d.File)
			continue
		}
		if d.ID != "" {
			s.byID[d.ID] = len(s.displays)
		}
		s.displays, s.owners = append(s.displays, d), append(s.owners, owners[i])
	}
	s.order.clear()
}

func (s *jupyterStep) fail(_ any, err error) {
	if s.failed == nil {
		s.failed = err
	}
}

// show keeps a rich result, or one that may be updated, and prints a plain one as Python's own prompt does. at is the
// display that it stands for, -1 for a new one.
func (s *jupyterStep) show(o jupyter.Output, at int) {
	if scrapbook.Holds(o.Data, o.Metadata) {
		s.fail(nil, s.glue(o))
	}
	alt, _ := textOf(o.Data["text/plain"])
	told := runs.OutputData{Type: o.Type, Data: o.Data, Metadata: o.Metadata, DisplayID: o.DisplayID}
	for _, k := range kept {
		raw, ok := o.Data[k.mime]
		if plain := k.mime == "text/plain"; !ok || plain && o.DisplayID == "" {
			continue
		} else if plain {
			alt = ""
		}
		content, err := contentOf(k.mime, raw)
		if err != nil {
			s.fail(nil, fmt.Errorf("a display of type %s: %w", k.mime, err))
			return
		}
		if at < 0 {
			s.count++
			s.displays, s.owners = append(s.displays, Display{}), append(s.owners, s.order.owner)
			at = len(s.displays) - 1
		} else {
			s.drop(s.displays[at].File)
		}
		d := Display{File: fmt.Sprintf("display-%d.%s", s.count, k.ext), MIME: k.mime, Alt: alt, ID: o.DisplayID,
			Update: o.Type == runs.OutputUpdate}
		if old := s.displays[at]; old.File != "" {
			d.File = strings.TrimSuffix(old.File, filepath.Ext(old.File)) + "." + k.ext
			d.Update = old.Update
		}
		s.displays[at] = d
		if o.DisplayID != "" {
			s.byID[o.DisplayID] = at
		}
		s.fail(nil, s.keep(d.File, content))
		told.File, told.MIME = d.File, d.MIME
		// IRkernel breaks the lines of a picture
		if text, _ := textOf(raw); strings.HasPrefix(k.mime, "image/") && k.mime != "image/svg+xml" {
			if column := strings.IndexByte(text, '\n'); column > 0 && runs.Base64(content, column) == text {
				told.Column = column
			}
		}
		told.Data = maps.Clone(o.Data)
		delete(told.Data, k.mime)
		s.order.show(o, told)
		return
	}
	s.order.show(o, told)
	if alt != "" {
		s.fail(nil, s.stdout.again(alt+"\n"))
	}
}

// heldMost is the maximum size of a step's results in memory, in bytes; the rest is written to DisplayDir.
const heldMost = 32 << 20

func (s *jupyterStep) keep(name string, content []byte) error {
	if s.heldBytes+len(content) <= heldMost {
		if s.held == nil {
			s.held = map[string][]byte{}
		}
		s.held[name] = content
		s.heldBytes += len(content)
		return nil
	}
	if err := os.MkdirAll(s.r.DisplayDir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.r.DisplayDir, name), content, 0o666)
}

func (s *jupyterStep) drop(name string) {
	if content, held := s.held[name]; held {
		s.heldBytes -= len(content)
		delete(s.held, name)
		return
	}
	os.Remove(filepath.Join(s.r.DisplayDir, name))
}

// textOf reads a text of a MIME bundle: a string, or a list of lines.
func textOf(raw codec.Raw) (string, error) {
	if raw == nil {
		return "", nil
	}
	var text string
	if err := codec.UnmarshalForeign(raw, &text); err == nil {
		return text, nil
	}
	var lines []string
	err := codec.UnmarshalForeign(raw, &lines)
	return strings.Join(lines, ""), err
}

func contentOf(mime string, raw codec.Raw) ([]byte, error) {
	if mime == "application/json" {
		return codec.Indent(raw)
	}
	text, err := textOf(raw)
	if err != nil || !strings.HasPrefix(mime, "image/") || mime == "image/svg+xml" {
		return []byte(text), err
	}
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}

var (
	ansiCodes = lazyregexp.New(`\x1b\[[0-9;]*[A-Za-z]`)
	cellLine  = lazyregexp.New(`(?:Cell In|Input In) ?\[(\d+)\], line (\d+)`)
)

// raised keeps an exception, and prints it where the kernel would have it seen.
func (s *jupyterStep) raised(name, value string, traceback []string) {
	text := strings.Join(traceback, "\n")
	if text == "" {
		text = name + ": " + value
	}
	plain := ansiCodes.ReplaceAllString(text, "")
	plain, line := s.inNotebook(plain)
	s.err = &ExecError{Name: name, Value: value, Traceback: plain, Line: line}
	s.order.failed(name, value, traceback)
	switch name {
	case "SystemExit":
		return
	case "StdinNotImplementedError": // as kernels of Python call it
		plain += "\nNobody answers in a run: give the value as a parameter (-p NAME VALUE), or read it from a file."
	}
	s.fail(nil, s.stderr.again(plain+"\n"))
}

// inNotebook adds the notebook's own lines to a traceback, and gives the last of them that is the
// step's. Kernels of Python name code by the number that they gave it, and count lines from its first.
func (s *jupyterStep) inNotebook(traceback string) (text string, line int) {
	text = cellLine.ReplaceAllStringFunc(traceback, func(found string) string {
		m := cellLine.FindStringSubmatch(found)
		cell, _ := strconv.Atoi(m[1])
		n, err := strconv.Atoi(m[2])
		at, known := s.cells[cell]
		if !known { // the step's own: its number comes with the reply
			at = s.at
		}
		if err != nil {
			return found
		}
		if !known {
			line = at.line + n - 1
		}
		return fmt.Sprintf("%s (%s:%d)", found, at.file, at.line+n-1)
	})
	return text, line
}

// ended returns the exit code of a reply.
func (s *jupyterStep) ended(r jupyter.Reply) int {
	if r.Count > 0 {
		s.cells[r.Count] = s.at
	}
	switch r.Status {
	case "ok":
		return 0
	case "aborted":
		s.fail(io.WriteString(&s.stderr,
			"the kernel did not run the step: it aborted it each time that it was asked\n"))
		return 1
	}
	if s.err == nil && r.Ename != "" { // told by the reply alone
		s.raised(r.Ename, r.Evalue, r.Traceback)
	}
	switch r.Ename {
	case "KeyboardInterrupt":
		return 130
	case "SystemExit":
		if r.Evalue == "" || r.Evalue == "None" {
			s.err = nil
			s.order.forgive()
			return 0
		}
		code, err := strconv.Atoi(r.Evalue)
		if err != nil {
			s.fail(io.WriteString(&s.stderr, r.Evalue+"\n"))
			return 1
		}
		s.err = nil
		if code&0xFF == 0 {
			s.order.forgive()
		}
		return code & 0xFF
	}
	return 1
}

func (s *jupyterStep) finish(out *Outcome) {
	for _, d := range s.widgets.taken() {
		s.order.add(d)
	}
	out.Displays, out.Held, out.Err, out.Outputs = s.displays, s.held, s.err, s.order.list
}
