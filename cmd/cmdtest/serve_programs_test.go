package cmdtest

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/notebooks/codec"
	"markmill/runs"
)

// told is an event of /events.
type told struct {
	id, kind string
	data     struct {
		Run      runs.RunID `json:"run_id"`
		Notebook string     `json:"notebook"`
		Step     string     `json:"step"`
		Status   string     `json:"status"`
		Actor    string     `json:"actor"`
		Answer   string     `json:"answer"`
	}
}

// listen follows /events from a place until enough has come, and closes the connection. began is closed when the stream
// has begun.
func (d *peopleDesk) listen(from string, began chan<- struct{}, enough func([]told) bool) (list []told) {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), ownTime)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", d.address+"/events", nil)
	if err != nil {
		d.t.Error(err)
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+d.tokens["read"])
	if from != "" {
		r.Header.Set("Last-Event-ID", from)
	}
	resp, err := d.client.Do(r)
	if err != nil {
		d.t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		d.t.Errorf("/events is %d %s", resp.StatusCode, kind)
		return nil
	}
	var e told
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			if err := codec.Unmarshal([]byte(value), &e.data); err != nil {
				d.t.Error(err)
			}
		case "":
			if began != nil {
				close(began)
				began = nil
			}
			if e.kind != "" { // the first message only says where the stream begins
				list = append(list, e)
			}
			if e = (told{}); enough(list) {
				return list
			}
		}
	}
	d.t.Errorf("/events ended early, with %v", list)
	return list
}

// ends reports whether so many runs have ended.
func ends(n int) func([]told) bool {
	return func(list []told) bool {
		count := 0
		for _, e := range list {
			if e.kind == string(runs.RunCompleted) {
				count++
			}
		}
		return count >= n
	}
}

// kinds are the types of the events of one run, with steps and statuses.
func kinds(list []told, id runs.RunID) (words []string) {
	for _, e := range list {
		if e.data.Run == id {
			words = append(words, strings.Join(strings.Fields(e.kind+" "+e.data.Step+" "+e.data.Status), " "))
		}
	}
	return words
}

