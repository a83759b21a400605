package cmdtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"markmill/cmd/internal/program"
	"markmill/notebooks/codec"
)

// TestQueue runs the scripts of submit, worker and jobs, with the server that does them.
func TestQueue(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no go to build markmill-server, or no shell for its notebooks")
	}
	buildQueue(t)
	// The script of the files has a server of its own, because it prunes all jobs.
	runScripts(t, "../markmill-server/*/testdata", "NATS="+natsServer(t), "NATS_FILES="+natsServer(t))
}

// buildQueue builds both programs, and the server of scripts whose workers share only the network.
func buildQueue(t *testing.T) {
	t.Helper()
	builtProgram(t)
	if err := errors.Join(buildServer(), buildNATS()); err != nil {
		t.Fatal(err)
	}
}

// buildServer builds markmill-server beside markmill, once for all tests.
var buildServer = sync.OnceValue(func() error { return buildBeside("markmill/cmd/markmill-server") })

var buildNATS = sync.OnceValue(func() error { return buildBeside("github.com/nats-io/nats-server/v2") })

func buildBeside(program string) error {
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", testSetup.binaries+"/", program)
	cmd.Dir, cmd.Env = testSetup.source, testSetup.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// natsServer starts a server on a free port of the loopback interface, and returns its address.
func natsServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(filepath.Join(testSetup.binaries, "nats-server"), "-a", "127.0.0.1", "-p", "-1", "-js", "-sd",
		filepath.Join(dir, "store"), "-l", filepath.Join(dir, "log"), "--ports_file_dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // by the signal
	})
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(dir, "*.ports"))
		if err == nil && len(files) == 1 {
			text, err := os.ReadFile(files[0])
			var ports struct {
				NATS []string `json:"nats"`
			}
			if err == nil && codec.UnmarshalForeign(text, &ports) == nil && len(ports.NATS) == 1 {
				return ports.NATS[0]
			}
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("the server names no port: %v, %v", files, err)
		}
	}
}

// TestServerMissing: without the server beside it, markmill says in one line what brings it.
func TestServerMissing(t *testing.T) {
	t.Parallel()
	alone := filepath.Join(t.TempDir(), "markmill")
	if err := os.Link(builtProgram(t), alone); err != nil {
		t.Skip(err)
	}
	want := fmt.Sprintf("go build -o %s/ ./cmd/... makes it\n", filepath.Dir(alone))
	for _, words := range [][]string{{"serve"}, {"health", "alerts", "list"}, {"queue", "list", "--json"},
		{"queue", "worker", "--drain"}} {
		cmd := exec.Command(alone, words...)
		cmd.Dir = t.TempDir()
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err := cmd.Run()
		if said := stderr.String(); cmd.ProcessState.ExitCode() != program.ExitUsage ||
			!strings.HasSuffix(said, want) ||
			strings.Count(said, "\n") != 1 {
			t.Errorf("%v: %v: %s", words, err, said)
		}
	}
}
