package cmdtest

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"markmill/engine/queue"
	"markmill/notebooks/codec"
)

// jobDesk is a workbench over a repository with a queue.
func jobDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	root := notebookRepository(t, files)
	buildQueue(t)
	return newDesk(t, root, "run")
}

// queueDesk is the queue of a workbench, as markmill serve has it.
func queueDesk(root string) queue.Connection {
	return queue.Connection{Root: root, Store: filepath.Join(root, ".markmill"),
		Server: queue.Server{URL: os.Getenv("MARKMILL_NATS")}}
}

// mustRun runs the program in the repository of the workbench.
func (d *desk) mustRun(args ...string) string {
	d.t.Helper()
	cmd := exec.Command(builtProgram(d.t), args...)
	cmd.Dir = d.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("markmill %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// worker starts a worker, which is killed at the end of the test if that has not happened before.
func (d *desk) worker(args ...string) (kill func()) {
	d.t.Helper()
	cmd := exec.Command(builtProgram(d.t), append([]string{"queue", "worker"}, args...)...)
	cmd.Dir = d.root
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	ended := false
	kill = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	d.t.Cleanup(kill)
	return kill
}

// shows waits until a page has a text.
func (d *desk) shows(path, words string) (page string) {
	d.t.Helper()
	for begin := time.Now(); time.Since(begin) < ownTime; time.Sleep(50 * time.Millisecond) {
		code, text := d.get(path)
		if page = text; code == http.StatusOK && strings.Contains(text, words) {
			return page
		}
	}
	d.t.Fatalf("%s never has %q:\n%s", path, words, page)
	return ""
}

// submits submits a job with the form, and returns its address.
func (d *desk) submits(form url.Values) string {
	d.t.Helper()
	code, to, text := d.post("/jobs", form)
	if code != http.StatusSeeOther || !strings.HasPrefix(to, "/jobs/") {
		d.t.Fatalf("POST /jobs: %d %s\n%s", code, to, text)
	}
	return to
}

// acts posts a form that must succeed.
func (d *desk) acts(path string, form url.Values) {
	d.t.Helper()
	if code, _, text := d.post(path, form); code != http.StatusSeeOther {
		d.t.Fatalf("POST %s: %d\n%s", path, code, text)
	}
}

// TestServeJobs submits jobs with the form, pauses and resumes their queue, cancels one, puts it back, sees another one
// run to its end, and fetches its record.
func TestServeJobs(t *testing.T) {
	t.Parallel()
	d := jobDesk(t, map[string]string{"lines.md": serveNotebook})
	if page := d.shows("/jobs", "Nothing was ever submitted here"); strings.Contains(page, "Workers") {
		t.Error("a queue is shown that is not there")
	}
	if code, _ := d.get("/jobs/none/live"); code != http.StatusNotFound {
		t.Errorf("the stream of no job: %d", code)
	}
	if _, err := os.Stat(filepath.Join(d.root, ".markmill", "queue", "nats")); err == nil {
		t.Error("looking at the page has made a queue")
	}
	for name, form := range map[string]url.Values{
		"a wrong queue":      {"notebook": {"lines.md"}, "queue": {"../x"}},
		"a wrong priority":   {"notebook": {"lines.md"}, "priority": {"soon"}},
		"a wrong value":      {"notebook": {"lines.md"}, "param.n": {"many"}},
		"a notebook outside": {"notebook": {"../lines.md"}},
		"an option as label": {"notebook": {"lines.md"}, "labels": {"--follow"}},
	} {
		if code, _, text := d.post("/jobs", form); code != http.StatusConflict ||
			!strings.Contains(text, "role=\"alert\"") {
			t.Errorf("%s: %d\n%s", name, code, text)
		}
	}
	job := d.submits(url.Values{"notebook": {"lines.md"}, "param.n": {"2"}, "param.word": {"<b>"},
		"priority": {"high"}, "output": {"out.md"}})
	other := d.submits(url.Values{"notebook": {"lines.md"}, "queue": {"gpu"}, "labels": {"big, eu"}})
	page := d.shows("/jobs", "no worker is there that may take it")
	for _, words := range []string{job, other, ">high<", ">big<", ">eu<", "1–2 of 2", "No worker is there"} {
		if !strings.Contains(page, words) {
			t.Errorf("the list has no %q", words)
		}
	}
	for path, words := range map[string]string{"/jobs?queue=gpu": "1–1 of 1", "/jobs?state=running": "No job matches",
		"/jobs?limit=1": "1–1 of 2", "/jobs?limit=1&skip=1": "2–2 of 2", "/jobs?notebook=x*": "No job matches",
		"/jobs?state=nonsense": "is no state", "/jobs?limit=501": "between 1 and 500",
		other: "no worker of the queue gpu has been seen"} {
		if code, page := d.get(path); code != http.StatusOK || !strings.Contains(page, words) {
			t.Errorf("%s: %d, and no %q", path, code, words)
		}
	}

	for _, path := range []string{job + "/cancel", other + "/retry", "/queues/gpu/pause", "/queues/gpu/resume"} {
		if code, _, text := d.post(path, url.Values{"reason": {" "}}); code != http.StatusConflict ||
			!strings.Contains(text, "give a reason") {
			t.Errorf("%s without a reason: %d", path, code)
		}
	}
	d.acts("/queues/gpu/pause", url.Values{"reason": {"new <driver>"}})
	d.shows("/jobs", "new &lt;driver&gt;")
	d.acts("/queues/gpu/resume", url.Values{"reason": {"it is in"}})
	d.acts(other+"/cancel", url.Values{"reason": {"not <now>"}})
	d.shows(other, "not &lt;now&gt;")
	d.acts(other+"/retry", url.Values{"reason": {"now"}})
	if page := d.shows(other, "Cancel the job"); strings.Contains(page, "Put it back") {
		t.Error("a job that waits can be put back")
	}
	if code, _, _ := d.post(job+"x/cancel", url.Values{"reason": {"x"}}); code != http.StatusConflict {
		t.Errorf("a job that is not there is canceled: %d", code)
	}
	if code, _ := d.get("/jobs/" + url.PathEscape("a.b*")); code != http.StatusNotFound {
		t.Errorf("a name that is none: %d", code)
	}

	d.worker("--drain")
	page = d.shows(job, "Fetch the record")
	for _, words := range []string{"completed", "&lt;b&gt; 2", "taken by worker", "step print begins"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page of the job has no %q", words)
		}
	}
	d.acts(job+"/fetch", url.Values{})
	page = d.shows(job, "The run")
	run := regexp.MustCompile(`href="(/runs/[^"]+)">The run`).FindStringSubmatch(page)
	if run == nil {
		t.Fatalf("no link to the run:\n%s", page)
	}
	d.shows(run[1], "passed")
	if text, err := os.ReadFile(filepath.Join(d.root, "out.md")); err != nil ||
		!strings.Contains(string(text), "<b> 2") {
		t.Errorf("the output: %q, %v", text, err)
	}
}

// TestServeKilledWorker: a worker is killed while its job is on screen. The page says that its lease has expired, and
// that the next one has it.
func TestServeKilledWorker(t *testing.T) {
	t.Parallel()
	d := jobDesk(t, map[string]string{"wait.md": "# Wait\n\n```bash {#first}\necho one\n```\n\n```bash {#second}\n" +
		"echo two; [ -e \"$flag\" ] || sleep 600\n```\n\n```yaml {.parameters}\nflag: /nonexistent\n```\n"})
	flag := filepath.Join(t.TempDir(), "go on")
	job := d.submits(url.Values{"notebook": {"wait.md"}, "param.flag": {flag}})
	kill := d.worker("--lease", "2s")
	page := d.shows(job, ">second</b>")
	d.shows(job, "two\n")
	follow := regexp.MustCompile(`data-follow="([^"]+)"`).FindStringSubmatch(page)
	if follow == nil {
		t.Fatalf("the page follows nothing:\n%s", page)
	}
	kill()
	d.shows(job, ">lease expired<")
	d.shows("/jobs", "lease expired")
	d.shows("/jobs", "silent for")
	if err := os.WriteFile(flag, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d.worker("--lease", "2s")
	page = d.shows(job, "Fetch the record")
	for _, words := range []string{"was silent", "completed", ">2</td>"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page has no %q:\n%s", words, page)
		}
	}
	// A page that has less than what has happened is loaded again.
	_, _, text := d.do(d.request("GET", job+"/live?last=1", nil))
	if !strings.Contains(text, "event: end") {
		t.Errorf("the stream of a job that has ended: %q", text)
	}
}

// TestServeJobLive follows a job: its state, its steps, and what they print.
func TestServeJobLive(t *testing.T) {
	t.Parallel()
	d := jobDesk(t, map[string]string{"lines.md": serveNotebook})
	job := d.submits(url.Values{"notebook": {"lines.md"}, "param.n": {"20"}})
	d.worker("--drain")
	page := d.shows(job, ">print</b>")
	follow := regexp.MustCompile(`data-follow="([^"]+)"`).FindStringSubmatch(page)
	shown := regexp.MustCompile(`(?s)aria-label="stdout">(.*?)</pre>`).FindStringSubmatch(page)
	if follow == nil || shown == nil {
		t.Fatalf("the page follows nothing:\n%s", page)
	}
	_, header, text := d.do(d.request("GET", strings.ReplaceAll(follow[1], "&amp;", "&"), nil))
	if header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v\n%s", header, text)
	}
	got := shown[1]
	for line := range strings.Lines(text) {
		var out struct {
			Step string `json:"step"`
			Text string `json:"text"`
		}
		if data, found := strings.CutPrefix(line, "data: "); found &&
			codec.Unmarshal([]byte(data), &out) == nil && out.Step == "print" {
			got += out.Text
		}
	}
	if !strings.Contains(text, "event: end") || !strings.Contains(text, `"words":"step change begins"`) {
		t.Fatalf("the stream is %s", text)
	}
	// What the step printed last may be in the queue alone: its worker removes the record.
	want := ""
	for i := range strings.Count(got, "\n") {
		want += "hello " + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + "\n"
	}
	if want = strings.ReplaceAll(want, " 0", " "); got != want || strings.Count(got, "\n") < 15 {
		t.Errorf("the step printed\n%s", got)
	}
}

