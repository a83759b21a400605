package diff

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/notebooks"
	"markmill/render/html"
	"markmill/render/plain"
	"markmill/render/sheet"
)

// ComparedRuns is what diff --values --json prints.
type ComparedRuns struct {
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

// Values is what diff --values --json prints of what words name, without options.
func Values(a *program.App, words []string) (doc ComparedRuns, err error) {
	t, err := table(a, words, sheet.BetterOf)
	if err != nil {
		return doc, err
	}
	return comparedDocument(t), nil
}

func table(a *program.App, words []string, better func(scrap string) sheet.Better) (*sheet.Compared, error) {
	list, err := a.Lookup().Compared(words)
	if err != nil {
		return nil, err
	}
	if len(list) < 2 {
		return nil, program.Usagef("there is only one run to compare; name two or more, or a sweep")
	}
	return sheet.Compare(list, better), nil
}

// several reports whether the words of diff are runs whose values are compared, rather than two documents.
func several(a *program.App, opt DiffOptions, words []string, dash int) (bool, error) {
	if opt.values || opt.git || dash >= 0 {
		return opt.values, nil
	}
	if len(words) != 1 {
		return len(words) > 2, nil
	}
	dir, err := a.SweepNamed(words[0])
	return dir != "", err
}

// compareRuns compares the values of runs in a table.
func compareRuns(a *program.App, c *cobra.Command, opt DiffOptions, words []string) error {
	for _, name := range []string{"all", "git", "tolerance", "max-bytes"} {
		if c.Flags().Changed(name) {
			return program.Usagef("--%s compares two documents; leave it out for a table of values", name)
		}
	}
	format := "table"
	forms := 0
	for name, on := range map[string]bool{"markdown": opt.markdown, "html": opt.html, "json": opt.json,
		"csv": opt.format == "csv"} {
		if on {
			format = name
			forms++
		}
	}
	switch {
	case forms > 1:
		return program.Usagef("--markdown, --html, --json and --format exclude each other")
	case opt.format != "" && opt.format != "csv":
		return program.Usagef("--format %s is not known of a table of values; there is csv", opt.format)
	}
	t, err := table(a, words, opt.better)
	if err != nil {
		return err
	}
	for _, name := range append(slices.Clone(opt.lower), opt.higher...) {
		if !slices.ContainsFunc(t.Runs, func(c *sheet.ComparedRun) bool { return c.Scraps[name] != nil }) {
			return program.Usagef("none of the runs has a scrap %s", name)
		}
	}
	switch format {
	case "html":
		return a.ShownText(html.Compared(t))
	case "json":
		return a.PrintJSON("runs-compare", comparedDocument(t))
	}
	if err := a.Shown(func(w io.Writer) error { return t.Write(w, format) }); err != nil {
		return err
	}
	for _, words := range t.SameWords() {
		a.Tell("the same in all: %s\n", plain.Escape(words))
	}
	if legend := t.Legend(); legend != "" && format == "table" {
		a.Tell("%s\n", legend)
	}
	return nil
}

func (o *DiffOptions) better(scrap string) sheet.Better {
	switch {
	case slices.Contains(o.lower, scrap):
		return sheet.Lower
	case slices.Contains(o.higher, scrap):
		return sheet.Higher
	}
	return sheet.BetterOf(scrap)
}

func comparedDocument(t *sheet.Compared) ComparedRuns {
	doc := ComparedRuns{Runs: t.Runs, Same: append([]notebooks.ManifestParam{}, t.Same...), Marks: []comparedMark{}}
	for i, c := range t.Headings {
		for n := range t.Runs {
			if m := t.Marks[n][i]; m != "" {
				doc.Marks = append(doc.Marks, comparedMark{c.Name, c.Kind, t.Runs[n].Name, m})
			}
		}
	}
	return doc
}
