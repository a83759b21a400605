package jupyter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func ok(f *fake, m Message) {
	f.reply(m, "shell", "execute_reply", map[string]any{"status": "ok", "execution_count": 3})
}

func TestAllOutputHasComeWhenExecuteReturns(t *testing.T) {
	for _, c := range []struct {
		name string
		on   func(f *fake, m Message)
		want string
	}{
		{"the reply first", func(f *fake, m Message) {
			ok(f, m)
			f.print(m, "a")
			f.print(m, "b")
			f.status(m, "idle")
		}, "stream a\nstream b\n"},
		{"the reply last", func(f *fake, m Message) {
			f.print(m, "a")
			f.status(m, "idle")
			ok(f, m)
		}, "stream a\n"},
		{"of another request's thread", func(f *fake, m Message) {
			f.print(Message{Header: Header{ID: "earlier"}}, "late")
			f.status(Message{Header: Header{ID: "earlier"}}, "idle")
			f.print(m, "own")
			f.status(m, "idle")
			ok(f, m)
		}, "stream late\nstream own\n"},
		{"messages that are not known", func(f *fake, m Message) {
			f.reply(m, "iopub", "comm_open", map[string]any{"comm_id": "x"})
			f.reply(m, "iopub", "comm_msg", map[string]any{"comm_id": "x", "data": map[string]any{"n": 1}})
			f.reply(m, "iopub", "comm_close", map[string]any{"comm_id": "x"})
			f.reply(m, "shell", "comm_info_reply", map[string]any{"status": "ok", "comms": map[string]any{}})
			f.reply(m, "iopub", "status", map[string]any{"execution_state": "starting"})
			f.reply(m, "iopub", "from_the_future", map[string]any{})
			f.reply(m, "iopub", "update_display_data",
				map[string]any{"data": map[string]any{}, "transient": map[string]any{"display_id": "d"}})
			f.status(m, "idle")
			ok(f, m)
		}, "update_display_data d\n"},
		{"content that is no UTF-8", func(f *fake, m Message) {
			f.print(m, strings.Repeat("x", 100000))
			f.status(m, "idle")
			ok(f, m)
		}, "stream " + strings.Repeat("x", 100000) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newFake(t, c.on).connect()
			for range 3 { // nothing is left over for the next
				r, got, err := run(k, context.Background())
				if err != nil || got != c.want || r.Status != "ok" || r.Count != 3 {
					t.Fatalf("%+v %.200q %v", r, got, err)
				}
			}
		})
	}
}

