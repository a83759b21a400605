package show

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/runview"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/diff"
	"markmill/notebooks/region"
	"markmill/render/documents"
	"markmill/render/terminal"
	"markmill/runs"
)

// showOptions are the options of show.
type showOptions struct {
	open, code, noPager, json bool
	log                       logOptions
	trace, export             bool
	events, follow            bool
	at                        int // an event; -1 is the last
}

func Command(a *program.App) *cobra.Command {
	o := showOptions{at: -1}
	c := &cobra.Command{
		Use:   "show [RUN|OUTPUT]",
		Short: "Show a run or an output notebook: verdict, steps, results (default: the last run)",
		Long: `Shows a run as a page: the verdict and its reasons first, then the parameters, every step with its output,
its tables and what it changed, and the scraps. Long outputs and diffs of steps that passed are shortened;
steps that failed are shown in full.

RUN is an id, a part of one, last, or a run directory; OUTPUT is an output notebook of any form, or REV:PATH of
a Git revision.

On a terminal the page goes through a pager: $PAGER, or less where that is not set (with LESS=FRX, unless
LESS is set). With --open it is written as one HTML page to the user's cache folder and opened with $BROWSER,
or else with the system's browser; its path is printed.

--log prints the raw output of the steps, or of one, instead: the bytes of the record, except on a terminal, where only
colours control anything. --events lists the events of the run, --at SEQ shows what was known after one of them.
--follow shows the progress of a run in another terminal until it ends. --trace shows where the time went: planning,
the worktree, each step (the start of its interpreter, its code, and the recording of what it changed), the checks, and
the views; "else" is the time of a part that is in none of those below it. --trace --export sends the trace to the
OpenTelemetry collector of OTEL_EXPORTER_OTLP_ENDPOINT, as each run does at its end where that is set: the ids and
statuses of steps, and times; no code and no output. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS
have their usual meaning, and http/json is the one protocol.

Exit codes: 0 shown; 1 no browser could open it, or the trace could not be sent; 2 there is no such run, file, step or
event; with --follow as of run.`,
		Example: "  markmill show\n  markmill show last --open\n  markmill show report.out.md --no-pager\n" +
			"  markmill show last --log=verify\n  markmill show last --trace\n" +
			"  markmill show last --json | jq .blockers",
		Args: program.Args(0, 1),
		RunE: func(c *cobra.Command, words []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			return show(a, c, program.WordOr(words, "last"), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.open, "open", false, "write an HTML page and open it in the browser")
	f.BoolVar(&o.code, "code", false, "show the code of every step, not only of those that failed")
	f.BoolVar(&o.noPager, "no-pager", false, "print the page without a pager")
	f.StringVar(&o.log.step, "log", "", "print the raw output of all steps, or of the step `=STEP`")
	f.Lookup("log").NoOptDefVal = allSteps
	f.BoolVar(&o.log.Stderr, "stderr", false, "with --log: standard error instead")
	f.BoolVar(&o.log.Patch, "patch", false, "with --log: what the steps changed instead, as patches")
	f.BoolVar(&o.trace, "trace", false, "show where the time of the run went, as a tree")
	f.BoolVar(&o.export, "export", false, "with --trace: send it to a collector instead")
	f.BoolVar(&o.events, "events", false, "list the events of the run")
	f.IntVar(&o.at, "at", -1, "show what was known after the event `SEQ`")
	f.BoolVar(&o.follow, "follow", false, "show the progress of the run until it ends")
	a.RepoFlag(f)
	f.BoolVar(&o.json, "json", false, "print one JSON object (docs/schemas/run.json of a run, "+
		"docs/schemas/notebook.json of a file, runs-trace.json, runs-replay.json)")
	return c
}

// check returns an error for options that exclude each other.
func (o *showOptions) check(c *cobra.Command) error {
	changed := c.Flags().Changed
	var ways []string
	for _, way := range []string{"open", "log", "trace", "events", "follow"} {
		if changed(way) {
			ways = append(ways, "--"+way)
		}
	}
	switch {
	case len(ways) > 1:
		return program.Usagef("%s exclude each other", strings.Join(ways, " and "))
	case o.json && (o.open || o.follow || changed("log")):
		return program.Usagef("--json and %s exclude each other", ways[0])
	case changed("log") && o.log.step == "":
		return program.Usagef("--log= names no step; give --log=STEP, or --log for all steps")
	case (o.log.Stderr || o.log.Patch) && !changed("log"):
		return program.Usagef("--stderr and --patch are for --log")
	case o.export && !o.trace:
		return program.Usagef("--export is for --trace")
	case changed("at") && len(ways) > 0:
		return program.Usagef("--at and %s exclude each other", ways[0])
	case changed("at") && o.at < 0:
		return program.Usagef("--at %d is no event; events are counted from 0", o.at)
	}
	return nil
}

func show(a *program.App, c *cobra.Command, word string, o showOptions) error {
	if o.trace {
		return showTrace(a, c, word, o)
	}
	dir, err := runview.RunNamed(&a.Places, word)
	if err != nil {
		return err
	}
	ofRun := o.log.step != "" || o.events || o.follow || o.at >= 0
	switch {
	case o.open:
		return openPage(a, word)
	case ofRun && dir == "":
		return program.Usagef("%s is a file, and has no record of a run; give the run itself", word)
	case o.follow:
		return follow(c.Context(), a, dir)
	case o.events || o.at >= 0 && o.json:
		return showEvents(a, dir, o)
	}
	page := terminal.Page{Code: o.code}
	if dir != "" {
		run, src, err := runs.At(dir).Load()
		if o.at >= 0 && err == nil {
			run, _, err = runs.At(dir).Replay(o.at)
		}
		switch {
		case err != nil:
			return err
		case o.log.step != "":
			return printLog(a, run, dir, o.log)
		case o.json:
			return runview.PrintRun(a, run, dir)
		}
		if page, err = runPage(run, src, dir, page); err != nil {
			return err
		}
		page.Record = runview.DecidedRecord(a, run, dir)
	} else {
		if page, err = notebookPage(a, word, page); err != nil {
			return err
		}
		if o.json {
			return a.PrintJSON("notebook", newShownNotebook(&page))
		}
	}
	view := a.Detect(a.Stdout)
	page.Color = view.Color
	if view.Terminal {
		page.Width = view.Width()
	}
	return paged(&a.Console, !o.noPager && a.Terminal(a.Stdout), page.Write)
}

// notebookPage is the page of a notebook that a word names.
func notebookPage(a *program.App, word string, page terminal.Page) (terminal.Page, error) {
	it, err := a.Lookup().Side(word)
	if err != nil {
		return page, err
	}
	page.Doc = it.Doc
	if page.Manifest = manifestOf(it.Doc.Name, it.Source); page.Manifest != nil {
		page.Reasons = page.Manifest.Blockers
	}
	return page, nil
}

// runPage is the page of a run that is kept.
func runPage(run *runs.Run, src []byte, dir string, page terminal.Page) (terminal.Page, error) {
	record := runs.At(dir)
	doc, err := documents.Run(string(run.ID), run, src, record)
	if err != nil {
		return page, err
	}
	page.Doc, page.Run, page.Patches = doc, run, map[string][]diff.FilePatch{}
	for _, c := range run.Causes() {
		b := run.Located(c.Blocker)
		page.Reasons = append(page.Reasons, notebooks.ManifestBlocker{Code: b.Code, Step: b.Step, Rule: b.Rule,
			Paths: b.Paths, Message: b.Message, Fix: c.Advice(), Consequence: c.Consequence})
	}
	for _, s := range run.Steps {
		if s.Patch == nil || s.Patch.Patch == "" {
			continue
		}
		if text, err := runs.At(dir).ReadFile(s.Patch.Patch); err == nil {
			page.Patches[string(s.Planned.ID)] = documents.PatchFiles(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))))
		}
	}
	return page, nil
}

