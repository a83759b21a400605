package queue

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

	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/runs"
)

// shortID is how much of the id of an alert lists show.
const shortID = 12

// deliverAlerts is markmill health alerts deliver, and the process that a run starts in the background (Quiet).
func (p *program) deliverAlerts(ctx context.Context) (int, error) {
	if p.Quiet { // one is enough
		if err := os.MkdirAll(p.dir("courier"), 0o700); err != nil {
			return 0, err
		}
		release, err := runs.Lock(p.dir("courier"))
		for begin := time.Now(); errors.Is(err, runs.ErrLive); release, err = runs.Lock(p.dir("courier")) {
			if time.Since(begin) > 5*lookAgain || ctx.Err() != nil { // it has looked at the runs meanwhile
				return exitPass, nil
			}
			time.Sleep(lookAgain / 10) // it may be about to end
		}
		if err != nil {
			return 0, err
		}
		defer release()
	}
	c, err := p.newCourier()
	if err != nil {
		return 0, err
	}
	waits, failed, err := c.deliver(ctx, time.Duration(p.PatienceNS))
	if err != nil || p.Quiet {
		return exitPass, err
	}
	switch {
	case failed > 0:
		p.tell("%s could not be delivered; markmill health alerts list shows them", plain.Counted(failed, "alert"))
		return exitFail, nil
	case waits:
		p.tell("alerts wait; markmill health alerts list shows them")
		return exitFail, nil
	}
	return exitPass, nil
}

// outbox returns the alerts, newest first.
func (p *program) outbox(ctx context.Context) (all []*queue.Delivery, err error) {
	err = p.q.Alerts(ctx, func(d *queue.Delivery) error { all = append(all, d); return nil })
	slices.SortStableFunc(all, func(a, b *queue.Delivery) int { return b.Compare(a) })
	return all, err
}

func (p *program) listAlerts(ctx context.Context) (int, error) {
	all, err := p.outbox(ctx)
	if err != nil {
		return 0, err
	}
	ids, err := runs.Store{Dir: p.Store}.AwaitingAlerts()
	if err != nil {
		return 0, err
	}
	doc := queue.Outbox{Alerts: []*queue.Delivery{}, Runs: append([]runs.RunID{}, ids...)}
	for _, d := range all {
		if !p.Open || d.Open() || d.Failed() {
			doc.Alerts = append(doc.Alerts, d)
		}
	}
	doc.Total = len(doc.Alerts)
	doc.Alerts = doc.Alerts[:min(len(doc.Alerts), p.Limit)]
	if p.JSON {
		return exitPass, p.print("alerts", doc)
	}
	if len(ids) > 0 {
		p.tell("%s not looked at yet: markmill health alerts deliver does it", plain.Counted(len(ids), "run"))
	}
	if doc.Total == 0 {
		p.tell("no alerts")
		return exitPass, nil
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
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
		return 0, err
	}
	if more := doc.Total - len(doc.Alerts); more > 0 {
		p.tell("%d more; --limit shows up to 500", more)
	}
	return exitPass, nil
}

// alert returns the alert that the call names, by its id or the beginning of it.
func (p *program) alert(ctx context.Context) (*queue.Delivery, error) {
	all, err := p.outbox(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d *queue.Delivery) bool { return !strings.HasPrefix(d.Alert.ID, p.ID) })
	if len(all) != 1 {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("%s begin with %q",
			plain.Counted(len(all), "alert"), p.ID), Hint: "markmill health alerts list shows their ids"}
	}
	return all[0], nil
}

func (p *program) showAlert(ctx context.Context) (int, error) {
	d, err := p.alert(ctx)
	if err != nil || p.JSON {
		if err == nil {
			err = p.print("alert-delivery", d)
		}
		return exitPass, err
	}
	a := d.Alert
	fmt.Fprintf(p.stdout, "alert    %s\nnotebook %s\nrun      %s\ntime     %s\nevent    %s\nsays     %s\n", a.ID,
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
		fmt.Fprintf(p.stdout, "\n%s\n", plain.OneLine(line))
		for _, try := range r.Tries {
			words := try.Error
			if words == "" {
				words = "delivered"
			}
			fmt.Fprintf(p.stdout, "  %s  %s\n", try.Time.Local().Format(time.DateTime), plain.OneLine(words))
		}
	}
	return exitPass, nil
}

// retryAlert makes a failed or waiting alert due now.
func (p *program) retryAlert(ctx context.Context) (int, error) {
	for {
		d, err := p.alert(ctx)
		if err != nil {
			return 0, err
		}
		held, err := p.held(ctx, time.Now())
		if err != nil {
			return 0, err
		}
		for _, m := range held {
			if m.Of(&d.Alert) {
				return 0, &notebooks.Error{Kind: notebooks.KindOption, Msg: named(&m) + " is muted until " +
					m.Until.Local().Format(time.DateTime), Hint: "markmill health alerts unmute ends that"}
			}
		}
		if !d.Again(p.User, p.Reason, time.Now().UTC()) {
			p.tell("alert %s was delivered to all", p.ID)
			return exitUsage, nil
		}
		err = p.q.PutAlert(ctx, d)
		if errors.Is(err, jetstream.ErrFenced) {
			continue
		}
		if err != nil {
			return 0, err
		}
		p.tell("alert %s is due now", p.ID)
		return p.deliverAlerts(ctx)
	}
}

// projectOf names a repository.
func projectOf(root string) string {
	if root == "" {
		return ""
	}
	return filepath.Base(root)
}
