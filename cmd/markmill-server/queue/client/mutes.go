package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/notebooks"
	"markmill/render/plain"
)

// mutes returns the active mutes, settles those that have ended, and records when the next one ends.
func (c *notifier) mutes(ctx context.Context) (active []*queue.Mute, err error) {
	all, err := c.Mutes(ctx)
	if err != nil {
		return nil, err
	}
	c.unmute = time.Time{}
	for _, m := range all {
		now := c.now()
		switch {
		case m.Active(now):
			active, c.unmute = append(active, m), soonest(c.unmute, m.Until)
		case !m.Settled:
			err = c.settle(ctx, m)
		case now.Sub(m.Until) > jetstream.Kept:
			err = c.ForgetMute(ctx, m)
		}
		if err != nil {
			return nil, err
		}
	}
	return active, nil
}

// quiet marks the waiting receipts of a delivery as muted if a mute covers it and no process is sending it.
func (c *notifier) quiet(ctx context.Context, d *queue.Delivery, mutes []*queue.Mute) error {
	for _, m := range mutes {
		if d.Claim != nil && d.Claim.Until.After(c.now()) || !m.Of(&d.Alert) || !m.Quiet(d) {
			continue
		}
		if err := c.PutAlert(ctx, d); err != nil && !errors.Is(err, jetstream.ErrFenced) {
			return err
		}
	}
	return nil
}

// settle puts the alerts that are due at the end of a mute into the outbox. If the process is killed in between, the
// next one derives the same alerts.
func (c *notifier) settle(ctx context.Context, m *queue.Mute) error {
	var all []*queue.Delivery
	if err := c.Alerts(ctx, func(d *queue.Delivery) error { all = append(all, d); return nil }); err != nil {
		return err
	}
	for _, d := range all {
		if d.Alert.Time.Before(m.Until) && !d.Alert.Unmuted { // nobody has looked before the mute was over
			if err := c.quiet(ctx, d, []*queue.Mute{m}); err != nil {
				return err
			}
		}
	}
	var failed error
	list := m.Settle(all, func(a *queue.Alert) map[string]string {
		states, err := c.StatesOf(ctx, a)
		failed = errors.Join(failed, err)
		return states
	})
	for _, d := range list {
		if failed == nil {
			failed = c.PostAlert(ctx, d)
		}
	}
	if failed != nil {
		return failed
	}
	m.Settled = true
	if err := c.PutMute(ctx, m); err != nil && !errors.Is(err, jetstream.ErrFenced) {
		return err
	}
	return nil
}

// Muted returns the active mutes, the next to end first.
func (c *Client) Muted(ctx context.Context, now time.Time) (list []queue.Mute, err error) {
	all, err := c.Queue.Mutes(ctx)
	for _, m := range all {
		if m.Active(now) {
			list = append(list, *m)
		}
	}
	slices.SortFunc(list, func(a, b queue.Mute) int { return a.Until.Compare(b.Until) })
	return list, err
}

// named returns the name of what a mute covers.
func named(m *queue.Mute) string {
	if m.Check == "" {
		return m.Notebook
	}
	return m.Notebook + " " + m.Check
}

// find returns the stored mute of the same notebook and check; nil for none.
func (c *Client) find(ctx context.Context, m *queue.Mute) (*queue.Mute, error) {
	all, err := c.Queue.Mutes(ctx)
	for _, one := range all {
		if one.Key() == m.Key() {
			return one, err
		}
	}
	return nil, err
}

// change replaces the stored mute by the result of make.
func (c *Client) change(ctx context.Context, of *queue.Mute, make func(was *queue.Mute) (*queue.Mute, error)) error {
	for {
		was, err := c.find(ctx, of)
		if err != nil {
			return err
		}
		m, err := make(was)
		if err != nil {
			return err
		}
		if was != nil {
			m.Revision = was.Revision
		}
		if err = c.Queue.PutMute(ctx, m); !errors.Is(err, jetstream.ErrFenced) {
			return err
		}
	}
}

// Mute begins a mute.
func (c *Client) Mute(ctx context.Context, m queue.Mute) error {
	m.Project, m.By, m.From = projectOf(c.Root), c.User, time.Now().UTC()
	err := c.change(ctx, &m, func(*queue.Mute) (*queue.Mute, error) { one := m; return &one, nil })
	if err == nil {
		c.tell("nobody is told of %s until %s", named(&m), m.Until.Local().Format(time.DateTime))
	}
	return err
}

// Unmute ends a mute now, and sends the alerts that are then due.
func (c *Client) Unmute(ctx context.Context, m queue.Mute) error {
	m.Project = projectOf(c.Root)
	now := time.Now().UTC()
	err := c.change(ctx, &m, func(was *queue.Mute) (*queue.Mute, error) {
		if was == nil || !was.Active(now) {
			return nil, &notebooks.Error{Kind: notebooks.KindOption, Msg: named(&m) + " is not muted",
				Hint: "markmill health alerts mutes lists what is"}
		}
		one := *was
		one.Until, one.Ended = now, &queue.Unmute{By: c.User, Reason: m.Reason}
		return &one, nil
	})
	if err != nil {
		return err
	}
	c.tell("%s is told of again", named(&m))
	_, err = c.DeliverAlerts(ctx, nil, 0, false) // what waits is another matter
	return err
}

// ListMutes prints the active mutes.
func (c *Client) ListMutes(ctx context.Context, asJSON bool) error {
	list, err := c.Muted(ctx, time.Now())
	if err != nil {
		return err
	}
	if asJSON {
		return c.print("mutes", queue.Mutes{Mutes: append([]queue.Mute{}, list...)})
	}
	if len(list) == 0 {
		c.tell("nothing is muted")
		return nil
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NOTEBOOK\tCHECK\tUNTIL\tBY\tREASON")
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", plain.OneLine(m.Notebook), plain.OneLine(m.Check),
			m.Until.Local().Format(time.DateTime), plain.OneLine(m.By), plain.Cut(plain.OneLine(m.Reason), 80))
	}
	return w.Flush()
}
