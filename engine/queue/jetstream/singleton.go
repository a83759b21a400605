package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// The jobs of a singleton are a chain: mm.one.KEY names the last of them, and submitting one replaces that message if
// it has not changed since it was read. Each job waits until its predecessor has ended.

// one is the last job of a singleton.
type one struct {
	Job  string    `json:"job"`
	Key  string    `json:"key"`
	Time time.Time `json:"time"`
}

// submitting is how long mm.one.KEY may name a job that does not exist yet.
const submitting = 10 * time.Second

// single appends a job to the chain of its singleton. It returns the job that continues instead of the new one; nil for
// none. cancel is the job that the new one replaces.
func (q *Queue) single(ctx context.Context, spec *queue.Spec, now time.Time) (instead *queue.Job, cancel string,
	err error) {
	sum := sha256.Sum256([]byte(spec.Singleton.Key))
	subject := "mm.one." + hex.EncodeToString(sum[:16])
	for {
		var seen uint64
		var before *queue.Job
		msg, err := q.latest(ctx, q.state, subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return nil, "", err
		default:
			var last one
			seen = msg.Sequence
			if q.decode(stateStream, subject, seen, msg.Data, &last) && last.Job != spec.ID {
				if before, err = q.runsYet(ctx, last.Job); err != nil {
					return nil, "", err
				}
				if before == nil && now.Sub(last.Time) < submitting {
					select { // it is being submitted
					case <-ctx.Done():
						return nil, "", context.Cause(ctx)
					case <-time.After(idle):
					}
					now = now.Add(idle)
					continue
				}
			}
		}
		spec.Behind, cancel = "", ""
		if before != nil && !before.State.Ended() {
			overlap := spec.Singleton.Overlap
			if overlap == queue.OverlapSteer {
				switch {
				case before.State == queue.StateEnqueued, before.State == queue.StateHeld,
					before.State == queue.StateUnapproved:
					overlap = queue.OverlapCancel
				case q.Steer(ctx, before.ID, spec.By, spec.Singleton.Say) == nil:
					overlap = queue.OverlapSkip
				}
			}
			switch overlap {
			case queue.OverlapSkip:
				return before, "", nil
			case queue.OverlapCancel:
				cancel = before.ID
			}
			spec.Behind = before.ID
		}
		body, err := codec.Marshal(one{spec.ID, spec.Singleton.Key, now})
		if err != nil {
			return nil, "", err
		}
		_, err = q.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: body},
			jetstream.WithExpectLastSequencePerSubject(seen), jetstream.WithRetryAttempts(0))
		if !isConflict(err) {
			return nil, cancel, err
		}
	}
}

// runsYet returns a job, or its predecessor if it ended without having run; nil if it does not exist.
func (q *Queue) runsYet(ctx context.Context, id string) (*queue.Job, error) {
	for {
		job, ok, err := q.Current(ctx, id)
		if err != nil || !ok {
			return nil, err
		}
		if !job.State.Ended() || job.Attempts > 0 || job.Behind == "" {
			return &job, nil
		}
		id = job.Behind
	}
}

// told is a person's message to the agent of a job.
type told struct{ By, Text string }

// Steer sends a message to the agent that is working on a job. It returns an error if there is none.
func (q *Queue) Steer(ctx context.Context, job, by, text string) error {
	body, err := codec.Marshal(told{by, text})
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, submitting)
	defer stop()
	msg, err := q.nc.RequestWithContext(ctx, "mm.steer."+job, body)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return refused("no worker has job %s, or no agent works on it", job)
	case err != nil:
		return err
	case len(msg.Data) > 0:
		return refused("%s", msg.Data)
	}
	return nil
}

// Hear calls say with each message to the agent of the job, while the lease lasts.
func (l *Lease) Hear(say func(by, text string) error) error {
	sub, err := l.t.q.nc.Subscribe("mm.steer."+l.id, func(msg *nats.Msg) {
		var t told
		err := codec.Unmarshal(msg.Data, &t)
		if err == nil {
			err = say(t.By, t.Text)
		}
		answer := ""
		if err != nil {
			answer = err.Error()
		}
		_ = msg.Respond([]byte(answer)) // who asked waits no longer then
	})
	if err != nil {
		return err
	}
	go func() {
		<-l.done
		_ = sub.Unsubscribe() // the connection may have ended
	}()
	return nil
}
