package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
)

const muteSubject = "mm.alert.mute."

// Mutes lists the stored mutes, including those that have ended.
func (q *Queue) Mutes(ctx context.Context) (list []*queue.Mute, err error) {
	err = q.retry(ctx, func() error { // as in Alerts
		list = nil
		ctx, stop := context.WithTimeout(ctx, readTime)
		defer stop()
		return q.values(ctx, alertsStream, muteSubject+"*", func(msg jetstream.Msg, at uint64) error {
			m := &queue.Mute{}
			if q.decode(alertsStream, msg.Subject(), at, msg.Data(), m) {
				m.Revision, list = at, append(list, m)
			}
			return nil
		})
	})
	return list, err
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
	var s queue.Series
	key := (&queue.Series{Project: a.Project, Notebook: a.Notebook, By: a.By}).Key()
	_, err := q.last(ctx, seriesSubject+key, &s)
	return s.States, err
}
