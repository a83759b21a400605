package runs

import (
	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("runs", "abort, steer, accept, reject, exchange, attest and prune runs",
		`Works on the runs that are kept for the repository around the working directory (outside one: those of no
repository). RUN is an id, a part of one that is unique, or last. markmill list lists them.`,
		runsAbort(a), runsSteer(a), runsAccept(a), runsReject(a), runsPush(a), runsPull(a), runsFetch(a),
		runsAttest(a), runsPrune(a), runsSizes(a), runsMaintain(a))
}

func runsMaintain(a *program.App) *cobra.Command {
	return help.GroupOf("maintain", "Prune every day, rebuild the index, complete records that a kill left",
		`Keeps the store of the runs in order: install has the system prune it every day, reindex rebuilds the index of
the runs, reconcile completes the records of runs that were killed.`,
		maintenanceInstall(a), maintenanceRemove(a), runsReindex(a), runsReconcile(a))
}
