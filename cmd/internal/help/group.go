package help

import "github.com/spf13/cobra"

// GroupOf makes a group of commands: with no command behind it, it prints its help.
func GroupOf(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Long: long, Args: KnownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}
