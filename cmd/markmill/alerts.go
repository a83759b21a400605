package main

import (
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// courierTime is how long the process tries that a run leaves behind to send its alerts.
const courierTime = 2 * time.Minute

// alertsCommand is markmill alerts.
func (a *app) alertsCommand() *cobra.Command {
	var o queueOptions
	c := &cobra.Command{
		Use: "alerts", Short: "Show and deliver what runs tell people", Args: args(0, 0),
		Long: `Lists the alerts, as markmill alerts list. docs/alerts.md says how a notebook names what is told and whom.

Exit codes: as of its commands.`,
		Example: "  markmill alerts\n  markmill alerts deliver\n  markmill alerts show 3f2a",
	}
	o.flags(c.PersistentFlags())
	c.PersistentFlags().StringVar(&o.repo, "repo", "",
		"`FOLDER` of the Git repository (default: the one around the working directory)")
	list := a.alertsList(&o)
	c.RunE = func(*cobra.Command, []string) error { return list.RunE(list, nil) }
	c.AddCommand(list, a.alertsDeliver(&o), a.alertsShow(&o), a.alertsRetry(&o))
	return c
}

func (a *app) alertsList(o *queueOptions) *cobra.Command {
	open, limit, asJSON := false, 50, false
	c := &cobra.Command{
		Use: "list", Short: "List the alerts, the newest first", Args: args(0, 0),
		Long: `Lists the alerts with whom they are for, and whether they were delivered, wait or failed. Alerts that all have
got are kept for 30 days.

Exit codes: 0 listed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill alerts list\n  markmill alerts list --open --json",
		RunE: func(*cobra.Command, []string) error {
			if limit < 1 || limit > 500 {
				return usagef("--limit %d is not from 1 to 500", limit)
			}
			made, err := a.call("alerts-list", o)
			if err != nil {
				return err
			}
			made.Open, made.Limit, made.JSON = open, limit, asJSON
			return a.becomeQueue(made)
		},
	}
	c.Flags().BoolVar(&open, "open", false, "only those that somebody has not got")
	c.Flags().IntVar(&limit, "limit", limit, "list at most `N` alerts, from 1 to 500")
	jsonFlag(c, &asJSON, "alerts")
	return c
}

func (a *app) alertsDeliver(o *queueOptions) *cobra.Command {
	wait := ""
	c := &cobra.Command{
		Use: "deliver", Short: "Send the alerts that are due", Args: args(0, 0),
		Long: `Looks at the runs that have ended since, puts their alerts into the outbox, and sends each alert that is due to
the targets of markmill.yaml. What a receiver does not take is tried again after 5 s, 10 s, … up to 15 minutes, for
three days. With --wait it stays and tries again.

Every run of a notebook with alerts: does this in the background for two minutes, and every worker does it. For cron and
systemd, which may end what a run leaves behind, call it after markmill run.

Exit codes: 0 nothing waits, 1 something waits or failed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill alerts deliver\n  markmill alerts deliver --wait 1h",
		RunE: func(*cobra.Command, []string) error {
			d, err := limit("--wait", wait)
			if err != nil {
				return err
			}
			made, err := a.call("alerts-deliver", o)
			if err != nil {
				return err
			}
			made.PatienceNS = int64(d)
			return a.becomeQueue(made)
		},
	}
	c.Flags().StringVar(&wait, "wait", "", "try again for a `TIME` in seconds, or 90s, 10m, 1h")
	return c
}

func (a *app) alertsShow(o *queueOptions) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "show ALERT", Short: "Show an alert, and each attempt to deliver it", Args: args(1, 1),
		Long: `Shows an alert by its id, or the beginning of it: what it says, and what became of it at each target.

Exit codes: 0 shown, 2 there is no such alert, 3 the queue cannot be reached.`,
		Example: "  markmill alerts show 3f2a",
		RunE: func(_ *cobra.Command, words []string) error {
			made, err := a.call("alerts-show", o)
			if err != nil {
				return err
			}
			made.ID, made.JSON = words[0], asJSON
			return a.becomeQueue(made)
		},
	}
	jsonFlag(c, &asJSON, "alert-delivery")
	return c
}

func (a *app) alertsRetry(o *queueOptions) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use: "retry ALERT", Short: "Send an alert now that failed or waits", Args: args(1, 1),
		Long: `Makes an alert due for every target that has not got it, and delivers what is due.

Exit codes: 0 nothing waits, 1 something waits or failed, 2 there is no such alert, or all have got it, 3 the queue
cannot be reached.`,
		Example: "  markmill alerts retry 3f2a --reason 'the address was wrong'",
		RunE: func(_ *cobra.Command, words []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("--reason says why, in words that others read; give it")
			}
			made, err := a.call("alerts-retry", o)
			if err != nil {
				return err
			}
			made.ID, made.Reason = words[0], reason
			return a.becomeQueue(made)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` that says why")
	return c
}

// startCourier starts a process that delivers the alerts of runs, and does not wait for it. It has the settings as they
// were before the run, which may have changed them in place.
func (a *app) startCourier(eng *engine.Engine, store runs.Store) {
	ids, err := store.AwaitingAlerts()
	if err == nil && len(ids) == 0 || a.env("MARKMILL_DEPTH") != "" {
		return
	}
	if err == nil {
		err = a.leaveCourier(eng, store)
	}
	if err != nil {
		a.tell("markmill: alerts wait for markmill alerts deliver: %s\n", err)
	}
}

func (a *app) leaveCourier(eng *engine.Engine, store runs.Store) error {
	program, self, err := sibling(queueProgram)
	if err != nil {
		return err
	}
	call := &queue.Call{Do: "alerts-deliver", Program: self, Version: version().Version, Store: store.Dir,
		User: a.userName(), Quiet: true, PatienceNS: int64(courierTime), Targets: eng.Config.Alerts}
	if call.Targets == nil {
		call.Targets = map[string]engine.AlertTarget{}
	}
	text, err := codec.Marshal(call)
	if err != nil {
		return err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd := exec.Command(program, "-")
	cmd.Stdin = in
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = out.Write(text) // it may be longer than a pipe holds, so it is read meanwhile
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
