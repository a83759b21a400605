package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/runs"
)

// open connects to the server of a folder, which the first connection starts.
func open(t *testing.T, dir string) *Queue {
	t.Helper()
	q, err := Connect(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func submit(t *testing.T, q *Queue, id string, p queue.Priority) {
	t.Helper()
	spec := &queue.Spec{ID: id, Queue: "default", Priority: p, Request: engine.Request{Path: "n.md"}, By: "t"}
	if _, made, err := q.Submit(t.Context(), spec, time.Now()); err != nil || !made {
		t.Fatalf("%s: %v, %v", id, made, err)
	}
}

func taker(t *testing.T, q *Queue, worker string, labels ...string) *Taker {
	t.Helper()
	taker, err := q.NewTaker(t.Context(), queue.Worker{Name: worker, Queues: []string{"default"}, Labels: labels}, time.Second,
		time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(taker.Close)
	return taker
}

func take(t *testing.T, from *Taker) *Lease {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // a job that does not come fails the test
	defer stop()
	l, err := from.Take(ctx, false)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	return l
}

func state(t *testing.T, q *Queue, id string) *queue.History {
	t.Helper()
	h, err := q.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestLease: a worker that is silent loses its job, is refused then, and its acknowledgment takes the job from nobody.
func TestLease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	q, other := open(t, dir), open(t, dir)
	a, b := taker(t, q, "a"), taker(t, other, "b")
	submit(t, q, "j", queue.Normal)
	silent := take(t, a)
	later := take(t, b) // after the lease of a, who sends no heartbeats
	if later.Job.Worker != "b" || later.Job.Attempts != 2 {
		t.Fatalf("%+v", later.Job.Job)
	}
	refusals := make(chan error, 10)
	silent.Keep(func(err error) { refusals <- err })
	if err := <-refusals; !errors.Is(err, ErrFenced) { // by its first heartbeat
		t.Fatal(err)
	}
	if err := silent.End(t.Context(), &queue.Entry{Kind: queue.Completed}); !errors.Is(err, ErrFenced) {
		t.Fatal(err)
	}
	later.Keep(func(err error) { t.Error(err) })
	if err := later.End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
		t.Fatal(err)
	}
	if l, err := a.Take(t.Context(), true); l != nil || err != nil {
		t.Fatalf("%v, %v: a job that has ended is taken", l, err)
	}
	if h := state(t, q, "j"); h.State != queue.StateCompleted || h.Worker != "b" {
		t.Errorf("%+v", h.Job)
	}
}

// TestHeartbeats: a worker that is alive keeps its job, though JetStream delivers the wake-up to another one.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	q, other := open(t, dir), open(t, dir)
	a, b := taker(t, q, "a"), taker(t, other, "b")
	submit(t, q, "j", queue.Normal)
	l := take(t, a)
	l.Keep(func(err error) { t.Error(err) })
	if err := q.wake(t.Context(), &l.state); err != nil { // as after a restart of the server
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	if got, err := b.Take(ctx, false); got != nil || err != nil {
		t.Fatalf("%v, %v: the job of another worker is taken", got, err)
	}
	if err := l.End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Take(t.Context(), true); got != nil || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
}

// TestOrder: the more urgent job first, and of the same priority the older one.
func TestOrder(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	for _, id := range []string{"low-1", "normal-1", "normal-2", "high-1"} {
		p, _, _ := strings.Cut(id, "-")
		submit(t, q, id, queue.Priority(p))
	}
	from, got := taker(t, q, "a"), ""
	for range 4 {
		l := take(t, from)
		got += l.Job.ID + " "
		if err := l.End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
			t.Fatal(err)
		}
	}
	if got != "high-1 normal-1 normal-2 low-1 " {
		t.Error(got)
	}
}

// TestList: the newest jobs first, by state, queue and notebook, however many there are.
func TestList(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	for i := range 30 {
		spec := &queue.Spec{ID: fmt.Sprint("j", i), Queue: []string{"default", "gpu"}[i%2], Priority: queue.Normal, By: "t",
			Request: engine.Request{Path: fmt.Sprintf("n%d.md", i%3)}}
		if _, _, err := q.Submit(t.Context(), spec, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	from := taker(t, q, "a")
	for range 12 {
		if err := take(t, from).End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Cancel(t.Context(), "j1", "p", "why", time.Now()); err != nil {
		t.Fatal(err)
	}
	running := take(t, from)
	if err := running.Publish(t.Context(), &queue.Entry{Kind: queue.Recorded, Run: "r", Step: "one"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		queue.Filter
		want  string
		total int
	}{
		{queue.Filter{Limit: 3}, "j24 j1 j22", 30},
		{queue.Filter{Limit: 500, States: []queue.State{queue.StateRunning}}, "j24", 1},
		{queue.Filter{Limit: 1, States: []queue.State{queue.StateEnqueued}}, "j29", 16},
		{queue.Filter{Limit: 2, States: []queue.State{queue.StateEnqueued}, Queue: "default"}, "j28 j26", 2},
		{queue.Filter{Limit: 2, States: []queue.State{queue.StateCompleted, queue.StateCanceled}}, "j1 j22", 13},
		{queue.Filter{Limit: 2, Notebook: "n2.*", Queue: "gpu"}, "j29 j23", 15},
		{queue.Filter{Limit: 2, States: []queue.State{queue.StateDead}}, "", 0},
	} {
		jobs, total, err := q.List(t.Context(), c.Filter)
		var got []string
		for _, j := range jobs {
			got = append(got, j.ID)
		}
		if words := strings.Join(got, " "); err != nil || words != c.want || total != c.total {
			t.Errorf("%+v: %s of %d, %v", c.Filter, words, total, err)
		}
	}
	if jobs, _, err := q.List(t.Context(), queue.Filter{Limit: 1}); err != nil || jobs[0].Step != "one" {
		t.Errorf("%+v, %v: not as the last entry has it", jobs, err)
	}
	if n := q.mustCount(t, "mm.job.>"); n != 30 {
		t.Errorf("the index has %d messages", n)
	}
}

func (q *Queue) mustCount(t *testing.T, subject string) (n int) {
	if err := q.each(t.Context(), subject, func(string, []byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLabels: a job is taken by a worker that has all its labels, also by one that began before there were such jobs.
func TestLabels(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	none, gpu := taker(t, q, "none"), taker(t, q, "gpu", "big", "gpu", "eu")
	for id, labels := range map[string][]string{"two": {"big", "gpu"}, "one": {"gpu"}, "else": {"arm", "gpu"}} {
		spec := &queue.Spec{ID: id, Queue: "default", Priority: queue.Normal, Labels: labels, By: "t"}
		if _, _, err := q.Submit(t.Context(), spec, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := none.Take(t.Context(), true); l != nil || err != nil {
		t.Fatalf("%v, %v: a worker without labels takes a job", l, err)
	}
	var got []string
	for range 2 {
		l := take(t, gpu)
		got = append(got, l.Job.ID)
		if err := l.End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(got)
	if fmt.Sprint(got) != "[one two]" {
		t.Error(got)
	}
	if l, err := gpu.Take(t.Context(), true); l != nil || err != nil {
		t.Fatalf("%v, %v: a job is taken without all its labels", l, err)
	}
	waits, err := q.Waits(t.Context(), &state(t, q, "else").Job, time.Now())
	if err != nil || len(waits) != 1 || !strings.Contains(waits[0], "no worker with the label arm has been seen") {
		t.Error(waits, err)
	}
	gpu.Close()
	waits, err = q.Waits(t.Context(), &queue.Job{Queue: "default", State: queue.StateEnqueued, Labels: []string{"gpu"}},
		time.Now())
	if err != nil || len(waits) != 1 || !strings.Contains(waits[0], "the last worker that may take it, gpu, ended at") {
		t.Error(waits, err)
	}
}

// TestHandover: when the process that has the server ends, another one takes its place, with everything.
func TestHandover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := Connect(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	second := open(t, dir)
	if first.local.server == nil || second.local.server != nil {
		t.Fatal("the first process does not have the server, or the second has one, too")
	}
	submit(t, second, "j", queue.Normal)
	l := take(t, taker(t, second, "a"))
	first.Close()
	if err := l.Publish(t.Context(), &queue.Entry{Kind: queue.Recorded, Run: "r", Step: "one"}); err != nil {
		t.Fatal(err)
	}
	if h := state(t, second, "j"); h.State != queue.StateRunning {
		t.Errorf("%+v", h.Job)
	}
	if second.local.server == nil {
		t.Error("nobody has the server")
	}
}

// TestPeople: what people do with a job that waits, runs and has ended; a canceled job that is put back runs.
func TestPeople(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	submit(t, q, "j", queue.Normal)
	l := take(t, taker(t, q, "a"))
	if _, err := q.Retry(t.Context(), "j", "p", "why", time.Now()); err == nil {
		t.Error("a job that is leased is put back")
	}
	asked := make(chan error, 10)
	l.Keep(func(err error) { asked <- err })
	if _, err := q.Cancel(t.Context(), "j", "p", "why", time.Now()); err != nil {
		t.Fatal(err)
	}
	var c *Cancellation
	if err := <-asked; !errors.As(err, &c) || c.By != "p" || c.Reason != "why" {
		t.Fatal(err)
	}
	if err := l.End(t.Context(), &queue.Entry{Kind: queue.Canceled}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Retry(t.Context(), "j", "p", "after all", time.Now()); err != nil {
		t.Fatal(err)
	}
	again := take(t, l.t)
	again.Keep(func(err error) { t.Errorf("the new attempt is canceled, too: %v", err) })
	if err := again.End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Cancel(t.Context(), "nothing", "p", "why", time.Now()); err == nil {
		t.Error("a job that is not there is canceled")
	}
}

// TestInVain: a job that kills its workers is given up.
func TestInVain(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	submit(t, q, "j", queue.Normal)
	from := taker(t, q, "a")
	for range MaxInVain {
		if err := take(t, from).Release(t.Context(), &queue.Entry{Kind: queue.Released, Reason: "no memory"}); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := from.Take(t.Context(), true); l != nil || err != nil {
		t.Fatalf("%v, %v", l, err)
	}
	if h := state(t, q, "j"); h.State != queue.StateDead || !strings.Contains(h.Reason, "no memory") {
		t.Errorf("%+v", h.Job)
	}
}

// TestFiles: files of several parts, large entries and base commits come back as they were; damage is noticed.
func TestFiles(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	for _, size := range []int{0, 1, partSize, partSize + 1, 3 * partSize} {
		data := bytes.Repeat([]byte{byte(size), 1, 2}, size/3+1)[:size]
		for range 2 { // the second time nothing is new
			file, err := q.Put(t.Context(), "a/b", bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			got, err := q.getBytes(t.Context(), file)
			if err != nil || !bytes.Equal(got, data) || file.Digest != runs.DigestOf(data) || file.Bytes != int64(size) {
				t.Errorf("%d bytes: %v, %+v", size, err, file)
			}
		}
	}
	part := fmt.Sprintf("%x", sha256.Sum256([]byte("true")))
	if err := q.putOnce(t.Context(), "mm.cas."+part, []byte("false")); err != nil {
		t.Fatal(err)
	}
	if _, err := q.getBytes(t.Context(), queue.File{Path: "x", Parts: []string{part}}); err == nil ||
		!strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	var out bytes.Buffer
	if found, err := q.GetBase(t.Context(), "c0ffee", &out); found || err != nil {
		t.Error(found, err)
	}
	for range 2 {
		err := q.PutBase(t.Context(), "c0ffee", func(w io.Writer) error { _, err := io.WriteString(w, "pack"); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	if found, err := q.GetBase(t.Context(), "c0ffee", &out); !found || err != nil || out.String() != "pack" {
		t.Error(found, err, out.String())
	}

	submit(t, q, "j", queue.Normal)
	l := take(t, taker(t, q, "a"))
	journal := bytes.Repeat([]byte("0123456789abcde\n"), most/8)
	if err := l.Publish(t.Context(), &queue.Entry{Kind: queue.Recorded, Run: "r", Journal: journal}); err != nil {
		t.Fatal(err)
	}
	if h := state(t, q, "j"); !bytes.Equal(h.Entries[2].Journal, journal) {
		t.Errorf("%d bytes", len(h.Entries[2].Journal))
	}
}

func TestRedacted(t *testing.T) {
	for url, want := range map[string]string{"nats://a:b@h:1,tls://t@g": "nats://…@h:1,tls://…@g",
		"h": "h", "a:p@h": "…@h"} {
		if got := redacted(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
