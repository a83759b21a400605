package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// What is kept as the last value of a subject of MARKMILL_STATE.

// set keeps a value; with ttl, for a time.
func (q *Queue) set(ctx context.Context, subject string, value any, ttl time.Duration) error {
	body, err := codec.Marshal(value)
	if err != nil {
		return err
	}
	options := []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}
	if ttl > 0 {
		options = append(options, jetstream.WithMsgTTL(ttl))
	}
	return q.retry(ctx, func() error {
		_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: body}, options...)
		return err
	})
}

// latest reads the last message of a subject.
func (q *Queue) latest(ctx context.Context, stream jetstream.Stream, subject string) (
	msg *jetstream.RawStreamMsg, err error) {
	err = q.retry(ctx, func() (err error) {
		msg, err = stream.GetLastMsgForSubject(ctx, subject)
		return err
	})
	return msg, err
}

// ordered makes a consumer of messages that are there, and counts them.
func (q *Queue) ordered(ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig) (
	c jetstream.Consumer, pending uint64, err error) {
	err = q.retry(ctx, func() (err error) {
		if c, err = q.js.OrderedConsumer(ctx, stream, cfg); err != nil {
			return err
		}
		info, err := c.Info(ctx)
		if err == nil {
			pending = info.NumPending
		}
		return err
	})
	return c, pending, err
}

