package cmdtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// papermillRuns runs papermill's command once for each job, in a process of its own, and prints the exit codes.
// Papermill is loaded once for all: that takes it as long as a kernel takes to start. SIGALRM ends one that hangs.
//
// What nbclient sends for a widget Output goes past the event loop, which now and then does not hear of the reply to
// the cell then, and waits for good (jupyter/nbclient#312): it has to look again.
const papermillRuns = `
import json, os, signal, sys, traceback
from nbclient.output_widget import OutputWidget
from papermill.cli import papermill

def send(self, *args, whole=OutputWidget.send, **named):
    whole(self, *args, **named)
    self.kernel_client.shell_channel.socket._schedule_remaining_events()
OutputWidget.send = send

def run(job):
    signal.alarm(int(sys.argv[2]))
    os.chdir(job["dir"])
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 0
    try:
        papermill(job["args"], prog_name="papermill")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

jobs, width = json.load(sys.stdin), int(sys.argv[1])
codes, running = [None] * len(jobs), {}
def reap():
    pid, status = os.wait()
    codes[running.pop(pid)] = os.waitstatus_to_exitcode(status)
for i, job in enumerate(jobs):
    if len(running) == width:
        reap()
    pid = os.fork()
    if pid == 0:
        run(job)
    running[pid] = i
while running:
    reap()
json.dump(codes, sys.stdout)
`

// cellDifferences prints for each pair of output notebooks, papermill's and Markmill's of one source, where they
// differ, and which of the differences that docs/papermill.md names for all notebooks were met ("usual").
const cellDifferences = `
import json, re, sys, warnings, nbformat
warnings.simplefilter("ignore")

def valid(notebook):
    try:
        nbformat.validate(notebook)
        return "valid"
    except nbformat.ValidationError as error:
        return str(error).split("\n")[0]

def streams(outputs):
    joined = []
    for output in map(dict, outputs):
        if joined and output["output_type"] == "stream" == joined[-1]["output_type"] and output["name"] == joined[-1]["name"]:
            joined[-1]["text"] += output["text"]
        else:
            joined.append(output)
    return joined

def cell_of(cell, usual):
    metadata = dict(cell.metadata)
    note, tags = metadata.pop("papermill", {}), metadata.pop("tags", None)
    metadata.pop("execution", None)
    outputs = streams(cell.get("outputs", []))
    usual["long streams"] |= len(outputs) < len(cell.get("outputs", []))
    seen = {"type": cell.cell_type, "source": cell.source, "count": cell.get("execution_count"), "outputs": outputs, "tags": tags or [],
            "metadata": metadata, "attachments": cell.get("attachments"), "status": note.get("status"), "exception": note.get("exception")}
    return seen, tags

def marks_of(notebook):
    # Where the cells stand that tell of an error, and of which execution; their words are each program's own.
    found, others = [], []
    for cell in notebook.cells:
        if "papermill-error-cell-tag" not in cell.metadata.get("tags", []):
            others.append(cell)
        else:
            found.append([len(others), cell.cell_type] + re.findall(r"In \[\d+\]", cell.source))
    return found, others

def outline(value):
    # A built-in kernel's errors and results in Python's own words: what is left is what both must have.
    for output in value["outputs"]:
        if output["output_type"] == "error":
            output["traceback"] = []
            output["evalue"] = re.sub(r" \([^()]*, line \d+\)$", "", output["evalue"])

def compare(pair):
    source, theirs, ours = (nbformat.reads(open(path, encoding="utf-8").read(), as_version=nbformat.NO_CONVERT if path == pair["source"] else 4)
                            for path in (pair["source"], pair["theirs"], pair["ours"]))
    found, usual = [], {"long streams": False}
    def note(at, a, b):
        if a != b:
            found.append({"at": at, "theirs": json.dumps(a, ensure_ascii=False, sort_keys=True), "ours": json.dumps(b, ensure_ascii=False, sort_keys=True)})
    note("nbformat's validator", valid(theirs), valid(ours))
    usual["format"] = (theirs.nbformat, theirs.nbformat_minor) != (ours.nbformat, ours.nbformat_minor)
    note("format", (source.nbformat, source.get("nbformat_minor")), (ours.nbformat, ours.nbformat_minor))
    a, b = dict(theirs.metadata), dict(ours.metadata)
    usual["language_info"] = a.pop("language_info", None) != b.pop("language_info", None)
    note("language_info", source.metadata.get("language_info"), ours.metadata.get("language_info"))
    b.pop("markmill", None)
    pa, pb = a.pop("papermill", {}), b.pop("papermill", {})
    note("metadata", a, b)
    for key in sorted(set(pa) | set(pb)):
        if key == "output_path":
            note(key, pa.get(key), (pb.get(key) or "").replace(pair["ours"].rsplit("/", 1)[-1], pair["theirs"].rsplit("/", 1)[-1]))
        elif key == "version":
            usual["version"] = pa.get(key) != pb.get(key) == "markmill"
        elif key in ("start_time", "end_time", "duration"):
            usual["times"] = pa.get(key) is not None and pb.get(key) is None
        else:
            note("papermill." + key, pa.get(key), pb.get(key))
    (marks, their_cells), (own_marks, our_cells) = marks_of(theirs), marks_of(ours)
    usual["words of the marks"] = bool(marks and own_marks)
    note("error marks", marks, own_marks)
    note("cells", len(their_cells), len(our_cells))
    known = {cell["id"] for cell in source.get("cells", []) if "id" in cell}
    for i, (x, y) in enumerate(zip(their_cells, our_cells)):
        (one, tags), (two, own) = cell_of(x, usual), cell_of(y, {"long streams": False})
        usual["tags"] = usual.get("tags", False) or tags == [] and own is None
        if x.get("id") in known:
            one["id"], two["id"] = x.get("id"), y.get("id")
        if pair["plain"] and "outputs" in one and "outputs" in two:
            before = json.dumps([one, two])
            outline(one)
            outline(two)
            usual["traceback"] = usual.get("traceback", False) or before != json.dumps([one, two])
        for key in one.keys() | two.keys():
            note("cell %d %s" % (i + 1, key), one.get(key), two.get(key))
    return {"found": sorted(found, key=lambda f: f["at"]), "usual": [name for name, met in usual.items() if met]}

json.dump([compare(pair) for pair in json.load(sys.stdin)], sys.stdout)
`

