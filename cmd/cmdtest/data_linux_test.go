package cmdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"markmill/cmd/internal/program"
	"markmill/runs"
)

// dataTrialOn is a trial of a notebook of one step over ignored data.
func dataTrialOn(r *trial, front, code string) *trial {
	r.Helper()
	write(r.T, filepath.Join(r.repo, "o", "data.md"), front+"```bash {#write}\n"+code+"```\n")
	r.notebook = "o/data.md"
	return r
}

// TestApplyDataKilled kills apply --data at moments after its first file was moved: every file is whole, in the
// checkout or beside the record, and the same command again finishes. MARKMILL_KILLS says how many.
func TestApplyDataKilled(t *testing.T) {
	t.Parallel()
	const files = 200
	first := dataTrialOn(newCrashBed(t).trial(t), "",
		fmt.Sprintf("mkdir -p data; for i in $(seq %d); do echo new $i > data/f$i; done\n", files))
	if text, code := first.markmill("run", first.notebook); code != 0 {
		t.Fatal(text)
	}
	for i := 1; i <= files; i += 2 { // the others are new
		write(t, filepath.Join(first.repo, "data", fmt.Sprint("f", i)), fmt.Sprintf("old %d\n", i))
	}
	trials, half, whole := 3*number(t, "MARKMILL_KILLS", 1), 0, time.Duration(0)
	for i := range trials + 1 {
		repo := filepath.Join(t.TempDir(), "repo")
		if out, err := exec.Command("cp", "-a", first.repo, repo).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		r := *first
		r.T, r.repo = t, repo
		c := exec.Command(r.bed.program, "apply", "--data", "--force", "last")
		c.Dir, c.Env = repo, r.env
		begin := time.Now()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		beside := runs.At(r.record()).DataDir()
		if i > 0 {
			for time.Since(begin) < ownTime { // until the first file is moved
				if _, err := os.Lstat(filepath.Join(beside, "data", "f1")); err != nil {
					break
				}
			}
			time.Sleep(whole * time.Duration(i-1) / time.Duration(4*trials))
			_ = c.Process.Kill()
		}
		_ = c.Wait()
		if i == 0 {
			whole = time.Since(begin)
		}
		there := 0
		for i := 1; i <= files; i++ {
			name := fmt.Sprint("f", i)
			here, _ := os.ReadFile(filepath.Join(repo, "data", name))
			kept, _ := os.ReadFile(filepath.Join(beside, "data", name))
			old, made := "", fmt.Sprintf("new %d\n", i)
			if i%2 == 1 {
				old = fmt.Sprintf("old %d\n", i)
			}
			switch {
			case string(here) == made:
				there++
			case string(here) != old || string(kept) != made:
				t.Fatalf("%s is %q in the checkout and %q beside the record", name, here, kept)
			}
		}
		if there > 0 && there < files {
			half++
		}
		text, code := r.markmill("apply", "--data", "--force", "last")
		if code != 0 {
			t.Fatalf("the apply after a kill exits %d: %s", code, text)
		}
		for i := 1; i <= files; i++ {
			here, err := os.ReadFile(filepath.Join(repo, "data", fmt.Sprint("f", i)))
			if string(here) != fmt.Sprintf("new %d\n", i) {
				t.Fatalf("f%d is %q after the second apply, %v", i, here, err)
			}
		}
		if text, code := r.markmill("verify", "last"); code != 0 {
			t.Errorf("verify exits %d: %s", code, text)
		}
	}
	if t.Logf("%d of %d kills came in the middle", half, trials); half == 0 {
		t.Error("no kill came while files were moved")
	}
}

