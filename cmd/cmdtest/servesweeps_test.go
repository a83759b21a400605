package cmdtest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"markmill/notebooks/codec"
)

// markmill runs the program beside a workbench. An exit code is no error: runs may fail.
func (d *desk) markmill(words ...string) {
	d.t.Helper()
	c := exec.Command(builtProgram(d.t), words...)
	c.Dir = d.root
	if out, err := c.CombinedOutput(); err != nil && c.ProcessState == nil {
		d.t.Fatalf("markmill %q: %v\n%s", words, err, out)
	}
}

// sweepIDs are the sweeps of a workbench, the newest first.
func (d *desk) sweepIDs() (list []string) {
	d.t.Helper()
	_, text := d.get("/api/v1/sweeps")
	var doc struct {
		Sweeps []struct {
			ID string `json:"id"`
		} `json:"sweeps"`
	}
	if err := codec.Unmarshal([]byte(text), &doc); err != nil {
		d.t.Fatalf("%v\n%s", err, text)
	}
	for _, s := range doc.Sweeps {
		list = append(list, s.ID)
	}
	return list
}

// takes applies the first run that a page offers to apply, and returns its address.
func (d *desk) takes(page string) (run string) {
	d.t.Helper()
	_, run, _ = strings.Cut(page, `action="/runs/`)
	run, _, _ = strings.Cut(run, "/apply")
	run = "/runs/" + run
	if code, to, text := d.post(run+"/apply", url.Values{}); code != http.StatusSeeOther || to != run {
		d.t.Errorf("taken: %d %s\n%s", code, to, text)
	}
	return run
}