// TestServeSchedules shows what is scheduled, pauses and resumes it, and says loudly that nothing runs it.
func TestServeSchedules(t *testing.T) {
	t.Parallel()
	d := jobDesk(t, map[string]string{
		"daily.md": "---\nschedule: {cron: \"0 6 * * *\", timezone: Europe/Berlin}\n---\n# D\n\n" +
			"```bash {#a}\ntrue\n```\n",
		"bad.md": "---\nschedule: {cron: \"61 6 * * *\"}\n---\n# B\n\n```bash {#a}\ntrue\n```\n",
	})
	page := d.shows("/schedules", "Schedules do not run")
	for _, words := range []string{"nothing runs what is due", "daily.md", "Europe/Berlin", " 06:00 ", "cannot run",
		"above maximum"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page has no %q", words)
		}
	}
	d.shows("/", `href="/schedules"><span class="nowrap">`)
	if code, _, _ := d.post("/schedules/pause", url.Values{"notebook": {"daily.md"}}); code != http.StatusConflict {
		t.Errorf("paused without a reason: %d", code)
	}
	if code, _, _ := d.post("/schedules/pause", url.Values{"notebook": {"../x.md"}, "reason": {"x"}}); code !=
		http.StatusConflict {
		t.Errorf("a notebook outside: %d", code)
	}
	d.acts("/schedules/pause", url.Values{"notebook": {"daily.md"}, "reason": {"the <source> is down"}})
	d.shows("/schedules", "the &lt;source&gt; is down")
	d.shows("/", ">paused<")
	d.acts("/schedules/resume", url.Values{"notebook": {"daily.md"}, "reason": {"it is up"}})
	d.shows("/schedules", "it is up")
	// When somebody has looked, it says so, and counts what was missed since.
	d.mustRun("schedule", "run-due", "daily.md")
	if page := d.shows("/schedules", "Somebody looked last"); strings.Contains(page, "Schedules do not run") {
		t.Errorf("somebody has looked:\n%s", page)
	}
	state, err := filepath.Glob(filepath.Join(d.root, ".markmill", "schedules", "s-daily-*", "state.json"))
	if err != nil || len(state) != 1 {
		t.Fatalf("%v %v", state, err)
	}
	text, err := os.ReadFile(state[0])
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`"seen":"[^"]+"`).ReplaceAllString(string(text), `"seen":"`+
		time.Now().UTC().AddDate(0, 0, -3).Format(time.RFC3339)+`"`)
	if err := os.WriteFile(state[0], []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	d.shows("/schedules", "passed, and nobody looked")
}

