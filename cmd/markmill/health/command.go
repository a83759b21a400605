package health

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill-server/alerts"
	"markmill/render/digest"
	"markmill/render/html"
	"markmill/render/plain"
	"markmill/render/terminal"
	"markmill/runs"
	"markmill/runs/index"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("health", "how checks and notebooks do: status, digest, objectives, alerts",
		`Shows how the notebooks that run again and again do, and their checks. docs/alerts.md describes checks, objectives
and alerts.`, healthStatus(a), digestCommand(a), sloCommand(a), alerts.Command(a))
}

func healthStatus(a *program.App) *cobra.Command {
	since, asJSON := "30d", false
	c := &cobra.Command{
		Use: "status [NOTEBOOK…]", Short: "Show the latest state of notebooks and their checks, the worst first",
		Args: program.Args(0, -1),
		Long: `Shows the latest state of each notebook that ran in the period, and of each of its checks. NOTEBOOK is a path as it was
given to markmill run. markmill health digest also shows the history.

Exit codes: 0 all are ok, 1 something is not, or the records cannot be read, 2 usage, or a NOTEBOOK has no run.`,
		Example: "  markmill health status\n  markmill health status observatory.md",
		RunE: func(c *cobra.Command, names []string) error {
			from, err := program.TimeOption("--since", since, a.Now())
			if err != nil {
				return err
			}
			var d *digest.Digest
			err = a.WithIndex(c, func(_ context.Context, store runs.Store, x *index.Index) (err error) {
				d, err = digest.Make(store, x, from, a.Now())
				return err
			})
			if err != nil {
				return err
			}
			return printHealth(a, d, names, asJSON)
		},
	}
	c.Flags().StringVar(&since, "since", since, "from this time on: 2026-01-31, 12h, 7d")
	program.JSONFlag(c, &asJSON, "digest")
	return c
}

// printHealth prints the latest states, and returns an error unless all are ok.
func printHealth(a *program.App, d *digest.Digest, names []string, asJSON bool) error {
	for _, name := range names {
		if !slices.ContainsFunc(d.Notebooks, func(n digest.Notebook) bool { return n.Notebook == name }) {
			return program.Usagef("no run of %s in the period is kept; markmill list shows the notebooks that ran",
				name)
		}
	}
	if len(names) > 0 {
		d.Notebooks = slices.DeleteFunc(d.Notebooks, func(n digest.Notebook) bool {
			return !slices.Contains(names, n.Notebook)
		})
	}
	t, well := program.NewGrid("notebook", "check", "state", "says"), true
	for _, n := range d.Notebooks {
		slices.SortStableFunc(n.Rows, func(x, y digest.Row) int {
			return digest.Severity(y.State) - digest.Severity(x.State)
		})
		for _, row := range n.Rows {
			well = well && digest.Severity(row.State) <= digest.Severity("ok")
			t.Add(n.Notebook, digest.Name(row.Check), cmp.Or(row.State, "not known"),
				strings.Join(strings.Fields(row.Says), " "))
		}
	}
	err := program.PassIf(well)
	switch {
	case asJSON:
		return cmp.Or(a.PrintJSON("digest", d), err)
	case len(d.Notebooks) == 0:
		return program.Say(a.Stdout, "No notebook ran in the period.\n")
	}
	return cmp.Or(t.Write(a.Stdout, "table"), err)
}

// sloCommand is markmill health slo.
func sloCommand(a *program.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "slo [NOTEBOOK…]", Short: "Show whether notebooks and their checks reach their objectives",
		Args: program.Args(0,
			-1),
		Long: `Computes how the runs and checks of notebooks with objectives: did in the window of each objective: the uptime, the 95th
percentile of the duration, and the error budget that is left. NOTEBOOK is a path as it was given to markmill run.
docs/alerts.md has the formulas.

Exit codes: 0 all objectives are met, or there are no data, 1 one is missed, 2 usage.`,
		Example: "  markmill health slo\n  markmill health slo observatory.md --json",
		RunE: func(c *cobra.Command, names []string) error {
			var doc *digest.Levels
			err := a.WithIndex(c, func(_ context.Context, store runs.Store, x *index.Index) (err error) {
				doc, err = digest.LevelsOf(store, x, names, a.Now())
				return err
			})
			if err != nil {
				return err
			}
			for _, name := range names {
				if !slices.ContainsFunc(doc.Levels, func(l *index.Level) bool { return l.Notebook == name }) {
					return program.Usagef("no run of %s in its window is kept; markmill list shows the notebooks "+
						"that ran", name)
				}
			}
			if asJSON {
				err = a.PrintJSON("slo", doc)
			} else {
				err = printLevels(a, doc)
			}
			if err != nil {
				return err
			}
			return program.PassIf(!slices.ContainsFunc(doc.Levels, func(l *index.Level) bool {
				return l.Met != nil &&
					!*l.Met
			}))
		},
	}
	program.JSONFlag(c, &asJSON, "slo")
	return c
}

