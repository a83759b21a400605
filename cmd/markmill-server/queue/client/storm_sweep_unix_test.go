//go:build unix

package client

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"markmill/engine/queue"
	"markmill/runs"
)

// stormRows is the number of rows of the sweep.
const stormRows = 200

const sweepNotebook = "```yaml {.parameters}\nx: {type: int, default: 0}\n```\n\n" +
	"```bash {#one}\necho \"$x\" > square; glue --json square $((x * x))\n```\n\n" +
	"```bash {#two .test}\ntest \"$(cat square)\" = \"$x\"\n```\n"

// sweep runs a sweep over a cluster of three servers with TLS and accounts, and three workers that share only the
// network with each other and with whoever began it. Every row runs once, and its record and its output are here.
func (s *storm) sweep() {
	s.prepare()
	defer s.log.Close()
	s.commit(s.root, sweepNotebook)
	s.servers, s.workers = make([]*exec.Cmd, 3), make([]*exec.Cmd, 3)
	defer func() {
		for _, cmd := range append(s.workers, s.servers...) {
			s.end(cmd)
		}
	}()
	for range 2 * len(s.servers) {
		s.ports = append(s.ports, freePort(s.T))
	}
	for i := range s.servers {
		s.servers[i] = s.startServer(i)
	}
	for i := range s.servers {
		s.answers(s.address(i))
	}
	p := s.client("jobs") // which makes the streams, with three replicas
	defer p.Queue.Close()
	s.startWorkers()
	cmd := exec.Command(filepath.Join(s.bin, "markmill"), "queue", "submit", "storm.md", "out/{x}.md", "--matrix",
		fmt.Sprintf("x=1..%d", stormRows), "--queue", "default", "--label", "a", "--priority", "high", "--retries", "2",
		"--nats-ca", s.secured.ca, "--replicas", "3")
	cmd.Dir, cmd.Env = s.root, append(os.Environ(), "MARKMILL_NATS="+s.url("submit", ""))
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	if err != nil {
		s.Fatalf("%v\n%s\n%s", err, out[max(0, len(out)-4000):], s.said())
	}
	jobs, total, err := p.Queue.List(s.Context(), queue.Filter{States: []queue.State{queue.StateCompleted}, Limit: 500})
	if err != nil || total != stormRows {
		s.Fatalf("%d jobs have completed, %v\n%s", total, err, s.said())
	}
	by, attempts := map[string]int{}, 0
	store := runs.Store{Dir: s.at.Store}
	seen := map[runs.RunID]bool{}
	for _, job := range jobs {
		by[job.Worker]++
		attempts += job.Attempts
		if seen[job.Run] = true; job.Priority != "high" || len(job.Labels) != 1 || !store.Record(job.Run).Has("") {
			s.Errorf("%+v", job)
		}
	}
	if len(seen) != stormRows || len(by) != len(s.workers) || attempts != stormRows {
		s.Errorf("%d runs in %d attempts by %v", len(seen), attempts, by)
	}
	for x := 1; x <= stormRows; x++ {
		text, err := os.ReadFile(filepath.Join(s.root, "out", fmt.Sprintf("%d.md", x)))
		if err != nil || !strings.Contains(string(text), fmt.Sprint(x*x)) {
			s.Errorf("the output of row %d: %v", x, err)
		}
	}
	verify := exec.Command(filepath.Join(s.bin, "markmill"), "verify", "last-sweep")
	verify.Dir = s.root
	if out, err := verify.CombinedOutput(); err != nil {
		s.Errorf("%v\n%s", err, out)
	}
	s.Logf("%d rows in %.1f s, %d attempts, %v", stormRows, took.Seconds(), attempts, by)
}
