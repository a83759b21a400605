// Queue measures a queue of many jobs: what its server needs of memory, how long it takes to start, and how long
// markmill queue takes. It needs markmill and markmill-server side by side:
//
//	go build -o BIN/ ./cmd/... && go run ./bench/queue -jobs 100000 BIN/markmill
//
// The jobs are in an embedded queue in a temporary folder, and one worker that takes none of them has its server.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/jetstream"
)

func main() {
	jobs := flag.Int("jobs", 100_000, "how many jobs to make")
	rounds := flag.Int("rounds", 21, "how often each list is measured")
	flag.Parse()
	if flag.NArg() != 1 || *jobs < 1 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	program, err := filepath.Abs(flag.Arg(0))
	if err == nil {
		err = measure(program, *jobs, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "queue:", err)
		os.Exit(1)
	}
}

func measure(program string, jobs, rounds int) error {
	dir, err := os.MkdirTemp("", "markmill-bench-queue-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, out)
	}
	store := filepath.Join(dir, ".markmill", "queue", "nats")
	if err := fill(store, jobs); err != nil {
		return err
	}
	fmt.Printf("disk: %d MB\n", size(store)>>20)
	begin := time.Now()
	q, err := jetstream.Connect(context.Background(), jetstream.Options{Dir: store})
	if err != nil {
		return err
	}
	fmt.Printf("start of the server: %d ms\n", time.Since(begin).Milliseconds())
	q.Close()

	list := func(args ...string) (time.Duration, error) {
		cmd := exec.Command(program, append([]string{"queue", "list"}, args...)...)
		cmd.Dir = dir
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		if err == nil && !strings.Contains(string(out), "job-") && len(args) == 0 {
			err = fmt.Errorf("it lists no job: %s", out)
		}
		return time.Since(begin), err
	}
	alone, err := list()
	if err != nil {
		return err
	}
	fmt.Printf("markmill queue list, which starts the server: %d ms\n", alone.Milliseconds())

	worker := exec.Command(program, "queue", "worker", "--queue", "nothing")
	worker.Dir = dir
	if err := worker.Start(); err != nil {
		return err
	}
	defer func() { _ = worker.Wait() }()
	defer func() { _ = worker.Process.Signal(syscall.SIGTERM) }()
	time.Sleep(3 * time.Second) // it has the server
	for _, args := range [][]string{nil, {"--limit", "500"}, {"--state", "enqueued", "--queue", "default"},
		{"--state", "completed"}, {"--state", "running"}, {"--state", "dead,failed"}, {"--notebook", "n7.md"}} {
		var times []time.Duration
		for range rounds {
			took, err := list(args...)
			if err != nil {
				return err
			}
			times = append(times, took)
		}
		slices.Sort(times)
		fmt.Printf("%-60s median %d ms, %d to %d ms\n", "markmill queue list "+strings.Join(args, " "),
			times[rounds/2].Milliseconds(), times[0].Milliseconds(), times[rounds-1].Milliseconds())
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", worker.Process.Pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			fmt.Print("memory of the worker with the server: ", line)
		}
	}
	return nil
}

// fill makes the jobs, of which one in a hundred has been canceled.
func fill(store string, jobs int) error {
	ctx := context.Background()
	q, err := jetstream.Connect(ctx, jetstream.Options{Dir: store})
	if err != nil {
		return err
	}
	defer q.Close()
	begin := time.Now()
	var group sync.WaitGroup
	errs := make([]error, 32)
	for first := range errs {
		group.Go(func() {
			for i := first; i < jobs && errs[first] == nil; i += len(errs) {
				spec := &queue.Spec{ID: fmt.Sprintf("job-%06d", i), Queue: "default", Priority: queue.Normal,
					By: "bench",
					Request: engine.Request{Path: fmt.Sprintf("n%d.md", i%100),
						Source: []byte("# N\n\n```bash\ntrue\n```\n")}}
				_, _, errs[first] = q.Submit(ctx, spec, time.Now())
				if i%100 == 0 && errs[first] == nil {
					_, errs[first] = q.Cancel(ctx, spec.ID, "bench", "measured", time.Now())
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	took := time.Since(begin)
	fmt.Printf("%d jobs submitted in %.1f s, %.2f ms each\n", jobs, took.Seconds(), took.Seconds()*1000/float64(jobs))
	return nil
}

func size(dir string) (n int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return nil
	})
	return n
}