func printLevels(a *program.App, doc *digest.Levels) error {
	if len(doc.Levels) == 0 {
		return program.Say(a.Stdout, "No notebook with objectives: has run.\n")
	}
	t := program.NewGrid("notebook", "check", "state", "uptime", "objective", "p95", "objective ", "budget left",
		"known",
		"met")
	for _, l := range doc.Levels {
		met := "–"
		if l.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*l.Met]
		}
		known := 100 * l.Known / l.Window
		t.Add(plain.OneLine(l.Notebook), digest.Name(l.Check), l.State, digest.Percent(l.Uptime),
			digest.Percent(l.UptimeObjective),
			digest.Millis(l.P95), digest.Millis(l.P95Objective), digest.Left(l), digest.Percent(&known), met)
	}
	return t.Write(a.Stdout, "table")
}

// digestWidth is how many columns a digest takes in a terminal.
const digestWidth = 120

// digestCommand is markmill health digest.
func digestCommand(a *program.App) *cobra.Command {
	since, format, out := "24h", "", ""
	asJSON := false
	formats := []string{"text", "markdown", "json", "html"}
	c := &cobra.Command{
		Use: "digest", Short: "Summarize the notebooks and their checks over a period", Args: program.Args(0, 0),
		Long: `Summarizes each notebook that ran in the period: how its runs ended, and for its runs and each of its checks the latest
state, a strip of the history, the uptime and the changes of state. The worst comes first.

Exit codes: 0 shown, 1 the records cannot be read, 2 usage.`,
		Example: "  markmill health digest\n  markmill health digest --since 7d --format markdown\n" +
			"  markmill health digest -o digest.html",
		RunE: func(c *cobra.Command, _ []string) error {
			now := a.Now()
			from, err := program.TimeOption("--since", since, now)
			if err != nil {
				return err
			}
			if !from.Before(now) {
				return program.Usagef("--since %s is not in the past", since)
			}
			if format == "" {
				format = "text"
				switch {
				case asJSON:
					format = "json"
				case strings.HasSuffix(out, ".html"):
					format = "html"
				case strings.HasSuffix(out, ".md"):
					format = "markdown"
				}
			}
			if !slices.Contains(formats, format) {
				return program.Usagef("--format %s is not known; known: %s", format, strings.Join(formats, ", "))
			}
			var d *digest.Digest
			err = a.WithIndex(c, func(_ context.Context, store runs.Store, x *index.Index) (err error) {
				d, err = digest.Make(store, x, from, now)
				return err
			})
			if err != nil {
				return err
			}
			text := ""
			switch format {
			case "json":
				if out == "" {
					return a.PrintJSON("digest", d)
				}
				return program.Usagef("-o: JSON goes to standard output")
			case "html":
				text = string(html.Digest(d))
			case "markdown":
				text = d.Markdown()
			default:
				var b strings.Builder
				color := out == "" && a.Colour(a.Stdout)
				if err = terminal.Document(&b, []byte(d.Markdown()), digestWidth, color); err != nil {
					return err
				}
				text = b.String()
			}
			if out == "" {
				_, err = io.WriteString(a.Stdout, text)
				return err
			}
			return a.WriteResult("-o", out, []byte(text))
		},
	}
	c.Flags().StringVar(&since, "since", since, "from this time on: 2026-01-31, 12h, 7d")
	c.Flags().StringVar(&format, "format", "",
		"`WHAT` is made: text, markdown, json, html (default: by the name of -o, else text)")
	c.Flags().StringVarP(&out, "out", "o", "", "write it to a `FILE`")
	program.JSONFlag(c, &asJSON, "digest")
	return c
}
