package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
)

// Lease is a job that a worker has. Its methods may be called by several goroutines.
type Lease struct {
	Job *queue.History // as it was claimed

	t     *Consumer
	id    string
	begun uint64
	done  chan struct{} // closed when the worker has it no longer
	over  sync.Once

	mu    sync.Mutex // held while an entry is being published
	state queue.Job
	last  uint64

	msgMu sync.Mutex
	msg   jetstream.Msg

	endMu    sync.Mutex
	ended    func(error) // see Keep
	canceled *control
}

// Cancellation is the error of a job that somebody wants to end.
type Cancellation struct{ By, Reason string }

func (c *Cancellation) Error() string { return "canceled by " + c.By + ": " + c.Reason }

// Keep keeps the lease until it ends, by a heartbeat in every third of its time. It calls end, perhaps several times,
// when somebody wants the job to end, with a Cancellation, and when another worker has the job, with ErrFenced.
func (l *Lease) Keep(end func(error)) {
	l.endMu.Lock()
	l.ended = end
	asked := l.canceled
	l.endMu.Unlock()
	if asked != nil {
		l.cancel(asked)
	}
	go func() {
		tick := time.NewTicker(l.t.lease / 3)
		defer tick.Stop()
		for {
			l.beat()
			select {
			case <-l.done:
				return
			case <-tick.C:
			}
		}
	}()
}

func (l *Lease) beat() {
	ctx, stop := context.WithTimeout(context.Background(), l.t.lease/3)
	defer stop()
	l.msgMu.Lock()
	_ = l.msg.InProgress() // when it is lost, the job is delivered again, and this process adopts that
	l.msgMu.Unlock()
	l.t.q.beat(l.id)
	h := &history{History: &queue.History{Job: queue.Job{ID: l.id}}, begun: l.begun}
	if asked, err := l.t.q.asked(ctx, h); err == nil && asked != nil {
		l.cancel(asked)
	}
	if !l.mu.TryLock() {
		return // an entry is being published, which finds out the same
	}
	defer l.mu.Unlock()
	if !l.state.State.Leased() {
		return // this worker has ended the job or given it back: later entries are not a lost lease
	}
	msg, err := l.t.q.events.GetLastMsgForSubject(ctx, subject(l.id))
	if err == nil && msg.Sequence != l.last {
		l.lost()
	}
}

// cancel passes on that somebody wants the job to end.
func (l *Lease) cancel(c *control) {
	l.endMu.Lock()
	l.canceled = c
	end := l.ended
	l.endMu.Unlock()
	if end != nil {
		end(&Cancellation{By: c.By, Reason: c.Reason})
	}
}

// lost passes on that the job is another worker's.
func (l *Lease) lost() {
	l.endMu.Lock()
	end := l.ended
	l.endMu.Unlock()
	if end != nil {
		end(ErrFenced)
	}
}

// adopt takes a new delivery of the wake-up of a job that this process has.
func (l *Lease) adopt(msg jetstream.Msg) {
	l.msgMu.Lock()
	defer l.msgMu.Unlock()
	l.msg = msg
}

// Publish appends an entry, which gets worker and time. It returns ErrFenced when the job is no longer this worker's.
func (l *Lease) Publish(ctx context.Context, e *queue.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Worker, e.Time = l.t.self.Name, l.t.now().UTC()
	now := l.state
	if err := now.Add(e); err != nil {
		return err
	}
	at, err := l.t.q.append(ctx, &now, l.last, e)
	if errors.Is(err, ErrFenced) {
		l.lost()
	}
	if err == nil {
		l.last, l.state = at, now
	}
	return err
}

// End appends an entry that ends the job, and only then removes its wake-up.
func (l *Lease) End(ctx context.Context, e *queue.Entry) error {
	defer l.Drop()
	if err := l.Publish(ctx, e); err != nil {
		return err
	}
	if err := l.t.q.settle(ctx, l.id, l.t.now().UTC()); err != nil {
		return nil // the wake-up stays, and whoever gets it does that
	}
	l.msgMu.Lock()
	defer l.msgMu.Unlock()
	_ = l.msg.DoubleAck(ctx) // a wake-up of a job that has ended is removed by whoever gets it
	return nil
}

// Ask appends an entry that requests an approval, and removes the wake-up: the answer brings another one.
func (l *Lease) Ask(ctx context.Context, e *queue.Entry) error {
	defer l.Drop()
	if err := l.Publish(ctx, e); err != nil {
		return err
	}
	l.msgMu.Lock()
	defer l.msgMu.Unlock()
	_ = l.msg.DoubleAck(ctx) // whoever gets the wake-up looks at it until it is old, and removes it
	return nil
}

// Release returns the job to its queue, to be taken again after a time.
func (l *Lease) Release(ctx context.Context, e *queue.Entry) error {
	defer l.Drop()
	if err := l.Publish(ctx, e); err != nil {
		return err
	}
	l.msgMu.Lock()
	defer l.msgMu.Unlock()
	return l.t.putOff(l.msg, max(e.NotBefore.Sub(l.t.now()), 0))
}

// Drop ends the heartbeats. The wake-up stays: an acknowledgment would remove it for the job's next worker.
func (l *Lease) Drop() {
	l.over.Do(func() {
		close(l.done)
		l.t.mu.Lock()
		defer l.t.mu.Unlock()
		if l.t.held[l.id] == l {
			delete(l.t.held, l.id)
		}
	})
}
