package jetstream

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// Whoever may publish can write what is no message of ours, by mistake or to do harm. Every reader skips it and notes
// it here; nothing else depends on it.

// decode reads a value of a message. It returns false, and notes the message, if no program of ours wrote it.
func (q *Queue) decode(stream, subject string, sequence uint64, data []byte, value any) bool {
	if codec.Unmarshal(data, value) == nil {
		return true
	}
	q.skip(stream, subject, sequence)
	return false
}

func (q *Queue) skip(stream, subject string, sequence uint64) {
	q.foreignMu.Lock()
	defer q.foreignMu.Unlock()
	if q.foreign == nil {
		q.foreign = map[queue.Foreign]bool{}
	}
	if len(q.foreign) < mostForeign {
		q.foreign[queue.Foreign{Stream: stream, Subject: subject, Sequence: sequence}] = true
	}
}

// mostForeign bounds what is noted: a list of more helps nobody.
const mostForeign = 1000

// Foreign lists the messages that were skipped so far because no program of ours wrote them.
func (q *Queue) Foreign() []queue.Foreign {
	q.foreignMu.Lock()
	defer q.foreignMu.Unlock()
	return slices.SortedFunc(maps.Keys(q.foreign), func(a, b queue.Foreign) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Sequence, b.Sequence))
	})
}

// Mend looks through all streams, removes the messages that no program of ours wrote, and returns them. A job that has
// other entries stays as these say.
func (q *Queue) Mend(ctx context.Context, by string, now time.Time) ([]queue.Foreign, error) {
	lost := map[string]bool{} // the jobs whose last entry, or place in the index, is none
	note := func(msg jetstream.Msg) error {
		if _, ok := q.jobIn(msg); !ok {
			lost[jobOf(msg.Subject())] = true
		}
		return nil
	}
	last := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, HeadersOnly: true,
		FilterSubjects: []string{"mm.job.*.*.*"}}
	err := q.scan(ctx, stateStream, last, note)
	if last.FilterSubjects = []string{"mm.ev.*"}; err == nil {
		err = q.scan(ctx, eventsStream, last, note)
	}
	for _, kind := range []struct {
		stream, subjects string
		value            any
	}{
		{stateStream, "mm.pause.*", &queue.Pause{}}, {stateStream, "mm.worker.*", &queue.Worker{}},
		{stateStream, "mm.labels.*.*", &[]string{}}, {stateStream, "mm.dep.*.*", &time.Time{}},
		{stateStream, "mm.one.*", &one{}}, {controlStream, "mm.ctl.*", &control{}},
		{alertsStream, outSubject + "*", &queue.Delivery{}}, {alertsStream, seriesSubject + "*", &queue.Series{}},
		{alertsStream, muteSubject + "*", &queue.Mute{}},
	} {
		if err == nil {
			err = q.values(ctx, kind.stream, kind.subjects, func(msg jetstream.Msg, at uint64) error {
				q.decode(kind.stream, msg.Subject(), at, msg.Data(), kind.value)
				return nil
			})
		}
	}
	all := q.Foreign()
	for _, f := range all {
		if err != nil {
			return nil, err
		}
		if f.Stream != eventsStream { // which lets nobody remove one message
			err = q.retry(ctx, func() error {
				s, err := q.js.Stream(ctx, f.Stream)
				if err == nil {
					err = s.Purge(ctx, jetstream.WithPurgeSubject(f.Subject), jetstream.WithPurgeSequence(f.Sequence+1))
				}
				return err
			})
		}
	}
	for id := range lost {
		if err == nil {
			err = q.mend(ctx, id, by, now)
		}
	}
	q.foreignMu.Lock()
	defer q.foreignMu.Unlock()
	q.foreign = nil
	return all, err
}

// mend appends an entry behind those of a job that are none, so that its last one says its state again, and puts the
// job into the index. Without another entry, it is no job.
func (q *Queue) mend(ctx context.Context, id, by string, now time.Time) error {
	h, err := q.read(ctx, id)
	if err != nil {
		return err
	}
	if h == nil {
		return q.purge(ctx, eventsStream, subject(id))
	}
	msg, err := q.latest(ctx, q.events, subject(id))
	if err != nil {
		return err
	}
	if _, ok := q.jobOfRaw(msg); !ok {
		e := &queue.Entry{Kind: queue.Mended, Time: now, By: by}
		if _, err = q.append(ctx, &h.Job, h.last, e); err != nil {
			return ignoreFence(err)
		}
	}
	return q.index(ctx, &h.Job, false)
}

// jobIn returns the state of a job in the header of a message; false if no program of ours wrote it.
func (q *Queue) jobIn(msg jetstream.Msg) (job queue.Job, ok bool) {
	if codec.Unmarshal([]byte(msg.Headers().Get(jobHeader)), &job) == nil && job.ID == jobOf(msg.Subject()) {
		return job, true
	}
	if meta, err := msg.Metadata(); err == nil {
		q.skip(meta.Stream, msg.Subject(), meta.Sequence.Stream)
	}
	return queue.Job{}, false
}

func (q *Queue) jobOfRaw(msg *jetstream.RawStreamMsg) (job queue.Job, ok bool) {
	if codec.Unmarshal([]byte(msg.Header.Get(jobHeader)), &job) == nil && job.ID == jobOf(msg.Subject) {
		return job, true
	}
	q.skip(eventsStream, msg.Subject, msg.Sequence)
	return queue.Job{}, false
}
