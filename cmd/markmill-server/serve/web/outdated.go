package web

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"

	"markmill/cmd/internal/child"
	"markmill/render/plain"
)

// updater runs what is outdated, one process at a time. It continues when the workbench ends, as each run does.
type updater struct {
	mutex  sync.Mutex
	going  bool
	failed string // what the last one said, if it did not end well
}

// state reports whether one is running, and why the last one failed.
func (c *updater) state() (going bool, failed string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.going, c.failed
}

// begin reports whether another one may start.
func (c *updater) begin() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.going {
		return false
	}
	c.going, c.failed = true, ""
	return true
}

func (c *updater) end(failed string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.going, c.failed = false, failed
}

// catchUp runs what is outdated, as markmill run --outdated does, and shows Home, where the runs appear.
func (s *server) catchUp(w http.ResponseWriter, r *http.Request) error {
	if !s.updating.begin() {
		return refused(http.StatusConflict, problem("what is outdated is being run already"))
	}
	said, err := scratch()
	if err == nil {
		cmd := exec.Command(s.Program, "run", "--outdated", "--no-progress-bar", "--", ".")
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.Root, said, said, child.Environ(r.Context())
		child.Detach(cmd)
		if err = cmd.Start(); err == nil {
			go func() {
				defer said.Close()
				words := ""
				if cmd.Wait() != nil {
					text, _ := io.ReadAll(io.NewSectionReader(said, 0, 64<<10))
					lines := strings.Split(strings.TrimSpace(string(text)), "\n")
					words = plain.Cut(plain.OneLine(lines[len(lines)-1]), 1000)
				}
				s.updating.end(words)
			}()
			return done(w, r, "/", http.StatusAccepted, nil)
		}
		_ = said.Close() // the command has not begun
	}
	s.updating.end("")
	return err
}
