package cmdtest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/runs"
)

// crashNotebook makes a run write everything that a run can write.
const crashNotebook = `---
data: data/**
params:
  word: {type: string, default: x}
---
# What a crash may cost

` + "```bash {#change}" + `
printf '%s\n' "$word" >> old; mkdir -p new; printf 'a\0b' > new/binary; git rm -q gone
glue word "$word"
cp data/old.csv data/new.csv; echo new > data/old.csv; rm -f data/gone.csv; echo left > left.log
` + "```" + `

` + "```python {#picture}" + `
import base64, os, pathlib, sys
print("out"); print("err", file=sys.stderr)
pathlib.Path("made.txt").write_text("made\n")
glue("number", 5)
file = pathlib.Path(os.environ["MARKMILL_STEP_DIR"]) / "p.png"
file.parent.mkdir(exist_ok=True)
file.write_bytes(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="))
glue("picture", file, display=True)
` + "```" + `

` + "```bash {#test .test}" + `
grep -q "$word" old && echo "3 passed, 0 failed"
` + "```" + `
`

// outputs are the OUTPUT of the runs: one of which the record keeps a copy, and one that it makes again.
var outputs = []string{"out.md", "out.ipynb"}

// oldOutput stands at OUTPUT before each run.
const oldOutput = "# An output of an earlier day\n"

// crashBed is what trials share: the program, and a repository that each gets a copy of.
type crashBed struct {
	program  string
	template string
}

