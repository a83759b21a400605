package cmdtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/help"
	"markmill/cmd/internal/program"
	"markmill/cmd/markmill/mcp"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks/codec"
)

const mcpNotebook = "---\nallow: [\"src/**\"]\n---\n# Task\n\n" +
	"```bash {#change}\nmkdir -p src && echo 41 > src/answer\n```\n\n" +
	"```bash {#verify .test}\necho looking && grep -x 42 src/answer\n```\n"

// mcpRepository is a repository with notebooks.
func mcpRepository(t *testing.T) string {
	t.Helper()
	t.Setenv("MARKMILL_DIR", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return notebookRepository(t, map[string]string{
		"task.md": mcpNotebook,
		"big.md":  "# Big\n\n```bash {#print}\nseq 20000; printf '\\033[31mred\\033[0m\\n'\n```\n",
	})
}

// notebookRepository is a repository with notebooks, with one that needs an approval and one that does not end.
func notebookRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	builtProgram(t)
	root, err := os.MkdirTemp("", "markmill-notebooks-")
	if err != nil {
		t.Fatal(err)
	}
	// The program that made a run lives a moment longer than its record says, and may still write.
	t.Cleanup(func() {
		for try := 0; os.RemoveAll(root) != nil && try < 500; try++ {
			time.Sleep(20 * time.Millisecond)
		}
	})
	files["gated.md"] = "---\napproval: required\n---\n# Gated\n\n```bash {#go}\necho never\n```\n"
	files["slow.md"] = "# Slow\n\n```bash {#wait}\necho begun; sleep 600\n```\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "begin"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, words...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	return root
}

// mcpClient is a client of a server in this process.
type mcpClient struct {
	t    *testing.T
	s    *sdk.ClientSession
	said chan string // messages of progress
	gone func()      // the client goes away
	done chan error  // the server has ended

	attempts int // calls that had to be refused
}

func newMCPClient(t *testing.T, root string) *mcpClient {
	t.Helper()
	return startMCPClient(t, mcpOptions(t, root))
}

// mcpOptions are those of a server that markmill mcp serve starts now.
func mcpOptions(t *testing.T, root string, allow ...string) mcp.Options {
	t.Helper()
	head, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	floor, err := engine.NewFloor(worktree.OID(strings.TrimSpace(string(head))), allow)
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Options{App: program.New(), Program: builtProgram(t), Root: root,
		Store: filepath.Join(root, ".markmill"),
		Floor: string(codec.RawOf(floor))}
}

func startMCPClient(t *testing.T, o mcp.Options) *mcpClient {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	c := &mcpClient{t: t, said: make(chan string, 100), done: make(chan error, 1), gone: func() { fromClient.Close() }}
	go func() {
		c.done <- mcp.Serve(context.Background(), toServer, fromServer, o)
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.said <- r.Params.Message
		}})
	var err error
	c.s, err = client.Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.s.Close()
		if err := <-c.done; err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	return c
}

func (c *mcpClient) start(ctx context.Context, tool string, arguments map[string]any) (*sdk.CallToolResult, error) {
	p := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	p.SetProgressToken("p-" + tool)
	return c.s.CallTool(ctx, p)
}

// call calls a tool, and returns its document.
func (c *mcpClient) call(tool string, arguments map[string]any) map[string]any {
	c.t.Helper()
	result, err := c.start(c.t.Context(), tool, arguments)
	if err != nil || result.IsError {
		c.t.Fatalf("%s: %v %s", tool, err, mcpWords(result))
	}
	doc, ok := result.StructuredContent.(map[string]any)
	if !ok || doc["untrusted"] == nil {
		c.t.Fatalf("%s: the document is not marked as text of others: %v", tool, result.StructuredContent)
	}
	return doc
}

// refused calls a tool that must refuse, and returns why.
func (c *mcpClient) refused(tool string, arguments map[string]any) string {
	c.t.Helper()
	c.attempts++
	result, err := c.start(c.t.Context(), tool, arguments)
	if err != nil || !result.IsError {
		c.t.Fatalf("%s %v is not refused: %v %s", tool, arguments, err, mcpWords(result))
	}
	return mcpWords(result)
}

