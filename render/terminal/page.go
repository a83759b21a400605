package terminal

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"markmill/notebooks"
	"markmill/notebooks/diff"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/render/safe"
	"markmill/runs"
)

// Page shows a run or an output notebook to a person.
type Page struct {
	Doc      *diff.Document
	Run      *runs.Run                   // nil: Doc is of a notebook
	Manifest *notebooks.Manifest         // of the notebook; nil without one
	Reasons  []notebooks.ManifestBlocker // why it did not pass, causes first
	Record   Record                      // the run directory, and what is beside it
	Patches  map[string][]diff.FilePatch // what the steps changed, where Doc does not say
	Code     bool                        // show the code of every step, not only of those that failed
	Color    bool
	Width    int // columns; 0: lines are neither wrapped nor cut
}

// Bounds of what is shown of a step that passed. A step that failed is shown whole.
const (
	shownLines = 24 // of an output: half from its start, half from its end
	shownPatch = 40 // of a step's change
	shownRows  = 30 // of a table
	leastWidth = 20 // of a terminal: a narrower one is written to as if it had so many columns
)

// Write prints the page: verdict with reasons, parameters, steps with results, scraps. No byte of a process or a
// notebook reaches w raw.
func (p Page) Write(w io.Writer) error {
	if p.Width > 0 {
		p.Width = max(p.Width, leastWidth)
	}
	out := &sheet{page: page{w: w, color: p.Color}, width: p.Width}
	p.verdict(out)
	p.reasons(out)
	p.lanes(out)
	p.params(out)
	scraps := p.steps(out)
	p.scraps(out, scraps)
	if p.Run != nil {
		out.facts(p.Run, p.Record)
	}
	return out.err
}

// lanes prints the comparison of attempts.
func (p Page) lanes(out *sheet) {
	if p.Manifest != nil && p.Manifest.Lanes != nil {
		out.document([]byte(strings.Join(result.Lanes(p.Manifest.Lanes), "\n")), "")
	}
}

// sheet is a page with a width.
type sheet struct {
	page
	width int
}

// text prints one line of words after a lead, wrapped between words, with further lines indented.
func (s *sheet) text(lead, words, ink string) {
	indent := strings.Repeat(" ", lipgloss.Width(lead))
	for i, l := range s.fold(words, lipgloss.Width(lead), true) {
		if i > 0 {
			lead = indent
		}
		s.printf("%s\n", strings.TrimRight(lead+paint(l, ink, s.color && ink != ""), " "))
	}
}

// line prints one line of output after a lead, wrapped anywhere.
func (s *sheet) line(lead, text, ink string) {
	for _, l := range s.fold(text, lipgloss.Width(lead), false) {
		s.printf("%s\n", strings.TrimRight(lead+paint(l, ink, s.color && ink != ""), " "))
	}
}

// fold breaks a line to fit beside something that takes the given number of columns.
func (s *sheet) fold(text string, taken int, words bool) []string {
	room := max(s.width-taken, leastWidth/2)
	switch {
	case s.width == 0:
	case words:
		text = ansi.Wrap(text, room, "")
	default:
		text = ansi.Hardwrap(text, room, true)
	}
	return strings.Split(text, "\n")
}