// manifestOf is the manifest of an output notebook in Markdown; nil where there is none.
func manifestOf(name string, src []byte) *notebooks.Manifest {
	if len(src) == 0 || program.IsJupyter(name, src) || program.IsScript(name, src) {
		return nil
	}
	return region.Strip(name, src).Manifest
}

// ShownNotebook is what show --json prints of a file.
type ShownNotebook struct {
	File       string                      `json:"file"`
	Form       string                      `json:"form"`
	Status     string                      `json:"status"` // "" of a notebook that never ran
	Blockers   []notebooks.ManifestBlocker `json:"blockers"`
	Parameters []shownParam                `json:"parameters"`
	Steps      []shownStep                 `json:"steps"`
	Notes      []string                    `json:"notes"`
}

type shownParam struct {
	Name  string    `json:"name"`
	Type  string    `json:"type,omitzero"`
	Value codec.Raw `json:"value,omitzero"`
}

type shownStep struct {
	ID      string        `json:"id"`
	Lang    string        `json:"lang,omitzero"`
	Line    int           `json:"line,omitzero"`
	Tags    []string      `json:"tags,omitempty"`
	Status  string        `json:"status,omitzero"`
	Words   string        `json:"words,omitzero"`
	Outputs []shownOutput `json:"outputs"`
	Scraps  []shownScrap  `json:"scraps"`
	Changed []string      `json:"changed"` // paths
}