func mcpWords(r *sdk.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].(*sdk.TextContent).Text
}

// A client runs a notebook, reads why it failed, mends the step, runs again and looks at the change.
func TestMCP(t *testing.T) {
	root := mcpRepository(t)
	c := newMCPClient(t, root)
	result, err := c.start(t.Context(), "run", map[string]any{"notebook": "task.md", "output": "task.out.md"})
	if err != nil || result.IsError {
		t.Fatal(err, mcpWords(result))
	}
	failed := result.StructuredContent.(map[string]any)
	cause := failed["cause"].(map[string]any)
	if failed["status"] != "fail" || cause["step"] != "verify" || cause["line"] != 10.0 || cause["tail"] != "looking" {
		t.Errorf("cause: %v", cause)
	}
	for _, want := range []string{"line: task.md:10\n", "fix: ", "<untrusted-"} {
		if !strings.Contains(mcpWords(result), want) {
			t.Errorf("no %q in:\n%s", want, mcpWords(result))
		}
	}
	for _, want := range []string{"step 1 of 2: change", "step 2 of 2: verify"} {
		if got := <-c.said; got != want {
			t.Errorf("progress %q, not %q", got, want)
		}
	}
	was := "mkdir -p src && echo 41 > src/answer\n"
	why := c.refused("edit_step", map[string]any{"notebook": "task.md", "step": "change", "code": "x", "was": "y"})
	if !strings.Contains(why, "another") {
		t.Error(why)
	}
	edited := c.call("edit_step", map[string]any{"notebook": "task.md", "step": "change", "was": was,
		"code": strings.Replace(was, "41", "42", 1)})
	if src, _ := os.ReadFile(filepath.Join(root, "task.md")); string(src) != strings.Replace(mcpNotebook,
		"41", "42", 1) {
		t.Errorf("edited: %v\n%s", edited, src)
	}
	passed := c.call("run", map[string]any{"notebook": "task.md", "output": "task.out.md"})
	run := passed["run_id"].(string)
	if passed["status"] != "pass" {
		t.Fatal(passed)
	}
	if patch := c.call("changes", map[string]any{"run": run}); !strings.Contains(patch["text"].(string), "\n+42\n") {
		t.Error(patch)
	}
	for tool, arguments := range map[string]map[string]any{
		"inspect": {"notebook": "task.md"}, "check": {"paths": []string{"."}}, "status": {}, "gate": {},
		"show": {"run": run}, "show_output": {"notebook": "task.out.md"}, "verify": {"what": "task.out.md"},
		"diff": {"a": failed["run_id"], "b": run}, "scraps": {}, "list": {"limit": 1},
		"query": {"sql": "SELECT count(*) FROM runs"}, "log": {"step": "verify", "stream": "stderr"},
		"new_notebook": {"notebook": "more/new.md"}, "review": {"revisions": "HEAD"},
	} {
		c.call(tool, arguments)
	}
	tools, err := c.s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 19 {
		t.Fatal(len(tools.Tools), err)
	}
	if list := codec.RawOf(tools); len(list) > 16<<10 {
		t.Errorf("the list of tools has %d bytes", len(list))
	}
	changes := []string{"run", "outdated", "new_notebook", "edit_step", "add_step"}
	for _, tool := range tools.Tools {
		if !slices.Contains(changes, tool.Name) != tool.Annotations.ReadOnlyHint || tool.Title == "" {
			t.Errorf("%s: %q, %+v", tool.Name, tool.Title, tool.Annotations)
		}
	}
	if full := c.call("run", map[string]any{"notebook": "task.md", "full": true}); full["steps"] == nil ||
		full["changed_files"] == nil || passed["changed_files"] != nil {
		t.Errorf("full: %v\nshort: %v", full, passed)
	}
	if short := codec.RawOf(passed); len(short) > 600 || passed["steps"] != 2.0 || passed["changed"] != 1.0 {
		t.Errorf("a pass has %d bytes: %s", len(short), short)
	}
	prompt, err := c.s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "guide"})
	if err != nil || prompt.Messages[0].Content.(*sdk.TextContent).Text != help.ForAgents {
		t.Errorf("the prompt guide: %v %v", prompt, err)
	}
	guide, err := c.s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "markmill://guide"})
	if err != nil || guide.Contents[0].Text != help.ForAgents {
		t.Errorf("the resource guide: %v %v", guide, err)
	}

	uri := "markmill://run/" + run + "/steps/02-verify/stdout"
	read, err := c.s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || read.Contents[0].Text != "looking\n42\n" || read.Contents[0].Meta["markmill/untrusted"] == nil {
		t.Errorf("%s: %v %v", uri, read, err)
	}
	for _, uri := range []string{"markmill://run/" + run + "/../../../task.md", "markmill://run/" + run + "/%2e%2e/x",
		"markmill://notebook/../../etc/passwd", "markmill://notebook/.git/config",
		"markmill://run/nosuch/report.json"} {
		if read, err := c.s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s gives %v", uri, read.Contents[0])
		}
	}
	list, err := c.s.ListResources(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(list.Resources, func(r *sdk.Resource) bool {
		return r.URI == "markmill://notebook/task.out.md"
	}) || list.Resources[0].URI != "markmill://guide" {
		t.Errorf("resources: %v %v", list, err)
	}
}