// TestServeChecks shows checks with their history, mutes one, sees that nothing is sent and that its state stays, and
// tells again.
func TestServeChecks(t *testing.T) {
	t.Parallel()
	got := filepath.Join(t.TempDir(), "got")
	d := jobDesk(t, map[string]string{
		"markmill.yaml": "alerts:\n  ops: {exec: [/bin/sh, -c, \"cat >> " + got + "\"]}\n",
		"watch.md": "---\nalerts: {on: [critical, recover], to: [ops]}\nobjectives: {uptime: 99.5}\n" +
			"params: {state: ok}\n---\n# W\n\n```bash {#disk .check}\ncheck disk \"$state\" --value 93 --unit % " +
			"--message '<b>full</b>'\n```\n",
	})
	look := func(state string) {
		t.Helper()
		d.live(d.launch(url.Values{"notebook": {"watch.md"}, "param.state": {state}}), "", 0)
		d.mustRun("health", "alerts", "deliver", "--wait", "60s")
	}
	sent := func() int {
		text, _ := os.ReadFile(got)
		return strings.Count(string(text), `"event":`)
	}
	look("critical")
	page := d.shows("/checks", "&lt;b&gt;full&lt;/b&gt;")
	for _, words := range []string{">disk", ">critical<", "99.50 %", ">violated<", "class=\"strip days\"",
		">delivered<"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page has no %q", words)
		}
	}
	if n := sent(); n != 1 {
		t.Fatalf("%d alerts were sent", n)
	}
	for name, form := range map[string]url.Values{
		"without a reason": {"notebook": {"watch.md"}, "check": {"disk"}, "until": {"2h"}},
		"without an end":   {"notebook": {"watch.md"}, "check": {"disk"}, "reason": {"x"}},
		"until yesterday":  {"notebook": {"watch.md"}, "reason": {"x"}, "until": {"2020-01-01"}},
		"an option":        {"notebook": {"watch.md"}, "reason": {"x"}, "until": {"2h"}, "check": {"--json"}},
		"of no notebook":   {"notebook": {"none.md"}, "reason": {"x"}, "until": {"2h"}},
	} {
		if name == "an option" { // it is the name of a check, which none reports
			d.acts("/checks/mute", form)
			d.acts("/checks/unmute", form)
			continue
		}
		if code, _, text := d.post("/checks/mute", form); code != http.StatusConflict {
			t.Errorf("muted %s: %d\n%s", name, code, text)
		}
	}
	d.acts("/checks/mute", url.Values{"notebook": {"watch.md"}, "check": {"disk"}, "until": {"2h"},
		"reason": {"the <disk> is replaced"}})
	page = d.shows("/checks", "the &lt;disk&gt; is replaced")
	if !strings.Contains(page, ">critical<") {
		t.Error("muting hides the state")
	}
	look("ok")
	look("critical")
	if n := sent(); n != 1 {
		t.Errorf("it is muted, and %d alerts were sent", n)
	}
	d.shows("/checks", ">muted<")
	if code, answer := d.call("GET", "/api/v1/checks", ""); code != http.StatusOK || len(answer["mutes"].([]any)) != 1 {
		t.Errorf("%d %v", code, answer)
	}
	d.acts("/checks/unmute", url.Values{"notebook": {"watch.md"}, "check": {"disk"}, "reason": {"done"}})
	d.shows("/checks", "muted until now")
	if n := sent(); n != 2 {
		t.Errorf("the mute has ended, and %d alerts were sent", n)
	}
}

