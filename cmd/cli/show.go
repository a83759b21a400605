package cli

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"markmill/cmd/api/files"
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
}

func (a *app) showCommand() *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show [RUN|FILE]",
		Short: "Show a run or an output notebook as a page, in the terminal or the browser (default: the last run)",
		Long: `Shows a run as a page: the verdict and its reasons first, then the parameters, every step with its output,
its tables and what it changed, and the scraps. Long outputs and diffs of steps that passed are shortened;
steps that failed are shown in full.

RUN is an id, a part of one, last, or a run directory; FILE is an output notebook of any form, or REV:PATH of
a Git revision.

On a terminal the page goes through a pager: $PAGER, or less where that is not set (with LESS=FRX, unless
LESS is set). With --open it is written as one HTML page to the user's cache folder and opened with $BROWSER,
or else with the system's browser; its path is printed.

Exit codes: 0 shown, 1 no browser could open it, 2 there is no such run or file.`,
		Example: "  markmill show\n  markmill show last --open\n  markmill show report.out.md --no-pager",
		Args:    args(0, 1),
		RunE: func(_ *cobra.Command, words []string) error {
			return a.show(wordOr(words, "last"), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.open, "open", false, "write an HTML page and open it in the browser")
	f.BoolVar(&o.code, "code", false, "show the code of every step, not only of those that failed")
	f.BoolVar(&o.noPager, "no-pager", false, "print the page without a pager")
	f.BoolVar(&o.json, "json", false,
		"print one JSON object (docs/schemas/run.json of a run, docs/schemas/notebook.json of a file)")
	return c
}

func (a *app) show(word string, o showOptions) error {
	if o.open && o.json {
		return usagef("--open and --json exclude each other")
	}
	dir, err := a.runNamed(word)
	if err != nil {
		return err
	}
	if o.open {
		return a.openPage(word)
	}
	page := terminal.Page{Code: o.code}
	if dir != "" {
		run, src, err := runs.At(dir).Load()
		if err != nil {
			return err
		}
		if o.json {
			return a.printRun(run, dir)
		}
		if page, err = runPage(run, src, dir, page); err != nil {
			return err
		}
	} else {
		it, err := a.lookup().Side(word)
		if err != nil {
			return err
		}
		page.Doc = it.Doc
		if m := manifestOf(it.Doc.Name, it.Source); m != nil {
			page.Reasons, page.Lanes = m.Blockers, m.Lanes
		}
		if o.json {
			return a.printJSON("notebook", newShownNotebook(&page))
		}
	}
	view := a.detect(a.stdout)
	page.Color = view.Color
	if view.Terminal {
		page.Width = view.Width()
	}
	return a.paged(!o.noPager && a.terminal(a.stdout), page.Write)
}

// runPage is the page of a run that is kept.
func runPage(run *runs.Run, src []byte, dir string, page terminal.Page) (terminal.Page, error) {
	record := runs.At(dir)
	doc, err := documents.Run(string(run.ID), run, src, record)
	if err != nil {
		return page, err
	}
	page.Doc, page.Run, page.Record, page.Patches = doc, run, files.Short(dir), map[string][]diff.FilePatch{}
	for _, c := range run.Causes() {
		b := run.Located(c.Blocker)
		page.Reasons = append(page.Reasons, notebooks.ManifestBlocker{Code: b.Code, Step: b.Step, Rule: b.Rule,
			Paths: b.Paths, Message: b.Text(), Fix: c.Fix, Consequence: c.Consequence})
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
	if len(src) == 0 || isJupyter(name, src) || isScript(name, src) {
		return nil
	}
	return region.Strip(name, src).Manifest
}

// shownNotebook is what show --json prints of a file.
type shownNotebook struct {
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

func newShownNotebook(p *terminal.Page) shownNotebook {
	d := p.Doc
	out := shownNotebook{File: d.Name, Form: d.Form, Status: d.Status,
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
func (con *console) paged(page bool, write func(io.Writer) error) error {
	if !page {
		return write(con.stdout)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if con.pager(b.Bytes()) {
		return nil
	}
	_, err := con.stdout.Write(b.Bytes())
	return err
}
