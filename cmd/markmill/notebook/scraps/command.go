package scraps

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/table"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/sheet"
)

func Command(a *program.App) *cobra.Command {
	var opt table.Options
	c := &cobra.Command{
		Use: "scraps RUN|SWEEP|FILE|DIR...", Short: "Show the scraps and parameters of runs and output notebooks as " +
			"one table",
		Long: `Reads what runs recorded with glue, or with scrapbook's glue in Python, and shows it as one table: a row for
each notebook, with its parameters and scraps as columns (texts, numbers, booleans, lists and maps). With
--long a row for each scrap, tables, pictures and files included.

RUN is a run: an id, a part of one, last, or a run directory. SWEEP is a sweep: its id, the beginning of one,
or last-sweep, and stands for its runs in the order of its rows. FILE is an output notebook: Markmill's (.md,
.ipynb), or a Jupyter notebook that papermill or Jupyter ran. DIR is a folder of them, with the folders below
it that are not hidden; files that no run wrote are skipped there. REV:PATH is a file or folder of a Git
revision. A pattern such as 'out/*.ipynb' names the files that match. A value that is too long for an output
notebook in Markdown comes from the record of its run, if that is kept here.

The column of a scrap has its name, and so does that of a parameter; params.NAME where a scrap has that name
as well. A column of Parquet has one type: integers and fractions become doubles, dates and times stay as
they are, values of several types become text.

Exit codes: 0 everything was read, 1 something could not be read (see standard error; the rest is shown), 2
usage.`,
		Example: "  markmill notebook scraps last\n  markmill notebook scraps HEAD~1:sweep\n" +
			"  markmill notebook scraps sweep/ --name 'loss*'\n" +
			"  markmill notebook scraps last-sweep -o results.parquet\n" +
			"  markmill notebook scraps --long --format jsonl 'sweep/*.ipynb' | jq -c 'select(.type == \"table\")'",
		Args: program.Args(1, -1),
		RunE: func(_ *cobra.Command, words []string) error { return scraps(a, opt, words) },
	}
	f := c.Flags()
	f.StringVar(&opt.Format, "format", "",
		strings.Join(sheet.Formats, ", ")+" (default: by the extension of --output, else table)")
	f.StringVarP(&opt.Output, "output", "o", "", "write to a file instead of standard output")
	f.BoolVar(&opt.Long, "long", false, "a row for each scrap instead of each notebook")
	f.StringArrayVar(&opt.Names, "name", nil, "only scraps with a name that matches, such as loss or 'test_*'; "+
		"repeatable")
	f.BoolVar(&opt.NoParams, "no-params", false, "no columns of parameters")
	program.JSONFlag(c, &opt.JSON, "scraps")
	f.BoolVar(&opt.Spreadsheet, "spreadsheet", false,
		"CSV for a spreadsheet program: formulas are turned into text")
	return c
}

func scraps(a *program.App, opt table.Options, words []string) error {
	failed := false
	made, err := read(a, &opt, words, func(place string, err error) {
		failed = true
		sayUnread(a, place, err)
	})
	if err != nil {
		return err
	}
	if opt.JSON {
		doc, err := newDocument(made)
		if err == nil {
			err = a.PrintJSON("scraps", doc)
		}
		return cmp.Or(err, program.PassIf(!failed))
	}
	if err := table.WriteSheet(a, made, opt); err != nil {
		return err
	}
	if made.Left > 0 {
		a.Tell("markmill: left out: %d that are tables, pictures, files or of an unknown encoder; --long shows them\n",
			made.Left)
	}
	if made.Elided > 0 {
		a.Tell("markmill: left out: %d that are too long for an output notebook, and in no run that is kept here: "+
			"markmill notebook scraps RUN shows them where the run is\n", made.Elided)
	}
	return program.PassIf(!failed)
}

// ScrapsDocument is what scraps --json prints. A missing value of a row is null.
type ScrapsDocument struct {
	Columns []string  `json:"columns"`
	Rows    codec.Raw `json:"rows"`
	Left    int       `json:"left_out"` // tables, pictures and files that rows of notebooks have no place for
	Elided  int       `json:"elided"`   // values that an output notebook had no room for
}

func newDocument(made *sheet.Sheet) (ScrapsDocument, error) {
	var rows bytes.Buffer
	err := made.Write(&rows, "json")
	return ScrapsDocument{append([]string{}, made.Columns...), rows.Bytes(), made.Left, made.Elided}, err
}

// Document is what scraps --json prints of words, with the scraps of these names; nil is all. What cannot be read is
// left out.
func Document(a *program.App, words, names []string) (doc ScrapsDocument, err error) {
	made, err := read(a, &table.Options{JSON: true, Names: names}, words, func(string, error) {})
	if err != nil {
		return doc, err
	}
	return newDocument(made)
}

// read reads the scraps of what words name. It gives what cannot be read to unread.
func read(a *program.App, opt *table.Options, words []string, unread func(place string, err error)) (*sheet.Sheet,
	error) {
	if err := table.SettleTable(a, opt); err != nil {
		return nil, err
	}
	reader := a.Lookup()
	places, err := reader.Places(words)
	if err != nil {
		return nil, err
	}
	rows := sheet.New(sheet.Options{Long: opt.Long, Params: !opt.NoParams, Keep: opt.Keep()})
	reader.Scraps(places, rows.Add, unread)
	return rows.Sheet(), nil
}

// sayUnread prints the error of a place that could not be read.
func sayUnread(a *program.App, place string, err error) {
	words := err.Error()
	var one *notebooks.Error
	if !errors.As(err, &one) || one.File == "" {
		words = place + ": " + words
	}
	fmt.Fprintln(a.Stderr, "markmill: "+strings.Join(strings.Fields(words), " "))
}
