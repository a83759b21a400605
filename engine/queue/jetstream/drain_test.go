package jetstream

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
)

// TestDrainBehind: a worker that drains the queue takes a job that the server has, of which its consumer does not know
// yet.
func TestDrainBehind(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	from := consumer(t, q, "w")
	for i := range from.subscriptions {
		from.subscriptions[i].Consumer = &behind{Consumer: from.subscriptions[i].Consumer, looks: 3}
	}
	submit(t, q, "j", queue.Normal)
	l, err := from.Take(t.Context(), true)
	if l == nil || err != nil {
		t.Fatalf("%v, %v: the job is left", l, err)
	}
	if err := l.End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
		t.Fatal(err)
	}
	if l, err := from.Take(t.Context(), true); l != nil || err != nil {
		t.Fatalf("%v, %v", l, err)
	}
}

// behind is a consumer that knows of nothing at its first looks.
type behind struct {
	jetstream.Consumer
	looks int
}

func (b *behind) FetchNoWait(n int) (jetstream.MessageBatch, error) {
	if b.looks--; b.looks >= 0 {
		return nothing{}, nil
	}
	return b.Consumer.FetchNoWait(n)
}

func (b *behind) Info(context.Context) (*jetstream.ConsumerInfo, error) {
	return &jetstream.ConsumerInfo{}, nil
}

type nothing struct{}

func (nothing) Error() error { return nil }

func (nothing) Messages() <-chan jetstream.Msg {
	none := make(chan jetstream.Msg)
	close(none)
	return none
}
