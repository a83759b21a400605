//go:build unix

package client

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// mount makes folders small disks.
func (s *storm) mount(dirs ...string) {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.Fatal(err)
		}
		out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", dir).CombinedOutput()
		if err != nil {
			s.Skipf("no small disks: tmpfs cannot be mounted here (as root, with CAP_SYS_ADMIN): %s", out)
		}
		s.Cleanup(func() {
			if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
				s.Errorf("%s", out)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// fill fills the disk of the first worker or of the first server for some seconds. That server then gives JetStream up,
// and needs a new start.
func (s *storm) fill() {
	what, dir := "full disks of a worker", s.home(0)
	server := rand.IntN(2) == 0
	if server {
		what, dir = "full disks of a server", s.store(0)
	}
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		s.Fatal(err)
	}
	defer os.Remove(f.Name())
	if _, err := io.Copy(f, io.LimitReader(zeros{}, 32<<20)); !errors.Is(err, syscall.ENOSPC) {
		s.Fatalf("the disk is not full: %v", err)
	}
	if err := f.Close(); err != nil {
		s.Fatal(err)
	}
	s.struck[what]++
	time.Sleep(time.Duration(2+rand.IntN(2)) * time.Second)
	if !server {
		return
	}
	if err := os.Remove(f.Name()); err != nil {
		s.Fatal(err)
	}
	s.end(s.servers[0])
	s.servers[0] = s.startServer(0)
	s.answers(s.address(0))
}
