package render

import (
	"bytes"
	"fmt"
	"io/fs"
	"markmill/notebooks/lazyregexp"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// outputBytes is how much of a step's output its region keeps where the front matter does not say.
const outputBytes = 16 << 10

// resultBytes is what a rich result costs at least of the bound, so that many small ones are bounded too.
const resultBytes = 64

// hides says that a step's output has no place in the output notebook.
func hides(tags []string) bool {
	return slices.Contains(tags, notebooks.TagVolatile) || slices.Contains(tags, notebooks.TagHideOutput)
}

// region builds the body of one step's region.
type region struct {
	bytes.Buffer
	files fs.FS
	rec   runs.StepRecord
	clean *cleaner
	limit int // of a step's output
	left  int // of limit

	output string                      // how much stands open: notebooks.OutputOpen, …
	broke  []notebooks.ManifestBlocker // the rules that the step broke
	rest   bytes.Buffer                // what is folded; the results stand in the region itself
	shown  map[string]bool             // scraps that stand among the results
}

// reached says that there is something to say of a step: it ran, or it was skipped for a reason.
func reached(rec runs.StepRecord) bool {
	if f := rec.Finished; f != nil {
		return f.Status != runs.StepPending
	}
	return rec.Step != nil || rec.Planned.Action == runs.ActionSkip
}

// write writes the whole body: results open, then all else folded under the line that sums the step up. A step that
// failed or broke a rule is open whole.
func (r *region) write(pics []picture) error {
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

func (r *region) has(tag string) bool { return slices.Contains(r.rec.Planned.Tags, tag) }

func (r *region) failed() bool {
	f := r.rec.Finished
	return f == nil && r.rec.Step != nil || f != nil && (f.Status == runs.StepFailed || f.Status == runs.StepTimeout)
}

// summary is the one line that says what matters, as HTML.
func (r *region) summary() string {
	step := result.Of(r.rec)
	mark := result.Mark(&step)
	if len(r.broke) > 0 {
		mark = "✗"
	}
	line := mark + " <code>" + htmlText(plain.Escape(string(r.rec.Planned.ID))) + "</code>"
	for _, w := range result.Summary(&step) {
		line += " · " + htmlText(r.clean.oneLine(w, 200))
	}
	for i := range r.broke {
		line += " · <strong>" + htmlText(r.clean.oneLine(brokeWords(&r.broke[i]), 200)) + "</strong>"
	}
	return line
}

// brokeWords says which rule a step broke, and with which files.
func brokeWords(b *notebooks.ManifestBlocker) string {
	words := "broke " + b.Rule
	for i, p := range b.Paths {
		switch {
		case i == 3:
			return fmt.Sprintf("%s and %d more", words, len(b.Paths)-i)
		case i == 0:
			words += ": " + p
		default:
			words += ", " + p
		}
	}
	return words
}

// blocks writes what the step printed, showed, changed and recorded: the results into the region, the rest apart.
func (r *region) blocks(pics []picture) error {
	switch {
	case r.has(notebooks.TagVolatile):
		fmt.Fprintf(&r.rest, "Output not kept here (`volatile`): %s.\n\n", r.whereabouts())
		return r.scraps()
	case r.has(notebooks.TagHideOutput):
		fmt.Fprintf(&r.rest, "Output hidden: %s.\n\n", r.whereabouts())
	default:
		// The errors are read first: they are what a reader of a failed step needs, and get at
		// least half of the space; they are shown after the output.
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
func (r *region) whereabouts() string {
	if r.rec.Step == nil || r.rec.Step.Dir == "" {
		return "the run directory has it"
	}
	return codeSpan(plain.Escape(r.rec.Step.Dir))
}

// stream writes one stream as a block, or as two around the words of what is elided.
func (r *region) stream(to *bytes.Buffer, info string, s runs.StreamData, limit int) (shown string, err error) {
	if s.File == "" {
		return "", nil
	}
	c := cleaner{names: r.clean.names, rules: r.clean.rules}
	e, err := excerptFile(r.files, s.File, limit, c.line)
	if err != nil {
		return "", fmt.Errorf("step %q: %w", r.rec.Planned.ID, err)
	}
	digest := s.Digest
	if c.replaced {
		digest = ""
	}
	writeExcerpt(to, info, e, s.File, digest)
	return e.head + e.tail, nil
}

// writeExcerpt writes text in a fence. The words of what is elided stand between two fences, where
// no output can forge them; the digest is that of the raw bytes of file.
func writeExcerpt(b *bytes.Buffer, info string, e excerpt, file string, digest runs.Digest) {
	if e.empty() {
		return
	}
	fence(b, info, e.head)
	if e.cut == "" {
		return
	}
	fmt.Fprintf(b, "… %s elided: %s", e.cut, codeSpan(plain.Escape(file)))
	if digest != "" {
		fmt.Fprintf(b, ", %s", codeSpan(plain.Escape(string(digest))))
	}
	b.WriteString("\n\n")
	fence(b, info, e.tail)
}

// failure returns the error block: what went to standard error, and the exception where the
// interpreter's own words of it are not already there.
func (r *region) failure() ([]byte, error) {
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
	words := f.Error.Traceback
	if words == "" {
		words = f.Error.Name + ": " + f.Error.Value
	}
	words = r.clean.text(words)
	if strings.Contains(shown, strings.TrimSpace(words)) {
		return b.Bytes(), nil
	}
	e := cutText(words, max(limit-len(shown), limit/2))
	writeExcerpt(&b, "text {.error}", e, f.Result, f.ResultDigest)
	r.left -= e.size()
	return b.Bytes(), nil
}

// stdout writes standard output. Where there are results, it leaves half of the space to them.
func (r *region) stdout(pics []picture) error {
	f := r.rec.Finished
	limit := max(r.left, 0)
	if len(f.Displays) > len(pics) {
		limit /= 2
	}
	info := "text {.output}"
	if r.has(notebooks.TagTest) {
		info = "text {.tests}"
	}
	shown, err := r.stream(&r.rest, info, f.Stdout, limit)
	r.left -= len(shown)
	return err
}

// withoutAddress drops where an object lay in memory from the words that stand for a picture or
// another rich result: no author printed it, and it is another in every run.
func withoutAddress(alt string) string { return objectAddress.ReplaceAllString(alt, "") }

var objectAddress = lazyregexp.New(` at 0x[0-9a-fA-F]{4,16}\b`)

func (r *region) picture(p picture) {
	if p.to == "" {
		fmt.Fprintf(r, "Picture (%s): %s\n\n", inline(plain.Escape(p.mime)), codeSpan(plain.Escape(p.from)))
		return
	}
	alt := r.clean.oneLine(withoutAddress(p.alt), 200)
	if alt == "" {
		alt = string(r.rec.Planned.ID)
	}
	fmt.Fprintf(r, "![%s](%s)\n\n", inline(plain.Escape(alt)), link(p.to))
}

func (r *region) diff() error {
	e, escaped, err := patchText(r.files, r.rec.Patch)
	if err != nil {
		return fmt.Errorf("step %q: %w", r.rec.Planned.ID, err)
	}
	writeExcerpt(&r.rest, "diff {.diff}", e, r.rec.Patch.Patch, r.rec.Patch.Digest)
	if escaped {
		fmt.Fprintf(&r.rest, "Hidden characters are shown escaped; to the byte: %s\n\n", codeSpan(plain.Escape(r.rec.Patch.Patch)))
	}
	return nil
}

func (r *region) scraps() error {
	if err := scrapBlock(&r.rest, r.rec.Scraps, r.shown, r.clean, r.limit); err != nil {
		return fmt.Errorf("step %q: %w", r.rec.Planned.ID, err)
	}
	return nil
}
