package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// repoFlag adds --repo, for commands that work on the repository around the working directory.
func repoFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "repo", "", "`FOLDER` of the Git repository (default: the one around the working directory)")
}

// reasonFlag adds --reason, which checkReason demands.
func reasonFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "reason", "", "`TEXT`: the reason, for the record and those who read it")
}

// checkReason returns an error for an action without a reason, or with one longer than 2,000 bytes.
func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return usagef("--reason is needed: others read it")
	case len(reason) > 2000:
		return usagef("--reason has %d bytes; give at most 2000", len(reason))
	}
	return nil
}