func TestStatesOfWidgetsAreHandedOn(t *testing.T) {
	k := newFake(t, func(f *fake, m Message) {
		f.reply(m, "iopub", "comm_open", map[string]any{"comm_id": "w", "target_name": "jupyter.widget",
			"data": map[string]any{"state": map[string]any{"value": 3}, "buffer_paths": []any{}}})
		f.send(f.sign, m, "iopub", "comm_msg",
			map[string]any{"comm_id": "w",
				"data": map[string]any{"method": "update", "state": map[string]any{},
					"buffer_paths": []any{[]any{"value"}, []any{"none"}}}}, []byte("\x00bytes"))
		f.reply(m, "iopub", "comm_msg",
			map[string]any{"comm_id": "w",
				"data": map[string]any{"method": "custom", "content": map[string]any{"state": 1}}})
		f.reply(m, "iopub", "comm_msg", map[string]any{"comm_id": "w", "data": map[string]any{"state": "none"}})
		f.status(m, "idle")
		ok(f, m)
	}).connect()
	var got []Output
	if _, err := k.Execute(context.Background(), "code", false, func(o Output) { got = append(got, o) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Comm != "w" || string(got[0].State["value"]) != "3" || len(got[0].Buffers) != 0 {
		t.Fatalf("%+v", got)
	}
	if b := got[1].Buffers; len(b) != 1 || string(b[0].Path) != `["value"]` || string(b[0].Data) != "\x00bytes" {
		t.Errorf("%+v", b)
	}
}

func TestWhatComesBetweenRequestsIsTheNextOnes(t *testing.T) {
	f := newFake(t, func(f *fake, m Message) {
		f.print(m, "own")
		f.status(m, "idle")
		ok(f, m)
	})
	k := f.connect()
	if _, got, err := run(k, context.Background()); err != nil || got != "stream own\n" {
		t.Fatalf("%q %v", got, err)
	}
	f.print(Message{}, "between")
	for came, begin := false, time.Now(); !came; time.Sleep(time.Millisecond) {
		k.mu.Lock()
		came = slices.ContainsFunc(k.waiting, func(a arrival) bool { return a.Header.Type == "stream" })
		k.mu.Unlock()
		if time.Since(begin) > time.Minute {
			t.Fatal("what came is not kept")
		}
	}
	if _, got, err := run(k, context.Background()); err != nil || got != "stream between\nstream own\n" {
		t.Errorf("%q %v", got, err)
	}
}

func TestAForgedMessageIsDropped(t *testing.T) {
	k := newFake(t, func(f *fake, m Message) {
		forged := signer{[]byte("another key")}
		f.send(forged, m, "iopub", "stream", map[string]any{"name": "stdout", "text": "forged"})
		f.send(forged, m, "shell", "execute_reply", map[string]any{"status": "error", "ename": "Forged"})
		f.send(signer{}, m, "iopub", "stream", map[string]any{"name": "stdout", "text": "not signed"})
		f.status(m, "idle")
		ok(f, m)
	}).connect()
	if r, got, err := run(k, context.Background()); err != nil || got != "" || r.Status != "ok" {
		t.Fatalf("%+v %q %v", r, got, err)
	}
}

func TestWhatWasPrintedBeforeTheKernelEndedIsKept(t *testing.T) {
	k := newFake(t, func(f *fake, m Message) {
		for range 200 {
			f.print(m, "x")
		}
		go f.end()
	}).connect()
	_, got, err := run(k, context.Background())
	if err == nil || !over(k.lost) {
		t.Fatalf("a kernel that ended: %v, alive %v", err, !over(k.lost))
	}
	if n := strings.Count(got, "x"); n != 200 {
		t.Errorf("%d of 200 outputs came", n)
	}
}

func TestAnAnswerCountsThoughTheKernelEnded(t *testing.T) {
	for range 20 {
		k := newFake(t, func(f *fake, m Message) {
			f.print(m, "last")
			f.status(m, "idle")
			ok(f, m)
			go f.end()
		}).connect()
		if r, got, err := run(k, context.Background()); err != nil || got != "stream last\n" || r.Status != "ok" {
			t.Fatalf("%+v %q %v", r, got, err)
		}
	}
}

func TestWhatWasAbortedIsAskedForAgain(t *testing.T) {
	var requests atomic.Int32
	k := newFake(t, func(f *fake, m Message) {
		if requests.Add(1)%3 == 0 {
			f.print(m, "ran")
			ok(f, m)
		} else { // as ipykernel does while it throws its queue away
			f.reply(m, "shell", "execute_reply", map[string]any{"status": "aborted"})
		}
		f.status(m, "idle")
	}).connect()
	for range 2 {
		if r, got, err := run(k, context.Background()); err != nil || got != "stream ran\n" || r.Status != "ok" {
			t.Fatalf("%+v %q %v", r, got, err)
		}
	}
	if n := requests.Load(); n != 6 {
		t.Errorf("%d requests", n)
	}
}

func TestAKernelThatAbortsEverythingIsGivenUp(t *testing.T) {
	k := newFake(t, func(f *fake, m Message) {
		f.reply(m, "shell", "execute_reply", map[string]any{"status": "aborted"})
		f.status(m, "idle")
	}).connect()
	if r, _, err := run(k, context.Background()); err != nil || r.Status != "aborted" {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestRequestsSayThatNobodyAnswersAndNothingWaits(t *testing.T) {
	came := make(chan string, 1)
	k := newFake(t, func(f *fake, m Message) {
		came <- string(m.Content)
		f.status(m, "idle")
		ok(f, m)
	}).connect()
	if _, _, err := run(k, context.Background()); err != nil {
		t.Fatal(err)
	}
	sent := <-came
	for _, want := range []string{`"allow_stdin":false`, `"stop_on_error":false`, `"store_history":true`} {
		if !strings.Contains(sent, want) {
			t.Errorf("%s is not in %s", want, sent)
		}
	}
}

func TestInterruptAndShutdownAreMessagesOnControl(t *testing.T) {
	came := make(chan string, 2)
	k := newFake(t, func(f *fake, m Message) { came <- m.Header.Type + " " + string(m.Content) }).connect()
	if err := errors.Join(k.Interrupt(), k.Shutdown()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"interrupt_request {}", `shutdown_request {"restart":false}`} {
		if got := <-came; got != want {
			t.Errorf("%s came, want %s", got, want)
		}
	}
}

func TestTheWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	k := newFake(t, func(f *fake, m Message) { cancel(errors.New("enough")) }).connect()
	if _, _, err := run(k, ctx); err == nil || err.Error() != "enough" {
		t.Fatal(err)
	}
}

func TestInputIsAnsweredWithNothing(t *testing.T) {
	asked := make(chan Message, 1)
	k := newFake(t, func(f *fake, m Message) {
		switch m.Header.Type {
		case "execute_request":
			asked <- m
			f.reply(m, "stdin", "input_request", map[string]any{"prompt": "name? "})
		case "input_reply":
			m, answer := <-asked, string(m.Content)
			f.print(m, answer)
			f.status(m, "idle")
			ok(f, m)
		}
	}).connect()
	if _, got, err := run(k, context.Background()); err != nil || got != `stream {"status":"ok","value":""}`+"\n" {
		t.Fatalf("%q %v", got, err)
	}
}

func TestQuietWaitsForWhatAnInterruptedRequestStillPrints(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	k := newFake(t, func(f *fake, m Message) {
		f.print(m, "late")
		f.status(m, "idle")
		ok(f, m)
		cancel()
	}).connect()
	first, _, err := run(k, ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v %v", first, err)
	}
	if err := k.Quiet(context.Background(), func(Output) {}); err != nil {
		t.Fatal(err)
	}
	if len(k.waiting) > 0 {
		t.Errorf("%+v is left for the next step", k.waiting)
	}
}

func TestPeersThatAreNoKernel(t *testing.T) {
	greeting := func(mechanism string) string {
		g := make([]byte, 64)
		g[0], g[9], g[10] = 0xFF, 0x7F, 3
		copy(g[12:], mechanism)
		return string(g)
	}
	for _, c := range []struct{ name, says, want string }{
		{"an older protocol", strings.Replace(greeting("NULL"), "\x7f\x03", "\x7f\x01", 1), "does not speak ZMTP 3"},
		{"no ZeroMQ at all", "HTTP/1.1 400 Bad Request\r\n\r\n" + strings.Repeat(" ", 64), "does not speak ZMTP 3"},
		{"a mechanism", greeting("CURVE"), "mechanism CURVE"},
		{"no READY", greeting("NULL") + "\x00\x02hi", "answered"},
		{"the end", "", "EOF"},
		{"a frame that lies", greeting("NULL") + string(frameOf(flagCommand, 1<<40, "")), "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			here, there := net.Pipe()
			go func() {
				buf := make([]byte, 64)
				there.Read(buf)
				there.Write([]byte(c.says))
				if c.says != "" {
					there.Read(buf)
				}
				there.Close()
			}()
			if _, err := newSocket(here, "DEALER", ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x01\x02ab\x00\x01c"))
	f.Add(frameOf(0, 3, "abc"))
	f.Add([]byte("\x04\x05PINGx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		here, there := net.Pipe()
		go func() {
			there.Write(data)
			there.Close()
		}()
		s := &socket{conn: here, in: bufio.NewReader(here)}
		defer here.Close()
		for {
			frames, err := s.receive()
			if err != nil {
				return
			}
			if m, err := (signer{[]byte("key")}).decode(frames); err == nil &&
				!bytes.Contains(data, []byte(m.Header.ID)) {
				t.Errorf("%+v", m)
			}
		}
	})
}
