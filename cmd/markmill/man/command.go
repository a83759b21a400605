package man

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
)

func Command(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages, one for each command",
		Long: `Writes markmill.1 and a page for each command (markmill-run.1, markmill-runs-verify.1, …) to a folder, which
is created when it is missing. man finds them in the folder man1 of a folder of its path.

Exit codes: 0 written, 1 a page cannot be written.`,
		Example: "  markmill man ~/.local/share/man/man1 && man markmill-run",
		Args:    program.Args(1, 1),
		RunE: func(c *cobra.Command, words []string) error {
			written := 0
			err := EachCommand(c.Root(), func(c *cobra.Command) error {
				written++
				return a.WriteResult("DIR", filepath.Join(words[0], manName(c)+".1"), []byte(manPage(c)))
			})
			if err == nil {
				fmt.Fprintf(a.Stderr, "wrote %d pages to %s\n", written, words[0])
			}
			return err
		},
	}
}

// EachCommand calls do for a command and all visible commands below it.
func EachCommand(c *cobra.Command, do func(*cobra.Command) error) error {
	if c.Hidden || c.Name() == "help" || c.IsAdditionalHelpTopicCommand() {
		return nil
	}
	if err := do(c); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := EachCommand(sub, do); err != nil {
			return err
		}
	}
	return nil
}

// manName is the name of the page of a command.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// cobra's package doc writes such pages, too, but all options as one list and no section for the exit status, and it
// reads the text as Markdown.

// manPage is the page of a command in the macros of man(7). It has no date, so that a program always writes the same.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"markmill %s\" \"Markmill\"\n", roffArg(strings.ToUpper(manName(c))),
		roff(program.Release))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	if c.Runnable() || c.HasAvailableSubCommands() {
		b.WriteString(".SH SYNOPSIS\n")
		if c.Runnable() && c.HasParent() {
			b.WriteString(".B " + roff(c.UseLine()) + "\n.br\n")
		}
		if c.HasAvailableSubCommands() {
			b.WriteString(".B " + roff(c.CommandPath()) + " COMMAND\n")
		}
	}
	text := help.Text(c, true)
	if text == c.Short {
		text += "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	before, codes, coded := strings.Cut(text, "Exit codes: ")
	manText(&b, before)
	manOptions(&b, c)
	if coded {
		codes, rest, _ := strings.Cut(codes, "\n\n")
		b.WriteString(".SH EXIT STATUS\n")
		manText(&b, codes)
		manText(&b, rest)
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.EX\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString(roff(strings.TrimRight(strings.TrimPrefix(line, "  "), "\n")) + "\n")
		}
		b.WriteString(".EE\n")
	}
	var also []string
	if c.HasParent() {
		also = append(also, manName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, manName(sub))
		}
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for i, name := range also {
			end := ","
			if i == len(also)-1 {
				end = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(name), end)
		}
	}
	return b.String()
}

// manText writes paragraphs. Indented paragraphs and lists keep their lines.
func manText(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if paragraph = strings.Trim(paragraph, "\n"); paragraph == "" {
			continue
		}
		if i > 0 {
			b.WriteString(".PP\n")
		}
		literal := strings.HasPrefix(paragraph, "  ") || strings.HasPrefix(paragraph, "- ")
		if literal {
			b.WriteString(".nf\n")
		}
		for line := range strings.Lines(paragraph) {
			b.WriteString(roff(strings.TrimRight(line, "\n")) + "\n")
		}
		if literal {
			b.WriteString(".fi\n")
		}
	}
}

func manOptions(b *strings.Builder, c *cobra.Command) {
	all, out := help.ShownOptions(c, "", true)
	if len(out) == 0 {
		return
	}
	b.WriteString(".SH OPTIONS\n")
	for _, g := range out {
		if g.Title != "" {
			b.WriteString(".SS " + roff(g.Title) + "\n")
		}
		for _, name := range g.Names {
			f := all[name]
			kind, usage := pflag.UnquoteUsage(f)
			b.WriteString(".TP\n")
			if f.Shorthand != "" {
				b.WriteString("\\fB\\-" + f.Shorthand + "\\fR, ")
			}
			b.WriteString("\\fB\\-\\-" + roff(f.Name) + "\\fR")
			if kind != "" {
				b.WriteString(" \\fI" + roff(kind) + "\\fR")
			}
			b.WriteString("\n" + roff(usage) + "\n")
		}
	}
}

// roff escapes one line of text for roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// roffArg quotes text as one argument of a request.
func roffArg(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }
