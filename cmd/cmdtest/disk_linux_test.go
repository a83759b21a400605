package cmdtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"markmill/cmd/internal/program"
	"markmill/runs"
)

// disk mounts a small disk of its own at a folder, which is empty, for the time of a test.
func disk(t *testing.T, at string, size int) {
	t.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// readOnly lets nobody write into a folder, root neither.
func readOnly(t *testing.T, at string) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := os.Chmod(at, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(at, 0o755) }) // a test that cannot be cleared away fails by itself
		return
	}
	kept, err := os.MkdirTemp(t.TempDir(), "")
	if err == nil {
		err = os.CopyFS(filepath.Join(kept, "x"), os.DirFS(at))
	}
	if err != nil {
		t.Fatal(err)
	}
	disk(t, at, 1<<20)
	if err := os.CopyFS(at, os.DirFS(filepath.Join(kept, "x"))); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("no disk can be made read-only here: %v", err)
	}
}

// end waits for the run and keeps its exit status.
func (r *trial) end(c *exec.Cmd) {
	_ = c.Wait()
	r.exit = c.ProcessState.ExitCode()
}

// fails wants the run to have ended with 1, in words that hold each of some.
func (r *trial) fails(words ...string) {
	r.Helper()
	said, err := os.ReadFile(r.errs)
	if err != nil {
		r.Fatal(err)
	}
	if r.exit != program.ExitFail {
		r.Errorf("exit %d, not %d: %s", r.exit, program.ExitFail, said)
	}
	for _, w := range words {
		if !bytes.Contains(said, []byte(w)) {
			r.Errorf("%q is not in what it says: %s", w, said)
		}
	}
}

// blocked wants a record that is complete and says that a file could not be written.
func (r *trial) recordsFailure() {
	r.Helper()
	run, _, err := runs.At(r.record()).Load()
	if err != nil {
		r.Fatal(err)
	}
	if run.Completed == nil || run.Status() != runs.Fail {
		r.Fatalf("the record is %s, not a complete one that failed", run.Status())
	}
	for _, b := range run.Blockers() {
		if b.Code == runs.CodeArtifactWriteFailure {
			return
		}
	}
	r.Errorf("the record does not say %s: %v", runs.CodeArtifactWriteFailure, run.Blockers())
}

// TestFullDisk runs on a disk that has only so much room, more or less of it with MARKMILL_ALL set, and on one that a
// step fills.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	const size = 6 << 20
	ballast := func(r *trial, room int64) string {
		var s unix.Statfs_t
		if err := unix.Statfs(r.repo, &s); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(r.dir, "run", "ballast")
		if err := os.WriteFile(path, make([]byte, max(0, int64(s.Bavail)*s.Bsize-room)), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for i, room := range []int64{0, 100 << 10, 520 << 10, 560 << 10, 620 << 10, 700 << 10, 800 << 10} {
		if i%2 == 1 && !everything() {
			continue
		}
		t.Run(fmt.Sprintf("%dK", room>>10), func(t *testing.T) {
			r := b.trialOn(t, func(dir string) { disk(t, dir, size) })
			took := ballast(r, room)
			r.end(r.start())
			if err := os.Remove(took); err != nil {
				t.Fatal(err)
			}
			r.judge()
			if r.exit == program.ExitBlocked { // an interpreter could not be started for want of room
				r.exit = program.ExitFail
			}
			if r.exit != 0 {
				r.fails("no space left on device")
			}
			if r.record() == "" && r.exit == 0 {
				t.Error("the run exits 0 and left no record")
			}
		})
	}
	t.Run("by a step", func(t *testing.T) {
		r := b.trialOn(t, func(dir string) { disk(t, dir, size) })
		// The file is outside the worktree, so that it stays when the run's folder goes.
		filled := filepath.Join(r.tmp(), "filled")
		write(t, filepath.Join(r.repo, "o", "fill.md"),
			"---\nsandbox: off\n---\n```bash {#fill}\nset +e\ncat /dev/zero > "+
				filled+" 2>/dev/null\ntrue\n```\n\n```bash {#more}\necho more\n```\n")
		r.notebook = "o/fill.md"
		r.end(r.start())
		r.fails("no space left on device", runs.CodeArtifactWriteFailure)
		r.recordsFailure()
		if err := os.Remove(filled); err != nil {
			t.Fatal(err)
		}
	})
}

// TestFileSizeLimit runs under a limit of the size of files, below what the run needs.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	for _, blocks := range []int{0, 1, 4, 600} { // of 1024 bytes; the last is enough for the run, and not for its step
		t.Run(fmt.Sprint(blocks), func(t *testing.T) {
			r := b.trial(t)
			if blocks == 600 {
				write(t, filepath.Join(r.repo, "o", "much.md"),
					"```bash {#much}\nhead -c 1000000 /dev/zero | tr '\\0' x\n```\n")
				r.notebook = "o/much.md"
			}
			c := exec.Command("bash",
				append([]string{"-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, blocks), b.program},
					r.args()...)...)
			c.Dir, c.Env = r.repo, r.env
			said, _ := c.CombinedOutput()
			write(t, r.errs, string(said))
			r.exit = c.ProcessState.ExitCode()
			r.fails("file too large")
			if blocks == 600 {
				r.recordsFailure()
				return
			}
			r.judge()
		})
	}
}

// TestReadOnly runs where a folder that is needed cannot be written.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	t.Run("OUTPUT", func(t *testing.T) {
		r := b.trial(t)
		readOnly(t, filepath.Join(r.repo, "o"))
		r.end(r.start())
		r.fails(runs.CodeArtifactWriteFailure, filepath.Join("o", "out_files"))
		r.recordsFailure()
		r.judge()
	})
	t.Run("record", func(t *testing.T) {
		r := b.trial(t)
		store := filepath.Join(r.repo, ".markmill")
		if err := os.MkdirAll(filepath.Join(store, "runs"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(store, ".gitignore"), "*\n")
		readOnly(t, store)
		r.end(r.start())
		r.fails(store, "cannot be written")
		if told := r.told(); len(told) > 0 {
			t.Errorf("events were told of a run that has no record: %v", told)
		}
	})
	t.Run("cache", func(t *testing.T) {
		r := b.trial(t)
		readOnly(t, r.cache())
		r.end(r.start())
		r.fails(runs.CodeArtifactWriteFailure, r.cache())
		r.recordsFailure()
		r.judge()
	})
	t.Run("repository", func(t *testing.T) { // which a run only reads
		r := b.trial(t)
		readOnly(t, filepath.Join(r.repo, ".git"))
		r.end(r.start())
		if said, _ := os.ReadFile(r.errs); r.exit != program.ExitPass {
			t.Errorf("exit %d: %s", r.exit, said)
		}
	})
	t.Run("OUTPUT is a folder", func(t *testing.T) {
		r := b.trial(t)
		if err := os.Remove(r.output); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(r.output, 0o755); err != nil {
			t.Fatal(err)
		}
		r.end(r.start())
		if said, _ := os.ReadFile(r.errs); r.exit != program.ExitUsage ||
			!strings.Contains(string(said), "is a folder") {
			t.Errorf("exit %d: %s", r.exit, said)
		}
		if r.record() != "" {
			t.Error("a run was begun")
		}
	})
}
