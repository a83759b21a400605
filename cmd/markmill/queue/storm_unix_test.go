//go:build unix

package queue

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
	"markmill/notebooks/codec"
	"markmill/runs"
)

const stormNotebook = "# Storm\n\n" +
	"```bash {#one}\nx=1; echo one >> trail; sleep 0.1\n```\n\n" +
	"```bash {#two}\necho two >> trail; sleep 0.2; glue n 7\n```\n\n" +
	"```bash {#three}\necho three >> trail; sleep 0.1\n```\n\n" +
	"```bash {#four}\necho \"four $x\" >> trail; sleep 0.2\n```\n\n" +
	"```bash {#five .test}\ntest \"$(wc -l < trail)\" = 4\n```\n"

// TestStorm kills and stops workers at random, and the server of the queue, while they run jobs, for the time that
// MARKMILL_STORM says, such as 10s. No job is lost or ends twice, no step that had finished runs again, and every
// record holds.
func TestStorm(t *testing.T) {
	text := os.Getenv("MARKMILL_STORM")
	if text == "" {
		t.Skip("MARKMILL_STORM=10s runs it")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin+"/", "markmill/cmd/markmill",
		"markmill/cmd/markmill-queue", "github.com/nats-io/nats-server/v2")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("server", func(t *testing.T) { (&storm{T: t, bin: bin, length: length}).run(true) })
	t.Run("embedded", func(t *testing.T) { (&storm{T: t, bin: bin, length: length}).run(false) })
}

const stormLease = 2 * time.Second

type storm struct {
	*testing.T
	bin, root, port string
	length          time.Duration
	call            queue.Call
	server          *exec.Cmd
	workers         []*exec.Cmd
	log             *os.File
	kills, stops    int
	serverKills     int
}

func (s *storm) run(withServer bool) {
	dir := s.TempDir()
	s.Setenv("HOME", dir)
	s.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	s.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	s.root = filepath.Join(dir, "repo")
	s.git("init", "-q", s.root)
	if err := os.WriteFile(filepath.Join(s.root, "storm.md"), []byte(stormNotebook), 0o644); err != nil {
		s.Fatal(err)
	}
	s.git("-C", s.root, "add", "-A")
	s.git("-C", s.root, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "begin")
	base := strings.TrimSpace(s.git("-C", s.root, "rev-parse", "HEAD"))
	var err error
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		s.Fatal(err)
	}
	defer s.log.Close()
	s.call = queue.Call{Program: filepath.Join(s.bin, "markmill"), Root: s.root, Store: filepath.Join(s.root, ".markmill"),
		User: "storm", Queues: []string{"default"}, Labels: []string{"a", "b"}, Jobs: 2, LeaseNS: int64(stormLease)}
	if withServer {
		s.port = freePort(s.T)
		s.call.Server.URL = "nats://127.0.0.1:" + s.port
		s.startServer(dir)
		defer func() { s.end(s.server) }()
	}
	s.workers = make([]*exec.Cmd, 3)
	for i := range s.workers {
		s.startWorker(i)
	}
	defer func() {
		for _, w := range s.workers {
			s.end(w)
		}
	}()
	p := &program{Call: s.call, stdout: io.Discard, stderr: s.log}
	if p.q, err = jetstream.Connect(s.Context(), jetstream.Options{URL: p.Server.URL, Dir: p.dir("nats")}); err != nil {
		s.Fatal(err)
	}
	defer p.q.Close()
	p.Spec = &queue.Spec{Base: base}
	if err := p.sendBase(s.Context()); err != nil {
		s.Fatal(err)
	}
	jobs := int(s.length / time.Second * 3)
	for i := range jobs {
		spec := &queue.Spec{ID: fmt.Sprintf("job-%d", i), Queue: "default", Priority: queue.Priorities[i%3],
			Labels: [][]string{nil, {"b"}, {"a", "b"}}[i/3%3], Base: base, By: "storm", Request: engine.Request{Path: "storm.md", Source: []byte(stormNotebook)}}
		if _, made, err := p.q.Submit(s.Context(), spec, time.Now()); err != nil || !made {
			s.Fatalf("%s: %v, %v", spec.ID, made, err)
		}
	}
	for begin := time.Now(); time.Since(begin) < s.length; {
		time.Sleep(time.Duration(200+rand.IntN(400)) * time.Millisecond)
		s.strike(dir)
	}
	s.check(p, jobs)
}

