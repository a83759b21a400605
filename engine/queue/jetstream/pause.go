package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
)

// Pause keeps workers from taking jobs of a queue; running jobs continue. A second pause replaces the reason of the
// first.
func (q *Queue) Pause(ctx context.Context, p queue.Pause) error {
	return q.set(ctx, "mm.pause."+p.Queue, p, 0)
}

// Resume lets workers take jobs of a queue again. It returns the pause that it ended.
func (q *Queue) Resume(ctx context.Context, name string) (queue.Pause, error) {
	var p queue.Pause
	if paused, err := q.get(ctx, "mm.pause."+name, &p); err != nil || !paused {
		if err == nil {
			err = refused("the queue %s is not paused", name)
		}
		return p, err
	}
	return p, q.drop(ctx, "mm.pause."+name)
}

// Paused lists the queues that are paused.
func (q *Queue) Paused(ctx context.Context) (list []queue.Pause, err error) {
	err = each(ctx, q, "mm.pause.*", func(_ *jetstream.RawStreamMsg, p queue.Pause) error {
		list = append(list, p)
		return nil
	})
	return list, err
}

// look reads which queues are paused.
func (t *Taker) look(ctx context.Context) error {
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