func (p Page) verdict(out *sheet) {
	status := runs.Status(p.Doc.Status)
	title := plain.Escape(p.Doc.Name)
	if p.Run != nil {
		out.text("", Summary(p.Run, "", p.Color), "")
		title = shown(p.Run.Started.Notebook)
	} else if status == "" {
		out.printf("%s\n", paint("○ never run", yellow, p.Color))
	} else {
		m := p.Manifest
		if m == nil {
			m = &notebooks.Manifest{Status: p.Doc.Status, Lanes: &notebooks.ManifestLanes{}} // no more is known
		}
		words := result.Verdict(m)
		words[0] = paint(words[0], inkOf(string(status)), p.Color)
		out.text("", strings.Join(words, " · "), "")
	}
	facts := []string{title}
	if p.Run != nil {
		facts = append(facts, p.Run.StartedAt.UTC().Format("2006-01-02 15:04:05Z"))
		if !p.Run.FinishedAt.IsZero() {
			facts = append(facts, "took "+render.Duration(p.Run.FinishedAt.Sub(p.Run.StartedAt)))
		}
		if p.Run.Tree != nil && p.Run.Tree.Unchecked {
			facts = append(facts, "tree "+render.TreeWords(p.Run.Tree))
		}
	}
	if p.Record.Path != "" {
		facts = append(facts, plain.Escape(p.Record.Path))
	}
	out.text("", strings.Join(facts, " · "), dim)
	for _, note := range p.Doc.Notes {
		out.text(paint("!", yellow, p.Color)+" ", shown(note), "")
	}
}

// reasons prints why the run did not pass.
func (p Page) reasons(out *sheet) {
	if len(p.Reasons) > 0 {
		out.printf("\n%s\n", bold("Why", p.Color))
		out.document(result.Why(p.Reasons, len(p.Reasons)), "")
	}
}

func (p Page) params(out *sheet) {
	var t table
	given := map[string]string{}
	if p.Run != nil {
		for _, v := range p.Run.Contract.Parameters {
			given[v.Name] = v.From
		}
	}
	for _, q := range p.Doc.Params {
		t.add(cell{shown(q.Name), green}, cell{shown(plain.Cut(string(q.Value), 200)), ""},
			cell{shown(given[q.Name]), dim})
	}
	if len(t.rows) > 0 {
		out.printf("\n%s\n", bold("Parameters", p.Color))
		out.fitted(&t, "  ")
	}
}

// fitted prints a table, cut to the available width.
func (s *sheet) fitted(t *table, indent string) {
	if s.width > 0 {
		t.fit(s.width - lipgloss.Width(indent))
	}
	s.table(t, indent)
}

// steps prints every step with its results, and returns all scraps.
func (p Page) steps(out *sheet) []diff.Scrap {
	records := map[string]*runs.StepRecord{}
	if p.Run != nil {
		for i := range p.Run.Steps {
			records[string(p.Run.Steps[i].Planned.ID)] = &p.Run.Steps[i]
		}
	}
	var scraps []diff.Scrap
	lead := "\n" + bold("Steps", p.Color) + "\n"
	for i := range p.Doc.Cells {
		c := &p.Doc.Cells[i]
		name := c.Label
		rec := records[name]
		if rec == nil && c.ID != "" { // a cell of Jupyter's may be called otherwise here than in the record
			if rec = records[c.ID]; rec != nil {
				name = c.ID
			}
		}
		if c.Kind != diff.Code || rec == nil && c.Status == "" && len(c.Outputs) == 0 {
			continue
		}
		out.printf("%s", lead)
		lead = "\n"
		p.step(out, c, name, rec)
		for _, s := range c.Scraps {
			scraps = diff.SetScrap(scraps, s)
		}
	}
	return scraps
}

func (p Page) step(out *sheet, c *diff.Cell, name string, rec *runs.StepRecord) {
	status := runs.StepStatus(c.Status)
	f := render.StepFacts{Mark: result.StatusMark(c.Status), Words: c.Words}
	if rec != nil {
		f, status = render.FactsOf(*rec), rec.Status()
		if p.Run.Completed == nil && rec.Step != nil && rec.Finished == nil {
			f.Mark, f.Words = "…", "running" // nothing is known of its end yet
		}
	}
	if c.Took > 0 && f.Took == "" {
		f.Took = render.Duration(c.Took)
	}
	if f.Tests = ""; c.Tests != nil {
		f.Tests = result.TestWords(c.Tests.Passed, c.Tests.Failed, c.Tests.Skipped, c.Tests.From)
	}
	broken := result.Broken(&notebooks.Manifest{Blockers: p.Reasons}, notebooks.StepID(name))
	if len(broken) > 0 {
		f.Mark, status = "✗", runs.StepFailed
	}
	parts := []string{bold(shown(name), p.Color)}
	for _, words := range append([]string{c.Lang, f.Words}, f.Besides()...) {
		if words != "" {
			parts = append(parts, shown(words))
		}
	}
	for _, b := range broken {
		parts = append(parts, shown(result.BrokeWords(b)))
	}
	out.printf("%s %s\n", paint(f.Mark, inkOf(string(status)), p.Color), strings.Join(parts, " · "))
	failed := status == runs.StepFailed || status == runs.StepTimeout
	if p.Code || failed {
		p.code(out, c, rec)
	}
	for i := range c.Outputs {
		p.output(out, name, &c.Outputs[i], failed)
	}
	patches := c.Files
	if patches == nil {
		patches = p.Patches[name]
	}
	p.patches(out, name, patches, failed)
}

