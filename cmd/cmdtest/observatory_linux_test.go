package cmdtest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestObservatory breaks what every check of the kit looks at, and mends it: each check has one transition for that and
// one back, and none while nothing changes. The programs of PostgreSQL are stand-ins with its exit codes.
func TestObservatory(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "git", "python3", "sleep"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	dir, bin, program := t.TempDir(), t.TempDir(), builtProgram(t)
	in := func(words ...string) string { return filepath.Join(append([]string{dir}, words...)...) }
	env := append(os.Environ(), "HOME="+in("home"), "XDG_CACHE_HOME="+in("home"),
		"PATH="+bin+":"+filepath.Dir(program)+":"+os.Getenv("PATH"))
	do := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(name string, args ...string) string {
		t.Helper()
		out, err := do(name, args...)
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return out
	}
	fake := func(name, body string) {
		write(t, filepath.Join(bin, name), "#!/bin/sh\n"+body+"\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var status atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Millisecond)
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()

	must("git", "init", "-q")
	must("git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "--allow-empty", "-m", "base")
	must("mkdir", "backups")
	must(program, "new", "observatory", "obs")
	write(t, in("green.md"), "```bash {#a}\ntrue\n```\n")
	must(program, "run", "green.md")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	must("cp", sleep, in("obs-watched"))
	var watched *exec.Cmd
	stop := func() {
		if watched != nil {
			_ = watched.Process.Kill()
			_ = watched.Wait()
			watched = nil
		}
	}
	defer stop()
	params := []string{"run", "obs.md", "-p", "url=" + server.URL, "-p", "process=obs-watched", "-p",
		"sqlite=" + in("a.db"), "-p", "postgres=postgresql://localhost/x", "-p", "file=" + in("file"), "-p",
		"backups=" + in("backups"), "-p", "repository=" + dir, "-p", "cpu_seconds=0.01", "-p", "objective_ms=60000"}
	limits := func(text string) (args []string) {
		for _, what := range []string{"disk", "memory", "cpu"} {
			args = append(args, "-p", what+"_limits="+text)
		}
		return args
	}
	good := func() {
		t.Helper()
		status.Store(200)
		must("python3", "-c", "import os, sqlite3\nif os.path.exists('a.db'): os.remove('a.db')\n"+
			"c = sqlite3.connect('a.db'); c.execute('create table t(x)'); c.commit()")
		fake("pg_isready", "exit 0")
		fake("psql", "echo 1")
		write(t, in("file"), "x")
		write(t, in("backups", "dump"), "x")
		watched = exec.Command(in("obs-watched"), "600")
		if err := watched.Start(); err != nil {
			t.Fatal(err)
		}
		must(program, append(append(params, limits("[101, 102]")...), "-p", "notebook=green.md")...)
	}
	bad := func() {
		t.Helper()
		status.Store(503)
		write(t, in("a.db"), strings.Repeat("no database ", 100))
		fake("pg_isready", "exit 2")
		long := time.Now().Add(-48 * time.Hour)
		for _, file := range []string{in("file"), in("backups", "dump")} {
			if err := os.Chtimes(file, long, long); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		out, err := do(program, append(append(params, limits("[0, 0]")...), "-p", "notebook=other.md")...)
		if err == nil || !strings.Contains(out, "10 critical") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	good()
	bad()
	bad()
	good()
	got := must(program, "list", "--query", "SELECT name, count(*), sum(state = 'ok'), sum(state = 'critical') FROM "+
		"checks WHERE before <> state GROUP BY name ORDER BY name", "--format", "csv")
	want := "name,count(*),sum(state = 'ok'),sum(state = 'critical')\n"
	for _, name := range strings.Fields("backup cpu disk file green http memory postgres process sqlite") {
		want += name + ",2,1,1\n"
	}
	if got != want {
		t.Errorf("transitions:\n%s\nwant:\n%s", got, want)
	}

	// States of single checks.
	for _, one := range []struct {
		check, want string
		prepare     func()
		args        []string
	}{
		{"http", "warn: ", nil, []string{"-p", "objective_ms=1"}}, // slower than that
		{"http", "warn: ", server.Close, nil},                     // refused
		{"postgres", "warn: ", func() { fake("pg_isready", "exit 1") }, nil},
		{"postgres", "error: exit 3", func() { fake("pg_isready", "exit 3") }, nil},
		{"postgres", "critical: it accepts connections, and does not answer: locked out",
			func() { fake("pg_isready", "exit 0"); fake("psql", "echo locked out; exit 2") }, nil},
		{"file", "critical: ", func() { must("rm", in("file")) }, nil},
		{"backup", "error: FileNotFoundError", func() { must("rm", "-r", in("backups")) }, nil},
	} {
		if one.prepare != nil {
			one.prepare()
		}
		_, _ = do(program, append(append(append(params, limits("[101, 102]")...), "--only", one.check), one.args...)...)
		out := must(program, "list", "--query", "SELECT state || ': ' || coalesce(message, '') AS found FROM checks "+
			"WHERE name = '"+one.check+"' ORDER BY started_at DESC LIMIT 1", "--format", "csv")
		if _, found, _ := strings.Cut(out, "\n"); !strings.HasPrefix(strings.TrimPrefix(found, `"`), one.want) {
			t.Errorf("%s: want %q, got %s", one.check, one.want, found)
		}
	}
}
