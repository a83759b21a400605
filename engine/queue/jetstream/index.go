package jetstream

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// The index has one message for each job: mm.job.STATE.QUEUE.JOB, with the job's state in a header. It follows the
// entries: whoever is killed in between leaves it behind them until the job's next entry, or, at its end, until its
// wake-up is removed.

// indexed names the state of a job in the index. The steps of a run do not change it.
func indexed(s queue.State) string {
	if s == queue.StateLeased {
		s = queue.StateRunning
	}
	return string(s)
}

// index writes the state of a job. The first of a job has no earlier one to remove.
func (q *Queue) index(ctx context.Context, job *queue.Job, first bool) error {
	state, err := codec.Marshal(job)
	if err != nil {
		return err
	}
	msg := nats.NewMsg("mm.job." + indexed(job.State) + "." + job.Queue + "." + job.ID)
	msg.Header.Set(jobHeader, string(state))
	return q.retry(ctx, func() error {
		_, err := q.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
		if err == nil && !first {
			err = q.state.Purge(ctx, jetstream.WithPurgeSubject("mm.job.*.*."+job.ID), jetstream.WithPurgeKeep(1))
		}
		return err
	})
}

// MostRead bounds the jobs that a list with the name of a notebook looks through.
const MostRead = 5000

// List returns the newest jobs of the index that the filter lets through, without the first Skip of them, with their
// states as the entries have them, and counts those of its states and its queue. It reads as many messages as it
// returns; with the name of a notebook, which the index has not, the newest MostRead.
func (q *Queue) List(ctx context.Context, f queue.Filter) (jobs []queue.Job, total int, err error) {
	states, in, want, skip := map[string]bool{}, "*", f.Limit, f.Skip
	for _, s := range f.States {
		states[indexed(s)] = true
	}
	if len(f.States) == 0 {
		states["*"] = true
	}
	if f.Queue != "" {
		in = f.Queue
	}
	var subjects []string
	for s := range states {
		subjects = append(subjects, "mm.job."+s+"."+in+".*")
	}
	if f.Notebook != "" {
		want, skip = MostRead, 0
	}
	msgs, total, err := q.tail(ctx, stateStream, subjects, skip, want)
	if err != nil {
		return nil, 0, err
	}
	var ids []string
	over := f.Skip - skip // of those that match
	for i := len(msgs) - 1; i >= 0 && len(ids) < f.Limit; i-- {
		job, ok := q.jobIn(msgs[i])
		if !ok {
			if job, ok, err = q.Current(ctx, jobOf(msgs[i].Subject())); err != nil {
				return nil, 0, err
			}
			if !ok {
				continue
			}
		}
		if ok, err := path.Match(f.Notebook, job.Notebook); err != nil {
			return nil, 0, refused("--notebook %s: %s", f.Notebook, err)
		} else if !ok && f.Notebook != "" {
			continue
		}
		if over--; over < 0 {
			ids = append(ids, job.ID)
		}
	}
	now, err := q.States(ctx, ids)
	for _, id := range ids {
		if job, ok := now[id]; ok && (states["*"] || states[indexed(job.State)]) {
			jobs = append(jobs, job)
		}
	}
	return jobs, total, err
}

// Current returns the state of a job as its last entry has it; false if it is not there.
func (q *Queue) Current(ctx context.Context, id string) (job queue.Job, there bool, err error) {
	msg, err := q.latest(ctx, q.events, subject(id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return job, false, nil
	}
	if err != nil {
		return job, false, err
	}
	job, ok := q.jobOfRaw(msg)
	if !ok {
		h, err := q.read(ctx, id)
		if h == nil {
			return job, false, err
		}
		job = h.Job
	}
	return job, job.State != queue.StateRemoved, nil
}

// States returns the states of jobs, as their last entries have them. Servers of a cluster share the work, and one that
// lags behind may answer: what is decided by the state of a job asks Current.
func (q *Queue) States(ctx context.Context, ids []string) (map[string]queue.Job, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy}
	for _, id := range ids {
		cfg.FilterSubjects = append(cfg.FilterSubjects, subject(id))
	}
	msgs, _, err := q.browse(ctx, eventsStream, cfg, 0, 2*len(ids)+100) // some may get an entry meanwhile
	jobs := map[string]queue.Job{}
	for _, msg := range msgs {
		id := jobOf(msg.Subject())
		job, there := q.jobIn(msg)
		if there {
			there = job.State != queue.StateRemoved
		} else if job, there, err = q.Current(ctx, id); err != nil {
			return nil, err
		}
		if jobs[id] = job; !there {
			delete(jobs, id)
		}
	}
	return jobs, err
}

