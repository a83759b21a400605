package jetstream

import (
	"strings"

	"github.com/nats-io/nats.go"
)

// onlyNews reports whether the permission that the server denied is for a subscription of listen.
func onlyNews(err error) bool {
	return strings.Contains(err.Error(), `Subscription to "mm.job.`) ||
		strings.Contains(err.Error(), `Subscription to "mm.ev.`)
}

// listen reports messages as they come, to callers that also poll. Nothing depends on it: an account may not permit it.
func (q *Queue) listen(subjects ...string) (news <-chan struct{}, stop func()) {
	told := make(chan struct{}, 1)
	var subs []*nats.Subscription
	for _, subject := range subjects {
		sub, err := q.nc.Subscribe(subject, func(*nats.Msg) {
			select {
			case told <- struct{}{}:
			default: // it is being looked at
			}
		})
		if err == nil {
			subs = append(subs, sub)
		}
	}
	return told, func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // the connection may have ended
		}
	}
}
