package cli

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"markmill/notebooks"
	"markmill/render/html"
	"markmill/render/plain"
	"markmill/render/sheet"
)

// compareRunsOptions are the options of markmill runs compare.
type compareRunsOptions struct {
	html, format  string
	lower, higher []string
	json          bool
}

// comparedRuns is what runs compare --json prints.
type comparedRuns struct {
	Runs []*sheet.ComparedRun `json:"runs"`
	// Same are the parameters with the same value in all runs.
	Same []notebooks.ManifestParam `json:"same"`
	// Marks name the best and the worst of each column that has them.
	Marks []comparedMark `json:"marks"`
}

// comparedMark is a run that is the best or the worst of a column.
type comparedMark struct {
	Column string     `json:"column"` // of the table: the name of a scrap, tests passed, files, added, deleted, seconds
	Kind   string     `json:"kind"`   // scrap, tests, change or time
	Run    string     `json:"run"`    // name of the run
	Mark   sheet.Mark `json:"mark"`   // best, worst; lowest, highest where it is not known which values are better
}

func (a *app) runsCompare() *cobra.Command {
	var opt compareRunsOptions
	c := &cobra.Command{
		Use: "compare RUN|SWEEP|FILE|DIR...", Short: "Compare runs in one table, with the best and the worst marked",
		Args: args(1, -1),
		Long: `Shows runs in one table: the parameters that differ, scraps, tests, the size of the change, and the time. It
takes what markmill scraps takes (ids of runs, last, sweeps, output notebooks, folders, REV:PATH), and archives
of runs. An output notebook stands for its run, if that is kept here.

In each column of numbers the best value has ★ and the worst ▾. More passed tests, fewer failed ones and less
time are better. Of a scrap the name says it where it is usual: loss, error, rmse, latency and the like are
better when lower, accuracy, score, auc, throughput and the like when higher. --lower and --higher say it of
others; without, ↓ is the lowest value and ↑ the highest, as for the size of a change. A run that did not
pass is never the best, and its time does not count.

Exit codes: 0 compared, 2 a run cannot be read, or there is only one.`,
		Example: "  markmill runs compare last 20260131T1200 --lower cost\n" +
			"  markmill runs compare last-sweep --html sweep.html\n" +
			"  markmill runs compare out/*.md --format markdown",
		RunE: func(_ *cobra.Command, words []string) error { return troubled(a.compareRuns(opt, words)) },
	}
	f := c.Flags()
	f.StringVar(&opt.html, "html", "", "write a page to this `PAGE` (- is standard output); it loads nothing")
	f.StringVar(&opt.format, "format", "table", "table, markdown or csv")
	f.StringArrayVar(&opt.lower, "lower", nil, "lower values of this scrap are better; repeatable")
	f.StringArrayVar(&opt.higher, "higher", nil, "higher values of this scrap are better; repeatable")
	jsonFlag(c, &opt.json, "runs-compare")
	return c
}

func (a *app) compareRuns(opt compareRunsOptions, words []string) error {
	switch {
	case !slices.Contains([]string{"table", "markdown", "csv"}, opt.format):
		return usagef("--format %s: the formats are table, markdown and csv", opt.format)
	case opt.json && opt.format != "table":
		return usagef("--json and --format exclude each other")
	}
	if err := a.checkTarget("--html", opt.html); err != nil {
		return err
	}
	list, err := a.lookup().Compared(words)
	if err != nil {
		return err
	}
	if len(list) < 2 {
		return usagef("there is only one run to compare; name two or more, or a sweep")
	}
	t := sheet.Compare(list, opt.better)
	for _, name := range append(slices.Clone(opt.lower), opt.higher...) {
		if !slices.ContainsFunc(list, func(c *sheet.ComparedRun) bool { return c.Scraps[name] != nil }) {
			return usagef("none of the runs has a scrap %s", name)
		}
	}
	if opt.html != "" {
		if err := a.writeResult("--html", opt.html, html.Compared(t)); err != nil {
			return err
		}
		if !opt.json {
			return nil
		}
	}
	if opt.json {
		return a.printJSON("runs-compare", comparedDocument(t))
	}
	if err := a.shown(func(w io.Writer) error { return t.Write(w, opt.format) }); err != nil {
		return err
	}
	for _, words := range t.SameWords() {
		a.tell("the same in all: %s\n", plain.Escape(words))
	}
	if legend := t.Legend(); legend != "" && opt.format == "table" {
		a.tell("%s\n", legend)
	}
	return nil
}

func (o *compareRunsOptions) better(scrap string) sheet.Better {
	switch {
	case slices.Contains(o.lower, scrap):
		return sheet.Lower
	case slices.Contains(o.higher, scrap):
		return sheet.Higher
	}
	return sheet.BetterOf(scrap)
}

func comparedDocument(t *sheet.Compared) comparedRuns {
	doc := comparedRuns{Runs: t.Runs, Same: append([]notebooks.ManifestParam{}, t.Same...), Marks: []comparedMark{}}
	for i, c := range t.Headings {
		for n := range t.Runs {
			if m := t.Marks[n][i]; m != "" {
				doc.Marks = append(doc.Marks, comparedMark{c.Name, c.Kind, t.Runs[n].Name, m})
			}
		}
	}
	return doc
}
