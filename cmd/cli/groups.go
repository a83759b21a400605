package cli

import "github.com/spf13/cobra"

// groupOf makes a group of commands: with no command behind it, it prints its help.
func groupOf(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Long: long, Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

func (a *app) runsCommand() *cobra.Command {
	return groupOf("runs", "abort, steer, accept, reject, exchange, attest and prune runs",
		`Works on the runs that are kept for the repository around the working directory (outside one: those of no
repository). RUN is an id, a part of one that is unique, or last. markmill list lists them.`,
		a.runsAbort(), a.runsSteer(), a.runsAccept(), a.runsReject(), a.runsPush(), a.runsPull(), a.runsFetch(),
		a.runsAttest(), a.runsPrune(), a.runsSizes(), a.runsMaintain())
}

func (a *app) runsMaintain() *cobra.Command {
	return groupOf("maintain", "Prune every day, rebuild the index, complete records that a kill left",
		`Keeps the store of the runs in order: install has the system prune it every day, reindex rebuilds the index of
the runs, reconcile completes the records of runs that were killed.`,
		a.maintenanceInstall(), a.maintenanceRemove(), a.runsReindex(), a.runsReconcile())
}

func (a *app) healthCommand() *cobra.Command {
	return groupOf("health", "how checks and notebooks do: status, digest, objectives, alerts",
		`Shows how the notebooks that run again and again do, and their checks. docs/alerts.md describes checks, objectives
and alerts.`, a.healthStatus(), a.digestCommand(), a.sloCommand(), a.alertsCommand())
}

func (a *app) agentCommand() *cobra.Command {
	return groupOf("agent", "a guide for coding agents; admit, list, probe and compare them",
		`Admits coding agents to the repository, and shows what they did. markmill agent guide is for the agents themselves.`,
		a.agentGuide(), a.agentsAdmit(), a.agentsList(), a.agentProbe(), a.agentsRates(), a.summaryCommand())
}

func (a *app) notebookCommand() *cobra.Command {
	return groupOf("notebook", "strip, merge and bisect notebooks; their scraps as a table",
		"Works on notebooks and output notebooks as files.",
		a.stripCommand(), a.scrapsCommand(), a.bisectCommand(), a.mergeCommand())
}
