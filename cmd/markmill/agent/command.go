package agent

import (
	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("agent", "a guide for coding agents; admit, list, probe and compare them",
		`Admits coding agents to the repository, and shows what they did. markmill agent guide is for the agents themselves.`,
		agentGuide(a), agentsAdmit(a), agentsList(a), agentProbe(a), agentsRates(a), summaryCommand(a))
}
