package cmdtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"markmill/cmd/internal/program"
	"markmill/engine/process"
	"markmill/engine/sandbox"
)

// ceiling bounds every wait of these tests: it is reached only when something hangs.
const ceiling = time.Minute

// process is a process by its number and the moment of its start, so that another with the same number is not
// taken for it.
type someProcess struct {
	pid   int
	start string
	name  string
}

func processOf(pid int) (someProcess, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return someProcess{}, false
	}
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	f := strings.Fields(string(raw[end+1:]))
	if f[0] == "Z" || f[0] == "X" {
		return someProcess{}, false
	}
	return someProcess{pid, f[19], string(raw[open+1 : end])}, true
}

func (p someProcess) runs() bool {
	now, ok := processOf(p.pid)
	return ok && now.start == p.start
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begin) > ceiling {
			t.Fatal("it never came: " + what)
		}
	}
}

// underway is a run that a test has started: what it has said, and where it stands.
type underway struct {
	*exec.Cmd
	t              *testing.T
	dir            string
	stdout, stderr string // files
	done           chan struct{}
}

// mountedTree is the option of a run for which begin makes the folder a repository.
const mountedTree = "--tree=mounted"

// begin starts markmill run on a notebook in a home of its own. Steps find the folder as $DIR.
func begin(t *testing.T, notebook string, args ...string) *underway {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "t.md")
	if err := os.WriteFile(file, []byte(notebook), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	if slices.Contains(args, mountedTree) {
		cache = t.TempDir() // a run cannot be mounted over its own folder
		for _, args := range [][]string{{"init", "-q"}, {"add", "t.md"}, {"commit", "-qm", "first"}} {
			cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	u := &underway{t: t, dir: dir, stdout: filepath.Join(dir, "stdout"), stderr: filepath.Join(dir, "stderr"),
		done: make(chan struct{})}
	u.Cmd = exec.Command(builtProgram(t), append([]string{"run", file, "--stdout-file", u.stdout}, args...)...)
	u.Dir = dir
	u.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME="+cache,
		"MARKMILL_DIR="+filepath.Join(dir, "records"), "TMPDIR="+dir, "DIR="+dir)
	log, err := os.Create(u.stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	u.Stdout, u.Stderr = log, log
	return u
}

func (u *underway) start() *underway {
	u.t.Helper()
	if err := u.Start(); err != nil {
		u.t.Fatal(err)
	}
	go func() { u.Wait(); close(u.done) }()
	u.t.Cleanup(func() { u.Process.Kill(); <-u.done })
	return u
}

// said waits until the steps have printed something, and gives all that they have.
func (u *underway) said(file, word string) string {
	u.t.Helper()
	var text []byte
	eventually(u.t, fmt.Sprintf("%q in %s", word, filepath.Base(file)), func() bool {
		text, _ = os.ReadFile(file)
		if over(u.done) && !strings.Contains(string(text), word) {
			log, _ := os.ReadFile(u.stderr)
			u.t.Fatalf("the run ended before it said %q: %s\n%s", word, text, log)
		}
		return strings.Contains(string(text), word)
	})
	return string(text)
}

func over(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// exitCode waits for the end.
func (u *underway) exitCode() int {
	u.t.Helper()
	select {
	case <-u.done:
	case <-time.After(ceiling):
		u.t.Fatal("it does not end")
	}
	status := u.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// warden finds the warden of the run.
func (u *underway) warden() (found someProcess) {
	u.t.Helper()
	eventually(u.t, "the warden", func() bool {
		paths, _ := filepath.Glob("/proc/[1-9]*/cmdline")
		for _, path := range paths {
			line, _ := os.ReadFile(path)
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			name, _, _ := strings.Cut(string(line), "\x00")
			if (name == process.WardenName || name == process.PlaceName) &&
				strings.Contains(string(stat), fmt.Sprintf(" %d ", u.Process.Pid)) {
				found, _ = processOf(pid)
				return true
			}
		}
		return false
	})
	return found
}

// markmill runs another command in the same home.
func (u *underway) markmill(args ...string) (string, error) {
	cmd := exec.Command(builtProgram(u.t), args...)
	cmd.Dir, cmd.Env = u.dir, u.Env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// processes are those whose numbers stand in lines "pid N".
func processes(t *testing.T, text string) (list []someProcess) {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "pid "); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := processOf(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

// descendants starts processes that leave their parent, group, session, environment and terminal in every
// way that programs know, and that are deaf to what can be ignored; n of them.
const descendants, descendantsN = `
export SLEEPER='trap "" INT TERM HUP; echo pid $$ >>pids; while :; do sleep 300; done'
sh -c "$SLEEPER" &
setsid sh -c "$SLEEPER" &
(nohup sh -c "$SLEEPER" >/dev/null 2>&1 &)
(setsid sh -c '(sh -c "$SLEEPER" &)' &)
(cd / && exec setsid sh -c "cd '$OLDPWD'; $SLEEPER" </dev/null >/dev/null 2>&1 &)
env -i setsid sh -c "$SLEEPER" &
(env -u MARKMILL_SESSION -u MARKMILL_RUN_ID setsid python3 -c '
import ctypes, os, time
first = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")[0]
ctypes.memset(first, 0, os.path.getsize("/proc/self/environ") or 64)
ctypes.CDLL(None).prctl(4, 0)  # nobody may look into it
with open("pids", "a") as f: print("pid", os.getpid(), file=f)
time.sleep(300)' </dev/null >/dev/null 2>&1 &)
cat >inner.md <<'INNER'
` + "```bash {#in}" + `
trap '' INT TERM
(setsid sh -c 'echo pid $$; exec sleep 300' &)
(env -i setsid sh -c 'echo pid $$; exec sleep 300' &)
echo pid $$
sleep 300
` + "```" + `
INNER
markmill run inner.md --no-progress-bar --stdout-file inner.out >inner.log 2>&1 &
echo pid $! >>pids
echo pid $$ >>pids
until [ "$(cat pids inner.out 2>/dev/null | wc -l)" -ge 12 ]; do sleep 0.01; done
cat pids inner.out
`, 12

// Nothing that a run has started outlives Markmill, however Markmill ends: by a signal or killed; with MARKMILL_ALL
// set, in every other way, too.
func TestNothingOutlivesARun(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "setsid", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	wait := descendants + "trap '' INT TERM\necho ready\nsleep 300\n"
	python := "import subprocess\nif subprocess.call(['bash', '-c', r'''" + descendants +
		"''']): raise SystemExit(1)\nprint('ready', flush=True)\nimport time; time.sleep(300)\n"
	later := descendants +
		"````\n\n````python {#b}\nimport subprocess\np = subprocess.Popen(['sleep', '300'], " +
		"start_new_session=True)\n````\n\n````bash {#c}\ntrap '' INT TERM\necho ready\nsleep 300\n"
	kill := func(u *underway) { u.Process.Kill() }
	for _, tc := range []struct {
		name, front, lang, code string
		end                     func(u *underway)
		exit                    int
		needs                   func() bool
		quick                   bool
		args                    []string
	}{
		{name: "killed, mounted", lang: "bash", code: wait, end: kill, exit: 137, quick: true,
			args: []string{mountedTree}},
		{name: "killed, mounted, without a sandbox", front: "sandbox: off\n", lang: "bash", code: wait, end: kill,
			exit: 137, args: []string{mountedTree}},
		{name: "one signal, mounted", lang: "bash", code: wait, exit: 130, args: []string{mountedTree},
			end: func(u *underway) { u.Process.Signal(syscall.SIGINT) }},
		{name: "killed", lang: "bash", code: wait, end: kill, exit: 137, quick: true},
		{name: "killed without a sandbox", front: "sandbox: off\n", lang: "bash", code: wait, end: kill, exit: 137},
		{name: "killed with namespaces", front: "network: off\n", lang: "bash", code: wait, end: kill, exit: 137,
			needs: func() bool {
				self, _ := os.Executable()
				return sandbox.Probe(t.Context(), self, sandbox.Need{Network: true}).Network
			}},
		{name: "killed, from python", lang: "python", code: python, end: kill, exit: 137},
		{name: "killed, two steps later", lang: "bash", code: later, end: kill, exit: 137},
		{name: "one signal, two steps later", lang: "bash", code: later, exit: 130, quick: true,
			end: func(u *underway) { u.Process.Signal(syscall.SIGINT) }},
		{name: "two signals", lang: "bash", code: wait, exit: 143, end: func(u *underway) {
			u.Process.Signal(syscall.SIGTERM)
			u.said(u.stderr, "once more ends at once")
			u.Process.Signal(syscall.SIGTERM)
		}},
		{name: "one signal", lang: "bash", code: wait, exit: 130,
			end: func(u *underway) { u.Process.Signal(syscall.SIGINT) }},
		{name: "by itself", lang: "bash", code: descendants +
			"echo ready\nuntil [ -e \"$DIR/on\" ]; do sleep 0.01; done\n",
			exit: 0, end: func(u *underway) {
				if err := os.WriteFile(filepath.Join(u.dir, "on"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !tc.quick && !everything() {
				t.Skip("MARKMILL_ALL is not set")
			}
			if tc.needs != nil && !tc.needs() {
				t.Skip("this system has none")
			}
			t.Parallel()
			u := begin(t, "---\nenv: {DIR: \"${DIR}\"}\n"+tc.front+"---\n````"+tc.lang+" {#a}\n"+tc.code+
				"````\n", tc.args...).start()
			all := processes(t, u.said(u.stdout, "ready\n"))
			want := descendantsN
			if tc.lang != "bash" {
				want-- // the bash that starts them all has ended
			}
			if len(all) != want {
				t.Fatalf("%d processes say that they are there, %d were started", len(all), want)
			}
			all = append(all, u.warden())
			tc.end(u)
			if code := u.exitCode(); code != tc.exit {
				log, _ := os.ReadFile(u.stderr)
				t.Errorf("exit code %d, want %d\n%s", code, tc.exit, log)
			}
			if tc.exit != 137 && tc.exit != 143 { // Markmill itself has ended them
				for _, p := range all {
					if p.runs() {
						t.Errorf("%s (%d) is still there", p.name, p.pid)
					}
				}
			}
			eventually(t, "the end of all processes",
				func() bool { return !slices.ContainsFunc(all, someProcess.runs) })
			if out, err := u.markmill("runs", "maintain", "reconcile"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if out, err := u.markmill("verify", "last"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// At a time limit, of the step or of the run, everything ends that was started until then.
func TestNothingOutlivesALimit(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--execution-timeout", "--run-timeout"} {
		t.Run(flag, func(t *testing.T) {
			if flag == "--execution-timeout" && !everything() {
				t.Skip("MARKMILL_ALL is not set")
			}
			t.Parallel()
			u := begin(t, "````bash {#a}\n"+descendants+"trap '' INT TERM\nsleep 300\n````\n", flag, "2").start()
			var all []someProcess
			for !over(u.done) { // also those that end
				paths, _ := filepath.Glob(filepath.Join(u.dir, "cache/markmill/work/*/tree/worktree/pids"))
				for _, path := range paths {
					text, _ := os.ReadFile(path)
					all = append(all, processes(t, string(text))...)
				}
				time.Sleep(5 * time.Millisecond)
			}
			if code := u.exitCode(); code != program.ExitBlocked {
				t.Errorf("exit code %d", code)
			}
			if len(all) == 0 {
				t.Log("no process was there before the limit")
			}
			for _, p := range all {
				if p.runs() {
					t.Errorf("%s (%d) is still there", p.name, p.pid)
				}
			}
		})
	}
}

// The warden holds nothing open of who started Markmill, and neither does a step.
func TestNothingIsHeldOpen(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	u := begin(t, "```bash {#a}\nls -l /proc/$$/fd; echo ready; sleep 300\n```\n")
	u.ExtraFiles = []*os.File{write}
	u.Stdout, u.Stderr = write, write
	u.start()
	write.Close()
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(read.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	pipe := fmt.Sprintf("pipe:[%d]", stat.Ino)
	if text := u.said(u.stdout, "ready"); strings.Contains(text, pipe) {
		t.Errorf("the step has %s:\n%s", pipe, text)
	}
	warden := u.warden()
	eventually(t, "a warden that holds nothing", func() bool { // it drops what it has when it has been started
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", warden.pid))
		return len(links) > 0 && !slices.ContainsFunc(links, func(link string) bool {
			to, _ := os.Readlink(link)
			return to == pipe
		})
	})
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", warden.pid)); err != nil || cwd != "/" {
		t.Errorf("it stands in %q: %v", cwd, err)
	}
}

// killWarden is what a step does to be rid of its run's warden, or of the place that is one.
const killWarden = `
for p in /proc/[0-9]*; do
  line=$(cat $p/cmdline 2>/dev/null | tr '\0' ' ' || true)
  case $line in "markmill-warden $MARKMILL_RUN_ID "* | "markmill-place --place $MARKMILL_RUN_ID "*)
    kill -9 ${p#/proc/} && echo killed || echo refused;;
  esac
done
`

// In a sandbox that holds signals no step can end the warden; without one it is replaced.
func TestAStepAgainstTheWarden(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, front, say string
		landlock         int
		args             []string
	}{
		{"on", "", "refused", 6, nil},
		{"off", "---\nsandbox: off\n---\n", "killed", 0, nil},
		{"on, mounted", "", "refused", 6, []string{mountedTree}},
		{"off, mounted", "---\nsandbox: off\n---\n", "killed", 0, []string{mountedTree}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.landlock > 0 && sandbox.Probe(t.Context(), "", sandbox.Need{}).Landlock < tc.landlock {
				t.Skip("no Landlock here that holds signals")
			}
			t.Parallel()
			u := begin(t, tc.front+"```bash {#a}\n"+killWarden+
				"```\n```bash {#b}\n(setsid sh -c 'echo pid $$; exec sleep 300' &)\necho pid $$; sleep 0.1\necho "+
				"ready; sleep 300\n```\n", tc.args...).start()
			text := u.said(u.stdout, "ready")
			if !strings.Contains(text, tc.say) {
				t.Errorf("the step does not say %q: %s", tc.say, text)
			}
			all := append(processes(t, text), u.warden())
			u.Process.Kill()
			eventually(t, "the end of all processes",
				func() bool { return !slices.ContainsFunc(all, someProcess.runs) })
		})
	}
}

// A signal finishes the record: what has not run is skipped, and finally steps run.
func TestSignals(t *testing.T) {
	t.Parallel()
	notebook := "```bash {#a}\necho ready; sleep 300\n```\n```bash {#b}\necho never\n```\n```bash {#c .finally}\n" +
		"echo last\n```\n"
	// What ignores a signal has its children ignore it: where these tests run under nohup, they handle it for the
	// while.
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGHUP)
	defer signal.Stop(taken)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			u := begin(t, notebook).start()
			u.said(u.stdout, "ready")
			u.Process.Signal(sig)
			if code := u.exitCode(); code != 128+int(sig) {
				t.Errorf("exit code %d", code)
			}
			if text, _ := os.ReadFile(u.stdout); string(text) != "ready\nlast\n" {
				t.Errorf("the steps say %q", text)
			}
			out, err := u.markmill("verify", "last")
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if out, err = u.markmill("show", "last"); !strings.Contains(out, "interrupted") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A run under nohup outlives its terminal.
func TestNohup(t *testing.T) {
	t.Parallel()
	u := begin(t,
		"---\nenv: {DIR: \"${DIR}\"}\n---\n```bash {#a}\necho ready; until [ -e \"$DIR/on\" ]; do sleep 0.01; done\n"+
			"```\n")
	u.Path, u.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"},
		append([]string{u.Path}, u.Args[1:]...)...)
	u.start()
	u.said(u.stdout, "ready")
	u.Process.Signal(syscall.SIGHUP)
	if err := os.WriteFile(filepath.Join(u.dir, "on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := u.exitCode(); code != program.ExitPass {
		t.Errorf("exit code %d", code)
	}
}

// peakMemory is the most that a process had in memory, once it has ended. What wait4(2) says of it (ru_maxrss) is too
// much: there the memory of the process that started it counts as its own, which is this one's, with all tests before.
func peakMemory(pid int) (bytes int64) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, found := strings.Cut(string(status), "\nVmHWM:")
		if err != nil || !found { // it has ended
			return bytes
		}
		var kib int64
		fmt.Sscanf(rest, "%d kB", &kib)
		bytes = kib << 10
		time.Sleep(5 * time.Millisecond)
	}
}

// A step that prints without end is ended at its limit, and what it prints is not kept in memory.
func TestOutputWithoutEnd(t *testing.T) {
	t.Parallel()
	u := begin(t, "```bash {#a}\nhead -c 200000000 /dev/zero\nwhile :; do echo more; done\n```\n",
		"--execution-timeout", "1")
	u.Args = slices.DeleteFunc(u.Args, func(a string) bool { return a == "--stdout-file" || a == u.stdout })
	u.start()
	peak := make(chan int64)
	go func() { peak <- peakMemory(u.Process.Pid) }()
	if code := u.exitCode(); code != program.ExitBlocked {
		t.Errorf("exit code %d", code)
	}
	files, _ := filepath.Glob(filepath.Join(u.dir, "records/runs/*/steps/*/stdout"))
	if len(files) != 1 {
		t.Fatalf("no output is kept: %q", files)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	used := <-peak
	if used == 0 {
		t.Error("its memory was not seen")
	}
	t.Logf("%d MiB printed, %d MiB of memory used", info.Size()>>20, used>>20)
	const most = 160 << 20 // with the race detector, too
	if used > most && info.Size() > most {
		t.Errorf("%d bytes of memory for %d of output", used, info.Size())
	}
	var exit *exec.ExitError
	if out, err := u.markmill("verify", "last"); errors.As(err, &exit) {
		t.Errorf("%v\n%s", err, out)
	}
}
