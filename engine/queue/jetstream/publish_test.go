package jetstream

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
)

// late is a stream of a cluster: a message that was published a moment ago is not there yet for who asks first.
type late struct {
	jetstream.Stream
	asked int
	old   bool // what is there was stored long ago
}

func (l *late) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if l.asked++; l.asked == 1 {
		return nil, jetstream.ErrMsgNotFound
	}
	msg, err := l.Stream.GetLastMsgForSubject(ctx, subject)
	if err == nil && l.old {
		msg.Time = msg.Time.Add(-2 * freshFor)
	}
	return msg, err
}

// TestPublishesAtOnce: of two processes that store the same part, or submit the same job, at the same moment, the
// second waits until it sees what the first has stored.
func TestPublishesAtOnce(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	put := func() (queue.File, error) { return q.Put(t.Context(), "f", strings.NewReader("new notebook")) }
	if _, err := put(); err != nil {
		t.Fatal(err)
	}
	files := &late{Stream: q.files}
	q.files = files
	file, err := put()
	if err != nil || files.asked < 2 {
		t.Errorf("put: %v, asked %d times", err, files.asked)
	}
	if err := q.Get(t.Context(), file, io.Discard); err != nil {
		t.Error(err)
	}

	was, err := q.files.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files.old = true
	if _, err := put(); err != nil {
		t.Errorf("put what is there, and old: %v", err)
	}
	if now, err := q.files.Info(t.Context()); err != nil || now.State.LastSeq != was.State.LastSeq+1 {
		t.Errorf("an old part is not stored again: %v, %v", now, err)
	}

	submit(t, q, "j", queue.Normal)
	h := state(t, q, "j")
	events := &late{Stream: q.events}
	q.events = events
	_, err = q.append(t.Context(), &h.Job, 0, &queue.Entry{Kind: queue.Enqueued, Time: time.Now(), Spec: h.Spec()})
	if !errors.Is(err, ErrFenced) || events.asked < 2 {
		t.Errorf("append: %v, asked %d times", err, events.asked)
	}
}