// get reads a value that was kept. It returns false if there is none that can be read.
func (q *Queue) get(ctx context.Context, subject string, value any) (bool, error) {
	msg, err := q.latest(ctx, q.state, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil && q.decode(stateStream, subject, msg.Sequence, msg.Data, value), err
}

// last reads the last value of a subject; its sequence is 0 if there is none.
func (q *Queue) last(ctx context.Context, stream jetstream.Stream, name, subject string, to any) (uint64, error) {
	msg, err := q.latest(ctx, stream, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	q.decode(name, subject, msg.Sequence, msg.Data, to) // what cannot be read is replaced
	return msg.Sequence, nil
}

// drop removes the values of a subject, which may have wildcards.
func (q *Queue) drop(ctx context.Context, subject string) error {
	return q.retry(ctx, func() error { return q.state.Purge(ctx, jetstream.WithPurgeSubject(subject)) })
}

// each calls do with every value of a subject with wildcards, in the order in which they were kept.
func each[T any](ctx context.Context, q *Queue, subject string, do func(*jetstream.RawStreamMsg, T) error) error {
	for from := uint64(1); ; {
		var msg *jetstream.RawStreamMsg
		err := q.retry(ctx, func() (err error) {
			msg, err = q.state.GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
			return err
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		var value T
		if err == nil && q.decode(stateStream, msg.Subject, msg.Sequence, msg.Data, &value) {
			err = do(msg, value)
		}
		if err != nil {
			return err
		}
		from = msg.Sequence + 1
	}
}

// noLabels stands for no labels in a subject. No name begins with it.
const noLabels = "-"

// maxSet bounds the names of labels in the name of a consumer, which has at most 255 bytes.
const maxSet = 64

// labelSet names labels in a subject, and in the name of a consumer. No name has its "+".
func labelSet(labels []string) string {
	set := strings.Join(labels, "+")
	switch {
	case set == "":
		return noLabels
	case len(set) > maxSet:
		sum := sha256.Sum256([]byte(set))
		return "+" + hex.EncodeToString(sum[:16])
	}
	return set
}

// wakeSubject is the subject of the wake-ups of a job, or of all jobs of that kind.
func wakeSubject(in string, p queue.Priority, set, job string) string {
	return "mm.q." + in + "." + string(p) + "." + set + "." + job
}

// seenFor is how long a worker is remembered.
const seenFor = 24 * time.Hour

// Workers lists the workers that were there in the last day.
func (q *Queue) Workers(ctx context.Context) (list []queue.Worker, err error) {
	err = each(ctx, q, "mm.worker.*", func(_ *jetstream.RawStreamMsg, w queue.Worker) error {
		list = append(list, w)
		return nil
	})
	return list, err
}

// Waits says why no worker takes a job that waits; nothing if one may.
func (q *Queue) Waits(ctx context.Context, job *queue.Job, now time.Time) ([]string, error) {
	if job.State == queue.StateHeld {
		return q.holds(ctx, job)
	}
	if job.State == queue.StateUnapproved {
		return []string{"an approval is required; markmill approve " + job.ID + " grants it, and markmill deny " +
			"refuses it: " + string(job.Contract)}, nil
	}
	if job.State != queue.StateEnqueued {
		return nil, nil
	}
	var p queue.Pause
	if paused, err := q.get(ctx, "mm.pause."+job.Queue, &p); err != nil || paused {
		return []string{"the queue " + p.Queue + " was paused by " + p.By + ": " + p.Reason}, err
	}
	list, err := q.Workers(ctx)
	if err != nil {
		return nil, err
	}
	var last *queue.Worker
	serves, offered := false, []string{}
	for i, w := range list {
		if !slices.Contains(w.Queues, job.Queue) {
			continue
		}
		serves, offered = true, append(offered, w.Labels...)
		if !queue.Offers(w.Labels, job.Labels) {
			continue
		}
		if !w.Ended && now.Sub(w.Seen) < 3*announceEvery {
			return nil, nil
		}
		if last == nil || w.Seen.After(last.Seen) {
			last = &list[i]
		}
	}
	switch {
	case last != nil:
		what := "was seen last at "
		if last.Ended {
			what = "ended at "
		}
		return []string{"no worker is there: the last worker that may take it, " + last.Name + ", " + what +
			last.Seen.Local().Format(time.DateTime)}, nil
	case !serves:
		return []string{"no worker of the queue " + job.Queue + " has been seen in the last day"}, nil
	}
	var waits []string
	for _, label := range job.Labels {
		if !slices.Contains(offered, label) {
			waits = append(waits, "no worker with the label "+label+" has been seen in the last day")
		}
	}
	if len(waits) == 0 {
		waits = append(waits, "no worker with all of the labels "+strings.Join(job.Labels, ", ")+
			" has been seen in the last day")
	}
	return waits, nil
}

// Pause keeps workers from taking jobs of a queue; running jobs continue. A second pause replaces the reason of the
// first.
func (q *Queue) Pause(ctx context.Context, p queue.Pause) error {
	return errors.Join(q.set(ctx, "mm.pause."+p.Queue, p, 0), q.nc.Publish(newsSubject+p.Queue, nil))
}

// newsSubject begins the subject, which no stream has, of what tells the workers of a queue that it was paused, or is
// not any longer.
const newsSubject = "mm.news."

// Resume lets workers take jobs of a queue again. It returns the pause that it ended.
func (q *Queue) Resume(ctx context.Context, name string) (queue.Pause, error) {
	var p queue.Pause
	if paused, err := q.get(ctx, "mm.pause."+name, &p); err != nil || !paused {
		if err == nil {
			err = refused("the queue %s is not paused", name)
		}
		return p, err
	}
	return p, errors.Join(q.drop(ctx, "mm.pause."+name), q.nc.Publish(newsSubject+name, nil))
}

// Paused lists the queues that are paused.
func (q *Queue) Paused(ctx context.Context) (list []queue.Pause, err error) {
	err = each(ctx, q, "mm.pause.*", func(_ *jetstream.RawStreamMsg, p queue.Pause) error {
		list = append(list, p)
		return nil
	})
	return list, err
}

// readPaused reads which queues are paused.
func (t *Consumer) readPaused(ctx context.Context) error {
	list, err := t.q.Paused(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = map[string]bool{}
	for _, p := range list {
		t.paused[p.Queue] = true
	}
	return nil
}

// pausedFor is the delay of a wake-up that was fetched before the worker knew of a pause.
const pausedFor = time.Second

// Presence lists the workers that were there in the last day, and how long each has been silent.
func (q *Queue) Presence(ctx context.Context) (list []queue.Presence, err error) {
	var stream jetstream.Stream
	err = q.retry(ctx, func() (err error) {
		stream, err = q.js.Stream(ctx, stateStream)
		return err
	})
	if err != nil {
		return nil, err
	}
	now := stream.CachedInfo().TimeStamp
	err = each(ctx, q, "mm.worker.*", func(msg *jetstream.RawStreamMsg, w queue.Worker) error {
		list = append(list, queue.Presence{Worker: w, Silent: max(now.Sub(msg.Time), 0)})
		return nil
	})
	return list, err
}

// Counts counts the jobs of each state in the index, of all queues for "". Those that are leased are running. The
// leader of the stream answers, so the counts do not depend on the server that is asked.
func (q *Queue) Counts(ctx context.Context, in string) (map[queue.State]int, error) {
	if in == "" {
		in = "*"
	}
	counts := map[queue.State]int{}
	return counts, q.retry(ctx, func() error {
		info, err := q.state.Info(ctx, jetstream.WithSubjectFilter("mm.job.*."+in+".*"))
		if err != nil {
			return err
		}
		clear(counts)
		for subject, n := range info.State.Subjects {
			counts[queue.State(strings.Split(subject, ".")[2])] += int(n)
		}
		return nil
	})
}

// Since returns the entries of a job behind the one with a sequence, and the sequence of the last.
func (q *Queue) Since(ctx context.Context, job string, after uint64) (list []queue.Entry, last uint64, err error) {
	for last = after; ; {
		e, at, err := q.next(ctx, job, last+1)
		if err != nil || at == 0 {
			return list, last, err
		}
		if last = at; e != nil {
			list = append(list, *e)
		}
	}
}

// Tail returns the last bytes of a file of a record.
func (q *Queue) Tail(ctx context.Context, f queue.File, most int64) ([]byte, error) {
	last := f
	for last.Bytes = f.Bytes; len(last.Parts) > 1 && last.Bytes-partSize >= most; last.Bytes -= partSize {
		last.Parts = last.Parts[1:] // whole parts before the end
	}
	var text []byte
	for _, part := range last.Parts {
		data, err := q.stored(ctx, "mm.cas."+part)
		if err != nil {
			return nil, err
		}
		text = append(text, data...)
	}
	return text[max(0, int64(len(text))-most):], nil
}
