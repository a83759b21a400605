package terminal

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/render/plain"
	"markmill/runs"
)

// Options configure the progress view.
type Options struct {
	Terminal bool       // a live line may be drawn
	Color    bool       //
	Width    func() int // columns of the terminal, asked whenever the live line is drawn; nil is 80
	Total    int        // steps that will run; 0: taken from plan.updated
	Log      bool       // --log-output: every line of output, with the step's id before it
	Quiet    bool       // no progress: only what Log asks for, what Done says and steps that fail
	Line     bool       // on a terminal nothing but the live line stays, except of steps that fail
	Record   Record     // of the run: why a step failed is shown from it
	// Shown says that the streams of the steps are shown elsewhere, so that failures do not repeat them
	Shown bool
	Now   func() time.Time // nil is time.Now
}

// Progress shows a run in progress: a live line on a terminal, redrawn at each Tick, and a line for every finished
// step. Its methods may be called concurrently. Write errors are ignored: a closed terminal must not stop a run.
type Progress struct {
	o Options

	mu      sync.Mutex
	w       io.Writer
	live    bool // the live line stands on the terminal
	spin    int
	total   int
	planned map[notebooks.StepID]runs.PlannedStep
	step    notebooks.StepID // "" between steps
	place   int              // of step among those that ran, from 1
	started time.Time
	begun   *runs.StepStartedData
	patch   *runs.PatchData
	streams map[string]*tail
	last    string // the stream that wrote last

	replayed *runs.ReplayedData // the step ran again, for its state
}

// New returns the progress view of one run.
func New(w io.Writer, o Options) *Progress {
	if o.Width == nil {
		o.Width = func() int { return 80 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Progress{o: o, w: w, total: o.Total}
}

// Event takes one event of the journal. It ignores events that it cannot read, because it is only a view.
func (p *Progress) Event(e runs.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case runs.PlanUpdated:
		p.plan(e)
	case runs.TreeOpened:
		var d runs.TreeData
		if codec.Unmarshal(e.Data, &d) != nil {
			return
		}
		if words := render.DependencyWords(&d); words != "" {
			fmt.Fprintf(p.w, "  %s\n", plain.Escape(words))
		} else if d.Why != "" {
			fmt.Fprintf(p.w, "  the worktree is not at the checkout's path: %s (see markmill doctor)\n",
				plain.Line([]byte(d.Why)))
		}
		for _, l := range d.Lacks {
			fmt.Fprintf(p.w, "  deps: %s of %s is not in the checkout: the run goes without it\n",
				plain.Escape(l.Path), plain.Escape(l.File))
		}
		for _, c := range d.Caches {
			if c.Why != "" {
				fmt.Fprintf(p.w, "  the cache of %s is not the user's: %s\n", plain.Escape(c.Name),
					plain.Line([]byte(c.Why)))
			}
		}
		if len(d.Servers) > 0 {
			fmt.Fprintf(p.w, "  steps reach servers that run the checkout's code: %s (network: off hides them)\n",
				plain.Escape(plain.Some(d.Servers, 3)))
		}
		if d.Unchecked {
			fmt.Fprintln(p.w, "  the worktree is separate, and no sandbox keeps steps from the checkout's code")
		}
	case runs.StepStarted:
		var d runs.StepStartedData
		if codec.Unmarshal(e.Data, &d) != nil || d.Attempt <= 1 {
			p.place++
		}
		p.step, p.started, p.begun, p.patch = e.Step, p.o.Now(), &d, nil
		p.streams, p.last = map[string]*tail{}, ""
		p.draw()
	case runs.PatchApplied:
		var d runs.PatchData
		if codec.Unmarshal(e.Data, &d) == nil {
			p.patch = &d
		}
	case runs.StepReplayed:
		var d runs.ReplayedData
		if codec.Unmarshal(e.Data, &d) == nil {
			p.replayed = &d
		}
	case runs.StepFinished:
		p.finish(e)
	}
}

func (p *Progress) plan(e runs.Event) {
	var d runs.PlanData
	if codec.Unmarshal(e.Data, &d) != nil {
		return
	}
	p.planned = map[notebooks.StepID]runs.PlannedStep{}
	total := 0
	for _, s := range d.Steps {
		if p.planned[s.ID] = s; s.Action == runs.ActionRun {
			total++
		}
	}
	p.total = cmp.Or(p.o.Total, total)
}

// finish prints the line of a finished step, and why it failed.
func (p *Progress) finish(e runs.Event) {
	var d runs.StepFinishedData
	if codec.Unmarshal(e.Data, &d) != nil {
		return
	}
	ran := p.step == e.Step
	if p.o.Log && ran {
		for name, t := range p.streams {
			p.logLines(name, t.flush())
		}
	}
	planned := p.planned[e.Step]
	planned.ID = e.Step
	rec := runs.StepRecord{Planned: planned, Finished: &d, Patch: p.patch}
	if ran {
		rec.Step = p.begun
	}
	rec.Replayed = p.replayed
	short := d // the cause is told when the run has ended
	short.Failed, rec.Finished = nil, &short
	f := render.FactsOf(rec)
	parts := append([]string{paint(f.Mark, inkOf(string(d.Status)), p.o.Color) + " " + plain.Escape(string(e.Step)),
		plain.Line([]byte(f.Words))}, f.Besides()...)
	failure := ""
	if ran {
		failure = p.o.Record.failure(&d, "  ", p.o.Log || p.o.Shown, p.o.Color)
	}
	if failure != "" || !p.o.Quiet && !(p.o.Line && p.o.Terminal) {
		p.erase()
		io.WriteString(p.w, strings.Join(parts, " · ")+"\n"+failure)
	}
	p.step, p.patch, p.streams, p.replayed = "", nil, nil, nil
}

// Output takes a chunk of the running step's output. Unless every line is shown it keeps only the end, at constant
// cost.
func (p *Progress) Output(step notebooks.StepID, stream string, chunk []byte) {
	if len(chunk) == 0 || !p.o.Log && (p.o.Quiet || !p.o.Terminal) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if step != p.step || p.streams == nil {
		return
	}
	t := p.streams[stream]
	if t == nil {
		t = &tail{}
		p.streams[stream] = t
	}
	p.last, t.unfinished = stream, nil
	if p.o.Log {
		p.logLines(stream, t.lines(chunk))
	} else {
		t.keep(chunk)
	}
}

// Unfinished takes what the last line of the running step's output has so far; it comes again with Output.
func (p *Progress) Unfinished(step notebooks.StepID, stream string, line []byte) {
	if len(line) == 0 || p.o.Log || p.o.Quiet || !p.o.Terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if step != p.step || p.streams == nil {
		return
	}
	if p.streams[stream] == nil {
		p.streams[stream] = &tail{}
	}
	p.last, p.streams[stream].unfinished = stream, bytes.Clone(line)
}

// logLines prints lines of output with the id of their step.
func (p *Progress) logLines(stream string, lines [][]byte) {
	if len(lines) == 0 {
		return
	}
	p.erase()
	prefix := plain.Escape(string(p.step)) + " │ "
	if stream == "stderr" {
		prefix = plain.Escape(string(p.step)) + " ! "
	}
	prefix = paint(prefix, dim, p.o.Color)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(prefix)
		b.WriteString(plain.Line(l))
		b.WriteByte('\n')
	}
	io.WriteString(p.w, b.String())
}

