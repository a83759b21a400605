package cli

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"markmill/notebooks/codec"
	"markmill/render/sheet"
	"markmill/runs"
	"markmill/runs/index"
)

// queried is what list --query --json prints.
type queried struct {
	Columns []string  `json:"columns"`
	Rows    codec.Raw `json:"rows"` // an object a row, with every column
}

func (a *app) query(c *cobra.Command, o listOptions) error {
	query, timeout, opt := o.query, o.timeout, o.table
	opt.json = o.json
	if err := a.settleTable(&opt); err != nil {
		return err
	}
	if timeout <= 0 {
		return usagef("--timeout %s: give a time above zero", timeout.String())
	}
	if query == "-" {
		text, err := io.ReadAll(io.LimitReader(a.stdin, 2<<20)) // Query refuses what is longer than 1 MiB
		if err != nil {
			return err
		}
		query = string(text)
	}
	var table *index.Table
	err := a.withIndex(c, func(ctx context.Context, _ runs.Store, x *index.Index) (err error) {
		ctx, end := context.WithTimeout(ctx, timeout)
		defer end()
		table, err = x.Query(ctx, query)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the query took longer than " + timeout.String() + "; choose fewer rows, or give it more " +
			"--timeout")
	}
	if err != nil {
		return err
	}
	return a.printTable(table, opt)
}

func (a *app) printTable(table *index.Table, opt scrapsOptions) error {
	made := &sheet.Sheet{Columns: table.Columns, Rows: table.Rows}
	if opt.json {
		var rows bytes.Buffer
		if err := made.Write(&rows, "json"); err != nil {
			return err
		}
		return a.printJSON("runs-query", queried{append([]string{}, made.Columns...), rows.Bytes()})
	}
	if len(made.Rows) == 0 && opt.format == sheet.Formats[0] && opt.output == "" {
		a.tell("markmill: the answer has no rows\n")
	}
	return a.writeSheet(made, opt)
}

// settleTable checks where a table goes and in which form.
func (a *app) settleTable(opt *scrapsOptions) error {
	if err := opt.settle(); err != nil {
		return err
	}
	if opt.format == "parquet" && opt.output == "" && a.terminal(a.stdout) {
		return usagef("--format parquet is binary; give --output FILE, or redirect standard output to a file")
	}
	return a.checkTarget("--output", opt.output)
}

// writeSheet writes a table to standard output, or whole to a file.
func (a *app) writeSheet(made *sheet.Sheet, opt scrapsOptions) error {
	write := func(to io.Writer) error {
		if opt.spreadsheet {
			return made.WriteSpreadsheet(to)
		}
		return made.Write(to, opt.format)
	}
	if opt.output == "" {
		return a.shown(write)
	}
	file, err := a.openOutput("--output", opt.output)
	if err != nil {
		return err
	}
	return errors.Join(file.WriteStream(write), file.Close())
}
