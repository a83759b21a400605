package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"markmill/cmd/markmill/child"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// courierTime limits the background process that a run starts to deliver its alerts.
const courierTime = "2m"

func (a *app) alertsCommand() *cobra.Command {
	var o queueOptions
	c := groupOf("alerts", "List, show, retry, mute and deliver the alerts of runs",
		"Shows and delivers alerts. docs/alerts.md describes how a notebook says what triggers one and who receives "+
			"it.")
	o.flags(c.PersistentFlags())
	repoFlag(c.PersistentFlags(), &o.repo)
	c.AddCommand(a.alertsList(&o), a.alertsDeliver(&o), a.alertsShow(&o), a.alertsRetry(&o),
		a.alertsMute(&o), a.alertsUnmute(&o), a.alertsMutes(&o))
	return c
}

func (a *app) alertsList(o *queueOptions) *cobra.Command {
	open, limit, asJSON := false, 50, false
	c := &cobra.Command{
		Use: "list", Short: "List the alerts, the newest first", Args: args(0, 0),
		Long: `Lists the alerts with their targets, and whether each was delivered, is waiting or failed. Alerts that were delivered
to every target are kept for 30 days.

Exit codes: 0 listed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts list\n  markmill health alerts list --open --json",
		RunE: func(*cobra.Command, []string) error {
			if limit < 1 || limit > 500 {
				return usagef("--limit %d is not from 1 to 500", limit)
			}
			return a.inQueue("alerts list", o,
				only(func(ctx context.Context, q Queue) error { return q.ListAlerts(ctx, open, limit, asJSON) }))
		},
	}
	c.Flags().BoolVar(&open, "open", false, "only alerts that were not delivered to every target")
	c.Flags().IntVar(&limit, "limit", limit, "list at most `N` alerts, from 1 to 500")
	jsonFlag(c, &asJSON, "alerts")
	return c
}

func (a *app) alertsDeliver(o *queueOptions) *cobra.Command {
	wait, background := "", false
	c := &cobra.Command{
		Use: "deliver", Short: "Send the alerts that are due", Args: args(0, 0),
		Long: `Reads the runs that have ended since the last time, puts their alerts into the outbox, and sends each alert that is due
to the targets in markmill.yaml. A delivery that fails is retried after 5 s, 10 s, … up to 15 minutes, for three days.
With --wait the command stays and does these retries.

Every run of a notebook with alerts: does this in the background for two minutes, and every worker does it. cron and
systemd may kill that background process: call this command after markmill run there.

Exit codes: 0 nothing is waiting, 1 an alert is waiting or failed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts deliver\n  markmill health alerts deliver --wait 1h",
		RunE: func(*cobra.Command, []string) error {
			d, err := limit("--wait", wait)
			if err != nil {
				return err
			}
			var targets map[string]engine.AlertTarget
			if background {
				if targets, err = targetsFrom(a.stdin); err != nil {
					return err
				}
			}
			return a.inQueue("alerts deliver", o, func(ctx context.Context, q Queue) (int, error) {
				return q.DeliverAlerts(ctx, targets, d, background)
			})
		},
	}
	c.Flags().StringVar(&wait, "wait", "", "keep retrying for a `TIME` in seconds, or 90s, 10m, 1h")
	c.Flags().BoolVar(&background, "background", false, "as a run starts it: print nothing, and read the targets")
	_ = c.Flags().MarkHidden("background") // it is declared above
	return c
}

// targetsFrom reads what leaveCourier writes.
func targetsFrom(r io.Reader) (targets map[string]engine.AlertTarget, err error) {
	text, err := io.ReadAll(r)
	if err == nil {
		err = codec.Unmarshal(text, &targets)
	}
	return targets, err
}

func (a *app) alertsShow(o *queueOptions) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "show ALERT", Short: "Show an alert, and each attempt to deliver it", Args: args(1, 1),
		Long: `Shows an alert by its id, or the beginning of it: its text, and each attempt to deliver it to each target.

Exit codes: 0 shown, 2 there is no such alert, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts show 3f2a",
		RunE: func(_ *cobra.Command, words []string) error {
			return a.inQueue("alerts show", o,
				only(func(ctx context.Context, q Queue) error { return q.ShowAlert(ctx, words[0], asJSON) }))
		},
	}
	jsonFlag(c, &asJSON, "alert-delivery")
	return c
}

func (a *app) alertsRetry(o *queueOptions) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use: "retry ALERT", Short: "Retry an alert that failed or is waiting", Args: args(1, 1),
		Long: `Makes an alert due now for every target that has not received it, and delivers everything that is due.

Exit codes: 0 nothing is waiting, 1 an alert is waiting or failed, 2 there is no such alert, or every target has
received it, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts retry 3f2a --reason 'the address was wrong'",
		RunE: func(_ *cobra.Command, words []string) error {
			if err := checkReason(reason); err != nil {
				return err
			}
			return a.inQueue("alerts retry", o,
				func(ctx context.Context, q Queue) (int, error) { return q.RetryAlert(ctx, words[0], reason) })
		},
	}
	reasonFlag(c, &reason)
	return c
}

// startCourier starts a process that delivers the alerts of runs, and does not wait for it. It passes on the settings
// read before the run, because a run in place may have changed the file.
func (a *app) startCourier(eng *engine.Engine, store runs.Store) {
	ids, err := store.AwaitingAlerts()
	if err == nil && len(ids) == 0 || a.env("MARKMILL_DEPTH") != "" {
		return
	}
	if err == nil {
		err = a.leaveCourier(eng, store)
	}
	if err != nil {
		a.tell("markmill: alerts are not delivered until markmill health alerts deliver runs: %s\n", err)
	}
}

func (a *app) leaveCourier(eng *engine.Engine, store runs.Store) error {
	cmd, err := a.serverWith(&queueOptions{Server: queue.Server{Replicas: 1}},
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
