//go:build unix

package client

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
	"slices"
	"strconv"
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

// TestStorm kills and stops workers at random, and the servers of the queue, while they run jobs, for the time that
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
	bin := os.Getenv("MARKMILL_STORM_PROGRAMS")
	if bin == "" {
		bin = t.TempDir()
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin+"/", "markmill/cmd/markmill",
			"markmill/cmd/markmill-server", "github.com/nats-io/nats-server/v2")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, one := range []struct {
		name string
		run  func(*storm)
	}{
		{"server", func(s *storm) { s.run(1, (*storm).strike) }},
		{"embedded", func(s *storm) { s.run(0, (*storm).strike) }},
		{"cluster", func(s *storm) { s.secure(); s.run(3, (*storm).strike) }},
		{"network", func(s *storm) {
			if s.connect() {
				s.secure()
				s.run(3, (*storm).cut)
			}
		}},
		{"sweep", func(s *storm) { s.secure(); s.sweep() }},
		{"slurm", (*storm).slurm},
		{"disks", func(s *storm) { s.secure(); s.small, s.retries = true, 5; s.run(3, (*storm).fill) }},
	} {
		t.Run(one.name, func(t *testing.T) { one.run(&storm{T: t, bin: bin, length: length}) })
		if one.name == "embedded" {
			length /= 2 // the others take longer to begin and to end
		}
	}
}

const stormLease = 2 * time.Second

// storm is one queue with three workers.
type storm struct {
	*testing.T
	bin, dir, root string
	length         time.Duration
	at             queue.Connection
	worker         queue.WorkerOptions
	hosts          []*host // of the servers and then of the workers; none: all on the loopback interface
	ports          []string
	secured        *secured // nil: the server takes whoever comes
	servers        []*exec.Cmd
	workers        []*exec.Cmd
	log            *os.File
	struck         map[string]int
	small          bool // the disks of the first server and of the first worker
	retries        int  // of a job whose steps find the disk full
}

func (s *storm) run(servers int, strike func(*storm)) {
	s.prepare()
	defer s.log.Close()
	if s.small {
		s.mount(s.home(0), s.store(0))
	}
	s.servers, s.workers, s.struck = make([]*exec.Cmd, servers), make([]*exec.Cmd, 3), map[string]int{}
	defer func() {
		for _, cmd := range slices.Concat(s.workers, s.servers) {
			s.end(cmd)
		}
	}()
	for range 2 * servers {
		s.ports = append(s.ports, freePort(s.T))
	}
	for i := range s.servers {
		s.servers[i] = s.startServer(i)
	}
	for i := range s.servers {
		s.answers(s.address(i))
	}
	if servers == 0 { // one of the workers has the server, and not this process
		s.startWorkers()
		s.appears(filepath.Join(s.at.Store, "queue", "nats", "address"))
	}
	p := s.client("submit")
	base := strings.TrimSpace(s.git("-C", s.root, "rev-parse", "HEAD"))
	if err := p.sendBase(s.Context(), &queue.Spec{Base: base}); err != nil {
		s.Fatal(err)
	}
	if servers > 0 {
		s.startWorkers()
	}
	jobs := int(s.length / time.Second * 3)
	for i := range jobs {
		spec := &queue.Spec{ID: fmt.Sprintf("job-%d", i), Queue: "default", Priority: queue.Priorities[i%3],
			Labels: [][]string{nil, {"b"}, {"a", "b"}}[i/3%3], Base: base, By: "storm", Retries: s.retries,
			Request: engine.Request{Path: "storm.md", Source: []byte(stormNotebook)}}
		if i%5 > 1 { // most come after two others
			spec.After = []string{fmt.Sprintf("job-%d", i-1), fmt.Sprintf("job-%d", i-2)}
		}
		if _, made, err := p.Queue.Submit(s.Context(), spec, time.Now()); err != nil || !made {
			s.Fatalf("%s: %v, %v", spec.ID, made, err)
		}
	}
	p.Queue.Close()
	for begin := time.Now(); time.Since(begin) < s.length; {
		time.Sleep(time.Duration(200+rand.IntN(400)) * time.Millisecond)
		strike(s)
		if rand.IntN(6) == 0 {
			s.pause()
		}
	}
	s.check(jobs)
	if s.secured != nil {
		s.wrong()
	}
}