func newCrashBed(t *testing.T) *crashBed {
	t.Helper()
	for _, program := range []string{"git", "bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	b := &crashBed{program: builtProgram(t), template: filepath.Join(t.TempDir(), "template")}
	command(t, "", "git", "-c", "init.defaultBranch=main", "init", "-q", noHooks, b.template)
	if err := os.Mkdir(filepath.Join(b.template, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"old": "one\n", "gone": "away\n", "task.md": crashNotebook,
		".gitignore": "/o/\n/data/\n*.log\n", "data/old.csv": "old\n", "data/gone.csv": "gone\n"} {
		write(t, filepath.Join(b.template, name), text)
	}
	command(t, b.template, "git", "add", ".")
	command(t, b.template, "git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "-m", "base")
	if err := os.Mkdir(filepath.Join(b.template, "o"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range outputs {
		write(t, filepath.Join(b.template, "o", name), oldOutput)
	}
	return b
}

// to is the trial with another OUTPUT.
func (r *trial) to(name string) *trial {
	r.output = filepath.Join(r.repo, "o", name)
	return r
}

// trial is one run that is cut or hindered, in a home and a repository of its own.
type trial struct {
	*testing.T
	bed              *crashBed
	dir, home, repo  string
	notebook, output string
	seen, out, errs  string // what the run told: its events, its standard output and standard error
	env              []string
	exit             int               // of the run; -1: it was killed
	branch           bool              // it makes a branch, too
	between          func(dir string)  // what happens before runs maintain reconcile
	dot              map[string]string // .git as it was before the run
}

func (b *crashBed) trial(t *testing.T) *trial {
	t.Helper()
	return b.trialOn(t, func(string) {})
}

// trialOn is a trial on a disk that is made at the folder under which the run writes.
func (b *crashBed) trialOn(t *testing.T, make func(dir string)) *trial {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	make(filepath.Join(dir, "run"))
	r := &trial{T: t, bed: b, notebook: "task.md", dir: dir, home: filepath.Join(dir, "home"),
		repo: filepath.Join(dir, "run", "repo")}
	if err := os.CopyFS(r.repo, os.DirFS(b.template)); err != nil {
		t.Fatal(err)
	}
	r.output = filepath.Join(r.repo, "o", "out.md")
	r.seen, r.out, r.errs = filepath.Join(dir, "seen"), filepath.Join(dir, "stdout"), filepath.Join(dir, "stderr")
	for _, folder := range []string{r.home, r.cache(), r.tmp()} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.dot = gitDigest(t, filepath.Join(r.repo, ".git"))
	r.env = append(os.Environ(), "HOME="+r.home, "XDG_CACHE_HOME="+filepath.Dir(r.cache()), "TMPDIR="+r.tmp(),
		"MARKMILL_DIR=",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "NO_COLOR=1")
	return r
}

func (r *trial) cache() string { return filepath.Join(r.dir, "run", "cache", "markmill") }

func (r *trial) tmp() string { return filepath.Join(r.dir, "run", "tmp") }

// args are those of the run that is cut.
func (r *trial) args() []string {
	args := []string{"run", r.notebook, "o/" + filepath.Base(r.output), "-p", "word", "two",
		"--allow-unknown-parameters",
		"--no-progress-bar", "--events", r.seen}
	if r.branch {
		args = append(args, "--branch", "done")
	}
	return args
}

// start begins the run; its output goes to files, so that nothing waits for it.
func (r *trial) start() *exec.Cmd {
	r.Helper()
	c := exec.Command(r.bed.program, r.args()...)
	files := r.files()
	c.Dir, c.Env, c.Stdout, c.Stderr = r.repo, r.env, files[1], files[2]
	if err := c.Start(); err != nil {
		r.Fatal(err)
	}
	return c
}

// files are standard input, output and error of the run.
func (r *trial) files() []*os.File {
	r.Helper()
	files := []*os.File{}
	for _, name := range []string{os.DevNull, r.out, r.errs} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { f.Close() })
		files = append(files, f)
	}
	return files
}

// markmill runs another command to its end.
func (r *trial) markmill(args ...string) (text string, code int) {
	r.Helper()
	c := exec.Command(r.bed.program, args...)
	c.Dir, c.Env = r.repo, r.env
	b, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		r.Fatal(err)
	}
	return string(b), c.ProcessState.ExitCode()
}

// told are the events that whoever watched the run had been told.
func (r *trial) told() []runs.Event {
	b, err := os.ReadFile(r.seen)
	if err != nil {
		return nil // cut before it began to tell
	}
	var events []runs.Event
	for line := range strings.Lines(string(b)) {
		var e runs.Event
		if strings.HasSuffix(line, "\n") {
			if err := codec.Unmarshal([]byte(line), &e); err != nil {
				r.Errorf("an event was told in bad JSON: %s", line)
			}
			events = append(events, e)
		}
	}
	return events
}

// record is the one run directory, "" when the run had not made it yet.
func (r *trial) record() string {
	r.Helper()
	found, err := filepath.Glob(filepath.Join(r.repo, ".markmill", "runs", "*"))
	if err != nil || len(found) > 1 {
		r.Fatal("run directories: ", found, err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// journal is what stands in the record.
func (r *trial) journal(dir string) []runs.Event {
	f, err := runs.At(dir).Open(runs.JournalFile)
	if err != nil {
		return nil
	}
	defer f.Close()
	source, err := os.ReadFile(filepath.Join(dir, "notebook.md"))
	if err != nil {
		r.Errorf("there is a journal and no source notebook: %v", err)
	}
	events, _, err := runs.ReadJournal(f, runs.DigestOf(source))
	if err != nil {
		r.Errorf("the journal does not open: %v", err)
	}
	return events
}

// judge holds what is left after a run that was cut or hindered against what the documents promise.
func (r *trial) judge() {
	r.Helper()
	dir := r.record()
	told, kept := r.told(), r.journal(dir)
	if len(told) > len(kept) {
		r.Errorf("%d events were told and %d are in the journal", len(told), len(kept))
	}
	for i := range min(len(told), len(kept)) {
		if told[i].Hash != kept[i].Hash {
			r.Errorf("event %d was told as %s and the journal has %s", i, told[i].Hash, kept[i].Hash)
		}
	}
	r.checkOutput(dir, kept)
	completed := len(kept) > 0 && kept[len(kept)-1].Type == runs.RunCompleted
	r.checkExit(dir, completed)
	if r.between != nil {
		r.between(dir)
	}
	r.checkGit("the run")
	text, code := r.markmill("runs", "maintain", "reconcile")
	if code != 0 {
		r.Errorf("runs maintain reconcile exits %d: %s", code, text)
	}
	r.checkGit("runs maintain reconcile")
	r.checkOutput(dir, kept)
	if len(kept) > 0 {
		r.checkRecord(dir, completed)
		r.checkData(dir)
	} else if _, err := os.Lstat(dir); dir != "" && err == nil {
		r.Errorf("a run that was cut before its first event is kept: %s", dir)
	}
	r.checkLeft(dir)
}

// runAgain runs the notebook once more: the next command that looks after what is left may be another run.
func (r *trial) runAgain(dir string) {
	r.Helper()
	before, _ := filepath.Glob(filepath.Join(r.repo, ".markmill", "runs", "*"))
	if text, code := r.markmill("run", r.notebook, "--no-progress-bar"); code != 0 {
		r.Errorf("the next run exits %d: %s", code, text)
	}
	r.checkFiles(dir)
	after, _ := filepath.Glob(filepath.Join(r.repo, ".markmill", "runs", "*"))
	for _, added := range after { // what follows is about the first run alone
		if !slices.Contains(before, added) {
			if err := os.RemoveAll(added); err != nil {
				r.Error(err)
			}
		}
	}
}

// checkExit holds the exit status against the record: 0 says that it is whole and true.
func (r *trial) checkExit(dir string, completed bool) {
	r.Helper()
	words, _ := os.ReadFile(r.errs)
	if bytes.Contains(words, []byte("goroutine ")) {
		r.Errorf("the run panics: %s", words)
	}
	switch r.exit {
	case -1:
	case 0:
		if !completed {
			r.Error("the run exits 0 and its record is not complete")
		}
		if text, code := r.markmill("verify", filepath.Base(dir)); code != 0 {
			r.Errorf("the run exits 0 and verify finds: %s", text)
		}
		if b, _ := os.ReadFile(r.output); string(b) == oldOutput {
			r.Error("the run exits 0 and OUTPUT is the old one")
		}
	default:
		if len(bytes.TrimSpace(words)) == 0 {
			r.Errorf("the run exits %d and says nothing", r.exit)
		}
	}
}

// checkOutput wants the old bytes at OUTPUT or the whole new ones; new ones only beside a record that says the same.
func (r *trial) checkOutput(dir string, kept []runs.Event) {
	r.Helper()
	b, err := os.ReadFile(r.output)
	if err != nil {
		r.Errorf("OUTPUT is gone: %v", err)
		return
	}
	if string(b) == oldOutput {
		return
	}
	manifest, problem := r.whole(b)
	if problem != nil {
		r.Errorf("OUTPUT is neither the old one nor a whole new one (%v):\n%s", problem, b)
		return
	}
	if len(kept) == 0 || kept[len(kept)-1].Type != runs.RunCompleted {
		r.Errorf("OUTPUT says %s and the record is not complete", manifest.Status)
	} else if run, _, err := runs.At(dir).Load(); err != nil || string(run.Status()) != manifest.Status {
		r.Errorf("OUTPUT says %s and the record %v (%v)", manifest.Status, run.Status(), err)
	}
}

// whole reads the manifest of an output notebook, or says why it is not a whole one.
func (r *trial) whole(b []byte) (m *notebooks.Manifest, problem error) {
	if filepath.Ext(r.output) == ".ipynb" {
		nb, err := ipynb.Parse(r.output, b)
		if err != nil {
			return nil, err
		}
		if damage := nb.Damage(); len(damage) > 0 {
			return nil, damage[0]
		}
		m = nb.Manifest()
	} else {
		got := region.Strip(r.output, b)
		if len(got.Problems) > 0 {
			return nil, got.Problems
		}
		if string(got.Source) != crashNotebook {
			return nil, errors.New("its source is another")
		}
		m = got.Manifest
	}
	if m == nil {
		return nil, errors.New("it has no manifest")
	}
	return m, nil
}

// checkRecord wants a record that is complete and holds.
func (r *trial) checkRecord(dir string, completed bool) {
	r.Helper()
	run, _, err := runs.At(dir).Load()
	if err != nil {
		r.Errorf("the record cannot be read: %v", err)
		return
	}
	if want := runs.Interrupted; !completed && run.Status() != want {
		r.Errorf("the record that was not complete is %s after runs maintain reconcile, not %s", run.Status(), want)
	}
	if text, code := r.markmill("verify", filepath.Base(dir)); code != 0 {
		r.Errorf("verify exits %d: %s", code, text)
	}
	r.checkAgain(dir, run)
}

// checkAgain wants the record to give the output notebook again, whatever became of OUTPUT: the same that stands there,
// where it is the run's.
func (r *trial) checkAgain(dir string, run *runs.Run) {
	r.Helper()
	again := filepath.Join(r.dir, "again", filepath.Base(r.output))
	if err := os.MkdirAll(filepath.Dir(again), 0o755); err != nil {
		r.Fatal(err)
	}
	if text, code := r.markmill("convert", filepath.Base(dir), again); code != 0 {
		r.Errorf("convert exits %d: %s", code, text)
		return
	}
	got, err := os.ReadFile(again)
	if err != nil {
		r.Error(err)
		return
	}
	if m, problem := r.whole(got); problem != nil || m.Status != string(run.Status()) {
		r.Errorf("the record gives no whole output notebook (%v):\n%s", problem, got)
	}
	if b, err := os.ReadFile(r.output); err == nil && string(b) != oldOutput && !bytes.Equal(b, got) {
		r.Errorf("the record gives another output notebook than OUTPUT:\n%s\n%s", got, b)
	}
}

// checkData wants what the first step wrote and Git ignores to be in the checkout or beside the record, whole, and
// where the record says; and the checkout's files as they were or as the run made them.
func (r *trial) checkData(dir string) {
	r.Helper()
	run, _, err := runs.At(dir).Load()
	if err != nil {
		return // checkRecord says so
	}
	text := func(folder, name string) string {
		b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return "none"
		}
		return string(b)
	}
	done := len(run.Steps) > 0 && run.Steps[0].Finished != nil && run.Steps[0].Status() == runs.StepPassed
	beside, still := runs.At(dir).DataDir(), r.keepsTree()
	for name, is := range map[string][2]string{"data/old.csv": {"old\n", "new\n"}, "data/new.csv": {"none", "old\n"},
		"left.log": {"none", "none"}} {
		made := cmp.Or(map[string]string{"left.log": "left\n"}[name], is[1])
		here, kept := text(r.repo, name), text(beside, name)
		if r.between != nil && here == "new\n" && name == "data/new.csv" {
			continue // the run between read what the killed one had put into the checkout
		}
		if still { // the run says that it could not be moved
			for _, pattern := range []string{filepath.Join(r.cache(), "work", "*", "tree", "repo", name),
				filepath.Join(filepath.Dir(beside), "upper", "*", "files", filepath.Base(name))} {
				found, _ := filepath.Glob(pattern)
				for _, at := range found {
					if now := text(at, ""); now == made {
						kept = now
					}
				}
			}
		}
		if !slices.Contains(is[:], here) {
			r.Errorf("%s in the checkout is %q", name, here)
		}
		if done && here != made && kept != made {
			r.Errorf("%s is lost: %q in the checkout, %q beside the record", name, here, kept)
		}
		var listed []runs.DataFile
		if run.Data != nil {
			other := func(f runs.DataFile) bool { return f.Path != name }
			listed = slices.DeleteFunc(slices.Clone(run.Data.Files), other)
		}
		switch {
		case !done || still:
		case len(listed) != 1:
			r.Errorf("the record lists %s %d times", name, len(listed))
		case listed[0].Published != (here == made && kept == "none"):
			r.Errorf("the record says of %s %v: %q in the checkout, %q beside the record", name, listed[0], here, kept)
		}
	}
}

// keepsTree reports whether the run says that its worktree is kept, since ignored files in it could not be moved.
func (r *trial) keepsTree() bool {
	words, _ := os.ReadFile(r.errs)
	return bytes.Contains(words, []byte("Git ignores is still in "))
}

// checkLeft wants nothing of the run outside its record.
func (r *trial) checkLeft(dir string) {
	r.Helper()
	r.checkFiles(dir)
	if status := r.git("status", "--porcelain"); status != "" {
		r.Errorf("git status: %s", status)
	}
	if words := r.git("fsck", "--no-dangling", "--no-progress"); words != "" {
		r.Errorf("git fsck: %s", words)
	}
	r.checkProcesses(dir)
}

// checkGit wants the user's .git as it was, but for the branch that was asked for.
func (r *trial) checkGit(what string) {
	r.Helper()
	if !r.branch {
		sameGit(r.T, what, r.dot, gitDigest(r.T, filepath.Join(r.repo, ".git")))
	}
}

// checkFiles wants no file that is half-written, temporary or a lock.
func (r *trial) checkFiles(dir string) {
	r.Helper()
	var left []string
	walk := func(top string, odd func(path, name string) bool) {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && path != top && odd(path, d.Name()) {
				left = append(left, strings.TrimPrefix(path, r.dir))
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			r.Error(err)
		}
	}
	walk(filepath.Join(r.repo, ".git"), func(path, name string) bool {
		return strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "tmp_")
	})
	packs := func(ext string) []string {
		found, _ := filepath.Glob(filepath.Join(r.repo, ".git", "objects", "pack", "*"+ext))
		for i := range found {
			found[i] = strings.TrimSuffix(found[i], ext)
		}
		return found
	}
	if whole, indexed := packs(".pack"), packs(".idx"); !slices.Equal(whole, indexed) {
		left = append(left, fmt.Sprintf("packs %v with indexes %v", whole, indexed))
	}
	half := func(path, name string) bool { return strings.HasPrefix(name, ".tmp-") || name == ".lock" }
	walk(filepath.Join(r.repo, "o"), half)
	if _, err := os.Stat(dir); err == nil && dir != "" {
		walk(filepath.Join(r.repo, ".markmill"), func(path, name string) bool { // live runs share known
			return half(path, name) && filepath.Base(filepath.Dir(path)) != "known"
		})
	}
	walk(filepath.Join(r.cache(), "work"), func(path, name string) bool {
		return filepath.Dir(path) == filepath.Join(r.cache(), "work") && !r.keepsTree()
	})
	walk(r.tmp(), func(path, name string) bool { return filepath.Dir(path) == r.tmp() })
	if len(left) > 0 {
		r.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
}

func (r *trial) git(args ...string) string {
	r.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = r.repo, r.env
	b, err := c.CombinedOutput()
	if err != nil {
		r.Errorf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(b))
}

// checkProcesses wants no process of the run: its interpreters end with it, what they were doing ends by itself.
func (r *trial) checkProcesses(dir string) {
	r.Helper()
	if dir == "" {
		return
	}
	mark := []byte("MARKMILL_RUN_ID=" + filepath.Base(dir) + "\x00")
	var alive []string
	for deadline := time.Now().Add(ceiling); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		alive = nil
		found, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range found {
			if b, err := os.ReadFile(path); err == nil && bytes.Contains(append(b, 0), mark) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
				alive = append(alive, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		if len(alive) == 0 {
			return
		}
	}
	r.Errorf("processes of the run are alive: %v", alive)
}

// number reads how many trials an environment variable asks for.
func number(t *testing.T, name string, fallback int) int {
	t.Helper()
	text := os.Getenv(name)
	switch n, err := strconv.Atoi(text); {
	case text == "":
		return fallback
	case err == nil && n > 0:
		return n
	}
	t.Fatalf("%s=%s is no number", name, text)
	return 0
}

// seed is that of MARKMILL_SEED, or a new one; it is printed, so that a failure can be had again.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := uint64(number(t, "MARKMILL_SEED", int(rand.Uint32())+1))
	t.Logf("MARKMILL_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// survive runs a number of trials, some at once, and counts those that held.
func survive(t *testing.T, what string, trials int, name func(i int) string, try func(t *testing.T, i int)) {
	t.Helper()
	held := make([]bool, trials)
	t.Run("trials", func(t *testing.T) {
		for i := range trials {
			t.Run(name(i), func(t *testing.T) {
				t.Parallel()
				defer func() { held[i] = !t.Failed() }()
				try(t, i)
			})
		}
	})
	n := 0
	for _, ok := range held {
		if ok {
			n++
		}
	}
	t.Logf("%s: %d survived of %d", what, n, trials)
}

// TestKills kills runs with SIGKILL at moments that are spread over a whole run. MARKMILL_KILLS says how many.
func TestKills(t *testing.T) {
	t.Parallel()
	b := newCrashBed(t)
	random := seed(t)
	// How long a run takes here and now, undisturbed.
	first := b.trial(t)
	begin := time.Now()
	if err := first.start().Wait(); err != nil {
		words, _ := os.ReadFile(first.errs)
		t.Fatalf("the run itself fails: %v: %s", err, words)
	}
	whole := time.Since(begin) * 6 / 5
	first.judge()
	trials := number(t, "MARKMILL_KILLS", 3)
	moments := make([]time.Duration, trials)
	for i := range moments { // one in each part of the run, in no order
		moments[i] = time.Duration((float64(i) + random.Float64()) / float64(trials) * float64(whole))
	}
	random.Shuffle(trials, func(i, j int) { moments[i], moments[j] = moments[j], moments[i] })
	var late atomic.Int32 // the run had ended before
	survive(t, "kills at a moment", trials, func(i int) string { return moments[i].String() },
		func(t *testing.T, i int) {
			r := b.trial(t).to(outputs[i%2])
			if r.branch = i%4 == 3; i%5 == 4 {
				r.between = r.runAgain
			}
			c := r.start()
			time.Sleep(moments[i])
			_ = c.Process.Kill()
			_ = c.Wait() // killed, or ended before
			if r.exit = c.ProcessState.ExitCode(); r.exit != -1 {
				late.Add(1)
			}
			r.judge()
		})
	t.Logf("of these %d came when the run had ended", late.Load())
}