// strike kills or stops one process.
func (s *storm) strike(dir string) {
	i := rand.IntN(len(s.workers))
	switch n := rand.IntN(10); {
	case n < 2 && s.server != nil:
		s.end(s.server)
		s.serverKills++
		s.startServer(dir)
	case n < 5: // stopped past its lease, and continued
		if err := s.workers[i].Process.Signal(syscall.SIGSTOP); err != nil {
			s.Fatal(err)
		}
		s.stops++
		process := s.workers[i].Process
		time.AfterFunc(stormLease+stormLease/2, func() { _ = process.Signal(syscall.SIGCONT) }) // it may have been killed
	default:
		s.end(s.workers[i])
		s.kills++
		s.startWorker(i)
	}
}

// check waits until all jobs have ended, and checks what is left of them.
func (s *storm) check(p *program, jobs int) {
	ctx, stop := context.WithTimeout(s.Context(), 3*time.Minute)
	defer stop()
	attempts, resumed := 0, 0
	for i := range jobs {
		id := fmt.Sprintf("job-%d", i)
		if err := p.q.Follow(ctx, id, func(*queue.Job, *queue.Entry) error { return nil }); err != nil {
			s.Fatalf("%s is lost: %v\n%s", id, err, s.said())
		}
		h, err := p.q.Job(ctx, id)
		if err != nil {
			s.Fatal(err)
		}
		if h.State != queue.StateCompleted {
			s.Errorf("%s is %s: %s", id, h.State, h.Reason)
			continue
		}
		attempts += h.Attempts
		ran := finishedSteps(s.T, h)
		for step, n := range ran {
			if n != 1 {
				s.Errorf("%s: step %s finished %d times", id, step, n)
			}
		}
		if len(ran) != 5 {
			s.Errorf("%s: %d steps finished", id, len(ran))
		}
		run, err := p.fetch(ctx, h)
		if err != nil {
			s.Errorf("%s: %v", id, err)
			continue
		}
		record, _, err := runs.Store{Dir: p.Store}.Record(run).Load()
		if err != nil {
			s.Fatal(err)
		}
		if record.Started.ResumedFrom != nil {
			resumed++
		}
	}
	if s.Failed() {
		s.Log(s.said())
	}
	s.Logf("%d jobs, %d attempts, %d of them resumed to their end; workers killed %d times, stopped %d times, the server "+
		"killed %d times", jobs, attempts, resumed, s.kills, s.stops, s.serverKills)
}

// finishedSteps counts how often each step of a job came to its end in an attempt that did not carry it.
func finishedSteps(t *testing.T, h *queue.History) map[string]int {
	ran := map[string]int{}
	for _, e := range h.Entries {
		for line := range bytes.Lines(e.Journal) {
			var event struct {
				Type runs.EventType `json:"type"`
				Step string         `json:"step"`
				Data struct {
					Carried *struct{} `json:"carried"`
				} `json:"data"`
			}
			if err := codec.UnmarshalForeign(line, &event); err != nil {
				t.Fatal(err)
			}
			if event.Type == runs.StepFinished && event.Data.Carried == nil {
				ran[event.Step]++
			}
		}
	}
	return ran
}

func (s *storm) said() string {
	text, err := os.ReadFile(s.log.Name())
	if err != nil {
		s.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

func (s *storm) git(args ...string) string {
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *storm) start(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return cmd
}

func (s *storm) startServer(dir string) {
	s.server = s.start("nats-server", "-a", "127.0.0.1", "-p", s.port, "-js", "-sd", filepath.Join(dir, "server"))
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err == nil {
			conn.Close()
			return
		}
		if time.Since(begin) > 20*time.Second {
			s.Fatal(err)
		}
	}
}

func (s *storm) startWorker(i int) {
	call := s.call
	call.Do = "worker"
	if i == 0 && s.server != nil { // on another machine, as it were: it has the network alone
		call.Root, call.Store = "", filepath.Join(s.root, "..", "elsewhere")
	}
	text, err := codec.Marshal(call)
	if err != nil {
		s.Fatal(err)
	}
	s.workers[i] = s.start("markmill-queue", string(text))
}

// end kills a process, which is stopped perhaps, and waits for its end.
func (s *storm) end(cmd *exec.Cmd) {
	if cmd == nil || cmd.ProcessState != nil {
		return
	}
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // by the signal
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
