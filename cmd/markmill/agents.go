package main

import (
	_ "embed"

	"github.com/spf13/cobra"
)

// forAgents is docs/for-agents.md.
//
//go:embed for-agents.md
var forAgents string

// agentsTopic is a topic of help: markmill help agents prints it.
func (a *app) agentsTopic() *cobra.Command {
	return &cobra.Command{Use: "agents", Short: "What a coding agent must know, in 40 lines", Long: forAgents}
}
