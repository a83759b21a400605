package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// outputBytes is the default bound of a step's output in its region.
const outputBytes = 16 << 10

// resultBytes is the minimum that a rich result counts against the bound, so that many small ones are bounded, too.
const resultBytes = 64

// stepRegion builds the body of one step's region.
type stepRegion struct {
	bytes.Buffer
	files fs.FS
	rec   runs.StepRecord
	clean *safe.Cleaner
	limit int // of a step's output
	left  int // of limit

	output string                      // how much stands open: notebooks.OutputOpen, …
	broke  []notebooks.ManifestBlocker // the rules that the step broke
	rest   bytes.Buffer                // what is folded; results and a short diff stand in the region itself
	shown  map[string]bool             // scraps that stand among the results
}

// write writes the body: results and a short diff first, then everything else folded under the summary. All of it is
// open for a step that failed or broke a rule.
func (r *stepRegion) write(pics []picture) error {
	r.shown = map[string]bool{}
	ran := r.rec.Finished != nil && r.rec.Finished.Status != runs.StepSkipped
	if ran {
		if err := r.blocks(pics); err != nil {
			return err
		}
	}
	rest := bytes.Clone(r.rest.Bytes())
	bad := r.failed() || len(r.broke) > 0 && ran
	if r.output == notebooks.OutputFolded && !bad {
		rest = append(bytes.Clone(r.Bytes()), rest...)
		r.Reset()
	}
	if len(rest) == 0 && r.failed() && r.Len() == 0 { // what failed must not look small
		if rest = []byte("No output.\n\n"); !ran {
			rest = []byte{'\n'}
		}
	}
	if len(rest) == 0 {
		fmt.Fprintf(r, "<sub>%s</sub>\n", r.summary())
		return nil
	}
	open := ""
	if bad || r.output == notebooks.OutputOpen {
		open = " open"
	}
	fmt.Fprintf(r, "<details%s><summary>%s</summary>\n\n", open, r.summary())
	r.Write(rest)
	r.WriteString("</details>\n")
	return nil
}

func (r *stepRegion) has(tag string) bool { return slices.Contains(r.rec.Planned.Tags, tag) }

func (r *stepRegion) failed() bool {
	f := r.rec.Finished
	return f == nil && r.rec.Step != nil || f != nil && (f.Status == runs.StepFailed || f.Status == runs.StepTimeout)
}

// summary returns the summary line as HTML.
func (r *stepRegion) summary() string {
	step := result.Of(r.rec)
	mark := result.Mark(&step)
	if len(r.broke) > 0 {
		mark = "✗"
	}
	line := mark + " <code>" + safe.HTML(plain.Escape(string(r.rec.Planned.ID))) + "</code>"
	for _, w := range result.Summary(&step) {
		line += " · " + safe.HTML(r.clean.OneLine(w, 200))
	}
	for i := range r.broke {
		line += " · <strong>" + safe.HTML(r.clean.OneLine(result.BrokeWords(&r.broke[i]), 200)) + "</strong>"
	}
	return line
}

// blocks writes results to the region, and output, patch and scraps to rest.
func (r *stepRegion) blocks(pics []picture) error {
	switch {
	case r.has(notebooks.TagVolatile):
		fmt.Fprintf(&r.rest, "Output not kept here (`volatile`): %s.\n\n", r.whereabouts())
		return r.scraps()
	case r.has(notebooks.TagHideOutput):
		fmt.Fprintf(&r.rest, "Output hidden: %s.\n\n", r.whereabouts())
	default:
		// Errors are read first and get at least half of the space, because they explain a failure; they are shown
		// after the output.
		failure, err := r.failure()
		if err != nil {
			return err
		}
		if err := r.stdout(pics); err != nil {
			return err
		}
		r.rest.Write(failure)
		if err := r.results(pics); err != nil {
			return err
		}
	}
	if r.rec.Patch != nil && len(r.rec.Patch.Files) > 0 {
		if err := r.diff(); err != nil {
			return err
		}
	}
	return r.scraps()
}

// whereabouts names the step's folder in the run directory.
func (r *stepRegion) whereabouts() string {
	if r.rec.Step == nil || r.rec.Step.Dir == "" {
		return "the run directory has it"
	}
	return safe.CodeSpan(plain.Escape(r.rec.Step.Dir))
}

