package cmdtest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// letters counts the mail that a server takes, by the id of the alert.
type letters struct {
	mu  sync.Mutex
	ids map[string]int
}

func (l *letters) NewSession(*smtp.Conn) (smtp.Session, error) { return l, nil }

func (l *letters) Mail(string, *smtp.MailOptions) error { return nil }

func (l *letters) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (l *letters) Reset() {}

func (l *letters) Logout() error { return nil }

func (l *letters) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	_, after, _ := strings.Cut(string(text), "X-Markmill-Alert: ")
	id, _, _ := strings.Cut(after, "\r")
	l.add(id)
	return err
}

func (l *letters) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids[id]++
}

// cluster starts a PostgreSQL of Debian's in a folder, as a user that is not root, on a Unix socket.
func cluster(t *testing.T) (address string, start, stop func()) {
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(bins) == 0 {
		t.Fatal("there is no PostgreSQL below /usr/lib/postgresql")
	}
	dir, err := os.MkdirTemp("/tmp", "pg-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	do := func(program string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(bins[0], program), args...)
		cmd.Dir, cmd.SysProcAttr = dir, attr
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	do("initdb", "-D", dir+"/data", "-A", "trust", "-U", "mill", "--no-sync")
	start = func() {
		do("pg_ctl", "-D", dir+"/data", "-w", "-l", dir+"/log", "-o", "-c listen_addresses='' -k "+dir, "start")
	}
	stop = func() { do("pg_ctl", "-D", dir+"/data", "-w", "-m", "immediate", "stop") }
	start()
	t.Cleanup(func() {
		cmd := exec.Command(filepath.Join(bins[0], "pg_ctl"), "-D", dir+"/data", "-m", "immediate", "stop")
		cmd.Dir, cmd.SysProcAttr = dir, attr
		_ = cmd.Run() // it may have been stopped
		_ = os.RemoveAll(dir)
	})
	return "postgresql://mill@/postgres?host=" + dir, start, stop
}

// TestObserved injects a fault into what each check of the observatory looks at, mends it with the next run, and counts
// what reaches a webhook, a mail server and a program, while processes that deliver are killed and the webhook is down
// for a third of the time. MARKMILL_OBSERVED=1 runs it.
func TestObserved(t *testing.T) {
	if os.Getenv("MARKMILL_OBSERVED") == "" {
		t.Skip("MARKMILL_OBSERVED=1 runs it, with PostgreSQL")
	}
	program := builtProgram(t)
	if err := buildServer(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	postgres, startPostgres, stopPostgres := cluster(t)

	hooks, mails := &letters{ids: map[string]int{}}, &letters{ids: map[string]int{}}
	var down atomic.Bool
	refused := 0
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			refused++
			w.WriteHeader(503)
			return
		}
		hooks.add(r.Header.Get("Idempotency-Key"))
	}))
	defer hook.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mail := smtp.NewServer(mails)
	mail.Domain = "localhost"
	go mail.Serve(listener)
	defer mail.Close()
	var answer, slow atomic.Int64
	answer.Store(200)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Duration(slow.Load()) * time.Millisecond)
		w.WriteHeader(int(answer.Load()))
	}))
	defer site.Close()

	env := append(os.Environ(), "HOME="+in("home"), "XDG_CACHE_HOME="+in("home"), "HOOK="+hook.URL,
		"SMTP=smtp://"+listener.Addr().String()+"?tls=none", "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	do := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		out, _ := cmd.CombinedOutput() // of runs with a fault, too
		return string(out)
	}
	do("git", "init", "-q")
	do("git", "-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "--allow-empty", "-m", "base")
	do(program, "new", "observatory", "obs")
	text, err := os.ReadFile(in("obs.md"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, in("obs.md"), strings.Replace(string(text), "---\n",
		"---\nalerts: {on: [warn, critical, recover], to: [hook, team, page]}\n", 1))
	write(t, in("markmill.yaml"), "alerts:\n  hook: {webhook: \"${HOOK}\"}\n  team: {mail: [a@example.org], "+
		"from: b@example.org, server: \"${SMTP}\"}\n  page: "+
		"{exec: [/bin/sh, -c, 'echo $MARKMILL_ALERT >> \"$0\"', '"+in("paged")+"']}\n")
	write(t, in("green.md"), "```bash {#a}\ntrue\n```\n")
	do(program, "run", "green.md")
	do("cp", "/bin/sleep", "obs-watched")
	database := func() {
		do("python3", "-c", "import os, sqlite3\nif os.path.exists('a.db'): os.remove('a.db')\n"+
			"c = sqlite3.connect('a.db'); c.execute('create table t(x)'); c.commit()")
	}
	database()
	fresh := func(name string) func() { return func() { write(t, in(name), "x") } }
	old := func(name string) func() {
		return func() {
			at := time.Now().Add(-48 * time.Hour)
			if err := os.Chtimes(in(name), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	do("mkdir", "backups")
	fresh("file")()
	fresh("backups/dump")()
	var running [2]*exec.Cmd // the watched process, and one that locks the database
	spawn := func(i int, name string, args ...string) func() {
		return func() {
			running[i] = exec.Command(name, args...)
			running[i].Dir = dir
			if err := running[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := func(i int) func() {
		return func() {
			if running[i] != nil {
				_ = running[i].Process.Kill() // it may have ended
				_ = running[i].Wait()         // by the signal
			}
		}
	}
	watch := spawn(0, in("obs-watched"), "600")
	watch()
	defer func() { end(0)(); end(1)() }()
	lock := func() {
		spawn(1, "python3", "-c", "import sqlite3, time\nc = sqlite3.connect('a.db', isolation_level=None)\n"+
			"c.execute('BEGIN EXCLUSIVE'); open('locked', 'w'); time.sleep(600)")()
		for range 200 {
			if _, err := os.Stat(in("locked")); err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	values := map[string]string{}
	value := func(name, text string) func() { return func() { values[name] = text } }
	url := "http://" + strings.TrimPrefix(site.URL, "http://")
	good := map[string]string{"url": url, "process": "obs-watched", "sqlite": in("a.db"), "postgres": postgres,
		"file":    in("file"),
		"backups": in("backups"), "repository": dir, "notebook": "green.md", "cpu_seconds": "0.01",
		"objective_ms": "60000",
		"disk_limits":  "[101, 102]", "memory_limits": "[101, 102]", "cpu_limits": "[101, 102]"}
	mended := func(name string) func() { return func() { values[name] = good[name] } }
	for name, text := range good {
		values[name] = text
	}
	faults := []struct {
		name, check, state string
		inject, mend       func()
	}{
		{"refused", "http", "warn", value("url", "http://127.0.0.1:1/"), mended("url")},
		{"disk", "disk", "critical", value("disk_limits", "[0, 0]"), mended("disk_limits")},
		{"status 500", "http", "critical", func() { answer.Store(500) }, func() { answer.Store(200) }},
		{"memory", "memory", "critical", value("memory_limits", "[0, 0]"), mended("memory_limits")},
		{"slow", "http", "warn", func() { slow.Store(80); values["objective_ms"] = "40" },
			func() { slow.Store(0); values["objective_ms"] = "60000" }},
		{"cpu", "cpu", "critical", value("cpu_limits", "[0, 0]"), mended("cpu_limits")},
		{"locked", "sqlite", "warn", lock, end(1)},
		{"postgres stopped", "postgres", "critical", stopPostgres, startPostgres},
		{"damaged", "sqlite", "critical", func() { write(t, in("a.db"), strings.Repeat("no database ", 100)) },
			database},
		{"file old", "file", "critical", old("file"), fresh("file")},
		{"backup old", "backup", "critical", old("backups/dump"), fresh("backups/dump")},
		{"never green", "green", "critical", value("notebook", "other.md"), mended("notebook")},
		{"process ended", "process", "critical", end(0), watch},
	}
	run := func() {
		args := []string{"run", "obs.md"}
		for name, text := range values {
			args = append(args, "-p", name+"="+text)
		}
		out := do(program, args...)
		if !strings.Contains(out, "evidence: ") {
			t.Fatal(out)
		}
	}
	kills := 0
	kill := func() { // a process that delivers, at any moment of its life
		cmd := exec.Command(program, "health", "alerts", "deliver")
		cmd.Dir, cmd.Env = dir, env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // by the signal
		kills++
	}
	run()
	for i, f := range faults {
		down.Store(i >= 6 && i < 11)
		if i > 0 {
			faults[i-1].mend()
		}
		f.inject()
		run()
		if i%4 == 1 {
			run() // nothing changes
		}
		if i < 4 {
			kill()
		}
	}
	faults[len(faults)-1].mend()
	run()
	do(program, "health", "alerts", "deliver", "--wait", "100s")

	got := do(program, "list", "--query", "SELECT name, state, count(*) FROM checks WHERE before <> state "+
		"GROUP BY name, state ORDER BY name, state", "--format", "csv")
	want := map[string]int{}
	for _, f := range faults {
		want[f.check+","+f.state]++
		want[f.check+",ok"]++
	}
	for key, n := range want {
		if !strings.Contains(got, fmt.Sprintf("%s,%d\n", key, n)) {
			t.Errorf("%s: want %d in\n%s", key, n, got)
		}
	}
	paged, err := os.ReadFile(in("paged"))
	if err != nil {
		t.Fatal(err)
	}
	pages := &letters{ids: map[string]int{}}
	for _, id := range strings.Fields(string(paged)) {
		pages.add(id)
	}
	for name, l := range map[string]*letters{"webhook": hooks, "mail": mails, "exec": pages} {
		doubled := 0
		for _, n := range l.ids {
			doubled += n - 1
		}
		if len(l.ids) != 2*len(faults) || doubled > kills {
			t.Errorf("%s: %d alerts, want %d; %d doubled\n%s", name, len(l.ids), 2*len(faults), doubled,
				got+do(program, "health", "alerts", "list"))
		}
		t.Logf("%s: %d alerts of %d, %d doubled by %d kills", name, len(l.ids), 2*len(faults), doubled, kills)
	}
	t.Logf("%d faults, %d transitions and recoveries; the webhook refused %d times", len(faults), 2*len(faults),
		refused)
}
