package jetstream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

const (
	// idle is the first wait between two looks at empty queues. Each further one is twice as long, up to mostIdle: a
	// job that can be taken is heard of at once, unless the account does not permit it.
	idle          = 200 * time.Millisecond
	mostIdle      = 10 * time.Second
	announceEvery = 10 * time.Second // between what a worker says of itself
	// age of a wake-up without a job that is dropped: who submitted it was killed
	orphaned = 10 * time.Minute
	// MaxInVain is how often in a row workers may take a job without finishing a step; then it is dead.
	MaxInVain = 10
)

// Consumer takes jobs for one worker.
type Consumer struct {
	q        *Queue
	self     queue.Worker
	lease    time.Duration
	now      func() time.Time
	subs     []*nats.Subscription
	waiting  chan struct{}      // a job waits
	changed  <-chan struct{}    // a queue was paused, or a job needs other labels
	unlisten []func()           // end waiting and changed
	stop     context.CancelFunc // of maintain
	tended   sync.WaitGroup

	mu            sync.Mutex
	subscriptions []subscription // the most urgent first
	paused        map[string]bool
	heard         map[string]time.Time // of each job, the last heartbeat
	since         time.Time            // since when heartbeats are heard
	held          map[string]*Lease
	soon          time.Time // when a wake-up comes back that was put off; zero: none
}

// subscription has the wake-ups of a queue, a priority and a set of labels.
type subscription struct {
	jetstream.Consumer
	subject, queue, set string
	rank                int // of the priority
}

// NewConsumer makes a Consumer for some queues, and for jobs that require only labels of the worker. The lease is the
// time without a heartbeat after which another worker takes its jobs.
func (q *Queue) NewConsumer(ctx context.Context, self queue.Worker, lease time.Duration, now func() time.Time) (
	*Consumer, error) {
	t := &Consumer{q: q, self: self, lease: lease, now: now, heard: map[string]time.Time{}, held: map[string]*Lease{},
		since: now()}
	for _, name := range self.Queues {
		if err := t.consume(ctx, name, noLabels); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.addLabels(ctx), t.readPaused(ctx), t.announce(ctx), q.sweep(ctx, now().UTC())); err != nil {
		return nil, err
	}
	for subject, handle := range map[string]nats.MsgHandler{"mm.hb.*": t.onHeartbeat, "mm.ctl.*": t.onControl} {
		sub, err := q.nc.Subscribe(subject, handle)
		if err != nil {
			return nil, err
		}
		t.subs = append(t.subs, sub)
	}
	var ready, changes []string
	for _, name := range self.Queues { // the index follows the entries: a job that it names can be taken
		ready = append(ready, "mm.job."+string(queue.StateEnqueued)+"."+name+".*")
		changes = append(changes, newsSubject+name, "mm.labels."+name+".*")
	}
	t.unlisten = make([]func(), 2)
	t.waiting, t.unlisten[0] = q.listen(ready...)
	t.changed, t.unlisten[1] = q.listen(changes...)
	back := func() { // nothing was heard meanwhile
		t.mu.Lock()
		defer t.mu.Unlock()
		t.since = t.now()
	}
	q.back.Store(&back)
	ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	t.tended.Go(func() { t.maintain(ctx) })
	return t, errors.Join(q.nc.FlushTimeout(patience), q.Denied())
}

// consume adds the consumers of a queue and a set of labels.
func (t *Consumer) consume(ctx context.Context, name, set string) error {
	for rank, p := range queue.Priorities {
		durable := "q-" + name + "-" + string(p)
		if set != noLabels {
			durable += "+" + set
		}
		// No BackOff and no InactiveThreshold: the one replaces AckWait, the other removes the consumer.
		var c jetstream.Consumer
		subject := wakeSubject(name, p, set, "*")
		err := t.q.retry(ctx, func() (err error) {
			c, err = t.q.js.CreateOrUpdateConsumer(ctx, jobsStream, jetstream.ConsumerConfig{
				Durable: durable, FilterSubject: subject,
				AckPolicy: jetstream.AckExplicitPolicy, AckWait: t.lease, MaxDeliver: -1, MaxAckPending: -1})
			return err
		})
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.subscriptions = append(slices.Clone(t.subscriptions), subscription{c, subject, name, set, rank})
		slices.SortStableFunc(t.subscriptions, func(a, b subscription) int { return a.rank - b.rank })
		t.mu.Unlock()
	}
	return nil
}

