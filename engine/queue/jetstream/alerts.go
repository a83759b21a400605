package jetstream

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
	"markmill/notebooks/forms"
)

// The outbox is a stream of last values: of each series of runs, and of each alert. Both are put with the sequence that
// their writer saw, so that of two only one goes on.
const alertsStream = "MARKMILL_ALERTS"

const (
	seriesSubject = "mm.alert.series."
	outSubject    = "mm.alert.out."
)

// Kept is how long an alert stays that everybody has been told of.
const Kept = 30 * 24 * time.Hour

// put replaces the last value of a subject, which has the sequence last; 0: there is none. Another writer that came
// first is ErrFenced.
func (q *Queue) put(ctx context.Context, subject string, value any, last uint64) (at uint64, err error) {
	if q.fault != nil {
		if err := q.fault(); err != nil {
			return 0, err
		}
		defer func() {
			if err == nil {
				err = q.fault()
			}
		}()
	}
	msg := nats.NewMsg(subject)
	if msg.Data, err = codec.Marshal(value); err != nil {
		return 0, err
	}
	return q.publish(ctx, q.alerts, msg, last, func(stored *jetstream.RawStreamMsg) bool {
		return bytes.Equal(stored.Data, msg.Data) // no two writers put the same bytes
	})
}

// UpdateSeries brings a series up to date: add gets what is known of it, and changes that. The alerts that add leaves
// are in the outbox when UpdateSeries returns, once, whoever else does the same at the same time, and however often it
// is called. add is called again when another process was quicker; it returns false where nothing is new.
func (q *Queue) UpdateSeries(ctx context.Context, empty *queue.Series, add func(*queue.Series) bool) error {
	key := seriesSubject + empty.Key()
	for {
		s := *empty
		s.States = map[string]string{}
		at, err := q.last(ctx, q.alerts, alertsStream, key, &s)
		if err == nil {
			err = q.postAll(ctx, &s) // who put it may have been killed
		}
		if err != nil || !add(&s) {
			return err
		}
		if _, err = q.put(ctx, key, &s, at); errors.Is(err, ErrFenced) {
			continue
		}
		if err == nil {
			err = q.postAll(ctx, &s)
		}
		return err
	}
}

// TellFailed puts it into the outbox that a job ends without a record, if its notebook wants that told. It comes before
// the entry that ends the job. Rows of sweeps tell nobody.
func (q *Queue) TellFailed(ctx context.Context, spec *queue.Spec, job *queue.Job, why string, now time.Time) error {
	if spec.Request.Sweep != nil {
		return nil
	}
	nb, err := forms.Parse(spec.Request.Path, spec.Request.Source)
	if err != nil || nb.Front.Alerts == nil {
		return nil //nolint:nilerr // it may be why the job ends
	}
	return q.UpdateSeries(ctx, queue.SeriesOf(spec), func(s *queue.Series) bool {
		return s.AddJob(job, nb.Front.Title, nb.Front.Alerts, why, now)
	})
}

// postAll puts the alerts of a series into the outbox that are not there.
func (q *Queue) postAll(ctx context.Context, s *queue.Series) error {
	for _, a := range s.Alerts {
		_, err := q.put(ctx, outSubject+a.ID, queue.NewDelivery(a, s.To, a.Time), 0)
		if err != nil && !errors.Is(err, ErrFenced) {
			return err
		}
	}
	return nil
}

// Alerts calls each with every alert of the outbox.
func (q *Queue) Alerts(ctx context.Context, each func(*queue.Delivery) error) error {
	all, err := outboxValues(ctx, q, outSubject, func(d *queue.Delivery, at uint64) { d.Revision = at })
	for _, d := range all {
		if err == nil {
			err = each(d)
		}
	}
	return err
}

// readTime is for one reading of the outbox.
const readTime = 5 * time.Second

// outboxValues returns the values of the outbox below a subject. put tells each its sequence.
func outboxValues[V any](ctx context.Context, q *Queue, below string, put func(*V, uint64)) (list []*V, err error) {
	err = q.retry(ctx, func() error { // the process that has the server may end meanwhile
		list = nil
		ctx, stop := context.WithTimeout(ctx, readTime)
		defer stop()
		return q.values(ctx, alertsStream, below+"*", func(msg jetstream.Msg, at uint64) error {
			v := new(V)
			if q.decode(alertsStream, msg.Subject(), at, msg.Data(), v) {
				put(v, at)
				list = append(list, v)
			}
			return nil
		})
	})
	return list, err
}

// PutAlert replaces an alert of the outbox and sets its revision. ErrFenced says that another process has changed it.
func (q *Queue) PutAlert(ctx context.Context, d *queue.Delivery) error {
	at, err := q.put(ctx, outSubject+d.Alert.ID, d, d.Revision)
	if err == nil {
		d.Revision = at
	}
	return err
}

// ForgetAlert removes an alert of the outbox that nothing waits for, unless its series would put it there again.
func (q *Queue) ForgetAlert(ctx context.Context, d *queue.Delivery) error {
	s, err := q.seriesOf(ctx, &d.Alert)
	if err != nil || slices.ContainsFunc(s.Alerts, func(a queue.Alert) bool { return a.ID == d.Alert.ID }) {
		return err
	}
	return q.alerts.Purge(ctx, jetstream.WithPurgeSubject(outSubject+d.Alert.ID))
}

// values calls each with the last message of every subject that matches, and its sequence, in the order of these.
func (q *Queue) values(ctx context.Context, stream, subjects string, each func(jetstream.Msg, uint64) error) error {
	consumer, pending, err := q.ordered(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subjects},
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy})
	if err != nil {
		return err
	}
	defer q.dismiss(stream, consumer)
	if pending == 0 {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err == nil {
			err = each(msg, meta.Sequence.Stream)
		}
		if err != nil || meta.NumPending == 0 {
			return err
		}
	}
}

const muteSubject = "mm.alert.mute."

// Mutes lists the stored mutes, including those that have ended.
func (q *Queue) Mutes(ctx context.Context) ([]*queue.Mute, error) {
	return outboxValues(ctx, q, muteSubject, func(m *queue.Mute, at uint64) { m.Revision = at })
}

// PutMute stores a mute in place of the one with its revision, 0 for none, and sets its revision. It returns ErrFenced
// if another process has changed it.
func (q *Queue) PutMute(ctx context.Context, m *queue.Mute) error {
	at, err := q.put(ctx, muteSubject+m.Key(), m, m.Revision)
	if err == nil {
		m.Revision = at
	}
	return err
}

// ForgetMute removes a mute.
func (q *Queue) ForgetMute(ctx context.Context, m *queue.Mute) error {
	return q.alerts.Purge(ctx, jetstream.WithPurgeSubject(muteSubject+m.Key()))
}

// PostAlert puts an alert into the outbox unless it is there already.
func (q *Queue) PostAlert(ctx context.Context, d *queue.Delivery) error {
	_, err := q.put(ctx, outSubject+d.Alert.ID, d, 0)
	if errors.Is(err, ErrFenced) {
		return nil
	}
	return err
}

// StatesOf returns the states of an alert's series, by subject.
func (q *Queue) StatesOf(ctx context.Context, a *queue.Alert) (map[string]string, error) {
	s, err := q.seriesOf(ctx, a)
	return s.States, err
}

func (q *Queue) seriesOf(ctx context.Context, a *queue.Alert) (s queue.Series, err error) {
	key := (&queue.Series{Project: a.Project, Notebook: a.Notebook, By: a.By}).Key()
	_, err = q.last(ctx, q.alerts, alertsStream, seriesSubject+key, &s)
	return s, err
}