// Tick redraws the live line. Callers call it a few times a second.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spin++
	p.draw()
}

// Done removes the live line and prints the last line of the run.
func (p *Progress) Done(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = ""
	p.erase()
	if line != "" {
		io.WriteString(p.w, line+"\n")
	}
}

// erase removes the live line.
func (p *Progress) erase() {
	if p.live {
		io.WriteString(p.w, eraseLine)
		p.live = false
	}
}

// eraseLine moves the cursor to the start of the line and clears it.
const eraseLine = "\r\x1b[K"

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// draw draws the live line: spinner, position, step, time, steps left, last line of output.
func (p *Progress) draw() {
	if !p.o.Terminal || p.o.Quiet || p.step == "" {
		return
	}
	width := max(20, p.o.Width())
	text := fmt.Sprintf("%c %d/%d %s · %s", spinner[p.spin%len(spinner)], p.place, max(p.total, p.place),
		plain.Escape(string(p.step)), elapsed(p.o.Now().Sub(p.started)))
	if left := p.total - p.place; left > 0 {
		text += fmt.Sprintf(" · %d left", left)
	}
	if t := p.streams[p.last]; t != nil {
		if l := strings.TrimSpace(t.lastLine()); l != "" {
			text += " · " + strings.ReplaceAll(l, "\t", " ")
		}
	}
	// Leave one column free: a full line would wrap, and could not be erased.
	text = lipgloss.NewStyle().Inline(true).MaxWidth(width - 1).Render(text)
	io.WriteString(p.w, eraseLine+paint(text, dim, p.o.Color))
	p.live = true
}

// elapsed formats a running time in whole seconds, so that the line does not flicker.
func elapsed(d time.Duration) string { return d.Truncate(time.Second).String() }

// tailBytes bounds what is kept of a stream.
const tailBytes = 4 << 10

// tail is the end of a stream that is still being written.
type tail struct {
	buf        []byte
	cut        bool   // the beginning is forgotten
	unfinished []byte // stands after buf until more comes
}

// keep appends a chunk, and drops all but the end.
func (t *tail) keep(chunk []byte) {
	t.cut = t.cut || len(t.buf)+len(chunk) > tailBytes
	if len(chunk) >= tailBytes {
		t.buf = append(t.buf[:0], chunk[len(chunk)-tailBytes:]...)
		return
	}
	if over := len(t.buf) + len(chunk) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, chunk...)
}

// lastLine returns the last nonempty line, as a terminal would show it.
func (t *tail) lastLine() string {
	b := bytes.TrimRight(slices.Concat(t.buf, t.unfinished), "\r\n")
	at := bytes.LastIndexByte(b, '\n') + 1
	if at == 0 && t.cut {
		return plain.Rest(b)
	}
	return plain.Line(b[at:])
}

// lines appends a chunk and returns the complete lines. It splits lines longer than 64 KiB.
func (t *tail) lines(chunk []byte) [][]byte {
	var out [][]byte
	for {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			break
		}
		out = append(out, append(t.buf, chunk[:i]...))
		t.buf, chunk = nil, chunk[i+1:]
	}
	t.buf = append(t.buf, chunk...)
	if len(t.buf) > 16*tailBytes {
		out = append(out, t.buf)
		t.buf = nil
	}
	return out
}

// flush returns a last line without a newline.
func (t *tail) flush() [][]byte {
	if len(t.buf) == 0 {
		return nil
	}
	out := [][]byte{t.buf}
	t.buf = nil
	return out
}
