package jetstream

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
)

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
