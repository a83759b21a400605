package list

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/table"
	"markmill/notebooks/codec"
	"markmill/render/sheet"
	"markmill/runs"
	"markmill/runs/index"
)

// Queried is what list --query --json prints.
type Queried struct {
	Columns []string  `json:"columns"`
	Rows    codec.Raw `json:"rows"` // an object a row, with every column
}

func query(a *program.App, c *cobra.Command, o listOptions) error {
	query, timeout, opt := o.query, o.timeout, o.table
	opt.JSON = o.json
	if err := table.SettleTable(a, &opt); err != nil {
		return err
	}
	if timeout <= 0 {
		return program.Usagef("--timeout %s: give a time above zero", timeout.String())
	}
	if query == "-" {
		text, err := io.ReadAll(io.LimitReader(a.Stdin, 2<<20)) // Query refuses what is longer than 1 MiB
		if err != nil {
			return err
		}
		query = string(text)
	}
	var table *index.Table
	err := a.WithIndex(c, func(ctx context.Context, _ runs.Store, x *index.Index) (err error) {
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
	return printTable(a, table, opt)
}

func printTable(a *program.App, rows *index.Table, opt table.Options) error {
	made := &sheet.Sheet{Columns: rows.Columns, Rows: rows.Rows}
	if opt.JSON {
		var rows bytes.Buffer
		if err := made.Write(&rows, "json"); err != nil {
			return err
		}
		return a.PrintJSON("runs-query", Queried{append([]string{}, made.Columns...), rows.Bytes()})
	}
	if len(made.Rows) == 0 && opt.Format == sheet.Formats[0] && opt.Output == "" {
		a.Tell("markmill: the answer has no rows\n")
	}
	return table.WriteSheet(a, made, opt)
}
