package alerts

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/notify"
	"markmill/notebooks/codec"
)

func Command(a *program.App) *cobra.Command {
	var o jobqueue.Options
	c := help.GroupOf("alerts", "List, show, retry, mute, test and deliver the alerts of runs",
		"Shows and delivers alerts. docs/alerts.md describes how a notebook says what triggers one and who receives "+
			"it.")
	o.Flags(c.PersistentFlags())
	a.RepoFlag(c.PersistentFlags())
	c.AddCommand(alertsList(a, &o), alertsDeliver(a, &o), alertsShow(a, &o), alertsRetry(a, &o),
		alertsMute(a, &o), alertsUnmute(a, &o), alertsMutes(a, &o), alertsTest(a))
	return c
}

func alertsList(a *program.App, o *jobqueue.Options) *cobra.Command {
	open, limit, asJSON := false, 50, false
	c := &cobra.Command{
		Use: "list", Short: "List the alerts, the newest first", Args: program.Args(0, 0),
		Long: `Lists the alerts with their targets, and whether each was delivered, is waiting or failed. Alerts that were delivered
to every target are kept for 30 days.

Exit codes: 0 listed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts list\n  markmill health alerts list --open --json",
		RunE: func(*cobra.Command, []string) error {
			if limit < 1 || limit > 500 {
				return program.Usagef("--limit %d is not from 1 to 500", limit)
			}
			return jobqueue.InQueue(a, "alerts list", o,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error {
					return q.ListAlerts(ctx, open, limit,
						asJSON)
				}))
		},
	}
	c.Flags().BoolVar(&open, "open", false, "only alerts that were not delivered to every target")
	c.Flags().IntVar(&limit, "limit", limit, "list at most `N` alerts, from 1 to 500")
	program.JSONFlag(c, &asJSON, "alerts")
	return c
}

func alertsDeliver(a *program.App, o *jobqueue.Options) *cobra.Command {
	wait, background := "", false
	c := &cobra.Command{
		Use: "deliver", Short: "Send the alerts that are due", Args: program.Args(0, 0),
		Long: `Reads the runs that have ended since the last time, puts their alerts into the outbox, and sends each alert that is due
to the targets in markmill.yaml. A delivery that fails is retried after 5 s, 10 s, … up to 15 minutes, for three days.
With --wait the command stays and does these retries.

Every run of a notebook with alerts: does this in the background for two minutes, and every worker does it. cron and
systemd may kill that background process: call this command after markmill run there.

Exit codes: 0 nothing is waiting, 1 an alert is waiting or failed, 2 usage, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts deliver\n  markmill health alerts deliver --wait 1h",
		RunE: func(*cobra.Command, []string) error {
			d, err := program.Limit("--wait", wait)
			if err != nil {
				return err
			}
			var targets map[string]engine.AlertTarget
			if background {
				if targets, err = targetsFrom(a.Stdin); err != nil {
					return err
				}
			}
			return jobqueue.InQueue(a, "alerts deliver", o, func(ctx context.Context, q program.Queue) (int, error) {
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

func alertsShow(a *program.App, o *jobqueue.Options) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "show ALERT", Short: "Show an alert, and each attempt to deliver it", Args: program.Args(1, 1),
		Long: `Shows an alert by its id, or the beginning of it: its text, and each attempt to deliver it to each target.

Exit codes: 0 shown, 2 there is no such alert, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts show 3f2a",
		RunE: func(_ *cobra.Command, words []string) error {
			return jobqueue.InQueue(a, "alerts show", o,
				jobqueue.Only(func(ctx context.Context, q program.Queue) error {
					return q.ShowAlert(ctx, words[0],
						asJSON)
				}))
		},
	}
	program.JSONFlag(c, &asJSON, "alert-delivery")
	return c
}

func alertsRetry(a *program.App, o *jobqueue.Options) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use: "retry ALERT", Short: "Retry an alert that failed or is waiting", Args: program.Args(1, 1),
		Long: `Makes an alert due now for every target that has not received it, and delivers everything that is due.

Exit codes: 0 nothing is waiting, 1 an alert is waiting or failed, 2 there is no such alert, or every target has
received it, 3 the queue cannot be reached.`,
		Example: "  markmill health alerts retry 3f2a --reason 'the address was wrong'",
		RunE: func(_ *cobra.Command, words []string) error {
			if err := program.CheckReason(reason); err != nil {
				return err
			}
			return jobqueue.InQueue(a, "alerts retry", o,
				func(ctx context.Context, q program.Queue) (int, error) { return q.RetryAlert(ctx, words[0], reason) })
		},
	}
	program.ReasonFlag(c, &reason)
	return c
}

func alertsTest(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "test TARGET…", Short: "Send a test message to a target", Args: program.Args(1, -1),
		Long: `Sends one message to each target of markmill.yaml that is named, now and once, with the event "test". Nothing is
stored: a message that fails is not retried.

Exit codes: 0 every target has accepted it, 1 one has not, 2 usage, or there is no such target.`,
		Example: "  markmill health alerts test ops team",
		RunE: func(c *cobra.Command, names []string) error {
			root, _, err := a.Served(a.Repo)
			if err != nil {
				return err
			}
			config, err := engine.LoadConfig(root)
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, known := config.Alerts[name]; !known {
					return program.Usagef("markmill.yaml has no target %q; it has %s", name,
						strings.Join(slices.Sorted(maps.Keys(config.Alerts)), ", "))
				}
			}
			sender, failed := notify.Sender{Getenv: os.LookupEnv}, false
			for _, name := range names {
				message := queue.Alert{ID: strings.ToLower(rand.Text()), Project: filepath.Base(root),
					Notebook: filepath.Base(root), Time: time.Now().UTC(), About: queue.AboutTest,
					Event: queue.AboutTest, State: queue.AboutTest, Message: "markmill health alerts test " + name}
				switch err := sender.Send(c.Context(), config.Alerts[name], &message); {
				case c.Context().Err() != nil:
					return errors.Join(err, c.Context().Err())
				case err != nil:
					failed = true
					a.Tell("markmill: %s: %s\n", name, err)
				default:
					if err := program.Say(a.Stdout, "%s has accepted the test message\n", name); err != nil {
						return err
					}
				}
			}
			if failed {
				return program.EndWith(program.ExitFail)
			}
			return nil
		},
	}
}
