package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/sheet"
	"markmill/runs"
)

// scrapsOptions are the options of markmill scraps.
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
		Use: "scraps RUN|FILE|DIR...", Short: "Show the scraps and parameters of runs and output notebooks as one table",
		Long: `Reads what runs recorded with glue, or with scrapbook's glue in Python, and shows it as one table: a row a notebook,
with its parameters and its scraps that are texts, numbers, truths, lists and maps as columns. With --long a row a scrap,
tables, pictures and files among them.

RUN is a run: an id, a part of one, last, or a run directory. FILE is an output notebook: Markmill's (.md, .ipynb), or a
Jupyter notebook that papermill or Jupyter ran. DIR is a folder of them, with all folders below it but hidden ones; what no run has
left is passed over there. REV:PATH is a file or a folder of a Git revision. A value that is too long for an output notebook in Markdown comes from the record of its run, where that is
kept here. A pattern such as 'out/*.ipynb' names the files that match.

A scrap's column has its name; so has that of a parameter, or params.NAME where a scrap has that name too. A column of Parquet has
one type: integers and fractions become doubles, dates and times stay what they are, values of several types text.

Exit codes: 0 all was read, 1 something could not be read (said on standard error; the rest is shown), 2 usage.`,
		Example: "  markmill scraps last\n  markmill scraps HEAD~1:sweep\n  markmill scraps sweep/ --name 'loss*'\n  markmill scraps sweep/ -o results.parquet\n" +
			"  markmill scraps --long --format jsonl 'sweep/*.ipynb' | jq -c 'select(.type == \"table\")'",
		Args: args(1, -1),
		RunE: func(_ *cobra.Command, words []string) error { return a.scraps(opt, words) },
	}
	f := c.Flags()
	f.StringVar(&opt.format, "format", "", strings.Join(sheet.Formats, ", ")+" (default: by the ending of --output, else table)")
	f.StringVarP(&opt.output, "output", "o", "", "write to a file instead of standard output")
	f.BoolVar(&opt.long, "long", false, "a row a scrap instead of a row a notebook")
	f.StringArrayVar(&opt.names, "name", nil, "only scraps whose name matches, such as loss or 'test_*'; repeatable")
	f.BoolVar(&opt.noParams, "no-params", false, "no columns of parameters")
	jsonFlag(c, &opt.json, "scraps")
	f.BoolVar(&opt.spreadsheet, "spreadsheet", false, "CSV for a spreadsheet program: what it would take for a formula is made text")
	return c
}

func (a *app) scraps(opt scrapsOptions, words []string) error {
	if err := opt.settle(); err != nil {
		return err
	}
	if opt.format == "parquet" && opt.output == "" && a.terminal(a.stdout) {
		return usagef("--format parquet is no text for a terminal; give --output FILE, or send standard output to a file")
	}
	if err := checkTarget("--output", opt.output); err != nil {
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
		if failed {
			return exit(exitFail)
		}
		return nil
	}
	var b bytes.Buffer
	var to io.Writer = a.stdout
	if opt.output != "" {
		to = &b
	}
	if opt.spreadsheet {
		err = made.WriteSpreadsheet(to)
	} else {
		err = made.Write(to, opt.format)
	}
	if err == nil && opt.output != "" {
		err = runs.WriteFile(opt.output, b.Bytes())
	}
	if err != nil {
		return err
	}
	if made.Left > 0 {
		a.tell("markmill: left out: %d that are tables, pictures, files or of an unknown encoder; --long shows them\n", made.Left)
	}
	if made.Elided > 0 {
		a.tell("markmill: left out: %d that an output notebook has no room for, and no run that is kept here has: markmill scraps RUN shows them where the run is\n", made.Elided)
	}
	if failed {
		return exit(exitFail)
	}
	return nil
}

// scrapsDocument is what scraps --json prints. A value that a row has not is null.
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
	return a.printJSON("scraps", scrapsDocument{append([]string{}, made.Columns...), rows.Bytes(), made.Left, made.Elided})
}

// settle finds the format, and refuses what does not fit together.
func (o *scrapsOptions) settle() error {
	if o.json && (o.format != "" || o.output != "" || o.spreadsheet) {
		return usagef("--json prints one object on standard output; leave --format, --output and --spreadsheet out, or choose --format json for a plain array of the rows")
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
		if o.output != "" && !slices.Contains(sheet.Formats, o.format) && filepath.Ext(o.output) == "" {
			return usagef("--output %s: its ending does not say the format; give --format: %s", o.output, strings.Join(sheet.Formats, ", "))
		}
		return usagef("the format %q is not known; there are: %s", o.format, strings.Join(sheet.Formats, ", "))
	}
	if o.spreadsheet && o.format != "csv" {
		return usagef("--spreadsheet is a way to write CSV, and --format is %s", o.format)
	}
	for _, pattern := range o.names {
		if _, err := path.Match(pattern, ""); err != nil {
			return usagef("--name %s: is no pattern: * stands for any text, ? for one character, [ab] for one of several", pattern)
		}
	}
	return nil
}

// keep is which scraps are wanted.
func (o *scrapsOptions) keep() func(string) bool {
	if len(o.names) == 0 {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(o.names, func(pattern string) bool {
			// A name may hold a slash, which a pattern's * does not stand for.
			ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
			return ok && err == nil
		})
	}
}

// sayUnread tells of a place that could not be read.
func (a *app) sayUnread(place string, err error) {
	words := err.Error()
	var one *notebooks.Error
	if !errors.As(err, &one) || one.File == "" {
		words = place + ": " + words
	}
	fmt.Fprintln(a.stderr, "markmill: "+strings.Join(strings.Fields(words), " "))
}