// prepare makes the repository and what the programs are asked for.
func (s *storm) prepare() {
	s.dir = s.TempDir()
	s.Setenv("HOME", s.dir)
	s.Setenv("XDG_CACHE_HOME", filepath.Join(s.dir, "cache"))
	s.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	s.root = filepath.Join(s.dir, "repo")
	s.git("init", "-q", s.root)
	s.commit(s.root, stormNotebook)
	var err error
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		s.Fatal(err)
	}
	s.at = queue.Connection{Program: filepath.Join(s.bin, "markmill"), Root: s.root, Store: filepath.Join(s.root,
		".markmill"), User: "storm"}
	s.worker = queue.WorkerOptions{Queues: []string{"default"}, Labels: []string{"a", "b"}, Jobs: 2}
}

func (s *storm) commit(root, notebook string) {
	if err := os.WriteFile(filepath.Join(root, "storm.md"), []byte(notebook), 0o644); err != nil {
		s.Fatal(err)
	}
	s.git("-C", root, "add", "-A")
	s.git("-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "begin")
}

// client connects as those who submit jobs, or who look at them.
func (s *storm) client(role string) *Client {
	p := &Client{Connection: s.at, stdout: io.Discard, stderr: s.log}
	p.Server.URL = s.url(role, "")
	o := s.options()
	if o.URL = p.Server.URL; o.URL == "" {
		o.Dir = p.dir("nats")
	}
	var err error
	if p.Queue, err = jetstream.Connect(s.Context(), o); err != nil {
		s.Fatal(err)
	}
	return p
}

// options are those of a connection, without its address.
func (s *storm) options() jetstream.Options {
	if s.secured == nil {
		return jetstream.Options{}
	}
	return jetstream.Options{CA: s.secured.ca, Replicas: len(s.servers)}
}

// url has the addresses of the servers for a user, whose password is the user's name unless another is given.
func (s *storm) url(user, password string) string {
	var list []string
	for i := range s.servers {
		if s.secured == nil {
			list = append(list, "nats://"+s.address(i))
			continue
		}
		if password == "" {
			password = user
		}
		list = append(list, "tls://"+user+":"+password+"@"+s.address(i))
	}
	return strings.Join(list, ",")
}

// address is that of a server.
func (s *storm) address(i int) string {
	if s.hosts == nil {
		return "127.0.0.1:" + s.ports[i]
	}
	return s.hosts[i].ip + ":" + s.ports[i]
}

// strike kills or stops one process.
func (s *storm) strike() {
	i := rand.IntN(len(s.workers))
	switch n := rand.IntN(10); {
	case n < 2 && len(s.servers) > 0:
		s.killServer()
	case n < 5: // stopped past its lease, and continued
		if err := s.workers[i].Process.Signal(syscall.SIGSTOP); err != nil {
			s.Fatal(err)
		}
		s.struck["workers stopped"]++
		process := s.workers[i].Process
		// it may have been killed
		time.AfterFunc(stormLease+stormLease/2, func() { _ = process.Signal(syscall.SIGCONT) })
	default:
		s.killWorker(i)
	}
}

// pause pauses the queue for a moment.
func (s *storm) pause() {
	p := s.client("jobs")
	defer p.Queue.Close()
	err := p.Queue.Pause(s.Context(), queue.Pause{Queue: "default", By: "storm", Reason: "storm", Time: time.Now()})
	if err == nil {
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		_, err = p.Queue.Resume(s.Context(), "default")
	}
	if err != nil {
		s.Fatal(err)
	}
	s.struck["times paused"]++
}

func (s *storm) killWorker(i int) {
	s.end(s.workers[i])
	s.struck["workers killed"]++
	s.startWorker(i)
}

// killServer kills a server and starts it again: of a cluster always the same one, and waits until it answers.
func (s *storm) killServer() {
	s.end(s.servers[0])
	s.struck["servers killed"]++
	s.servers[0] = s.startServer(0)
	s.answers(s.address(0))
}

// check waits until all jobs have ended, and checks what is left of them.
func (s *storm) check(jobs int) {
	p := s.client("jobs")
	defer p.Queue.Close()
	ctx, stop := context.WithCancel(s.Context()) // a deadline would be that of every single request
	defer stop()
	const patience = 3 * time.Minute
	lost := time.AfterFunc(patience, stop)
	defer lost.Stop()
	attempts, resumed := 0, 0
	var silent []time.Duration // from the last that a lost worker said to the next claim
	for i := range jobs {
		id := fmt.Sprintf("job-%d", i)
		lost.Reset(patience)
		if err := p.Queue.Follow(ctx, id, func(*queue.Job, *queue.Entry) error { return nil }); err != nil {
			s.Fatalf("%s is lost: %v\n%s", id, err, s.said())
		}
		h, err := p.Queue.Job(ctx, id)
		if err != nil {
			s.Fatal(err)
		}
		if h.State != queue.StateCompleted {
			s.Errorf("%s is %s: %s", id, h.State, h.Reason)
			continue
		}
		attempts += h.Attempts
		for i, e := range h.Entries {
			if e.Kind == queue.Claimed && (h.Entries[i-1].Kind == queue.Claimed ||
				h.Entries[i-1].Kind == queue.Recorded) {
				silent = append(silent, e.Time.Sub(h.Entries[i-1].Time))
			}
		}
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
	words := "no worker was lost"
	if slices.Sort(silent); len(silent) > 0 {
		words = fmt.Sprintf("a lost one's job was taken after %.1f s (median), %.1f s (most)",
			silent[len(silent)/2].Seconds(), silent[len(silent)-1].Seconds())
	}
	s.Logf("%d jobs, %d attempts, %d of them resumed to their end; %v; %s", jobs, attempts, resumed, s.struck, words)
}

// finishedSteps counts how often each step of a job passed in an attempt that did not carry it, since its last retry.
func finishedSteps(t *testing.T, h *queue.History) map[string]int {
	ran := map[string]int{}
	for _, e := range h.Entries {
		if e.Anew {
			clear(ran)
		}
		for line := range bytes.Lines(e.Journal) {
			var event struct {
				Type runs.EventType `json:"type"`
				Step string         `json:"step"`
				Data struct {
					Status  runs.StepStatus `json:"status"`
					Carried *struct{}       `json:"carried"`
				} `json:"data"`
			}
			if err := codec.UnmarshalForeign(line, &event); err != nil {
				t.Fatal(err)
			}
			if event.Type == runs.StepFinished && event.Data.Carried == nil && event.Data.Status == runs.StepPassed {
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
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return strings.Contains(line, " [INF] ") || strings.Contains(line, "connect to route")
	})
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

func (s *storm) git(args ...string) string {
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// start starts a program on a host. dir is its home; "" is that of the test.
func (s *storm) start(host int, dir, program string, args ...string) *exec.Cmd {
	argv := append([]string{filepath.Join(s.bin, program)}, args...)
	if s.hosts != nil {
		argv = append(s.hosts[host].inside(), argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if dir != "" {
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir+"/cache",
			"MARKMILL_NATS="+s.url("worker", ""))
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return cmd
}

func (s *storm) startServer(i int) *exec.Cmd {
	store := s.store(i)
	if s.secured != nil {
		return s.start(i, "", "nats-server", "-c", s.config(i, store))
	}
	return s.start(i, "", "nats-server", "-a", "127.0.0.1", "-p", s.ports[i], "-js", "-sd", store)
}

// answers waits until a server takes connections.
func (s *storm) answers(address string) {
	s.until(address+" answers", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (s *storm) startWorkers() {
	for i := range s.workers {
		s.startWorker(i)
	}
}

// home is the folder of a worker, and store that of a server.
func (s *storm) home(i int) string { return filepath.Join(s.dir, fmt.Sprintf("worker%d", i)) }

func (s *storm) store(i int) string { return filepath.Join(s.dir, fmt.Sprintf("server%d", i)) }

// appears waits for a file.
func (s *storm) appears(path string) {
	s.until(path+" is there", func() bool { _, err := os.Stat(path); return err == nil })
}

// until waits for something.
func (s *storm) until(what string, done func() bool) {
	for begin := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			s.Fatalf("not within a minute: %s\n%s", what, s.said())
		}
	}
}

// startWorker starts a worker. With a server it shares nothing but the network with the others, and the first alone has
// a repository with the commit of the jobs, the second has none, and the third has one with another commit.
func (s *storm) startWorker(i int) {
	repo, dir := s.root, ""
	words := []string{"queue", "worker", "--queue=" + strings.Join(s.worker.Queues, ","), "--lease=" +
		stormLease.String(),
		"--label=" + strings.Join(s.worker.Labels, ","), "--jobs=" + strconv.Itoa(s.worker.Jobs)}
	if len(s.servers) > 0 {
		dir = s.home(i)
		repo = filepath.Join(dir, "repo")
		if ca := s.options().CA; ca != "" {
			words = append(words, "--nats-ca="+ca)
		}
		if _, err := os.Stat(repo); err != nil {
			if err := os.MkdirAll(repo, 0o755); err != nil {
				s.Fatal(err)
			}
			switch i {
			case 0:
				s.git("clone", "-q", s.root, repo)
			case 2:
				s.git("init", "-q", repo)
				s.commit(repo, "# Another\n")
			}
		}
	}
	if dir == "" || i != 1 {
		words = append(words, "--repo="+repo)
	}
	s.workers[i] = s.start(len(s.servers)+i, dir, "markmill", words...)
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
