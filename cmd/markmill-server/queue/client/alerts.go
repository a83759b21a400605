package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// shortID is how much of the id of an alert lists show.
const shortID = 12

// DeliverAlerts sends the alerts that are due, and retries for the time of patience. It returns the exit code. The
// targets are those of the settings if none are given. quiet is the process that a run starts in the background.
func (c *Client) DeliverAlerts(ctx context.Context, targets map[string]engine.AlertTarget, patience time.Duration,
	quiet bool) (int, error) {
	if quiet { // one is enough
		if err := os.MkdirAll(c.dir("courier"), 0o700); err != nil {
			return 0, err
		}
		release, err := runs.Lock(c.dir("courier"))
		for begin := time.Now(); errors.Is(err, runs.ErrLive); release, err = runs.Lock(c.dir("courier")) {
			if time.Since(begin) > 5*recheckTime || ctx.Err() != nil { // it has looked at the runs meanwhile
				return exitPass, nil
			}
			time.Sleep(recheckTime / 10) // it may be about to end
		}
		if err != nil {
			return 0, err
		}
		defer release()
	}
	notifiers, err := c.newNotifier(targets)
	if err != nil {
		return 0, err
	}
	waits, failed, err := notifiers.deliver(ctx, patience)
	if err != nil || quiet {
		return exitPass, err
	}
	switch {
	case failed > 0:
		c.tell("%s could not be delivered; markmill health alerts list shows them", plain.Counted(failed, "alert"))
		return exitFail, nil
	case waits:
		c.tell("alerts wait; markmill health alerts list shows them")
		return exitFail, nil
	}
	return exitPass, nil
}

// Outbox returns the alerts, newest first.
func (c *Client) Outbox(ctx context.Context) (all []*queue.Delivery, err error) {
	err = c.Queue.Alerts(ctx, func(d *queue.Delivery) error { all = append(all, d); return nil })
	slices.SortStableFunc(all, func(a, b *queue.Delivery) int { return b.Compare(a) })
	return all, err
}

// ListAlerts prints the newest alerts; open ones are those that were not delivered to every target.
func (c *Client) ListAlerts(ctx context.Context, open bool, limit int, asJSON bool) error {
	all, err := c.Outbox(ctx)
	if err != nil {
		return err
	}
	ids, err := runs.Store{Dir: c.Store}.AwaitingAlerts()
	if err != nil {
		return err
	}
	doc := queue.Outbox{Alerts: []*queue.Delivery{}, Runs: append([]runs.RunID{}, ids...)}
	for _, d := range all {
		if !open || d.Open() || d.Failed() {
			doc.Alerts = append(doc.Alerts, d)
		}
	}
	doc.Total = len(doc.Alerts)
	doc.Alerts = doc.Alerts[:min(len(doc.Alerts), limit)]
	if asJSON {
		return c.print("alerts", doc)
	}
	if len(ids) > 0 {
		c.tell("%s not looked at yet: markmill health alerts deliver does it", plain.Counted(len(ids), "run"))
	}
	if doc.Total == 0 {
		c.tell("no alerts")
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ALERT\tTIME\tNOTEBOOK\tEVENT\tTO\tSAYS")
	for _, d := range doc.Alerts {
		a := d.Alert
		var to []string
		for _, r := range d.To {
			to = append(to, r.Target+" "+r.State)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", a.ID[:min(shortID, len(a.ID))], a.Time.Local().Format(time.DateTime),
			plain.OneLine(a.Notebook), a.Event, plain.OneLine(strings.Join(to, ", ")),
			plain.Cut(plain.OneLine(a.Words()), 80))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more := doc.Total - len(doc.Alerts); more > 0 {
		c.tell("%d more; --limit shows up to 500", more)
	}
	return nil
}

// alert returns an alert by its id or the beginning of it.
func (c *Client) alert(ctx context.Context, id string) (*queue.Delivery, error) {
	all, err := c.Outbox(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d *queue.Delivery) bool { return !strings.HasPrefix(d.Alert.ID, id) })
	if len(all) != 1 {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%s begin with %q",
			plain.Counted(len(all), "alert"), id), Hint: "markmill health alerts list shows their ids"}
	}
	return all[0], nil
}

// ShowAlert prints an alert with each attempt to deliver it.
func (c *Client) ShowAlert(ctx context.Context, id string, asJSON bool) error {
	d, err := c.alert(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return c.print("alert-delivery", d)
	}
	a := d.Alert
	fmt.Fprintf(c.stdout, "alert    %s\nnotebook %s\nrun      %s\ntime     %s\nevent    %s\nsays     %s\n", a.ID,
		plain.OneLine(strings.TrimSpace(a.Notebook+" "+a.By)), a.Run, a.Time.Local().Format(time.DateTime), a.Event,
		plain.OneLine(a.Words()))
	for _, r := range d.To {
		line := fmt.Sprintf("%s: %s, tried %d times", r.Target, r.State, r.Tried)
		if !r.Next.IsZero() {
			line += ", next at " + r.Next.Local().Format(time.DateTime)
		}
		if r.By != "" {
			line += fmt.Sprintf("; again by %s: %s", r.By, r.Why)
		}
		fmt.Fprintf(c.stdout, "\n%s\n", plain.OneLine(line))
		for _, try := range r.Tries {
			words := try.Error
			if words == "" {
				words = "delivered"
			}
			fmt.Fprintf(c.stdout, "  %s  %s\n", try.Time.Local().Format(time.DateTime), plain.OneLine(words))
		}
	}
	return nil
}

// RetryAlert makes a failed or waiting alert due now, and delivers what is due. It returns the exit code.
func (c *Client) RetryAlert(ctx context.Context, id, reason string) (int, error) {
	for {
		d, err := c.alert(ctx, id)
		if err != nil {
			return 0, err
		}
		held, err := c.Muted(ctx, time.Now())
		if err != nil {
			return 0, err
		}
		for _, m := range held {
			if m.Of(&d.Alert) {
				return 0, &notebooks.Error{Kind: notebooks.KindOption, Msg: named(&m) + " is muted until " +
					m.Until.Local().Format(time.DateTime), Hint: "markmill health alerts unmute ends that"}
			}
		}
		if !d.Again(c.User, reason, time.Now().UTC()) {
			c.tell("alert %s was delivered to all", id)
			return exitUsage, nil
		}
		err = c.Queue.PutAlert(ctx, d)
		if errors.Is(err, jetstream.ErrFenced) {
			continue
		}
		if err != nil {
			return 0, err
		}
		c.tell("alert %s is due now", id)
		return c.DeliverAlerts(ctx, nil, 0, false)
	}
}

// projectOf names a repository.
func projectOf(root string) string {
	if root == "" {
		return ""
	}
	return filepath.Base(root)
}