// stream writes a stream as one block, or as two around the line that says what is elided.
func (r *stepRegion) stream(to *bytes.Buffer, info string, s runs.StreamData, limit int) (shown string, err error) {
	if s.File == "" {
		return "", nil
	}
	c := safe.Cleaner{Names: r.clean.Names, Rules: r.clean.Rules}
	e, err := safe.ExcerptFile(r.files, s.File, limit, c.Line)
	if err != nil {
		return "", fmt.Errorf("step %q: %w", r.rec.Planned.ID, err)
	}
	digest := s.Digest
	if c.Replaced {
		digest = ""
	}
	safe.WriteExcerpt(to, info, e, s.File, digest)
	return e.Head + e.Tail, nil
}

// failure returns the error block: standard error, and the exception if standard error does not already show it.
func (r *stepRegion) failure() ([]byte, error) {
	f := r.rec.Finished
	limit := r.left
	if f.Stdout.File != "" || len(f.Displays) > 0 {
		limit /= 2
	}
	var b bytes.Buffer
	shown, err := r.stream(&b, "text {.error}", f.Stderr, limit)
	if err != nil {
		return nil, err
	}
	r.left -= len(shown)
	if f.Error == nil {
		return b.Bytes(), nil
	}
	words := r.clean.Text(cmp.Or(f.Error.Traceback, f.Error.Name+": "+f.Error.Value))
	if strings.Contains(shown, strings.TrimSpace(words)) {
		return b.Bytes(), nil
	}
	e := safe.CutText(words, max(limit-len(shown), limit/2))
	safe.WriteExcerpt(&b, "text {.error}", e, f.Result, f.ResultDigest)
	r.left -= e.Size()
	return b.Bytes(), nil
}

// stdout writes standard output. It leaves half of the space to results.
func (r *stepRegion) stdout(pics []picture) error {
	f := r.rec.Finished
	limit := max(r.left, 0)
	if len(f.Displays) > len(pics) {
		limit /= 2
	}
	info := "text {.output}"
	if r.has(notebooks.TagTest) {
		info = "text {.tests}"
	}
	// nil: the journal was changed
	if r.rec.Step != nil && strings.HasPrefix(r.rec.Step.Kernel, runs.AgentKernelPrefix) {
		info = "text {.turn}" // runs.ReadTranscript reads it
	}
	shown, err := r.stream(&r.rest, info, f.Stdout, limit)
	r.left -= len(shown)
	return err
}

func (r *stepRegion) picture(p picture) {
	if p.to == "" {
		fmt.Fprintf(r, "Picture (%s): %s\n\n", safe.Inline(plain.Escape(p.mime)), safe.CodeSpan(plain.Escape(p.from)))
		return
	}
	alt := cmp.Or(r.clean.OneLine(safe.WithoutAddress(p.alt), 200), string(r.rec.Planned.ID))
	fmt.Fprintf(r, "![%s](%s)\n\n", safe.Inline(plain.Escape(alt)), safe.Link(p.to))
}

// openDiff is how many lines a diff has at most that is not folded.
const openDiff = 20

func (r *stepRegion) diff() error {
	e, escaped, err := safe.Patch(r.files, r.rec)
	if err != nil {
		return fmt.Errorf("step %q: %w", r.rec.Planned.ID, err)
	}
	to := &r.rest
	if strings.Count(e.Head+e.Tail, "\n") <= openDiff && !r.failed() && len(r.broke) == 0 {
		to = &r.Buffer
	}
	safe.WriteExcerpt(to, "diff {.diff}", e, r.rec.Patch.Patch, r.rec.Patch.Digest)
	if escaped {
		fmt.Fprintf(to, "Hidden characters are shown escaped; to the byte: %s\n\n",
			safe.CodeSpan(plain.Escape(r.rec.Patch.Patch)))
	}
	return nil
}

func (r *stepRegion) scraps() error {
	if err := scrapBlock(&r.rest, r.rec.Scraps, r.shown, r.clean, r.limit); err != nil {
		return fmt.Errorf("step %q: %w", r.rec.Planned.ID, err)
	}
	return nil
}
