package cmdtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"markmill/runs"
)

// concurrentNotebook waits until every run stands in its step, so that all of them are alive at once, and writes what
// no other does.
const concurrentNotebook = `---
params: {n: 0, meet: "", gate: ""}
---
` + "```bash {#meet}" + `
touch "$meet/$n"
until test -e "$gate"; do sleep 0.1; done
` + "```" + `

` + "```bash {#write}" + `
for i in $(seq 500); do echo "out $n $i"; echo "err $n $i" >&2; done
echo "number $n" >> a.txt; mkdir -p made; echo "number $n" > "made/$n"
` + "```" + `

` + "```bash {#test .test}" + `
test "$(cat "made/$n")" = "number $n" && test "$(ls made)" = "$n"
` + "```" + `
`

// concurrentRuns is how many: MARKMILL_RUNS, or a handful.
func concurrentRuns(t *testing.T) int {
	n := 5
	if text := os.Getenv("MARKMILL_RUNS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 2 {
			t.Fatalf("MARKMILL_RUNS=%s is no number of runs", text)
		}
	}
	return n
}

// TestConcurrentRuns runs one repository many times at once, with and without branches and output notebooks, while old
// runs are removed by two at once, and records reconciled: no lock error, no lost run, no mixed output.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	const old = 5
	n := concurrentRuns(t)
	c := newClosed(t)
	meet, gate := filepath.Join(c.dir, "word", "meet"), filepath.Join(c.dir, "word", "gate")
	c.must(os.Mkdir(meet, 0o755))
	c.write("src/old.md", "```bash {#a}\necho more >> a.txt\n```\n")
	c.commit("n.md", concurrentNotebook)
	for range old {
		c.expect(0, "run", "old.md", "--no-progress-bar")
	}
	before := c.ids()
	base := strings.TrimSpace(c.git("rev-parse", "HEAD"))

	read, release, err := os.Pipe()
	c.must(err)
	outputs := make([]strings.Builder, n)
	var runners []*exec.Cmd
	for i := range n {
		cmd := exec.Command("sh", append([]string{"-c", `read -r _; exec "$@"`, "sh", c.program},
			c.concurrentArgs(i, meet, gate)...)...)
		cmd.Dir, cmd.Env, cmd.Stdin = c.src, c.env, read
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		c.must(cmd.Start())
		runners = append(runners, cmd)
	}
	c.must(read.Close())
	c.must(release.Close()) // all of them start now

	// The newest n are kept, whatever their age: as the n start, the old ones go.
	done := make(chan struct{})
	var others sync.WaitGroup
	for _, args := range [][]string{{"runs", "prune", "--days", "0", "--keep", fmt.Sprint(n)},
		{"runs", "prune", "--days", "0", "--keep", fmt.Sprint(n)}, {"runs", "maintain", "reconcile"}, {"list"}} {
		others.Go(func() {
			for {
				if out, code := c.markmill(args...); code != 0 ||
					strings.Contains(out, "interrupted") || strings.Contains(out, "damaged") {
					t.Errorf("%q: exit %d\n%s", args, code, out)
					return
				}
				select {
				case <-done:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	c.waitFor(meet, n)
	c.must(os.WriteFile(gate, nil, 0o644))
	for i, cmd := range runners {
		if err := cmd.Wait(); err != nil {
			t.Errorf("run %d: %v\n%s", i, err, outputs[i].String())
		}
	}
	close(done)
	others.Wait()
	c.expect(0, "runs", "prune", "--days", "0", "--keep", fmt.Sprint(n))
	c.concurrentRecords(n, base, before)
	c.nothingLeft()
}

// concurrentArgs gives each run its own way of leaving a result.
func (c *closed) concurrentArgs(i int, meet, gate string) []string {
	args := []string{"run", "n.md", "--no-progress-bar", "-p", "n", fmt.Sprint(i), "-p", "meet", meet, "-p", "gate",
		gate}
	switch i % 4 {
	case 1:
		args = append(args, "--branch", fmt.Sprintf("made/%d", i))
	case 2:
		args = append(args, fmt.Sprintf("out-%d.md", i))
	case 3:
		args = append(args, filepath.Join("reports", fmt.Sprint(i), "out.md"), "--branch", fmt.Sprintf("made-%d", i))
	}
	return args
}

func (c *closed) ids() []runs.RunID {
	c.t.Helper()
	list, err := runs.Store{Dir: filepath.Join(c.src, ".markmill")}.List()
	c.must(err)
	var out []runs.RunID
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

// waitFor waits until a folder has n files. Its ceiling is only against hanging.
func (c *closed) waitFor(dir string, n int) {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		list, err := os.ReadDir(dir)
		c.must(err)
		if len(list) == n {
			return
		}
		if time.Now().After(deadline) {
			c.must(os.WriteFile(filepath.Join(c.dir, "word", "gate"), nil, 0o644))
			c.t.Fatalf("only %d of %d runs have come to their step", len(list), n)
		}
	}
}

// concurrentRecords holds each record: its own output, change, commits and branch, and that all were alive at once.
func (c *closed) concurrentRecords(n int, base string, before []runs.RunID) {
	t := c.t
	seen := map[string]bool{}
	var lastStarted, firstEnded time.Time
	ids := c.ids()
	for _, id := range ids {
		if slices.Contains(before, id) {
			t.Errorf("the old run %s is still there", id)
			continue
		}
		dir := filepath.Join(c.src, ".markmill", "runs", string(id))
		c.expect(0, "verify", dir)
		run := c.load(dir)
		var number string
		for _, p := range run.Contract.Parameters {
			if p.Name == "n" {
				number = string(p.Value)
			}
		}
		i, err := strconv.Atoi(number)
		if err != nil || seen[number] || run.Status() != runs.Pass {
			t.Errorf("%s: number %q, status %s, blockers %v", id, number, run.Status(), run.Blockers())
			continue
		}
		seen[number] = true
		for stream, word := range map[string]string{"stdout": "out", "stderr": "err"} {
			var want strings.Builder
			for line := range 500 {
				fmt.Fprintf(&want, "%s %s %d\n", word, number, line+1)
			}
			if got := c.read(filepath.Join(dir, "steps", "02-write", stream)); got != want.String() {
				t.Errorf("the %s of run %s is mixed or cut", stream, number)
			}
		}
		var changed []string
		for _, f := range run.Diff.Files {
			changed = append(changed, f.Path)
		}
		if !slices.Equal(changed, []string{"a.txt", "made/" + number}) {
			t.Errorf("run %s changed %q", number, changed)
		}
		ref := strings.TrimSpace(c.expect(0, "runs", "fetch", string(id)))
		if got := strings.TrimSpace(c.git("show", ref+":made/"+number)); got != "number "+number {
			t.Errorf("the ref of run %s holds %q", number, got)
		}
		if got := strings.TrimSpace(c.git("rev-list", "--count", base+".."+ref)); got != "3" && got != "4" {
			t.Errorf("the ref of run %s has %s commits of its own", number, got)
		}
		branch, output := map[int]string{1: "made/" + number, 3: "made-" + number}[i%4],
			map[int]string{2: "out-" + number + ".md", 3: "reports/" + number + "/out.md"}[i%4]
		if branch != "" &&
			c.git("rev-parse", branch+"~^{tree}", branch+"~2") != c.git("rev-parse", ref+"^{tree}", base) {
			t.Errorf("the branch of run %s is not its change on the base", number)
		}
		if output != "" {
			c.expect(0, "verify", output)
			if !strings.Contains(c.read(filepath.Join(c.src, filepath.FromSlash(output))), "out "+number+" 500\n") {
				t.Errorf("the output notebook of run %s is another's", number)
			}
		}
		if at := run.Steps[0].StartedAt; at.After(lastStarted) {
			lastStarted = at
		}
		if at := run.Steps[0].FinishedAt; firstEnded.IsZero() || at.Before(firstEnded) {
			firstEnded = at
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d runs are there", len(seen), n)
	}
	if !lastStarted.Before(firstEnded) {
		t.Errorf("they did not overlap: the last began at %s, the first had ended at %s", lastStarted, firstEnded)
	}
	if got := strings.Count(c.git("for-each-ref", "refs/markmill"), "\n"); got != n {
		t.Errorf("%d refs for %d runs", got, n)
	}
	t.Logf("concurrent runs: %d held of %d", len(seen), n)
}

// nothingLeft finds locks, worktrees and files that were being written.
func (c *closed) nothingLeft() {
	t := c.t
	if out := c.git("fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") ||
		strings.Contains(out, "missing") {
		t.Error(out)
	}
	for _, line := range strings.Split(strings.TrimSpace(c.git("status", "--porcelain", "--untracked-files=all")),
		"\n") {
		if !strings.HasPrefix(line, "?? out-") && !strings.HasPrefix(line, "?? reports/") {
			t.Errorf("the checkout: %q", line)
		}
	}
	c.must(filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		for _, bad := range []string{".tmp-", ".trash-", "tmp_pack_", ".new-", "markmill-branch-", "markmill-dirty-"} {
			if strings.HasPrefix(name, bad) {
				t.Errorf("left behind: %s", path)
			}
		}
		if strings.HasSuffix(name, ".lock") && name != "index.lock" { // that one belongs to the store, not to a run
			t.Errorf("a lock is left behind: %s", path)
		}
		return err
	}))
	work, err := os.ReadDir(filepath.Join(c.dir, "home", "cache", "markmill", "work"))
	c.must(err)
	for _, d := range work {
		t.Errorf("a worktree is left behind: %s", d.Name())
	}
}
