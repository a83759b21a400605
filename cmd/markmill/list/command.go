package list

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/program"
	"markmill/cmd/internal/table"
	"markmill/engine/worktree"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/sheet"
	"markmill/render/terminal"
	"markmill/runs"
	"markmill/runs/index"
)

// ListedRuns is what list --json prints.
type ListedRuns struct {
	Runs []index.Item `json:"runs"`
}

// Statuses are the words of --status.
var Statuses = []runs.Status{runs.Pass, runs.Fail, runs.Blocked, runs.Partial, runs.Interrupted, runs.Running,
	runs.Damaged}

// listOptions are the options of markmill list.
type listOptions struct {
	status, params, scraps, sort []string
	notebook, since, until, base string
	limit                        int
	json                         bool
	stats                        bool
	query                        string // SQL
	timeout                      time.Duration
	table                        table.Options
}

func Command(a *program.App) *cobra.Command {
	var opt listOptions
	c := &cobra.Command{
		Use: "list", Short: "List the runs, newest first; --query SQL, --stats", Args: program.Args(0, 0),
		Long: `Lists the runs that are kept, each with the first reason why it did not pass. Options choose among them; all
of them must hold. A condition is a name, one of = != < <= > >=, and a value. Numbers are compared as
numbers. A run without the parameter or the scrap does not meet a condition on it. The values that --param,
--scrap and --sort name are columns of the list.

A time is a date (2026-01-31), a date and time (2026-01-31T12:00:00Z), or an age: 30m, 12h, 7d, 2w. Dates are
those of UTC, as in the list.

--stats counts the runs by notebook instead: how many passed of those that passed or failed, the median and the 95th
percentile of their time, when one passed last, and how much disk their records use. With --notebook it also shows each
step, the slowest runs, and what is flaky: runs with the same source, base commit and parameters, some of which passed
and some failed.

--query runs one SELECT of SQLite over the views runs, steps, parameters, scraps, agents, checks, tests, blockers and
changes, which docs/runs.md describes. SQL of - is read from standard input. Nothing but reading is possible: a
statement that writes, attaches, sets a PRAGMA or opens a file is refused. A table leaves out columns in which every
value is NULL; the other formats have all columns.

All are read from .markmill/index.db, which is brought up to date first (docs/runs.md).

Exit codes: 0 listed, 1 the records cannot be read or the time is over, 2 usage, or the query is wrong.`,
		Example: "  markmill list --limit 20\n" +
			"  markmill list --status fail --since 7d\n" +
			"  markmill list --notebook report.md --param region=eu --scrap 'loss<0.2' --sort scrap:loss\n" +
			"  markmill list --json | jq '.runs[] | select(.status != \"pass\")'\n" +
			"  markmill list --stats --since 30d\n" +
			"  markmill list --query 'SELECT status, count(*) AS runs FROM runs GROUP BY status'\n" +
			"  markmill list --query 'SELECT * FROM steps' -o steps.parquet",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := opt.check(c); err != nil {
				return err
			}
			switch {
			case opt.stats:
				return listStats(a, c, opt)
			case c.Flags().Changed("query"):
				return query(a, c, opt)
			}
			return listRuns(a, c, opt)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&opt.status, "status", nil, "only runs with one of these: "+joinedStatuses())
	f.StringVar(&opt.notebook, "notebook", "", "only runs of this notebook: its path, the end of it, or a pattern")
	f.StringVar(&opt.since, "since", "", "only runs that started at this time or later")
	f.StringVar(&opt.until, "until", "", "only runs that started before this time")
	f.StringArrayVar(&opt.params, "param", nil, "only runs whose parameter meets this condition; repeatable")
	f.StringArrayVar(&opt.scraps, "scrap", nil, "only runs whose scrap meets this condition, as in 'loss<0.2'; "+
		"repeatable")
	f.StringVar(&opt.base, "base", "", "only runs on this commit: a revision, or the beginning of an id")
	f.IntVar(&opt.limit, "limit", 0, "at most so many; 0 lists all")
	f.StringSliceVar(&opt.sort, "sort", nil,
		"started, finished, seconds, notebook, status, run, param:NAME or scrap:NAME; --sort=-KEY has the largest "+
			"first")
	f.BoolVar(&opt.stats, "stats", false, "show how often the runs of each notebook pass, how long they take, which "+
		"are flaky")
	f.StringVar(&opt.query, "query", "", "query the index of the runs in `SQL`, read-only")
	f.StringVar(&opt.table.Format, "format", "",
		"with --query: "+strings.Join(sheet.Formats, ", ")+" (default: by the extension of --output, else table)")
	f.StringVarP(&opt.table.Output, "output", "o", "", "with --query: write to a `FILE` instead of standard output")
	f.DurationVar(&opt.timeout, "timeout", 30*time.Second, "with --query: end it after this `TIME`, as in 10s or 2m")
	a.RepoFlag(f)
	f.BoolVar(&opt.json, "json", false,
		"print one JSON object (docs/schemas/runs-list.json; runs-stats.json, runs-query.json)")
	return c
}