type shownOutput struct {
	Name string `json:"name"` // stdout, stderr, result, error
	MIME string `json:"mime"`
	Text string `json:"text,omitzero"` // of a text
	File string `json:"file,omitzero"` // of anything else
}

type shownScrap struct {
	Name  string    `json:"name"`
	Type  string    `json:"type"`
	Value codec.Raw `json:"value,omitzero"`
	File  string    `json:"file,omitzero"`
}

// Notebook is the document of an output notebook, or of another notebook, that a word names.
func Notebook(a *program.App, word string) (doc ShownNotebook, err error) {
	page, err := notebookPage(a, word, terminal.Page{})
	if err != nil {
		return doc, err
	}
	return newShownNotebook(&page), nil
}

func newShownNotebook(p *terminal.Page) ShownNotebook {
	d := p.Doc
	out := ShownNotebook{File: d.Name, Form: d.Form, Status: d.Status,
		Blockers: append([]notebooks.ManifestBlocker{}, p.Reasons...), Parameters: []shownParam{},
		Steps: []shownStep{}, Notes: append([]string{}, d.Notes...)}
	for _, q := range d.Params {
		out.Parameters = append(out.Parameters, shownParam{q.Name, q.Type, q.Value})
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Kind != diff.Code {
			continue
		}
		s := shownStep{ID: c.Label, Lang: c.Lang, Line: c.Line, Tags: c.Tags, Status: c.Status, Words: c.Words,
			Outputs: []shownOutput{}, Scraps: []shownScrap{}, Changed: []string{}}
		for _, o := range c.Outputs {
			for _, v := range o.Data {
				s.Outputs = append(s.Outputs, shownOutput{o.Name, v.MIME, v.Text, v.File})
			}
		}
		for _, v := range c.Scraps {
			s.Scraps = append(s.Scraps, shownScrap{v.Name, v.Type, v.Value, v.File})
		}
		for _, f := range c.Files {
			s.Changed = append(s.Changed, f.Path)
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}

// paged writes a page, through a pager when page is set and there is one.
func paged(con *program.Console, page bool, write func(io.Writer) error) error {
	if !page {
		return write(con.Stdout)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if pager(con, b.Bytes()) {
		return nil
	}
	_, err := con.Stdout.Write(b.Bytes())
	return err
}