// TestPublishAtOnce has several runs end at the same time that write one file, and each a file of its own: one of them
// puts its files into the checkout, and the others put none there and name it.
func TestPublishAtOnce(t *testing.T) {
	t.Parallel()
	const many = 5
	r := dataTrialOn(newCrashBed(t).trial(t), "---\ndata: data/**\nparams: {n: 0, gate: \"\"}\n---\n",
		"echo $n > data/own$n; echo $n > data/shared; touch $TMPDIR/x; echo ready; "+
			"until [ -e \"$gate\" ]; do sleep 0.01; done\n")
	gate := filepath.Join(r.dir, "gate")
	var all []*exec.Cmd
	said := make([]strings.Builder, many)
	for i := range many {
		c := exec.Command(r.bed.program, "run", r.notebook, "-p", fmt.Sprint("n=", i), "-p", "gate="+gate)
		c.Dir, c.Env, c.Stderr = r.repo, r.env, &said[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for deadline := time.Now().Add(ownTime); ; time.Sleep(10 * time.Millisecond) {
		written, _ := filepath.Glob(filepath.Join(r.repo, ".markmill", "data", "*", "upper", "data", "files", "shared"))
		tree, _ := filepath.Glob(filepath.Join(r.cache(), "work", "*", "tree", "repo", "data", "shared"))
		if len(written)+len(tree) == many {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the runs do not all reach their end: %v", said)
		}
	}
	write(t, gate, "")
	passed := -1
	for i, c := range all {
		_ = c.Wait()
		code := c.ProcessState.ExitCode()
		if code == program.ExitPass && passed < 0 {
			passed = i
		} else if words := said[i].String(); code != program.ExitFail ||
			!strings.Contains(words, "data_conflict: data/shared was written by run") {
			t.Errorf("run %d exits %d, and run %d has passed: %s", i, code, passed, said[i].String())
		}
	}
	for i := range many {
		_, err := os.Lstat(filepath.Join(r.repo, "data", fmt.Sprint("own", i)))
		if (err == nil) != (i == passed) {
			t.Errorf("run %d has passed, and the file of run %d: %v", passed, i, err)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(r.repo, "data", "shared")); string(text) != fmt.Sprintln(passed) {
		t.Errorf("run %d has passed, and the shared file is %q", passed, text)
	}
}

// TestDataOnAnotherDisk keeps records on another disk than the checkout, which is full before all of the data is there:
// what is said of each file is true, nothing is half-written, and with more room the rest follows.
func TestDataOnAnotherDisk(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	var at string
	r := b.trialOn(t, func(dir string) { at = dir; disk(t, dir, 6<<20) })
	r = dataTrialOn(r, "---\ndata: data/**\n---\n", "head -c 1M /dev/zero > data/a; head -c 20M /dev/zero > data/b\n")
	store := filepath.Join(r.dir, "store")
	for i, kv := range r.env {
		if strings.HasPrefix(kv, "XDG_CACHE_HOME=") {
			r.env[i] = "XDG_CACHE_HOME=" + filepath.Join(r.dir, "cache")
		}
	}
	r.env = append(r.env, "MARKMILL_DIR="+store)
	text, code := r.markmill("run", r.notebook)
	if code != program.ExitFail || !strings.Contains(text, "no space left on device") ||
		!strings.Contains(text, "data/a, 1.0 MiB, in the checkout") ||
		!strings.Contains(text, "written, and ignored by Git: data/b, 20.0 MiB: markmill apply --data last") {
		t.Errorf("exit %d: %s", code, text)
	}
	size := func(path string) int64 {
		info, err := os.Lstat(path)
		if err != nil {
			return -1
		}
		return info.Size()
	}
	left, _ := filepath.Glob(filepath.Join(r.repo, "data", ".*"))
	if a, b := size(filepath.Join(r.repo, "data", "a")), size(filepath.Join(r.repo, "data", "b")); a != 1<<20 ||
		b != -1 || len(left) > 0 {
		t.Errorf("the checkout has a of %d bytes, b of %d, and %v", a, b, left)
	}
	if text, code := r.markmill("show", "last"); code != 0 ||
		!strings.Contains(text, "kept beside the record") {
		t.Errorf("show exits %d: %s", code, text)
	}
	if err := unix.Mount("", at, "", unix.MS_REMOUNT, "size=64M"); err != nil {
		t.Skip(err)
	}
	if text, code := r.markmill("apply", "--data", "last"); code != 0 {
		t.Errorf("apply --data exits %d: %s", code, text)
	}
	if got := size(filepath.Join(r.repo, "data", "b")); got != 20<<20 {
		t.Errorf("b has %d bytes", got)
	}
	if text, code := r.markmill("run", r.notebook); code != 0 {
		t.Errorf("the next run exits %d: %s", code, text)
	}
	if text, code := r.markmill("verify", "last"); code != 0 {
		t.Errorf("verify exits %d: %s", code, text)
	}
}