// TestServeJobsAPI does by the API what the pages do.
func TestServeJobsAPI(t *testing.T) {
	t.Parallel()
	d := jobDesk(t, map[string]string{"lines.md": serveNotebook,
		"daily.md": "---\nschedule: \"0 6 * * *\"\n---\n# D\n\n```bash {#a}\ntrue\n```\n"})
	if code, answer := d.call("GET", "/api/v1/jobs", ""); code != http.StatusOK || answer["count"] != 0.0 {
		t.Errorf("%d %v", code, answer)
	}
	code, answer := d.call("POST", "/api/v1/jobs", `{"notebook": "lines.md", "parameters": {"n": 1}, "queue": "q",
		"labels": ["a"], "priority": "low"}`)
	id, _ := answer["job"].(string)
	if code != http.StatusCreated || id == "" {
		t.Fatalf("%d %v", code, answer)
	}
	for _, c := range []struct {
		method, path, body string
		want               int
		words              string
	}{
		{"GET", "/api/v1/jobs?queue=q&state=enqueued&limit=1", "", 200, `"count":1,`},
		{"GET", "/api/v1/jobs?limit=0", "", 400, "between 1 and 500"},
		{"GET", "/api/v1/jobs/" + id, "", 200, "enqueued"},
		{"GET", "/api/v1/jobs/nothing", "", 404, "there is no job nothing"},
		{"GET", "/api/v1/jobs/a.b", "", 404, "no name"},
		{"POST", "/api/v1/jobs", "{", 400, "JSON"},
		{"POST", "/api/v1/jobs", `{"notebook": "none.md"}`, 409, "no notebook"},
		{"POST", "/api/v1/jobs", `{"notebook": "lines.md", "labels": ["a,b"]}`, 409, "no label"},
		{"POST", "/api/v1/jobs/" + id + "/cancel", `{}`, 409, "give a reason"},
		{"POST", "/api/v1/jobs/" + id + "/fetch", ``, 409, "has not ended"},
		{"POST", "/api/v1/jobs/" + id + "/cancel", `{"reason": "x"}`, 200, `"done":true`},
		{"POST", "/api/v1/jobs/" + id + "/cancel", `{"reason": "x"}`, 409, "has ended already"},
		{"POST", "/api/v1/jobs/" + id + "/retry", `{"reason": "x"}`, 200, `"done":true`},
		{"POST", "/api/v1/queues/q/pause", `{"reason": "x"}`, 200, `"done":true`},
		{"GET", "/api/v1/jobs", "", 200, `"queue":"q","reason":"x"`},
		{"POST", "/api/v1/queues/q/resume", `{"reason": "x"}`, 200, `"done":true`},
		{"POST", "/api/v1/queues/q/resume", `{"reason": "x"}`, 409, "not paused"},
		{"POST", "/api/v1/queues/--help/pause", `{"reason": "x"}`, 409, "no name"},
		{"GET", "/api/v1/schedules", "", 200, `"notebook":"daily.md"`},
		{"POST", "/api/v1/schedules/pause", `{"notebook": "daily.md", "reason": "x"}`, 200, `"done":true`},
		{"POST", "/api/v1/schedules/pause", `{"notebook": "lines.md", "reason": "x"}`, 409, "not scheduled"},
		{"POST", "/api/v1/schedules/resume", `{"notebook": "daily.md", "reason": "x"}`, 200, `"done":true`},
		{"POST", "/api/v1/schedules/resume", `{"notebook": "daily.md", "reason": "x"}`, 409, "is not paused"},
		{"POST", "/api/v1/checks/mute", `{"notebook": "daily.md", "reason": "x", "until": "1h"}`, 200, `"done":true`},
		{"GET", "/api/v1/checks", "", 200, `"mutes":[{`},
		{"POST", "/api/v1/checks/unmute", `{"notebook": "daily.md", "reason": "x"}`, 200, `"done":true`},
		{"POST", "/api/v1/checks/unmute", `{"notebook": "daily.md", "reason": "x"}`, 409, "is not muted"},
	} {
		code, answer := d.call(c.method, c.path, c.body)
		text, err := codec.Marshal(answer)
		if err != nil || code != c.want || !strings.Contains(string(text), c.words) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, code, text)
		}
	}
}

