package health

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/render/digest"
	"markmill/render/html"
	"markmill/render/terminal"
	"markmill/runs"
	"markmill/runs/index"
)

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
