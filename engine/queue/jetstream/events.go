package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// ErrFenced is returned when the job has an entry that the writer has not seen.
var ErrFenced = errors.New("the job has gone on without this process")

// Headers of an entry.
const (
	jobHeader  = "Markmill-Job"  // the state of the job after the entry, as JSON
	fileHeader = "Markmill-File" // the entry is in a file, and the message has only that
)

// most is the size from which an entry goes into a file. A server takes messages of 1 MB, unless it is told otherwise.
const most = 256 << 10

func subject(job string) string { return "mm.ev." + job }

// append publishes an entry behind the one with the sequence last; 0: it is the first. now is the job's state with it.
func (q *Queue) append(ctx context.Context, now *queue.Job, last uint64, e *queue.Entry) (uint64, error) {
	body, err := codec.Marshal(e)
	if err != nil {
		return 0, err
	}
	state, err := codec.Marshal(now)
	if err != nil {
		return 0, err
	}
	msg := nats.NewMsg(subject(now.ID))
	msg.Header.Set(jobHeader, string(state))
	if msg.Data = body; len(body) > most {
		file, err := q.putBytes(ctx, body)
		if err != nil {
			return 0, err
		}
		if msg.Data, err = codec.Marshal(file); err != nil {
			return 0, err
		}
		msg.Header.Set(fileHeader, "1")
	}
	id := nuid.Next()
	at, err := q.publish(ctx, q.events, msg, last, func(stored *jetstream.RawStreamMsg) bool {
		return stored.Header.Get(nats.MsgIdHdr) == id
	}, jetstream.WithMsgID(id))
	if err == nil && e.Kind != queue.Recorded && e.Kind != queue.Removed {
		_ = q.index(ctx, now, last == 0) // the entry is there, and the index follows it
	}
	return at, err
}

// publish stores a message behind the one of its subject with the sequence last; 0: there is none. is reports whether a
// stored message is this one: an earlier try may have been stored, and its acknowledgment lost. Another message that
// came first is ErrFenced.
func (q *Queue) publish(ctx context.Context, stream jetstream.Stream, msg *nats.Msg, last uint64,
	is func(*jetstream.RawStreamMsg) bool, options ...jetstream.PublishOpt) (at uint64, err error) {
	options = append(options, jetstream.WithExpectLastSequencePerSubject(last), jetstream.WithRetryAttempts(0))
	err = q.retry(ctx, func() error {
		ack, err := q.js.PublishMsg(ctx, msg, options...)
		if err == nil {
			at = ack.Sequence
			return nil
		}
		if !isConflict(err) {
			return err
		}
		stored, err := stream.GetLastMsgForSubject(ctx, msg.Subject)
		switch missing := errors.Is(err, jetstream.ErrMsgNotFound); {
		case missing && last == 0, err == nil && stored.Sequence == last:
			return nats.ErrTimeout // on replicas the check may come before what it checks: try again
		case missing:
			return ErrFenced // it was removed
		case err != nil:
			return err
		case is(stored):
			at = stored.Sequence
			return nil
		}
		return ErrFenced
	})
	return at, err
}

// isConflict reports whether another message came first.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// next returns the first entry of a job from a sequence on. Without one, its sequence is 0; without an entry but with a
// sequence, no program of ours wrote what is there.
func (q *Queue) next(ctx context.Context, job string, from uint64) (e *queue.Entry, at uint64, err error) {
	var msg *jetstream.RawStreamMsg
	err = q.retry(ctx, func() (err error) {
		msg, err = q.events.GetMsg(ctx, max(from, 1), jetstream.WithGetMsgSubject(subject(job)))
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	e, _, err = q.entry(ctx, msg.Header, job, msg.Sequence, msg.Data)
	return e, msg.Sequence, err
}

// entry reads an entry, and the file that has it if it is in one; nil if no program of ours wrote it.
func (q *Queue) entry(ctx context.Context, header nats.Header, job string, at uint64, data []byte) (e *queue.Entry,
	file queue.File, err error) {
	if header.Get(fileHeader) != "" {
		if !q.decode(eventsStream, subject(job), at, data, &file) {
			return nil, file, nil
		}
		switch data, err = q.getBytes(ctx, file); {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			q.skip(eventsStream, subject(job), at)
			return nil, file, nil
		case err != nil:
			return nil, file, err
		}
	}
	e = &queue.Entry{}
	if !q.decode(eventsStream, subject(job), at, data, e) {
		return nil, file, nil
	}
	if e.Spec != nil && e.Spec.ID != job { // of another job
		q.skip(eventsStream, subject(job), at)
		return nil, file, nil
	}
	return e, file, nil
}

// add applies an entry to a state. It returns false, and changes nothing, for one that no program of ours wrote there.
func (q *Queue) add(state *queue.Job, job string, at uint64, e *queue.Entry) bool {
	if e == nil {
		return false
	}
	now := *state
	if now.Add(e) != nil {
		q.skip(eventsStream, subject(job), at)
		return false
	}
	*state = now
	return true
}

// history is what the stream has of a job.
type history struct {
	*queue.History
	last  uint64 // sequence of the last entry
	begun uint64 // of the last one that put the job into the queue
}

// read returns the history of a job; nil if it has none.
func (q *Queue) read(ctx context.Context, job string) (*history, error) {
	h := history{History: &queue.History{}}
	for {
		e, at, err := q.next(ctx, job, h.last+1)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job, err)
		}
		if at == 0 {
			break
		}
		if h.last = at; !q.add(&h.Job, job, at, e) {
			continue
		}
		if e.Kind == queue.Enqueued {
			h.begun = at
		}
		h.Entries = append(h.Entries, *e)
	}
	if len(h.Entries) == 0 || h.State == queue.StateRemoved {
		return nil, nil
	}
	return &h, nil
}

// Follow calls each with the entries of a job, and with its state after each, until it has ended.
func (q *Queue) Follow(ctx context.Context, job string, each func(*queue.Job, *queue.Entry) error) error {
	state, last := queue.Job{}, uint64(0)
	changed, stop := q.listen(subject(job))
	defer stop()
	for {
		e, at, err := q.next(ctx, job, last+1)
		if err != nil {
			return err
		}
		if at != 0 {
			if last = at; q.add(&state, job, at, e) {
				err = each(&state, e)
			}
			if err != nil {
				return err
			}
			continue
		}
		if state.State == "" {
			return NoJob(job)
		}
		if state.State.Ended() {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// onlyListens reports whether the server denied what listen hears, or what is told only there.
func onlyListens(err error) bool {
	for _, subject := range []string{"mm.job.", "mm.ev.", "mm.labels."} {
		if strings.Contains(err.Error(), `Subscription to "`+subject) {
			return true
		}
	}
	return strings.Contains(err.Error(), `to "`+newsSubject)
}

// listen reports messages as they come, to callers that also poll. Nothing depends on it: an account may not permit it.
func (q *Queue) listen(subjects ...string) (changed chan struct{}, stop func()) {
	changed = make(chan struct{}, 1)
	var subs []*nats.Subscription
	for _, subject := range subjects {
		sub, err := q.nc.Subscribe(subject, func(*nats.Msg) { nudge(changed) })
		if err == nil {
			subs = append(subs, sub)
		}
	}
	return changed, func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // the connection may have ended
		}
	}
}