// TestServeJobApproval: a job that needs an approval shows what it asks for, and goes on when a person has approved it.
func TestServeJobApproval(t *testing.T) {
	t.Parallel()
	root := notebookRepository(t, map[string]string{})
	buildQueue(t)
	d := newDesk(t, root, "approve")
	job := d.submits(url.Values{"notebook": {"gated.md"}})
	d.mustRun("queue", "worker", "--drain")
	page := d.shows(job, "unapproved")
	for _, words := range []string{"asks for an approval", "<h2>Contract</h2>", job + "/approve", job + "/deny"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page of the job has no %q\n%s", words, page)
		}
	}
	if _, list := d.get("/jobs?state=unapproved"); !strings.Contains(list, job) {
		t.Error("the job is not among those that wait for an approval")
	}
	if code, _, text := d.post(job+"/deny", url.Values{}); code != http.StatusConflict ||
		!strings.Contains(text, "give a reason") {
		t.Errorf("denied without a reason: %d", code)
	}
	d.acts(job+"/approve", url.Values{"reason": {"read it"}})
	d.mustRun("queue", "worker", "--drain")
	d.shows(job, "completed")
	if code, _, text := d.post(job+"/approve", url.Values{}); code != http.StatusConflict {
		t.Errorf("approved once more: %d\n%s", code, text)
	}
	denied := d.submits(url.Values{"notebook": {"gated.md"}})
	d.mustRun("queue", "worker", "--drain")
	d.acts(denied+"/deny", url.Values{"reason": {"not on a Friday"}})
	d.worker()
	if page := d.shows(denied, "failed"); !strings.Contains(page, "not on a Friday") {
		t.Errorf("the page does not say why it was denied: %s", page)
	}
}

// TestServeJobSigned: where the policy names the keys that count, the page gives the command that signs, and no form.
func TestServeJobSigned(t *testing.T) {
	t.Parallel()
	root := notebookRepository(t, map[string]string{
		"markmill.yaml": "policy:\n  approval: {required: true}\n  allowed_signers: signers\n",
		"signers": "alice@example.org namespaces=\"markmill-approval\" " +
			"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"})
	buildQueue(t)
	d := newDesk(t, root, "approve")
	job := d.submits(url.Values{"notebook": {"gated.md"}})
	d.mustRun("queue", "worker", "--drain")
	page := d.shows(job, "unapproved")
	if !strings.Contains(page, "markmill approve "+strings.TrimPrefix(job, "/jobs/")+" --key KEY") ||
		strings.Contains(page, job+"/approve") || !strings.Contains(page, job+"/deny") {
		t.Errorf("the page of the job: %s", page)
	}
}
