package cmdtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"markmill/cmd/internal/commands"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
)

// reference is the command reference, docs/cli.md, made from the commands themselves.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Command reference\n\n")
	b.WriteString(
		"Generated from the program by `go test ./cmd/cmdtest -run TestReference -update`; a test fails when it is " +
			"old.\n")
	describe(&b, root)
	return b.String()
}

func describe(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" || c.IsAdditionalHelpTopicCommand() {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	text := help.Text(c, true)
	switch text {
	case c.Short:
		text += "."
	case help.ForAgents:
		text = c.Short + ": [for-agents.md](for-agents.md)."
	}
	fmt.Fprintf(b, "%s\n", text)
	if c.Runnable() {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", c.UseLine())
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	if c.LocalFlags().HasAvailableFlags() {
		b.WriteString("\n| option | meaning |\n| --- | --- |\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			_, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(b, "| %s | %s |\n", optionName(f), strings.ReplaceAll(usage, "|", `\|`))
		})
	}
	for _, sub := range c.Commands() {
		describe(b, sub)
	}
}

func optionName(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + "`, `" + text
	}
	if kind, _ := pflag.UnquoteUsage(f); kind != "" {
		text += " " + strings.ToUpper(kind)
	}
	return "`" + text + "`"
}

// TestReference fails when docs/cli.md is not what the commands say of themselves.
func TestReference(t *testing.T) {
	const file = "../../docs/cli.md"
	want := reference(commands.Root(program.New(), ""))
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is old; run: go test ./cmd/cmdtest -run TestReference -update", file)
	}
}
