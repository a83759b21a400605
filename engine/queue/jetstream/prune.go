package jetstream

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// Pruned is what Prune removed.
type Pruned struct {
	Jobs  int   `json:"jobs"`
	Parts int   `json:"parts"` // of files, and base commits
	Bytes int64 `json:"bytes"` // of them
}

// Prune removes the jobs that ended before a time and are not among the newest keep of the ended ones, and the parts of
// files and base commits that no other job names. Jobs that an unfinished job waits for are kept.
func (q *Queue) Prune(ctx context.Context, before time.Time, keep int, by string, now time.Time) (p Pruned, err error) {
	if err := q.sweep(ctx, now); err != nil { // nothing waits for a job that has ended, after this
		return p, err
	}
	gone, err := q.prunable(ctx, before, keep)
	if err != nil {
		return p, err
	}
	for id := range gone {
		removed, err := q.remove(ctx, id, by, now)
		if err != nil {
			return p, err
		}
		if removed {
			p.Jobs++
		}
	}
	named, err := q.named(ctx)
	if err == nil {
		err = q.removeFiles(ctx, named, now.Add(-2*freshFor), &p)
	}
	if err == nil && q.store != nil {
		var n int
		var bytes int64
		n, bytes, err = q.store.Sweep(ctx, func(part string) bool { return named["mm.cas."+part] },
			now.Add(-2*freshFor))
		p.Parts, p.Bytes = p.Parts+n, p.Bytes+bytes
	}
	return p, err
}

// prunable finds the jobs that may be removed, including those whose removal was interrupted by a kill.
func (q *Queue) prunable(ctx context.Context, before time.Time, keep int) (map[string]bool, error) {
	var ended []queue.Job
	gone, stays := map[string]bool{}, map[string]bool{}
	err := q.scan(ctx, eventsStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"mm.ev.*"},
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, HeadersOnly: true}, func(msg jetstream.Msg) error {
		job, ok := q.jobIn(msg)
		if !ok {
			var err error
			if job, ok, err = q.Current(ctx, jobOf(msg.Subject())); !ok {
				return err
			}
		}
		switch {
		case job.State == queue.StateRemoved:
			gone[job.ID] = true
		case job.State.Ended():
			ended = append(ended, job)
		default:
			for _, id := range job.Before() {
				stays[id] = true
			}
		}
		return nil
	})
	slices.SortFunc(ended, func(a, b queue.Job) int { return b.Changed.Compare(a.Changed) })
	for _, job := range ended[min(keep, len(ended)):] {
		if job.Changed.Before(before) && !stays[job.ID] {
			gone[job.ID] = true
		}
	}
	return gone, err
}

// remove removes a job. It appends an entry first, so that a concurrent retry notices.
func (q *Queue) remove(ctx context.Context, id, by string, now time.Time) (bool, error) {
	h, err := q.read(ctx, id)
	if err != nil {
		return false, err
	}
	if h != nil {
		e := &queue.Entry{Kind: queue.Removed, Time: now, By: by}
		state := h.Job
		if err := state.Add(e); err != nil {
			return false, nil // it was put back
		}
		if _, err := q.append(ctx, &state, h.last, e); err != nil {
			return false, ignoreFence(err)
		}
	}
	err = q.drop(ctx, "mm.job.*.*."+id)
	for stream, subject := range map[string]string{controlStream: "mm.ctl." + id, eventsStream: subject(id)} {
		if err == nil {
			err = q.purge(ctx, stream, subject)
		}
	}
	return true, err
}

func (q *Queue) purge(ctx context.Context, stream, subject string) error {
	return q.retry(ctx, func() error {
		s, err := q.js.Stream(ctx, stream)
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		return err
	})
}

// named are the subjects of files that entries name: parts, and base commits with theirs.
func (q *Queue) named(ctx context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	add := func(files ...queue.File) {
		for _, f := range files {
			for _, part := range f.Parts {
				named["mm.cas."+part] = true
			}
		}
	}
	err := q.scan(ctx, eventsStream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"mm.ev.*"}},
		func(msg jetstream.Msg) error {
			meta, err := msg.Metadata()
			if err != nil {
				return err
			}
			e, file, err := q.entry(ctx, msg.Headers(), jobOf(msg.Subject()), meta.Sequence.Stream, msg.Data())
			if e == nil {
				return err
			}
			add(file)
			if add(e.Files...); e.Spec != nil {
				named["mm.base."+e.Spec.Base] = true
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for subject := range named {
		if !strings.HasPrefix(subject, "mm.base.") {
			continue
		}
		var file queue.File
		data, err := q.stored(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // the workers had it
			continue
		}
		if err != nil {
			return nil, err
		}
		if codec.Unmarshal(data, &file) == nil { // else it is none of ours
			add(file)
		}
	}
	return named, nil
}

// removeFiles removes messages that were stored before a time and that nothing names, or that were stored again.
func (q *Queue) removeFiles(ctx context.Context, named map[string]bool, before time.Time, p *Pruned) error {
	type stored struct {
		sequence uint64
		old      bool
		bytes    int64
	}
	last := map[string]stored{}
	remove := func(s stored) error {
		err := q.files.DeleteMsg(ctx, s.sequence)
		if err == nil {
			p.Parts, p.Bytes = p.Parts+1, p.Bytes+s.bytes
		}
		return err
	}
	err := q.scan(ctx, filesStream, jetstream.OrderedConsumerConfig{HeadersOnly: true,
		FilterSubjects: []string{"mm.cas.*", "mm.base.*"}}, func(msg jetstream.Msg) error {
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		was, again := last[msg.Subject()]
		last[msg.Subject()] = stored{meta.Sequence.Stream, meta.Timestamp.Before(before), sizeOf(msg)}
		if again && was.old {
			return remove(was)
		}
		return nil
	})
	for subject, s := range last {
		if err == nil && s.old && !named[subject] {
			err = remove(s)
		}
	}
	return err
}

// sizeOf returns the size of a message whose body was not sent.
func sizeOf(msg jetstream.Msg) int64 {
	n, _ := strconv.ParseInt(msg.Headers().Get(nats.MsgSize), 10, 64) // without it the sum is too small
	return n
}