// The tools that read need no other program, but for queries, and read no notebook that would take all memory.
func TestMCPReads(t *testing.T) {
	root := mcpRepository(t)
	run := newMCPClient(t, root).call("run", map[string]any{"notebook": "task.md", "output": "task.out.md",
		"full": true})
	o := mcpOptions(t, root)
	o.Program = filepath.Join(root, "no-program")
	c := startMCPClient(t, o)
	for tool, arguments := range map[string]map[string]any{
		"inspect": {"notebook": "task.md"}, "check": {"paths": []string{"."}}, "status": {}, "gate": {},
		"show": {"run": run["run_id"]}, "show_output": {"notebook": "task.out.md"}, "verify": {"what": "task.out.md"},
		"diff": {"a": "HEAD:task.md", "b": "task.out.md"}, "scraps": {"of": []string{"task.out.md"}},
		"list": {"limit": 1}, "log": {"step": "verify"}, "changes": {}, "review": {"revisions": "HEAD"},
	} {
		c.call(tool, arguments)
	}
	c.refused("query", map[string]any{"sql": "SELECT 1"})
	if err := os.WriteFile(filepath.Join(root, "large.ipynb"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(root, "large.ipynb"), files.MaxNotebook+1); err != nil {
		t.Fatal(err)
	}
	for tool, arguments := range map[string]map[string]any{"inspect": {"notebook": "large.ipynb"},
		"show_output": {"notebook": "large.ipynb"}, "diff": {"a": "task.md", "b": "large.ipynb"},
		"verify": {"what": "large.ipynb"}} {
		if why := c.refused(tool, arguments); !strings.Contains(why, "at most 67108864") {
			t.Errorf("%s: %s", tool, why)
		}
	}
	t.Logf("%d attempts", c.attempts)
}

// A fault while a tool reads is the error of that call, and the server answers the next one.
func TestMCPFault(t *testing.T) {
	o := mcpOptions(t, mcpRepository(t))
	o.App.Now = func() time.Time { panic("no clock") }
	c := startMCPClient(t, o)
	if result, err := c.start(t.Context(), "review", map[string]any{"revisions": "HEAD"}); err == nil ||
		!strings.Contains(err.Error(), "no clock") {
		t.Errorf("%v %v", err, mcpWords(result))
	}
	c.call("inspect", map[string]any{"notebook": "task.md"})
}

// What a client names lies below the root, and nothing that it can call approves.
func TestMCPLimits(t *testing.T) {
	root := mcpRepository(t)
	outside := t.TempDir()
	wrong := filepath.Join(t.TempDir(), "wrong.md")
	if err := os.WriteFile(wrong, []byte("```bash {#x timeout=secret}\n```\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"away.md": wrong, "folder": outside} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	c := newMCPClient(t, root)
	blocked := c.call("run", map[string]any{"notebook": "gated.md"})
	if blocked["status"] != "blocked" {
		t.Fatal(blocked)
	}
	for _, tool := range []string{"approve", "deny", "accept", "reject", "apply", "sign", "runs approve"} {
		c.attempts++
		if result, err := c.start(t.Context(), tool, map[string]any{"run": blocked["run_id"]}); err == nil {
			t.Errorf("%s: %v", tool, mcpWords(result))
		}
	}
	for _, path := range []string{"", "-", "../x.md", "/etc/passwd", ".git/config", "a/.GIT/x.md", ".markmill/x.md",
		"away.md", "folder/x.md", "https://example.com/x.md", "task.md\x00", "{x}.md", "*.md"} {
		c.refused("inspect", map[string]any{"notebook": path})
		c.refused("new_notebook", map[string]any{"notebook": path, "content": "x"})
	}
	for _, output := range []string{"gated.md", "../o.md", "folder/o.md", "markmill.yaml", ".git/hooks/post-commit",
		"o.html"} {
		c.refused("run", map[string]any{"notebook": "task.md", "output": output})
	}
	for tool, arguments := range map[string]map[string]any{
		"show": {"run": "--help"}, "log": {"run": "last", "step": "--patch"}, "status": {"at": "--json"},
		"diff": {"a": "../x", "b": "task.md"}, "verify": {"what": outside}, "gate": {"revision": "-x"},
		"run": {"notebook": "task.md", "branch": "mine"}, "edit_step": {"notebook": "task.md", "step": "none",
			"code": ""},
		"check": {"paths": "task.md"}, "query": {"sql": "DELETE FROM runs"},
	} {
		c.refused(tool, arguments)
	}
	if found := c.call("check", map[string]any{"paths": []string{"."}}); found["errors"] != 0.0 {
		t.Errorf("check follows links: %v", found)
	}
	if got := c.call("show", map[string]any{"run": blocked["run_id"]}); got["status"] != "blocked" {
		t.Errorf("%v", got["status"])
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("written outside: %v", entries)
	}

	big := c.call("run", map[string]any{"notebook": "big.md"})
	text := c.call("log", map[string]any{"step": "print"})
	got := text["text"].(string)
	if !strings.HasSuffix(got, "\n20000\nred\n") || len(got) > 16<<10 || text["more"] == "" {
		t.Errorf("%d bytes of %v, %v: …%q", len(got), text["bytes"], text["more"], got[max(0, len(got)-20):])
	}
	text = c.call("log", map[string]any{"run": big["run_id"], "step": "print", "from": 4})
	if !strings.HasPrefix(text["text"].(string), "3\n4\n") {
		t.Errorf("from 4: %.20q", text["text"])
	}

	if err := os.WriteFile(filepath.Join(root, "markmill.yaml"), []byte("output: \"{name}.md\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.call("new_notebook", map[string]any{"notebook": "named.md",
		"content": "```yaml {#p .parameters}\nname: {type: string}\n```\n\n```bash {#x}\ntrue\n```\n"})
	for _, name := range []string{"../up", "/tmp/up", "a/../../up"} {
		why := c.refused("run", map[string]any{"notebook": "named.md", "parameters": map[string]any{"name": name}})
		if !strings.Contains(why, "a value may not") {
			t.Error(why)
		}
	}
	t.Logf("%d attempts", c.attempts)
}

// mcpStep is a notebook of one step.
func mcpStep(front, code string) string {
	if front != "" {
		front = "---\n" + front + "\n---\n"
	}
	return front + "# Step\n\n```bash {#a}\n" + code + "\n```\n"
}

// The server imposes its floor whatever a notebook says, and an operator lifts it.
func TestMCPFloor(t *testing.T) {
	t.Setenv("TMPDIR", testSetup.disk) // steps may write in memory
	root := mcpRepository(t)
	t.Setenv("MCP_TEST_SECRET", "a-secret-of-the-server")
	committed := map[string]string{
		"secret.md": mcpStep("secrets: [MCP_TEST_SECRET]", "echo ${#MCP_TEST_SECRET}"),
		"copy.md":   mcpStep("copy: [kept.env]", "cat kept.env"),
		"parameter.md": "```yaml {#p .parameters}\nq: {type: string, env: MCP_TEST_SECRET}\n```\n\n" +
			"```bash {#a}\necho ${#q}\n```\n",
		"env.md":     mcpStep("env: {Q: \"${MCP_TEST_SECRET}\"}", "echo ${#Q}"),
		"network.md": mcpStep("", "true"),
		".gitignore": "kept.env\n.markmill\n",
	}
	for name, text := range committed {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "kept.env"), []byte("kept\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "more"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, words...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	c := newMCPClient(t, root)
	write := func(name, text string) {
		t.Helper()
		c.call("new_notebook", map[string]any{"notebook": name, "content": text, "replace": true})
	}
	network := func(c *mcpClient, run any) string {
		t.Helper()
		sandbox := codec.RawOf(recordedRun(t, root, run)["sandbox"])
		var held struct {
			Network string `json:"network"`
		}
		if err := codec.Unmarshal(sandbox, &held); err != nil {
			t.Fatal(err)
		}
		return held.Network
	}

	// steps of any notebook are in the sandbox, in a worktree
	outside := filepath.Join(testSetup.disk, filepath.Base(root)+"-outside")
	t.Cleanup(func() { os.Remove(outside) })
	write("escape.md", mcpStep("sandbox: off\nmode: in-place", "echo x >mine; cd "+root+"\n"+
		"git branch evil || true\nenv -u MARKMILL_RUN_ID -u MARKMILL_DEPTH "+builtProgram(t)+" approve gated || true\n"+
		"echo x >"+outside+" || true\necho x >"+root+"/there || true"))
	c.call("run", map[string]any{"notebook": "gated.md"})
	escaped := c.call("run", map[string]any{"notebook": "escape.md"})
	if escaped["status"] != "pass" { // where the worktree stands at the checkout's path, it has the file there, too
		t.Errorf("escape.md: %v", escaped)
	}
	for _, file := range []string{outside, filepath.Join(root, "there"), filepath.Join(root, "mine")} {
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("a step wrote %s", file)
		}
	}
	if branches, _ := exec.Command("git", "-C", root, "branch", "--list", "evil").Output(); len(branches) > 0 {
		t.Errorf("a step made a branch: %s", branches)
	}
	if again := c.call("run", map[string]any{"notebook": "gated.md"}); again["status"] != "blocked" {
		t.Errorf("a step approved: %v", again["status"])
	}

	// what the server has is for notebooks that were committed
	for name, text := range committed {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		if ran := c.call("run", map[string]any{"notebook": name}); ran["status"] != "pass" {
			t.Errorf("%s, as it was committed: %v", name, ran)
		} else if name == "network.md" && network(c, ran["run_id"]) != "open" {
			t.Errorf("%s has no network", name)
		}
		write(name, text+"\nMore.\n")
		if name == "network.md" {
			if ran := c.call("run", map[string]any{"notebook": name}); network(c, ran["run_id"]) == "open" {
				t.Errorf("%s, as an agent wrote it, has the network", name)
			}
			continue
		}
		if why := c.refused("run", map[string]any{"notebook": name}); !strings.Contains(why, "is only for notebooks") {
			t.Errorf("%s, as an agent wrote it: %s", name, why)
		}
	}
	for _, words := range [][]string{{"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "by the agent"}} {
		if out, err := exec.Command("git", append([]string{"-C", root}, words...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	c.refused("run", map[string]any{"notebook": "secret.md"}) // HEAD is that of the start
	if ran := newMCPClient(t, root).call("run", map[string]any{"notebook": "secret.md"}); ran["status"] != "pass" {
		t.Errorf("a server that starts later: %v", ran)
	}

	o := mcpOptions(t, root)
	o.Root, o.Notice = t.TempDir(), "Runs are blocked here."
	outsideGit := startMCPClient(t, o)
	outsideGit.call("new_notebook", map[string]any{"notebook": "x.md", "content": mcpStep("", "echo x >mine")})
	why := outsideGit.refused("run", map[string]any{"notebook": "x.md"})
	if _, err := os.Lstat(filepath.Join(o.Root, "mine")); err == nil || !strings.Contains(why, "no Git repository") {
		t.Errorf("outside Git: %v, %s", err, why)
	}
	if said := outsideGit.s.InitializeResult().Instructions; !strings.Contains(said, o.Notice) {
		t.Errorf("what the system cannot hold is not among the instructions: %s", said)
	}
	o.Floor = ""
	if err := mcp.Serve(t.Context(), io.NopCloser(strings.NewReader("")), nil, o); err == nil {
		t.Error("a server without a floor starts")
	}

	lifted := startMCPClient(t, mcpOptions(t, root, engine.FloorLifts...))
	write("all.md", mcpStep("secrets: [MCP_TEST_SECRET]\ncopy: [kept.env]\nsandbox: off\nmode: in-place",
		"echo x >mine"))
	ran := lifted.call("run", map[string]any{"notebook": "all.md"})
	if _, err := os.Lstat(filepath.Join(root, "mine")); err != nil || ran["status"] != "pass" {
		t.Errorf("all is lifted: %v %v", ran, err)
	}
}

// recordedRun is report.json of a run.
func recordedRun(t *testing.T, root string, run any) (doc map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".markmill", "runs", run.(string), "report.json"))
	if err == nil {
		err = codec.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// No text that a tool returns names a command that approves.
func TestMCPNamesNoApproval(t *testing.T) {
	root := mcpRepository(t)
	c := newMCPClient(t, root)
	blocked, err := c.start(t.Context(), "run", map[string]any{"notebook": "gated.md", "output": "gated.out.md"})
	if err != nil {
		t.Fatal(err)
	}
	run := blocked.StructuredContent.(map[string]any)["run_id"]
	answers := []*sdk.CallToolResult{blocked}
	for tool, arguments := range map[string]map[string]any{
		"show": {"run": run}, "show_output": {"notebook": "gated.out.md"},
		"list": {}, "status": {}, "gate": {}, "verify": {"what": run}, "query": {"sql": "SELECT * FROM blockers"},
		"inspect": {"notebook": "gated.out.md"}, "review": {"revisions": "HEAD"}, "outdated": {}} {
		result, err := c.start(t.Context(), tool, arguments)
		if err != nil || result.IsError {
			t.Fatal(tool, err, mcpWords(result))
		}
		answers = append(answers, result)
	}
	var texts []string
	for _, result := range answers {
		texts = append(texts, mcpWords(result), string(codec.RawOf(result.StructuredContent)))
	}
	list, err := c.s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, string(codec.RawOf(list)), c.s.InitializeResult().Instructions)
	uris := []string{"markmill://guide", "markmill://notebook/gated.out.md"}
	record := os.DirFS(filepath.Join(root, ".markmill", "runs", run.(string)))
	err = fs.WalkDir(record, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			uris = append(uris, fmt.Sprintf("markmill://run/%s/%s", run, name))
		}
		return err
	})
	if err != nil || len(uris) < 8 {
		t.Fatal(uris, err)
	}
	for _, uri := range uris {
		read, err := c.s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(uri, err)
		}
		texts = append(texts, read.Contents[0].Text)
	}
	for _, text := range texts {
		if strings.Contains(text, "markmill approve") || strings.Contains(text, `"approve"`) {
			t.Errorf("it names the command:\n%s", text)
		}
	}
	t.Logf("%d attempts", len(texts))
}

// A step that runs long is reported again and again, with the last line that it printed; and what is outdated runs.
func TestMCPProgress(t *testing.T) {
	root := mcpRepository(t)
	o := mcpOptions(t, root)
	o.Beat = 10 * time.Millisecond
	c := startMCPClient(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _, _ = c.start(ctx, "run", map[string]any{"notebook": "slow.md"}); close(ended) }()
	for said := range c.said {
		if said == "step wait, data that it printed: begun" {
			break
		}
	}
	cancel()
	for waiting := true; waiting; {
		select {
		case <-ended:
			waiting = false
		case <-c.said:
		}
	}
	c = newMCPClient(t, root)
	c.call("run", map[string]any{"notebook": "big.md", "output": "big.out.md"})
	c.call("edit_step", map[string]any{"notebook": "big.md", "step": "print", "code": "seq 3"})
	if gate := c.call("gate", nil); gate["pass"] != false {
		t.Errorf("an outdated output passes the gate: %v", gate)
	}
	if gate := c.call("outdated", map[string]any{"paths": []string{"big.md"}}); gate["pass"] != true {
		t.Errorf("after outdated: %v", gate)
	}
}

// A run that is canceled, and one whose client goes away, ends as interrupted.
func TestMCPCancel(t *testing.T) {
	root := mcpRepository(t)
	first, second := newMCPClient(t, root), newMCPClient(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	for _, c := range []*mcpClient{first, second} {
		go func() { _, _ = c.start(ctx, "run", map[string]any{"notebook": "slow.md"}); ended <- struct{}{} }()
		if got := <-c.said; got != "step 1 of 1: wait" {
			t.Fatal(got)
		}
	}
	second.gone()
	if err := <-second.done; err != nil {
		t.Error(err)
	}
	second.done <- nil // for the end of the test
	cancel()
	<-ended
	statuses := func() (out []string) {
		for _, r := range first.call("list", nil)["runs"].([]any) {
			out = append(out, r.(map[string]any)["status"].(string))
		}
		return out
	}
	got := statuses()
	for slices.Contains(got, "running") {
		got = statuses()
	}
	if !slices.Equal(got, []string{"interrupted", "interrupted"}) {
		t.Errorf("the runs are %v", got)
	}
	for _, r := range first.call("list", nil)["runs"].([]any) { // the records are complete
		if id := r.(map[string]any)["run_id"]; first.call("verify", map[string]any{"what": id})["ok"] != true {
			t.Errorf("%v does not verify", id)
		}
	}
}

// Lines that are no messages are answered as JSON-RPC 2.0 (5.1) says, and the session goes on. A signal ends
// the server.
func TestMCPProgram(t *testing.T) {
	root := mcpRepository(t)
	cmd := exec.Command(builtProgram(t), "mcp", "serve", "--repo", root)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewReader(out)
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`
	for _, one := range []struct{ line, want string }{
		{"{", `"code":-32700`},
		{"\xff\xfe", `"code":-32700`},
		{"17", `"code":-32600`},
		{`"` + strings.Repeat("x", 5<<20) + `"`, `"code":-32600`},
		{hello, `"protocolVersion":"2025-11-25"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"none"}`,
			`"code":-32601`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"none"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":[1]}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"show","arguments":{"run":7}}}`,
			`"isError":true`},
		{`{"jsonrpc":"2.0","id":6,"method":"ping"}`, `"id":6`},
	} {
		if _, err := io.WriteString(in, one.line+"\n"); err != nil {
			t.Fatal(err, stderr.String())
		}
		got, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(got, one.want) {
			t.Fatalf("%.80q is answered with %q (%v), not %s\n%s", one.line, got, err, one.want, stderr.String())
		}
		var message map[string]codec.Raw
		if err := codec.Unmarshal([]byte(got), &message); err != nil || string(message["jsonrpc"]) != `"2.0"` {
			t.Errorf("%q: %v", got, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after a signal: %v\n%s", err, stderr.String())
	}
}