// check returns an error for options that exclude each other.
func (o *listOptions) check(c *cobra.Command) error {
	changed := c.Flags().Changed
	way, takes := "", []string(nil)
	switch {
	case changed("query"):
		way, takes = "--query", []string{"query", "format", "output", "timeout", "json"}
	case o.stats:
		way, takes = "--stats", []string{"stats", "notebook", "since", "json"}
	}
	var wrong string
	c.Flags().Visit(func(f *pflag.Flag) {
		if way != "" && !slices.Contains(takes, f.Name) {
			wrong = f.Name
		}
	})
	if wrong != "" {
		return program.Usagef("%s and --%s exclude each other", way, wrong)
	}
	for _, name := range []string{"format", "output", "timeout"} {
		if way == "" && changed(name) {
			return program.Usagef("--%s is for --query", name)
		}
	}
	return nil
}

func joinedStatuses() string { return plain.Some(Statuses, len(Statuses)) }

// filter reads the options.
func (o *listOptions) filter(now time.Time) (f index.Filter, err error) {
	f = index.Filter{Notebook: o.notebook, Limit: o.limit}
	if o.limit < 0 {
		return f, program.Usagef("--limit %d: give a number of runs, or 0 for all", o.limit)
	}
	for _, word := range o.status {
		if !slices.Contains(Statuses, runs.Status(word)) {
			return f, program.Usagef("--status %s: the statuses are %s", word, joinedStatuses())
		}
		f.Statuses = append(f.Statuses, runs.Status(word))
	}
	if f.Since, err = program.TimeOption("--since", o.since, now); err != nil {
		return f, err
	}
	if f.Until, err = program.TimeOption("--until", o.until, now); err != nil {
		return f, err
	}
	for _, text := range o.params {
		condition, err := index.ParseCondition(text)
		if err != nil {
			return f, program.Usagef("--param: %v", err)
		}
		f.Params = append(f.Params, condition)
	}
	for _, text := range o.scraps {
		condition, err := index.ParseCondition(text)
		if err != nil {
			return f, program.Usagef("--scrap: %v", err)
		}
		f.Scraps = append(f.Scraps, condition)
	}
	for _, text := range o.sort {
		key, err := index.ParseKey(text)
		if err != nil {
			return f, program.Usagef("--sort: %v", err)
		}
		f.Sort = append(f.Sort, key)
	}
	return f, nil
}

func listRuns(a *program.App, c *cobra.Command, opt listOptions) error {
	filter, err := opt.filter(a.Now())
	if err != nil {
		return err
	}
	if filter.Base, err = baseOf(a, opt.base); err != nil {
		return err
	}
	var items []index.Item
	err = a.WithIndex(c, func(_ context.Context, _ runs.Store, x *index.Index) (err error) {
		items, err = x.List(filter)
		return err
	})
	if err != nil {
		return err
	}
	if opt.json {
		return a.PrintJSON("runs-list", Document(items))
	}
	if len(items) == 0 && opt.chooses() {
		return program.Say(a.Stdout, "No run matches.\n")
	}
	params, scraps := filter.Columns()
	entries, values := make([]runs.Entry, len(items)), make([][]string, len(items))
	for i, item := range items {
		entries[i] = item.Entry
		for _, name := range params {
			values[i] = append(values[i], index.Text(item.Params[name]))
		}
		for _, name := range scraps {
			values[i] = append(values[i], index.Text(item.Scraps[name]))
		}
	}
	return terminal.List(a.Stdout, entries, append(params, scraps...), values, a.Colour(a.Stdout))
}

// Document is what list --json prints of runs.
func Document(items []index.Item) ListedRuns {
	items = append([]index.Item{}, items...)
	for i := range items {
		items[i].Sums, _ = runs.At(items[i].Dir).Sums() // none while it is going, or when it was interrupted
	}
	return ListedRuns{items}
}

// baseOf returns the id of a commit, or the beginning of one, that --base names; "" is none. The repository need not
// have the commit any more.
func baseOf(a *program.App, word string) (string, error) {
	_, src, err := a.Indexed()
	if word == "" || err != nil {
		return "", err
	}
	err = program.Usagef("--base %s: outside a repository, give the beginning of a commit's id", word)
	if src != nil {
		var commit worktree.OID
		if commit, err = src.Resolve(word); err == nil {
			return string(commit), nil
		}
	}
	if strings.Trim(word, "0123456789abcdef") == "" {
		return word, nil
	}
	return "", err
}

// chooses reports whether an option leaves runs out.
func (o *listOptions) chooses() bool {
	return len(o.status)+len(o.params)+len(o.scraps) > 0 || o.notebook+o.since+o.until+o.base != ""
}

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