// papermillJob is a call of papermill's command line, and what came of it.
type papermillJob struct {
	Dir  string   `json:"dir"`
	Log  string   `json:"log"`
	Args []string `json:"args"`
	code int
	hung bool
}

// notStarted is what papermill says of a kernel that did not come up: of several that start at once, two may take one
// port.
var notStarted = regexp.MustCompile(`Kernel died before replying|Kernel didn't respond in|Address already in use`)

// papermill runs the jobs, a few at once, and sets their exit codes. Those whose kernel did not start run again, and
// once those that hung.
func (p peers) papermill(t *testing.T, env []string, jobs []*papermillJob) {
	t.Helper()
	for try := 0; len(jobs) > 0 && try < 4; try++ {
		var codes []int
		width := max(1, jobsAtOnce>>try)
		p.script(t, time.Duration(len(jobs)/width+2)*peerTime, env, papermillRuns, jobs, &codes, strconv.Itoa(width),
			strconv.Itoa(int(peerTime.Seconds())))
		var again []*papermillJob
		for i, job := range jobs {
			job.code = codes[i]
			log := readLog(job.Log)
			hangs := job.code == -int(syscall.SIGALRM)
			switch {
			case hangs && job.hung:
				t.Fatalf("papermill %q hangs:\n%s", job.Args, log)
			case hangs:
				t.Logf("papermill %q hung for %s:\n%s", job.Args, peerTime, log)
			case job.code != 0 && notStarted.MatchString(log):
				t.Logf("papermill's kernel did not start: %s", notStarted.FindString(log))
			default:
				continue
			}
			job.hung = hangs
			again = append(again, job)
		}
		jobs = again
	}
}

// papermillOnce is papermill's command line for one notebook, which must succeed.
func (p peers) papermillOnce(t *testing.T, dir string, args ...string) {
	t.Helper()
	job := &papermillJob{Dir: dir, Log: filepath.Join(t.TempDir(), "papermill.log"),
		Args: append([]string{"--no-progress-bar"}, args...)}
	p.papermill(t, os.Environ(), []*papermillJob{job})
	if job.code != 0 {
		t.Fatalf("papermill %q ends with %d:\n%s", args, job.code, readLog(job.Log))
	}
}

// jobsAtOnce is how many notebooks a test runs at once, beside other tests: most of their time is the start of a
// kernel.
const jobsAtOnce = 2

// atOnce calls do for 0 to n-1, a few at once.
func atOnce(n int, do func(i int)) {
	next := make(chan int)
	var wait sync.WaitGroup
	for range jobsAtOnce {
		wait.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// difference is one place in which two output notebooks differ.
type difference struct{ At, Theirs, Ours string }

func (d difference) String() string {
	return fmt.Sprintf("%s:\n  papermill %s\n  markmill  %s", d.At, d.Theirs, d.Ours)
}

// comparison is a pair of output notebooks of one source; plain is for Markmill's on a built-in kernel.
type comparison struct {
	Source string `json:"source"`
	Theirs string `json:"theirs"`
	Ours   string `json:"ours"`
	Plain  bool   `json:"plain"`
}

type compared struct {
	Found []difference
	Usual []string
}

func (p peers) compare(t *testing.T, pairs []comparison) []compared {
	t.Helper()
	var out []compared
	p.script(t, peerTime, os.Environ(), cellDifferences, pairs, &out)
	return out
}

// script gives a Python program a value as JSON, and reads the one that it prints.
func (p peers) script(t *testing.T, limit time.Duration, env []string, program string, in, out any, args ...string) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := peer(t, limit, func(c *exec.Cmd) { c.Stdin, c.Env = bytes.NewReader(raw), env },
		p.python, append([]string{"-c", program}, args...)...)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if err := json.Unmarshal(stdout, out); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
}

// exitCode runs a program, its output in a log, and gives its exit code, -1 if it cannot be started or was killed.
func exitCode(dir, log string, env []string, name string, args ...string) int {
	file, err := os.Create(log)
	if err != nil {
		return -1
	}
	defer file.Close()
	cmd, err := bounded(context.Background(), ownTime, func(c *exec.Cmd) {
		c.Dir, c.Env, c.Stdout, c.Stderr = dir, env, file, file
	}, name, args...)
	if cmd.ProcessState == nil || errors.Is(err, errHangs) {
		fmt.Fprintln(file, err)
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// withPeers is the environment in which a notebook finds the kernels of the peers, and no home folder of the user's:
// some of the corpus write there.
func (p peers) withPeers(home string, more ...string) []string {
	return append(append(os.Environ(), "PATH="+filepath.Dir(p.python)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+home, "IPYTHONDIR="+filepath.Join(home, ".ipython"), "GIT_CONFIG_NOSYSTEM=1"), more...)
}
