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

	"github.com/nats-io/nats.go/jetstream"

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

func consumer(t *testing.T, q *Queue, worker string, labels ...string) *Consumer {
	t.Helper()
	return leasing(t, q, time.Second, worker, labels...)
}

// leasing returns a consumer whose leases have a length.
func leasing(t *testing.T, q *Queue, lease time.Duration, worker string, labels ...string) *Consumer {
	t.Helper()
	consumer, err := q.NewConsumer(t.Context(), queue.Worker{Name: worker, Queues: []string{"default"}, Labels: labels},
		lease, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(consumer.Close)
	return consumer
}

func take(t *testing.T, from *Consumer) *Lease {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // a job that does not come fails the test
	defer stop()
	l, err := from.Take(ctx, false)
	if err != nil || l == nil {
		t.Fatalf("no job is taken: %v", err)
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
	a, b := consumer(t, q, "a"), consumer(t, other, "b")
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
	// Longer leases than elsewhere: on a busy machine, a heartbeat that misses the next third comes too late.
	a, b := leasing(t, q, 2*time.Second, "a"), leasing(t, other, 2*time.Second, "b")
	submit(t, q, "j", queue.Normal)
	l := take(t, a)
	l.Keep(func(err error) { t.Error(err) })
	if err := q.wake(t.Context(), &l.state); err != nil { // as after a restart of the server
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
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
	from, got := consumer(t, q, "a"), ""
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
		spec := &queue.Spec{ID: fmt.Sprint("j", i), Queue: []string{"default", "gpu"}[i%2], Priority: queue.Normal,
			By:      "t",
			Request: engine.Request{Path: fmt.Sprintf("n%d.md", i%3)}}
		if _, _, err := q.Submit(t.Context(), spec, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	from := consumer(t, q, "a")
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
	for _, f := range []queue.Filter{{Limit: 1}, {Limit: 2}, {Limit: 4, States: []queue.State{queue.StateEnqueued}},
		{Limit: 2, Notebook: "n2.*"}} {
		pages, whole := []string{}, []string{}
		all := f
		all.Limit = 500
		jobs, _, err := q.List(t.Context(), all)
		for _, j := range jobs {
			whole = append(whole, j.ID)
		}
		for len(pages) < len(whole) && err == nil {
			f.Skip = len(pages)
			if jobs, _, err = q.List(t.Context(), f); len(jobs) == 0 {
				break
			}
			for _, j := range jobs {
				pages = append(pages, j.ID)
			}
		}
		if err != nil || !slices.Equal(pages, whole) {
			t.Errorf("%+v: the pages have %q, the whole list %q: %v", f, pages, whole, err)
		}
	}
	if jobs, _, err := q.List(t.Context(), queue.Filter{Limit: 1}); err != nil || jobs[0].Step != "one" {
		t.Errorf("%+v, %v: not as the last entry has it", jobs, err)
	}
	if n := q.mustCount(t, "mm.job.>"); n != 30 {
		t.Errorf("the index has %d messages", n)
	}
}

func (q *Queue) mustCount(t *testing.T, subject string) int {
	_, n, err := q.browse(t.Context(), stateStream, jetstream.ConsumerConfig{FilterSubject: subject}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLabels: a job is taken by a worker that has all its labels, also by one that began before there were such jobs.
func TestLabels(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	long := strings.Repeat("x", 100)
	none, gpu := consumer(t, q, "none"), consumer(t, q, "gpu", "big", "gpu", "eu", long)
	for id, labels := range map[string][]string{"two": {"big", "gpu", long}, "one": {"gpu"}, "else": {"arm", "gpu"}} {
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

// submitAfter submits a job that comes after others.
func submitAfter(t *testing.T, q *Queue, id string, after ...string) (*queue.Job, error) {
	t.Helper()
	job, _, err := q.Submit(t.Context(), &queue.Spec{ID: id, Queue: "default", Priority: queue.Normal, After: after,
		By: "t"}, time.Now())
	return job, err
}

func there(t *testing.T, q *Queue, id string) bool {
	h, err := q.read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return h != nil
}

func end(t *testing.T, from *Consumer, id string, kind queue.Kind) {
	t.Helper()
	l := take(t, from)
	if l.Job.ID != id {
		t.Fatalf("%s is taken instead of %s", l.Job.ID, id)
	}
	if err := l.End(t.Context(), &queue.Entry{Kind: kind, Reason: "so it ended"}); err != nil {
		t.Fatal(err)
	}
}

// TestPause: no job of a queue that is paused is taken, and a worker does not wait for it to end.
func TestPause(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	submit(t, q, "j", queue.Normal)
	from := consumer(t, q, "w")
	if err := q.Pause(t.Context(), queue.Pause{Queue: "default", By: "p", Reason: "why"}); err != nil {
		t.Fatal(err)
	}
	if l, err := from.Take(t.Context(), true); l != nil || err != nil {
		t.Fatalf("%v, %v: a job of a queue that is paused is taken", l, err)
	}
	if waits, err := q.Waits(t.Context(), &state(t, q, "j").Job, time.Now()); err != nil ||
		fmt.Sprint(waits) != "[the queue default was paused by p: why]" {
		t.Error(waits, err)
	}
	if p, err := q.Resume(t.Context(), "default"); err != nil || p.Reason != "why" {
		t.Fatal(p, err)
	}
	if _, err := q.Resume(t.Context(), "default"); err == nil {
		t.Error("a queue that is not paused is resumed")
	}
	end(t, from, "j", queue.Completed)
}

// TestSingleton: of jobs of one key no two run at the same time, whatever becomes of those between.
func TestSingleton(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	one := func(id, overlap string) *queue.Job {
		t.Helper()
		job, _, err := q.Submit(t.Context(), &queue.Spec{ID: id, Queue: "default", Priority: queue.Normal, By: "t",
			Singleton: &queue.Singleton{Key: "k", Overlap: overlap, Say: "go on"}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	want := func(id string, is queue.State) {
		t.Helper()
		if h := state(t, q, id); h.State != is {
			t.Errorf("%+v", h.Job)
		}
	}
	from := consumer(t, q, "w")
	one("a", queue.OverlapQueue)
	running := take(t, from)
	if job := one("b", queue.OverlapSkip); job.ID != "a" || there(t, q, "b") {
		t.Errorf("%+v", job)
	}
	one("c", queue.OverlapQueue)
	if _, err := q.Cancel(t.Context(), "c", "p", "why", time.Now()); err != nil {
		t.Fatal(err)
	}
	one("d", queue.OverlapQueue) // behind a, which c was behind
	one("e", queue.OverlapCancel)
	want("d", queue.StateCanceled)
	want("e", queue.StateHeld)
	if err := running.End(t.Context(), &queue.Entry{Kind: queue.Failed}); err != nil {
		t.Fatal(err)
	}
	l := take(t, from)
	if l.Job.ID != "e" {
		t.Fatal(l.Job.ID)
	}
	if _, err := q.Retry(t.Context(), "a", "p", "why", time.Now()); err == nil {
		t.Error("a job is put back while another one of its singleton runs")
	}
	said, busy := "", errors.New("no agent is at work")
	if err := l.Hear(func(by, text string) error { said += by + ": " + text; return busy }); err != nil {
		t.Fatal(err)
	}
	if job := one("f", queue.OverlapSteer); job.State != queue.StateHeld || job.Behind != "e" {
		t.Errorf("%+v", job)
	}
	if job := one("g", queue.OverlapSteer); job.State != queue.StateHeld { // f waits, and g takes its place
		t.Errorf("%+v", job)
	}
	want("f", queue.StateCanceled)
	if _, err := q.Cancel(t.Context(), "g", "p", "why", time.Now()); err != nil {
		t.Fatal(err)
	}
	busy = nil
	if job := one("h", queue.OverlapSteer); job.ID != "e" || there(t, q, "h") || said != "t: go ont: go on" {
		t.Errorf("%+v, %s", job, said)
	}
	if err := q.Steer(t.Context(), "a", "p", "x"); err == nil {
		t.Error("a job that has ended is told something")
	}
	if err := l.End(t.Context(), &queue.Entry{Kind: queue.Completed}); err != nil {
		t.Fatal(err)
	}
	if job := one("i", queue.OverlapSkip); job.ID != "i" || job.State != queue.StateEnqueued {
		t.Errorf("%+v", job)
	}
	end(t, from, "i", queue.Completed)
	if _, err := q.Retry(t.Context(), "a", "p", "why", time.Now()); err != nil {
		t.Error(err)
	}
	end(t, from, "a", queue.Completed)
}

// TestSingletonAtOnce: of several that are submitted at once, one is.
func TestSingletonAtOnce(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	const keys, each = 16, 4
	begin, made := make(chan struct{}), make(chan bool, keys*each)
	for i := range cap(made) {
		go func() {
			<-begin
			_, ok, err := q.Submit(t.Context(), &queue.Spec{ID: fmt.Sprint("j", i), Queue: "default",
				Priority: queue.Normal,
				By:       "t", Singleton: &queue.Singleton{Key: fmt.Sprint(i / each), Overlap: queue.OverlapSkip}},
				time.Now())
			if err != nil {
				t.Error(err)
			}
			made <- ok
		}()
	}
	close(begin)
	n := 0
	for range cap(made) {
		if <-made {
			n++
		}
	}
	if n != keys {
		t.Errorf("%d of %d keys were submitted", n, keys)
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
	l := take(t, consumer(t, second, "a"))
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
	l := take(t, consumer(t, q, "a"))
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
	from := consumer(t, q, "a")
	vain := func(id string) {
		t.Helper()
		for range MaxInVain {
			if err := take(t, from).Release(t.Context(), &queue.Entry{Kind: queue.Released,
				Reason: "no memory"}); err != nil {
				t.Fatal(err)
			}
		}
		if l, err := from.Take(t.Context(), true); l != nil || err != nil {
			t.Fatalf("%v, %v", l, err)
		}
		if h := state(t, q, id); h.State != queue.StateDead || !strings.Contains(h.Reason, "no memory") {
			t.Errorf("%+v", h.Job)
		}
	}
	source := "---\nalerts: {on: [fail], to: [ops]}\n---\n\n```bash {#a}\ntrue\n```\n"
	for _, id := range []string{"j", "again"} {
		spec := &queue.Spec{ID: id, Queue: "default", Priority: queue.Normal, By: "t", Project: "p",
			Request: engine.Request{Path: "../n.md", MadeOf: "x/n.md", Source: []byte(source)}}
		if _, _, err := q.Submit(t.Context(), spec, time.Now()); err != nil {
			t.Fatal(err)
		}
		vain(id)
		var told []*queue.Delivery // of a second one that follows it nothing is told: the state stays
		err := q.Alerts(t.Context(), func(d *queue.Delivery) error { told = append(told, d); return nil })
		if err != nil || len(told) != 1 || told[0].Alert.Job != "j" || told[0].Alert.Notebook != "x/n.md" ||
			!strings.Contains(told[0].Alert.Message, "no memory") || told[0].To[0].Target != "ops" {
			t.Errorf("%v, %+v", err, told)
		}
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
			if err != nil || !bytes.Equal(got, data) || file.Digest != runs.DigestOf(data) ||
				file.Bytes != int64(size) {
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
		err := q.PutBase(t.Context(), "c0ffee",
			func(w io.Writer) error { _, err := io.WriteString(w, "pack"); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	if found, err := q.GetBase(t.Context(), "c0ffee", &out); !found || err != nil || out.String() != "pack" {
		t.Error(found, err, out.String())
	}

	submit(t, q, "j", queue.Normal)
	l := take(t, consumer(t, q, "a"))
	journal := bytes.Repeat([]byte("0123456789abcde\n"), most/8)
	if err := l.Publish(t.Context(), &queue.Entry{Kind: queue.Recorded, Run: "r", Journal: journal}); err != nil {
		t.Fatal(err)
	}
	if h := state(t, q, "j"); !bytes.Equal(h.Entries[2].Journal, journal) {
		t.Errorf("%d bytes", len(h.Entries[2].Journal))
	}
}

// TestPrune: what ended long ago goes, with what only it names; the rest is as it was, and so is what is just stored.
func TestPrune(t *testing.T) {
	t.Parallel()
	q := open(t, t.TempDir())
	now := time.Now()
	put := func(text string) queue.File {
		t.Helper()
		file, err := q.putBytes(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, base := range []string{"b1", "b2"} {
		err := q.PutBase(t.Context(), base,
			func(w io.Writer) error { _, err := io.WriteString(w, "pack "+base); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	spec := func(id, base string, after ...string) {
		t.Helper()
		_, _, err := q.Submit(t.Context(), &queue.Spec{ID: id, Queue: "default", Priority: queue.Normal,
			Base: base, By: "t",
			After: after}, now)
		if err != nil {
			t.Fatal(err)
		}
	}
	from := consumer(t, q, "w")
	run := func(id string, e *queue.Entry) {
		t.Helper()
		l := take(t, from)
		if l.Job.ID != id {
			t.Fatalf("%s is taken instead of %s", l.Job.ID, id)
		}
		if err := l.End(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	shared, own, later := put("shared"), put("own"), put("later")
	spec("old", "b1")
	run("old", &queue.Entry{Kind: queue.Failed, Files: []queue.File{shared, own}})
	spec("needed", "b1")
	run("needed", &queue.Entry{Kind: queue.Completed, Files: []queue.File{own}})
	spec("new", "b2")
	run("new", &queue.Entry{Kind: queue.Completed, Files: []queue.File{shared}, Journal: make([]byte, most)})
	spec("waits", "b2")
	spec("held", "b2", "needed", "waits")

	days := now.Add(10 * freshFor)
	p, err := q.Prune(t.Context(), now.Add(-time.Hour), 0, "p", now)
	if err != nil || p != (Pruned{}) {
		t.Fatal(p, err)
	}
	p, err = q.Prune(t.Context(), days, 1, "p", now) // of those that have ended, new is the newest
	if err != nil || p != (Pruned{Jobs: 1}) {
		t.Fatal(p, err)
	}
	for id, want := range map[string]bool{"old": false, "needed": true, "new": true, "waits": true, "held": true} {
		if there(t, q, id) != want {
			t.Errorf("%s: %v", id, !want)
		}
	}
	if p, err = q.Prune(t.Context(), now, 1, "p", days); err != nil || p.Jobs != 0 || p.Parts != 1 || p.Bytes < 5 {
		t.Fatal(p, err) // later: nothing names it
	}
	if _, err := q.getBytes(t.Context(), later); err == nil {
		t.Error("a part that nothing names is there")
	}
	if err := q.Pause(t.Context(), queue.Pause{Queue: "none"}); err != nil { // the newest message of the index's stream
		t.Fatal(err)
	}
	run("waits", &queue.Entry{Kind: queue.Completed})
	run("held", &queue.Entry{Kind: queue.Completed})
	// own, b1 and its pack
	if p, err = q.Prune(t.Context(), days, 3, "p", days); err != nil || p.Jobs != 1 || p.Parts != 3 {
		t.Error(p, err)
	}
	if _, err := q.getBytes(t.Context(), shared); err != nil {
		t.Error(err)
	}
	if found, err := q.GetBase(t.Context(), "b2", io.Discard); !found || err != nil {
		t.Error(found, err)
	}
	if h := state(t, q, "new"); len(h.Entries[len(h.Entries)-1].Journal) != most {
		t.Error("an entry in a file has gone")
	}
	if jobs, total, err := q.List(t.Context(), queue.Filter{Limit: 10}); err != nil || total != 3 || len(jobs) != 3 {
		t.Error(jobs, total, err)
	}
	h, err := q.read(t.Context(), "waits")
	if err != nil {
		t.Fatal(err)
	}
	half := h.Job // as if whoever removed it had been killed
	if err := half.Add(&queue.Entry{Kind: queue.Removed}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.append(t.Context(), &half, h.last, &queue.Entry{Kind: queue.Removed}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"old", "waits"} {
		if _, err := q.Retry(t.Context(), id, "p", "why", now); err == nil {
			t.Errorf("%s, which was removed, is put back", id)
		}
		if _, err := submitAfter(t, q, "x", id); err == nil {
			t.Errorf("a job comes after %s, which was removed", id)
		}
	}
	if p, err = q.Prune(t.Context(), now.Add(-time.Hour), 0, "p", now); err != nil || p.Jobs != 1 {
		t.Error(p, err)
	}
	if n, err := q.events.Info(t.Context(), jetstream.WithSubjectFilter("mm.ev.waits")); err != nil ||
		len(n.State.Subjects) != 0 {
		t.Error("its entries are left", err)
	}
	spec("old", "b2") // its name is free again
	run("old", &queue.Entry{Kind: queue.Completed})
}

func TestRedacted(t *testing.T) {
	for url, want := range map[string]string{"nats://a:b@h:1,tls://t@g": "nats://…@h:1,tls://…@g",
		"h": "h", "a:p@h": "…@h"} {
		if got := redacted(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
