package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/sheet"
)

// scrapsOptions are the options of markmill notebook scraps.
type scrapsOptions struct {
	format, output string
	long, noParams bool
	spreadsheet    bool
	json           bool
	names          []string
}

func (a *app) scrapsCommand() *cobra.Command {
	var opt scrapsOptions
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
		Args: args(1, -1),
		RunE: func(_ *cobra.Command, words []string) error { return a.scraps(opt, words) },
	}
	f := c.Flags()
	f.StringVar(&opt.format, "format", "",
		strings.Join(sheet.Formats, ", ")+" (default: by the extension of --output, else table)")
	f.StringVarP(&opt.output, "output", "o", "", "write to a file instead of standard output")
	f.BoolVar(&opt.long, "long", false, "a row for each scrap instead of each notebook")
	f.StringArrayVar(&opt.names, "name", nil, "only scraps with a name that matches, such as loss or 'test_*'; "+
		"repeatable")
	f.BoolVar(&opt.noParams, "no-params", false, "no columns of parameters")
	jsonFlag(c, &opt.json, "scraps")
	f.BoolVar(&opt.spreadsheet, "spreadsheet", false,
		"CSV for a spreadsheet program: formulas are turned into text")
	return c
}

func (a *app) scraps(opt scrapsOptions, words []string) error {
	if err := a.settleTable(&opt); err != nil {
		return err
	}
	reader := a.lookup()
	places, err := reader.Places(words)
	if err != nil {
		return err
	}
	rows := sheet.New(sheet.Options{Long: opt.long, Params: !opt.noParams, Keep: opt.keep()})
	failed := false
	reader.Scraps(places, rows.Add, func(place string, err error) {
		failed = true
		a.sayUnread(place, err)
	})
	made := rows.Sheet()
	if opt.json {
		if err := a.printScraps(made); err != nil {
			return err
		}
		return passIf(!failed)
	}
	if err := a.writeSheet(made, opt); err != nil {
		return err
	}
	if made.Left > 0 {
		a.tell("markmill: left out: %d that are tables, pictures, files or of an unknown encoder; --long shows them\n",
			made.Left)
	}
	if made.Elided > 0 {
		a.tell("markmill: left out: %d that are too long for an output notebook, and in no run that is kept here: "+
			"markmill notebook scraps RUN shows them where the run is\n", made.Elided)
	}
	return passIf(!failed)
}

// scrapsDocument is what scraps --json prints. A missing value of a row is null.
type scrapsDocument struct {
	Columns []string  `json:"columns"`
	Rows    codec.Raw `json:"rows"`
	Left    int       `json:"left_out"` // tables, pictures and files that rows of notebooks have no place for
	Elided  int       `json:"elided"`   // values that an output notebook had no room for
}

func (a *app) printScraps(made *sheet.Sheet) error {
	var rows bytes.Buffer
	if err := made.Write(&rows, "json"); err != nil {
		return err
	}
	return a.printJSON("scraps", scrapsDocument{append([]string{}, made.Columns...), rows.Bytes(), made.Left,
		made.Elided})
}

// settle chooses the format, and checks the options.
func (o *scrapsOptions) settle() error {
	if o.json && (o.format != "" || o.output != "" || o.spreadsheet) {
		return usagef("--json prints one object on standard output; leave --format, --output and --spreadsheet out, " +
			"or choose --format json for a plain array of the rows")
	}
	if o.format == "" {
		switch ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.output), ".")); {
		case ext == "md":
			o.format = "markdown"
		case o.output == "" && o.spreadsheet:
			o.format = "csv"
		case o.output == "":
			o.format = sheet.Formats[0]
		case ext == "ndjson":
			o.format = "jsonl"
		case ext == "txt":
			o.format = "table"
		default:
			o.format = ext
		}
	}
	if !slices.Contains(sheet.Formats, o.format) {
		if o.output != "" && filepath.Ext(o.output) == "" {
			return usagef("--output %s: it has no extension to choose the format by; give --format: %s",
				o.output, strings.Join(sheet.Formats, ", "))
		}
		return usagef("the format %q is not known; there are: %s", o.format, strings.Join(sheet.Formats, ", "))
	}
	if o.spreadsheet && o.format != "csv" {
		return usagef("--spreadsheet is a way to write CSV, and --format is %s", o.format)
	}
	for _, pattern := range o.names {
		if _, err := path.Match(pattern, ""); err != nil {
			return usagef("--name %s: is no pattern: * matches any text, ? one character, [ab] one of several", pattern)
		}
	}
	return nil
}

// keep reports which scraps are wanted; nil keeps all.
func (o *scrapsOptions) keep() func(string) bool {
	if len(o.names) == 0 {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(o.names, func(pattern string) bool {
			// A name may contain a slash, which * of a pattern does not match.
			ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
			return ok && err == nil
		})
	}
}

// sayUnread prints the error of a place that could not be read.
func (a *app) sayUnread(place string, err error) {
	words := err.Error()
	var one *notebooks.Error
	if !errors.As(err, &one) || one.File == "" {
		words = place + ": " + words
	}
	fmt.Fprintln(a.stderr, "markmill: "+strings.Join(strings.Fields(words), " "))
}