// code prints the code of a step with line numbers, and marks the line that failed.
func (p Page) code(out *sheet, c *diff.Cell, rec *runs.StepRecord) {
	at := 0
	if rec != nil && rec.Finished != nil {
		switch f := rec.Finished; {
		case f.Error != nil:
			at = f.Error.Line
		case f.Failed != nil:
			at = f.Failed.Line
		}
	}
	for i, l := range strings.Split(strings.TrimRight(c.Source, "\n"), "\n") {
		number, ink, mark := "", dim, " "
		if c.Line > 0 {
			number = fmt.Sprint(c.Line + i)
			if at == c.Line+i {
				ink, mark = red, ">"
			}
		}
		out.line(fmt.Sprintf("  %s %s ", paint(mark, red, p.Color), paint(fmt.Sprintf("%4s", number), dim, p.Color)),
			plain.Line([]byte(l)), ink)
	}
}

func (p Page) patches(out *sheet, step string, files []diff.FilePatch, failed bool) {
	room, left := shownPatch, 0
	for _, f := range files {
		out.printf("  %s %s\n", bold(shown(f.Path), p.Color), paint(shown(f.Status), dim, p.Color))
		for _, l := range f.Lines {
			if room == 0 && !failed {
				left++
				continue
			}
			if !failed {
				room--
			}
			ink := ""
			switch {
			case strings.HasPrefix(l, "+"):
				ink = green
			case strings.HasPrefix(l, "-"):
				ink = red
			case strings.HasPrefix(l, "@@"):
				ink = cyan
			}
			out.line("    ", plain.Line([]byte(l)), ink)
		}
	}
	if left > 0 {
		out.text("    ", p.more(left, "line", step, " --patch"), dim)
	}
}

// more says how much is omitted, and which command shows it.
func (p Page) more(n int, what, step, option string) string {
	words := "… " + plain.Counted(n, "more "+what)
	if p.Run != nil {
		words += "; markmill show " + string(p.Run.ID) + " --log=" + plain.Escape(step) + option
	}
	return words
}

func (p Page) scraps(out *sheet, scraps []diff.Scrap) {
	if len(scraps) == 0 {
		return
	}
	out.printf("\n%s\n", bold("Scraps", p.Color))
	var t table
	var tables bytes.Buffer
	for _, s := range scraps {
		before := tables.Len()
		if s.File == "" {
			safe.WriteTable(&tables, runs.ScrapData{Name: s.Name, Value: s.Value}, &safe.Cleaner{})
		}
		if tables.Len() > before {
			continue
		}
		value := string(s.Value)
		if c, err := runs.CheckOf(s.Name, s.Value); err == nil {
			value = c.Words()
		}
		if s.File != "" {
			value = s.File
			if p.Record.Path != "" {
				value = path.Join(p.Record.Path, s.File)
			}
		}
		t.add(cell{shown(s.Name), green}, cell{shown(plain.Cut(value, 400)), ""})
	}
	if len(t.rows) > 0 {
		out.fitted(&t, "  ")
	}
	out.document(tables.Bytes(), "  ")
}