// TestServeEvents: two clients hear of all runs; one loses its connection and gets what it missed, and no more.
func TestServeEvents(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	d.ran("run", "lines.md") // before anybody listens: nobody hears of it
	began, whole := make(chan struct{}), make(chan []told, 1)
	go func() { whole <- d.listen("", began, ends(2)) }()
	<-began
	cut := make(chan []told, 1)
	second := make(chan struct{})
	go func() { cut <- d.listen("", second, func(list []told) bool { return len(list) == 3 }) }()
	<-second
	record := d.ran("run", "lines.md")
	run, _, err := record.Load()
	if err != nil {
		t.Fatal(err)
	}
	gated, _, err := d.ran("run", "gated.md").Load()
	if err != nil {
		t.Fatal(err)
	}
	list := <-whole
	got := strings.Join(kinds(list, run.ID), ", ")
	if want := "run.started, step.started print, step.finished print pass, step.started change, " +
		"step.finished change pass, run.completed pass"; got != want {
		t.Errorf("of the run came\n%s\nwant\n%s", got, want)
	}
	got = strings.Join(kinds(list, gated.ID), ", ")
	if want := "run.started, approval.requested, gate.blocked, run.completed blocked"; got != want {
		t.Errorf("of the run that asks came\n%s\nwant\n%s", got, want)
	}
	for _, e := range list {
		if e.kind == "run.started" && (!strings.HasPrefix(e.data.Actor, "run via ") || e.data.Notebook == "") {
			t.Errorf("run.started says %+v", e.data)
		}
	}
	first := <-cut
	rest := d.listen(first[len(first)-1].id, nil, ends(2))
	if all := append(first, rest...); len(all) != len(list) {
		t.Errorf("with a connection that was lost %d events came, and %d without", len(all), len(list))
	} else {
		for i := range all {
			if all[i].id != list[i].id {
				t.Errorf("event %d is %v, and %v without the loss", i, all[i], list[i])
			}
		}
	}
	// An answer is told at once, with who gave it.
	last := list[len(list)-1].id
	if code, text := d.as("approve", "POST", "/runs/"+string(gated.ID)+"/approve", ""); code != http.StatusSeeOther {
		t.Fatalf("approve: %d\n%s", code, text)
	}
	answered := d.listen(last, nil, func(list []told) bool {
		return len(list) > 0 && list[len(list)-1].kind == "approval.answered"
	})
	if e := answered[len(answered)-1]; e.data.Answer != "granted" || e.data.Run != gated.ID ||
		!strings.HasPrefix(e.data.Actor, "approve via ") {
		t.Errorf("the answer is told as %+v", e.data)
	}
	// A place of another time, or none at all, is told that events are missing.
	for _, from := range []string{"OTHER.3", "nonsense", strings.Split(last, ".")[0] + ".999999",
		strings.Split(last, ".")[0] + ".-7"} {
		if list := d.listen(from, nil, func(list []told) bool { return len(list) == 1 }); list[0].kind != "reset" {
			t.Errorf("from %s: %v", from, list)
		}
	}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestServeMCP: the tools of markmill mcp serve over HTTP, by role, and in the name of the person.
func TestServeMCP(t *testing.T) {
	t.Parallel()
	d := newPeopleDesk(t, nil)
	connect := func(name string) *sdk.ClientSession {
		t.Helper()
		session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: d.address + "/mcp",
				HTTPClient: &http.Client{Transport: bearer(d.tokens[name])}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	names := map[string]string{}
	for _, name := range []string{"read", "run", "approve"} {
		list, err := connect(name).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			names[name] += tool.Name + " "
		}
	}
	if names["run"] != names["approve"] || !strings.Contains(names["run"], "run ") ||
		!strings.Contains(names["run"], "edit_step ") {
		t.Errorf("the tools are %v", names)
	}
	for _, name := range []string{"run ", "edit_step", "new_notebook"} {
		if strings.Contains(" "+names["read"], " "+name) || !strings.Contains(names["read"], "inspect") {
			t.Errorf("with the role read the tools are %s", names["read"])
		}
	}
	reader, runner := connect("read"), connect("run")
	call := &sdk.CallToolParams{Name: "run", Arguments: map[string]any{"notebook": "lines.md",
		"parameters": map[string]any{"n": 1}}}
	if _, err := reader.CallTool(t.Context(), call); err == nil {
		t.Error("with the role read a notebook was run")
	}
	result, err := runner.CallTool(t.Context(), call)
	if err != nil || result.IsError {
		t.Fatalf("run: %v %v", result, err)
	}
	doc, _ := result.StructuredContent.(map[string]any)
	id, _ := doc["run_id"].(string)
	run, _, err := runs.Store{Dir: d.root + "/.markmill"}.Record(runs.RunID(id)).Load()
	if err != nil || !strings.HasPrefix(run.Started.Actor, "run via ") {
		t.Errorf("the record says %q, %v", run.Started.Actor, err)
	}
	// A session is its person's: another one, also with a higher role, cannot use it.
	const accept, both = "Accept", "application/json, text/event-stream"
	post := func(name, session, body string) (int, http.Header, string) {
		t.Helper()
		return d.ask("POST", "/mcp", body, "Authorization", "Bearer "+d.tokens[name], "Content-Type",
			"application/json", accept, both, "Mcp-Session-Id", session)
	}
	code, header, text := d.ask("POST", "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
			`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "Authorization",
		"Bearer "+d.tokens["run"], "Content-Type", "application/json", accept, both)
	session := header.Get("Mcp-Session-Id")
	if code != http.StatusOK || session == "" {
		t.Fatalf("initialize: %d %v %s", code, header, text)
	}
	for name, want := range map[string]int{"read": 404, "approve": 404, "run": 200} {
		if code, _, text := post(name, session, `{"jsonrpc":"2.0","id":9,"method":"ping"}`); code != want {
			t.Errorf("%s in the session of run: %d %s", name, code, text)
		}
	}
	for name, c := range map[string]struct {
		want   int
		header []string
	}{
		"no token":       {http.StatusUnauthorized, nil},
		"another origin": {http.StatusForbidden, []string{"Origin", "http://evil.example"}},
		"another name":   {http.StatusMisdirectedRequest, []string{"Host", "evil.example"}},
		"a form":         {http.StatusUnsupportedMediaType, []string{"Content-Type", "text/plain"}},
	} {
		if name != "no token" {
			c.header = append(c.header, "Authorization", "Bearer "+d.tokens["run"])
		}
		if code, _, text := d.ask("POST", "/mcp", "{}", c.header...); code != c.want {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	// Nobody opens sessions without end.
	for n := 0; ; n++ {
		code, _, _ := d.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+
			`"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "Authorization",
			"Bearer "+d.tokens["run"], "Content-Type", "application/json", accept, both)
		if code == http.StatusServiceUnavailable {
			break
		}
		if n > 100 {
			t.Error("100 sessions are open")
			break
		}
	}
}

// TestServeReads: pages and answers need no other program, and say what the commands print.
func TestServeReads(t *testing.T) {
	t.Parallel()
	d := newDeskOf(t, "no-program", serveRepository(t), "approve")
	printed := func(words ...string) string {
		c := exec.Command(builtProgram(t), words...)
		c.Dir = d.root
		text, err := c.Output()
		if err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		return string(text)
	}
	printed("run", "lines.md", "-p", "n=1", "-p", "word=x")
	printed("run", "lines.md", "--matrix", "n=1,2", "-p", "word=x")
	for path, words := range map[string][]string{
		"/api/v1/runs/" + d.newest():                   {"show", "--json", d.newest()},
		"/api/v1/runs/" + d.newest() + "/verification": {"verify", "--json", d.newest()},
		"/api/v1/sweeps/" + d.sweepIDs()[0]:            {"diff", "--values", "--json", d.sweepIDs()[0]},
		"/api/v1/schedules":                            {"schedule", "list", "--json"},
	} {
		if code, text := d.get(path); code != http.StatusOK || text != printed(words...) {
			t.Errorf("%s: %d, and not what %q prints:\n%s", path, code, words, text)
		}
	}
	if code, page := d.get("/new?notebook=lines.md"); code != http.StatusOK || !strings.Contains(page, `name="param.n"`) {
		t.Errorf("the form: %d\n%s", code, page)
	}
	if code, _ := d.get("/schedules"); code != http.StatusOK {
		t.Errorf("the schedules: %d", code)
	}
	if code, to, text := d.post("/new", url.Values{"notebook": {"lines.md"}}); code != http.StatusConflict {
		t.Errorf("a run needs the program: %d %s\n%s", code, to, text)
	}
}

// newest is the newest run of the list.
func (d *desk) newest() string {
	d.t.Helper()
	_, answer := d.call("GET", "/api/v1/runs?limit=1", "")
	return answer["runs"].([]any)[0].(map[string]any)["run_id"].(string)
}
