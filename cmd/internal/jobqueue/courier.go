package jobqueue

import (
	"os"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// courierTime limits the background process that a run starts to deliver its alerts.
const courierTime = "2m"

// StartCourier starts a process that delivers the alerts of runs, and does not wait for it. It passes on the settings
// read before the run, because a run in place may have changed the file.
func StartCourier(a *program.App, eng *engine.Engine, store runs.Store) {
	ids, err := store.AwaitingAlerts()
	if err == nil && len(ids) == 0 || a.Env("MARKMILL_DEPTH") != "" {
		return
	}
	if err == nil {
		err = leaveCourier(a, eng, store)
	}
	if err != nil {
		a.Tell("markmill: alerts are not delivered until markmill health alerts deliver runs: %s\n", err)
	}
}

func leaveCourier(a *program.App, eng *engine.Engine, store runs.Store) error {
	cmd, err := ServerWith(a, &Options{Server: queue.Server{Replicas: 1}},
		"health", "alerts", "deliver", "--background", "--wait", courierTime)
	if err != nil {
		return err
	}
	targets := eng.Config.Alerts
	if targets == nil {
		targets = map[string]engine.AlertTarget{}
	}
	text, err := codec.Marshal(targets)
	if err != nil {
		return err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd.Stdin, cmd.Stderr = in, nil
	cmd.Env = append(cmd.Env, "MARKMILL_DIR="+store.Dir)
	child.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = out.Write(text) // after the start: it may be longer than a pipe holds
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