// addLabels adds consumers for the sets of labels that some job of the queues required and the worker offers.
func (t *Consumer) addLabels(ctx context.Context) error {
	for _, name := range t.self.Queues {
		err := each(ctx, t.q, "mm.labels."+name+".*", func(msg *jetstream.RawStreamMsg, needed []string) error {
			set := jobOf(msg.Subject)
			t.mu.Lock()
			known := slices.ContainsFunc(t.subscriptions, func(s subscription) bool {
				return s.queue == name && s.set == set
			})
			t.mu.Unlock()
			if known || !queue.Offers(t.self.Labels, needed) {
				return nil
			}
			return t.consume(ctx, name, set)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// active returns the consumers of queues that are not paused.
func (t *Consumer) active() []subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.subscriptions), func(c subscription) bool { return t.paused[c.queue] })
}

// announce publishes that the worker is present.
func (t *Consumer) announce(ctx context.Context) error {
	t.self.Seen, t.self.LeaseNS = t.now().UTC(), int64(t.lease)
	return t.q.set(ctx, "mm.worker."+t.self.Name, t.self, seenFor)
}

// maintain calls learn and greet until the Consumer is closed.
func (t *Consumer) maintain(ctx context.Context) {
	tick := time.NewTicker(min(announceEvery, t.lease/3))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.changed:
			nudge(t.waiting)
		case <-tick.C:
			_ = errors.Join(t.announce(ctx), t.q.sweep(ctx, t.now().UTC()))
		}
		_ = errors.Join(t.addLabels(ctx), t.readPaused(ctx)) // what fails is done again
	}
}

// nudge has somebody look who waits for the channel, if nobody is about to.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close ends the subscriptions.
func (t *Consumer) Close() {
	t.stop()
	for _, stop := range t.unlisten {
		stop()
	}
	t.tended.Wait()
	t.self.Ended = true
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = t.announce(ctx) // it is seen by its silence else
	for _, sub := range t.subs {
		_ = sub.Unsubscribe() // the connection ends soon
	}
}

func jobOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

func (t *Consumer) onHeartbeat(msg *nats.Msg) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if len(t.heard) > 1000 {
		for job, at := range t.heard {
			if now.Sub(at) > t.lease {
				delete(t.heard, job)
			}
		}
	}
	t.heard[jobOf(msg.Subject)] = now
}

func (t *Consumer) onControl(msg *nats.Msg) {
	var c control
	if codec.Unmarshal(msg.Data, &c) != nil {
		return
	}
	t.mu.Lock()
	l := t.held[c.Job]
	t.mu.Unlock()
	if l != nil && l.begun == c.Begun {
		l.cancel(&c)
	}
}

// untilExpired is how much longer the worker of a job must be silent before another may take it. JetStream also
// redelivers when the server was away, and leases then only look expired.
func (t *Consumer) untilExpired(job string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.since
	if heard := t.heard[job]; heard.After(at) {
		at = heard
	}
	return t.lease - t.now().Sub(at)
}

// Take waits for a job and claims it. With drain it returns nil when no job of the queues is left, here or elsewhere.
func (t *Consumer) Take(ctx context.Context, drain bool) (*Lease, error) {
	empty := false // when the worker looked last; meanwhile a job may have ended in one queue that frees one in another
	wait := idle
	for begin := t.now(); ; {
		l, found, err := t.once(ctx)
		switch {
		case ctx.Err() != nil:
			return l, nil // a job that was claimed is given back by its worker
		case err == nil:
			begin = t.now()
		case !passing(err) || t.now().Sub(begin) > 2*patience && t.q.local != nil:
			return nil, err
		}
		if l != nil {
			nudge(t.waiting) // there may be another for somebody else
			return l, nil
		}
		if found {
			empty, wait = false, idle
			continue
		}
		if drain && err == nil {
			left, err := t.waits(ctx)
			was := empty
			if empty = err == nil && !left; empty && was {
				return nil, nil
			}
			wait = idle
		}
		select {
		case <-ctx.Done():
		case <-t.waiting:
			wait = idle
		case <-time.After(t.look(wait)):
			wait = min(2*wait, mostIdle, max(t.lease/3, idle))
		}
	}
}

