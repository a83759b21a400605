package cmdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// peerTime and ownTime are how long a peer's program and one of ours may take. None here needs a tenth of it, unless
// it runs many notebooks, for which a test gives more.
const (
	peerTime = time.Minute
	ownTime  = 2 * time.Minute
)

// errHangs is that a program did not end in time.
var errHangs = errors.New("it hangs")

// bounded runs a program to its end, or kills it when the time is over. prepare sets where it runs and what it reads
// and writes.
func bounded(ctx context.Context, limit time.Duration, prepare func(*exec.Cmd), name string, args ...string) (
	*exec.Cmd, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // for processes that hold its output
	inGroup(cmd)
	prepare(cmd)
	err := cmd.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("%w, and was killed after %s", errHangs, limit)
	}
	return cmd, err
}

// peer runs a program to its end. A peer that hangs is started once more: Jupyter's client gives its kernel ports that
// are free, and waits for good if another program was quicker to listen there. One that hangs again fails the test, as
// Markmill does at once.
func peer(t *testing.T, limit time.Duration, prepare func(*exec.Cmd), name string, args ...string) (
	stdout, stderr []byte, err error) {
	t.Helper()
	own := strings.HasPrefix(filepath.Base(name), "markmill")
	if own {
		limit = max(limit, ownTime)
	}
	for try := 1; ; try++ {
		var out, words bytes.Buffer
		_, err = bounded(t.Context(), limit, func(c *exec.Cmd) {
			c.Stdout, c.Stderr = &out, &words
			prepare(c)
		}, name, args...)
		if !errors.Is(err, errHangs) {
			return out.Bytes(), words.Bytes(), err
		}
		said := fmt.Sprintf("%s %.300q: %v\n%s%s", filepath.Base(name), args, err, out.Bytes(), words.Bytes())
		if own || try == 2 {
			t.Fatal(said)
		}
		t.Log("started once more: " + said)
	}
}

// finished is peer in a folder.
func finished(t *testing.T, dir, name string, args ...string) (stdout, stderr []byte, err error) {
	t.Helper()
	return peer(t, peerTime, func(c *exec.Cmd) { c.Dir = dir }, name, args...)
}