// TestServeSweeps shows a sweep with its plots and what it did not come to, takes a row, and follows one that goes on.
func TestServeSweeps(t *testing.T) {
	t.Parallel()
	d := newDesk(t, notebookRepository(t, map[string]string{
		"grid.md": "# Grid\n\n```yaml {.parameters}\na: 1\nb: 1\nword: x\n```\n\n```bash {#add}\n" +
			"[ $((a * b)) = 6 ] || echo \"$word\" > \"sum-$a-$b.txt\"\n" +
			"[ $((a * b)) -ne 4 ]; glue sum $((a + b)); glue note \"$word\"\n```\n",
	}), "approve")
	if _, page := d.get("/sweeps"); !strings.Contains(page, "no sweep here yet") {
		t.Errorf("without a sweep: %s", page)
	}
	d.markmill("run", "grid.md", "--matrix", "a=1,2,3", "--matrix", "b=1,2", "-p", "word="+hostile)
	sweep := "/sweeps/" + d.sweepIDs()[0]
	if _, page := d.get("/sweeps"); !strings.Contains(page, "5 of 6 passed") || !strings.Contains(page, sweep) {
		t.Errorf("the list of sweeps: %s", page)
	}
	code, page := d.get(sweep)
	if code != http.StatusOK || strings.Count(page, "data:image/svg&#43;xml;base64,") != 1 ||
		!strings.Contains(page, `alt="sum over a and b"`) ||
		strings.Count(page, `action="/runs/`) != 4 || // of 6: one has failed, and one changed nothing
		!strings.Contains(page, "step_failed in add") || strings.Contains(page, "data-refresh") {
		t.Errorf("the sweep: %d\n%s", code, page)
	}
	if !strings.Contains(page, "alert(1)") {
		t.Error("the page does not show the scrap with hostile text")
	}
	for name := range elements(t, page) {
		if strings.Contains(name, " on") || name == "svg" {
			t.Errorf("the page has an element %s", name)
		}
	}
	run := d.takes(page)
	if text, err := os.ReadFile(filepath.Join(d.root, "sum-1-1.txt")); err != nil || string(text) != hostile+"\n" {
		t.Errorf("taken: %q %v", text, err)
	}
	if _, page := d.get(run); !strings.Contains(page, "row 1 of a sweep") || !strings.Contains(page, sweep) {
		t.Error("the page of the run does not lead to its sweep")
	}
	if code, page := d.get(sweep + "/page"); code != http.StatusOK || !strings.Contains(page, "5 of 6 runs passed") {
		t.Errorf("as one page: %d", code)
	}
	if code, text := d.get("/api/v1" + sweep); code != http.StatusOK || !strings.Contains(text, `"sum"`) {
		t.Errorf("for programs: %d\n%s", code, text)
	}
	if list := d.live(sweep, "", 0); len(list) != 1 || list[0].kind != "end" {
		t.Errorf("a sweep that has ended says %v", list)
	}
	for _, name := range []string{"sweep-none", "%2e%2e%2fruns", strings.TrimPrefix(sweep, "/sweeps/")[:20]} {
		for _, of := range []string{"/sweeps/", "/api/v1/sweeps/"} {
			if code, _ := d.get(of + name); code != http.StatusNotFound {
				t.Errorf("%s%s: %d", of, name, code)
			}
		}
	}

	// One that goes on: its page says that there is news, and then that there will be none.
	going := exec.Command(builtProgram(t), "run", "slow.md", "--table", "rows.jsonl")
	going.Dir = d.root
	gate := filepath.Join(t.TempDir(), "go")
	text := "# Slow\n\n```yaml {.parameters}\nn: 0\n```\n\n```bash {#wait}\n" +
		"if [ $n = 2 ]; then while ! [ -e '" + gate + "' ]; do sleep 0.1; done; fi\n```\n"
	for name, content := range map[string]string{"slow.md": text, "rows.jsonl": "{\"n\": 1}\n{\"n\": 2}\n"} {
		if err := os.WriteFile(filepath.Join(d.root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := going.Start(); err != nil {
		t.Fatal(err)
	}
	defer going.Wait()
	slow := ""
	for slow == "" {
		time.Sleep(20 * time.Millisecond)
		if ids := d.sweepIDs(); len(ids) > 1 {
			slow = "/sweeps/" + ids[0]
		}
	}
	if page := d.shows(slow, "1 of 2 runs passed, 1 ended"); !strings.Contains(page, `data-refresh="`+slow+`/live"`) {
		t.Errorf("a sweep that goes on: %s", page)
	}
	if list := d.live(slow, "1", 1); len(list) != 1 || list[0].kind != "change" {
		t.Errorf("a browser that has seen less is told %v", list)
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if list := d.live(slow, "", 0); list[len(list)-1].kind != "end" {
		t.Errorf("at its end: %v", list)
	}
	if _, page := d.get(slow); !strings.Contains(page, "2 of 2 runs passed") {
		t.Errorf("ended: %s", page)
	}
}

// TestServeLanes compares attempts of an agent, and takes one.
func TestServeLanes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, notebookRepository(t, map[string]string{
		"task.md": "---\nallow: [n.txt]\n---\n# Task\n\n```agent {#fix backend=mine}\nFix it.\n```\n\n" +
			"```bash {#judge .test}\ngrep -q fixed n.txt\n```\n",
		"agent.sh": "#!/bin/sh\ncat >/dev/null\necho fixed > n.txt\n",
	}), "approve")
	program := filepath.Join(d.root, "agent.sh")
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("agents:\n  mine:\n    path: %s\n    sha256: %x\n    command: [agent.sh]\n", program,
		sha256.Sum256(text))
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.root, "markmill.yaml"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "agent"}} {
		if out, err := exec.Command("git", append([]string{"-C", d.root}, words...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	d.markmill("run", "task.md", "--backend", "mine", "--attempts", "2", "--pick", "smallest")
	sweep := "/sweeps/" + d.sweepIDs()[0]
	code, page := d.get(sweep)
	for _, words := range []string{"2 of 2 attempts pass, all identical", "mine 1 is picked", "mine 2",
		`<td data-name="tree">A</td>`, `<td data-name="paths">allowed</td>`, `class="picked"`} {
		if code != http.StatusOK || !strings.Contains(page, words) {
			t.Errorf("the attempts (%d) have no %q\n%s", code, words, page)
		}
	}
	if strings.Count(page, `action="/runs/`) != 2 {
		t.Errorf("not both attempts can be taken")
	}
	d.takes(page)
	if text, err := os.ReadFile(filepath.Join(d.root, "n.txt")); err != nil || string(text) != "fixed\n" {
		t.Errorf("taken: %q %v", text, err)
	}
	if _, list := d.get("/sweeps"); !strings.Contains(list, "attempts") {
		t.Error("the list does not say that these are attempts")
	}
}

// TestServeProof shows each check of a record, and of one that was changed the one that does not hold.
func TestServeProof(t *testing.T) {
	t.Parallel()
	d := newDesk(t, serveRepository(t), "run")
	run := d.launch(url.Values{"notebook": {"lines.md"}, "param.n": {"1"}})
	d.live(run, "", 0)
	if _, page := d.get(run); !strings.Contains(page, "recorded</span> 6 of 6 checks hold") {
		t.Errorf("the page of the run does not say its level of proof\n%s", page)
	}
	id := strings.TrimPrefix(run, "/runs/")
	out := filepath.Join(d.root, ".markmill", "runs", id, "patch.diff")
	if err := os.WriteFile(out, []byte("no change\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, page := d.get(run + "/verify")
	for _, words := range []string{"The record does not hold", "claimed", "<code>patch.diff</code>", "has changed",
		`Journal</th><td><span class="pass`, `Change</th><td><span class="fail`} {
		if !strings.Contains(page, words) {
			t.Errorf("the verification of a changed record has no %q", words)
		}
	}
	if n := strings.Count(page, "does not hold"); n < 2 || n > 4 {
		t.Errorf("%d checks do not hold\n%s", n, page)
	}
	if _, page := d.get(run); !strings.Contains(page, "claimed") {
		t.Error("the page of a run with a changed record says its level is another")
	}
}

// TestServeOutdated runs what is outdated from Home.
func TestServeOutdated(t *testing.T) {
	t.Parallel()
	d := newDesk(t, notebookRepository(t, map[string]string{"a.md": "# A\n\n```bash {#a}\necho one\n```\n"}), "run")
	d.live(d.launch(url.Values{"notebook": {"a.md"}, "output": {"a.out.md"}}), "", 0)
	changed := []byte("# A\n\n```bash {#a}\necho two\n```\n")
	if err := os.WriteFile(filepath.Join(d.root, "a.md"), changed, 0o644); err != nil {
		t.Fatal(err)
	}
	d.shows("/", "Run what is outdated (1)") // the states are found in the background
	if code, to, text := d.post("/outdated", url.Values{}); code != http.StatusSeeOther || to != "/" {
		t.Fatalf("%d %s\n%s", code, to, text)
	}
	d.shows("/", ">current<")
	text, err := os.ReadFile(filepath.Join(d.root, "a.out.md"))
	if err != nil || !strings.Contains(string(text), "two") {
		t.Errorf("the output is not renewed: %v\n%s", err, text)
	}
	_, page := d.get("/")
	for begin := time.Now(); strings.Contains(page, "being run"); _, page = d.get("/") {
		if time.Since(begin) > ownTime {
			t.Fatalf("its end is not noticed: %s", page)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if strings.Contains(page, "outdated") {
		t.Errorf("after its end: %s", page)
	}
}