// waits reports whether there are wake-ups in the queues. The stream knows: a consumer learns of a new one a moment
// after its publisher.
func (t *Consumer) waits(ctx context.Context) (left bool, err error) {
	for _, consumer := range t.active() {
		err := t.q.retry(ctx, func() error {
			_, err := t.q.jobs.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(consumer.subject))
			return err
		})
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

// once handles one wake-up. found says that there was one.
func (t *Consumer) once(ctx context.Context) (l *Lease, found bool, err error) {
	for _, consumer := range t.active() {
		batch, err := consumer.FetchNoWait(1)
		if err != nil {
			return nil, false, err
		}
		for msg := range batch.Messages() {
			l, err = t.consider(ctx, msg)
			return l, true, err
		}
		if err := batch.Error(); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

// consider decides about a wake-up. It returns a lease if the worker has claimed the job.
func (t *Consumer) consider(ctx context.Context, msg jetstream.Msg) (*Lease, error) {
	if err := msg.InProgress(); err != nil { // a server that starts again takes the job for older than it is
		return nil, err
	}
	id := jobOf(msg.Subject())
	h, err := t.q.read(ctx, id)
	if err != nil {
		return nil, errors.Join(err, t.putOff(msg, t.lease))
	}
	t.mu.Lock()
	held := t.held[id]
	t.mu.Unlock()
	quiet := t.untilExpired(id)
	switch {
	case h == nil:
		if meta, err := msg.Metadata(); err == nil && t.now().Sub(meta.Timestamp) > orphaned {
			return nil, msg.Ack()
		}
		return nil, t.putOff(msg, time.Second) // it is being submitted
	case h.State.Ended():
		err := errors.Join(t.q.index(ctx, &h.Job, false), t.q.settle(ctx, id, t.now().UTC()))
		if err != nil {
			return nil, errors.Join(err, t.putOff(msg, t.lease))
		}
		return nil, msg.Ack()
	case h.State == queue.StateHeld: // it was put back, and waits for others again
		return nil, msg.Ack()
	case h.State == queue.StateUnapproved: // it was asked, or a person is answering, which begins with the wake-up
		if meta, err := msg.Metadata(); err == nil && t.now().Sub(meta.Timestamp) > orphaned {
			return nil, msg.Ack()
		}
		return nil, t.putOff(msg, time.Second)
	case held != nil:
		held.adopt(msg)
		return nil, nil
	case h.NotBefore.After(t.now()):
		return nil, t.putOff(msg, h.NotBefore.Sub(t.now()))
	case h.State != queue.StateEnqueued && quiet > 0:
		return nil, t.putOff(msg, quiet)
	}
	l := &Lease{t: t, id: id, msg: msg, state: h.Job, last: h.last, begun: h.begun, done: make(chan struct{})}
	asked, err := t.q.asked(ctx, h)
	paused := false
	if err == nil {
		paused, err = t.q.get(ctx, "mm.pause."+h.Queue, &queue.Pause{})
	}
	switch {
	case err != nil:
		return nil, errors.Join(err, t.putOff(msg, time.Second))
	case paused:
		return nil, errors.Join(t.readPaused(ctx), t.putOff(msg, pausedFor))
	case asked != nil:
		return nil, ignoreFence(l.End(ctx, &queue.Entry{Kind: queue.Canceled, By: asked.By, Reason: asked.Reason}))
	case h.InVain >= MaxInVain:
		why := "workers took it again and again, and no step came to its end; the last reason: " + last(h)
		if err := t.q.TellFailed(ctx, h.Spec(), &h.Job, why, t.now()); err != nil {
			return nil, errors.Join(err, t.putOff(msg, time.Second))
		}
		return nil, ignoreFence(l.End(ctx, &queue.Entry{Kind: queue.Dead, Reason: why}))
	}
	if err := l.Publish(ctx, &queue.Entry{Kind: queue.Claimed}); err != nil {
		return nil, ignoreFence(errors.Join(err, t.putOff(msg, t.lease)))
	}
	t.mu.Lock()
	t.held[id] = l
	t.mu.Unlock()
	h.Job = l.state
	l.Job = h.History
	return l, nil
}

// putOff gives a wake-up back, and has somebody look for it when the delay is over.
func (t *Consumer) putOff(msg jetstream.Msg, delay time.Duration) error {
	t.mu.Lock()
	if at := t.now().Add(delay); t.soon.IsZero() || at.Before(t.soon) {
		t.soon = at
	}
	t.mu.Unlock()
	return msg.NakWithDelay(delay)
}

// look is how long to wait before the next look, which would be wait without wake-ups that were put off.
func (t *Consumer) look(wait time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.soon.IsZero() {
		return wait
	}
	left := t.soon.Sub(t.now())
	if left <= idle {
		t.soon = time.Time{}
	}
	return min(wait, max(left, idle))
}

// ignoreFence drops the error of a job that another worker claimed first.
func ignoreFence(err error) error {
	if errors.Is(err, ErrFenced) {
		return nil
	}
	return err
}

// last is the last reason why a job was released.
func last(h *history) string {
	for i := range h.Entries {
		if e := h.Entries[len(h.Entries)-1-i]; e.Kind == queue.Released {
			return e.Reason
		}
	}
	return "the worker was lost"
}