// browse reads up to want messages of a stream, without their bodies and without the last skip, if no more are pending
// than that; it counts those that are.
func (q *Queue) browse(ctx context.Context, stream string, cfg jetstream.ConsumerConfig, skip, want int) (
	msgs []jetstream.Msg, pending int, err error) {
	cfg.AckPolicy, cfg.HeadersOnly, cfg.MemoryStorage = jetstream.AckNonePolicy, true, true
	cfg.InactiveThreshold = 10 * time.Second // the server removes it then
	err = q.retry(ctx, func() error {        // all of it: a new consumer of a cluster may have no leader yet
		consumer, err := q.js.CreateConsumer(ctx, stream, cfg)
		if err != nil {
			return err
		}
		defer q.dismiss(stream, consumer)
		msgs, pending = nil, int(consumer.CachedInfo().NumPending)
		if pending <= skip || pending-skip > want {
			return nil
		}
		batch, err := consumer.FetchNoWait(pending - skip)
		if err != nil {
			return err
		}
		for msg := range batch.Messages() {
			msgs = append(msgs, msg)
		}
		if err = batch.Error(); err == nil && len(msgs) < pending-skip {
			err = nats.ErrTimeout // those that are missing would be taken for removed
		}
		return err
	})
	return msgs, pending, err
}

// dismiss removes a consumer that has done its work. The server would do it later, and bounds how many there are: a
// process that lives and asks often would reach that.
func (q *Queue) dismiss(stream string, c jetstream.Consumer) {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = q.js.DeleteConsumer(ctx, stream, c.CachedInfo().Name)
}

// tail returns at least the last messages of a stream with some subjects that come before the last skip, oldest first,
// and counts all of them. It looks at ever longer ends of the stream, of which the server says how many such messages
// they have.
func (q *Queue) tail(ctx context.Context, stream string, subjects []string, skip, want int) (
	msgs []jetstream.Msg, total int, err error) {
	all := jetstream.ConsumerConfig{FilterSubjects: subjects}
	if msgs, total, err = q.browse(ctx, stream, all, skip, want); total <= skip+want || err != nil {
		return msgs, total, err
	}
	var info jetstream.Stream
	err = q.retry(ctx, func() (err error) {
		info, err = q.js.Stream(ctx, stream)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	// The messages from near on are too few, those from far on too many.
	near, far, length := info.CachedInfo().State.LastSeq+1, uint64(1), uint64(skip+want)
	for near > far+1 {
		at := (near + far) / 2
		if far == 1 && near > length {
			at, length = max(at, near-length), 4*length
		}
		msgs, n, err := q.browse(ctx, stream, jetstream.ConsumerConfig{FilterSubjects: subjects,
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: at}, skip, 4*want)
		switch {
		case err != nil || n >= skip+want && n <= skip+4*want:
			return msgs, total, err
		case n < skip+want:
			near = at
		default:
			far = at
		}
	}
	return nil, total, nil // all were replaced meanwhile
}

// scan calls each with the messages of a stream that are there when it begins.
func (q *Queue) scan(ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig,
	each func(jetstream.Msg) error) error {
	consumer, pending, err := q.ordered(ctx, stream, cfg)
	if err != nil || pending == 0 {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for range pending {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err == nil {
			err = each(msg)
		}
		if err != nil {
			return err
		}
		if meta, err := msg.Metadata(); err != nil || meta.NumPending == 0 {
			return err
		}
	}
	return nil
}
