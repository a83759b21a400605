package agent

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/agent/summary"
	"markmill/render/plain"
)

func summaryCommand(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "summary", Short: "Summarize the evidence about coding agents, and what to do next",
		Long: `Says of every coding agent that is admitted, installed or has run here: which of the six stages of proof it has
passed (fixture, sandbox-repository, negative-cases, repeat, clean-clone, candidate), by which run, at which
level (recorded, signed, repeated), and the command that runs each again; whether it is eligible (all stages are
proven, of the program, model and notebooks that are here now); whether it is active (markmill.yaml admits it,
and nothing denies it); and what an operator does next. A stage is a notebook with proof: in its front matter.

It only reads: the notebooks of the checkout, the records, markmill.yaml. It starts no program.

Exit codes: 0 every agent that is admitted is active and eligible, and every record could be read, 1 that is not
so, 2 there is no repository.`,
		Example: "  markmill agent summary\n  markmill agent summary --json | jq '.agents[] | {name, eligible, " +
			"active, next}'",
		Args: program.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return program.Troubled(summarize(c.Context(), a, asJSON)) },
	}
	program.JSONFlag(c, &asJSON, "summary")
	return c
}

func summarize(ctx context.Context, a *program.App, asJSON bool) error {
	store, repo, err := a.Repository("")
	if err != nil {
		return err
	}
	eng, err := a.Engine(repo.Root())
	if err != nil {
		return err
	}
	s, err := summary.Of(ctx, repo, summary.Options{Engine: eng, Store: store, Now: a.Now()})
	if err != nil {
		return err
	}
	if asJSON {
		err = a.PrintJSON("summary", s)
	} else {
		err = printSummary(a.Stdout, s)
	}
	if err != nil {
		return err
	}
	well := len(s.Problems) == 0
	for i := range s.Agents {
		a := &s.Agents[i]
		well = well && (!a.Admitted || a.Active && a.Eligible)
	}
	return program.PassIf(well)
}

// printSummary prints a summary for people. Commands are for the root of the repository.
func printSummary(w io.Writer, s *summary.Summary) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(plain.Escape(strings.TrimRight(fmt.Sprintf(format, args...), " ")) + "\n")
	}
	for i := range s.Agents {
		a := &s.Agents[i]
		line("%s", strings.Join(append([]string{a.Name}, a.Words()...), " · "))
		for j := range a.Proofs {
			p := &a.Proofs[j]
			mark := map[string]string{summary.Passed: "✓", summary.Missing: "○", summary.Outdated: "○"}[p.State]
			if mark == "" {
				mark = "✗"
			}
			at := ""
			if p.At != nil {
				at = p.At.UTC().Format(time.DateTime) + "Z"
			}
			line("  %s %-18s  %-11s  %-8s  %-20s  %s", mark, p.Stage, p.State, p.Level, at, p.Run)
			if p.Why != "" {
				line("      %s", p.Why)
			}
			if len(p.Replay) > 0 {
				b.WriteString("      " + program.CommandLine(p.Replay) + "\n")
			}
		}
		line("  next: %s", a.Next)
		b.WriteString("\n")
	}
	if len(s.Agents) == 0 {
		line("No coding agent is admitted, installed, or has run here.")
	}
	for _, p := range s.Problems {
		line("✗ %s", p)
	}
	line("Next: %s", s.Next)
	_, err := io.WriteString(w, b.String())
	return err
}
