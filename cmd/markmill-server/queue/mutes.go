package queue

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
func (c *courier) mutes(ctx context.Context) (active []*queue.Mute, err error) {
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
func (c *courier) quiet(ctx context.Context, d *queue.Delivery, mutes []*queue.Mute) error {
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
func (c *courier) settle(ctx context.Context, m *queue.Mute) error {
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

// held returns the active mutes, the next to end first.
func (p *program) held(ctx context.Context, now time.Time) (list []queue.Mute, err error) {
	all, err := p.q.Mutes(ctx)
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
func (p *program) find(ctx context.Context, m *queue.Mute) (*queue.Mute, error) {
	all, err := p.q.Mutes(ctx)
	for _, one := range all {
		if one.Key() == m.Key() {
			return one, err
		}
	}
	return nil, err
}

// change replaces the stored mute by the result of make.
func (p *program) change(ctx context.Context, of *queue.Mute, make func(was *queue.Mute) (*queue.Mute, error)) error {
	for {
		was, err := p.find(ctx, of)
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
		if err = p.q.PutMute(ctx, m); !errors.Is(err, jetstream.ErrFenced) {
			return err
		}
	}
}

func (p *program) mute(ctx context.Context) (int, error) {
	m := *p.Mute
	m.Project, m.By, m.Reason, m.From = projectOf(p.Root), p.User, p.Reason, time.Now().UTC()
	err := p.change(ctx, &m, func(*queue.Mute) (*queue.Mute, error) { one := m; return &one, nil })
	if err == nil {
		p.tell("nobody is told of %s until %s", named(&m), m.Until.Local().Format(time.DateTime))
	}
	return exitPass, err
}

// endMute ends a mute now, and sends the alerts that are then due.
func (p *program) endMute(ctx context.Context) (int, error) {
	m := *p.Mute
	m.Project = projectOf(p.Root)
	now := time.Now().UTC()
	err := p.change(ctx, &m, func(was *queue.Mute) (*queue.Mute, error) {
		if was == nil || !was.Active(now) {
			return nil, &notebooks.Error{Kind: notebooks.KindOption, Msg: named(&m) + " is not muted",
				Hint: "markmill health alerts mutes lists what is"}
		}
		one := *was
		one.Until, one.Ended = now, &queue.Unmute{By: p.User, Reason: p.Reason}
		return &one, nil
	})
	if err != nil {
		return 0, err
	}
	p.tell("%s is told of again", named(&m))
	code, err := p.deliverAlerts(ctx)
	if code == exitFail { // what waits is another matter
		code = exitPass
	}
	return code, err
}

func (p *program) listMutes(ctx context.Context) (int, error) {
	list, err := p.held(ctx, time.Now())
	if err != nil {
		return 0, err
	}
	if p.JSON {
		return exitPass, p.print("mutes", queue.Mutes{Mutes: append([]queue.Mute{}, list...)})
	}
	if len(list) == 0 {
		p.tell("nothing is muted")
		return exitPass, nil
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NOTEBOOK\tCHECK\tUNTIL\tBY\tREASON")
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", plain.OneLine(m.Notebook), plain.OneLine(m.Check),
			m.Until.Local().Format(time.DateTime), plain.OneLine(m.By), plain.Cut(plain.OneLine(m.Reason), 80))
	}
	return exitPass, w.Flush()
}
