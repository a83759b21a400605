//go:build unix

package cmdtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// otherUser is who runs the program, too, where the tests run as root.
const otherUser = 61236

// place is a folder to work in, with a home beside it that no command may change.
type place struct {
	t          *testing.T
	top        string // holds home, attack.sh and work
	home, work string
	program    string
	uid        int // 0 is who runs the tests
	mode       []string
	before     map[string]string
}

// outputNotebook does in work what attack.sh says, if there is one, and shows a picture. Nothing holds its step.
const outputNotebook = "---\nsandbox: off\n---\n# Title\n\n```yaml {.parameters}\np: x\n```\n\n```bash {#a}\n" +
	"TOP='TOP'\ntest ! -f $TOP/attack.sh || (cd $TOP/work && . ../attack.sh)\n" +
	"echo \"said $(cat $TOP/words)\"\nglue --image --display pic $TOP/pic.png\n```\n"

func newPlace(t *testing.T, mode string, uid int) *place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, top: top, home: filepath.Join(top, "home"), work: filepath.Join(top, "work"), uid: uid,
		program: builtProgram(t)}
	if mode == "in place" {
		p.mode = []string{"--in-place"}
	}
	picture, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/" +
		"HwADBwIAMCbHYQAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	p.write("pic.png", string(picture))
	p.write("words", "calm")
	for _, name := range []string{"out.md", "events.jsonl", "said.txt", "a.md", "b.md", "page.html", "junit.xml",
		"out_files/kept"} {
		p.write("home/"+name, "of the user\n")
	}
	notebook := strings.Replace(outputNotebook, "'TOP'", top, 1)
	p.write("work/n.md", notebook)
	p.write("work/timed.md", strings.Replace(notebook, "---\n",
		"---\nschedule: {cron: \"* * * * *\", output: d/out.md}\n", 1))
	p.write("work/agents.md", notebook+"\n```agent {#w}\nDo it.\n```\n")
	agent := "#!/bin/sh\ncat >/dev/null\necho x >made\n"
	p.write("agent", agent)
	if err := os.Chmod(filepath.Join(top, "agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("work/.github/workflows/ci.yml", "of CI\n")
	p.write("work/kept/forbidden.md", "of the policy\n")
	if mode != "folder" {
		p.write("work/.gitignore", ".markmill/\n")
		p.write("work/markmill.yaml", fmt.Sprintf("policy: {forbid: [kept/**]}\nagents:\n  mine:\n    path: %s/agent\n"+
			"    sha256: %x\n    command: [agent]\n", top, sha256.Sum256([]byte(agent))))
		p.link("../home/out.md", "work/committed.md")
		p.link("../home", "work/committed")
		p.git("init", "-q")
		p.git("config", "core.hooksPath", "tools/hooks")
		p.git("add", "-A")
		p.git("commit", "-q", "-m", "begin")
	}
	p.write("work/.markmill/runs/OTHER/events.jsonl", "of another run\n")
	for dir := top; uid != 0 && dir != filepath.Dir(dir); dir = filepath.Dir(dir) { // other users must get here
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o1 == 0 {
			if err := os.Chmod(dir, info.Mode().Perm()|0o11); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.own()
	p.before = p.files("home")
	return p
}

// own gives everything to the user of the place.
func (p *place) own() {
	if p.uid == 0 {
		return
	}
	err := filepath.WalkDir(p.top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, p.uid, p.uid)
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.top, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) link(to, name string) {
	p.t.Helper()
	if err := os.Symlink(to, filepath.Join(p.top, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) git(words ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, words...)...)
	cmd.Dir = p.work
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", words, err, out)
	}
}

// files are all files below a folder, by their names.
func (p *place) files(name string) map[string]string {
	p.t.Helper()
	found := map[string]string{}
	root := filepath.Join(p.top, name)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root)] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return found
}

// run runs the program in the folder of work, and returns what it said on standard error.
func (p *place) run(words ...string) (said string, ok bool) {
	p.t.Helper()
	var says watched
	_, err := bounded(p.t.Context(), time.Minute, func(cmd *exec.Cmd) {
		says.cmd = cmd
		cmd.Dir, cmd.Stderr = p.work, &says
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(p.top, "own"), "TMPDIR="+p.top,
			"MARKMILL_TREE=separate", // attacks name the checkout
			"XDG_STATE_HOME="+filepath.Join(p.top, "state"), "XDG_CACHE_HOME="+filepath.Join(p.top, "cache"))
		if p.uid != 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
		}
	}, p.program, words...)
	return says.text.String(), err == nil
}

// watched is what a program says. It is ended when it says that it waits, as watch does after each run.
type watched struct {
	text bytes.Buffer
	cmd  *exec.Cmd
}

func (w *watched) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("waiting")) {
		_ = w.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	return w.text.Write(b)
}

// unchanged checks that nothing was written outside work, nor where nobody may write.
func (p *place) unchanged(what string) {
	p.t.Helper()
	now := p.files("home")
	for name, text := range p.before {
		if now[name] != text {
			p.t.Errorf("%s: home%s is changed: %.200q", what, name, now[name])
		}
	}
	if len(now) != len(p.before) {
		p.t.Errorf("%s: there are %d files in home, and were %d", what, len(now), len(p.before))
	}
	for name, want := range map[string]string{".markmill/runs/OTHER/events.jsonl": "of another run\n",
		".github/workflows/ci.yml": "of CI\n", "kept/forbidden.md": "of the policy\n"} {
		if got, err := os.ReadFile(filepath.Join(p.work, name)); err != nil || string(got) != want {
			p.t.Errorf("%s: %s is %q, %v", what, name, got, err)
		}
	}
}

// users are who runs the program.
func users() []int {
	if os.Getuid() == 0 {
		return []int{0, otherUser}
	}
	return []int{0}
}

// outputAttack is what a step does to the folder d.
type outputAttack struct {
	name, script string
	missing      bool // the folder is not there when the run is planned
	replaced     bool // the folder is another when the run ends
	refused      bool // OUTPUT keeps its old bytes
}

// outputWriter is a command that runs a step, and writes into the folder d.
type outputWriter struct {
	name   string
	words  []string
	stored bool // there must be an output already
	source bool // it needs a worktree
}

// TestOutputsAndSteps: a step puts links where outputs are to go, or replaces their folders. What is written stays in
// the folder that was there before, as it was.
func TestOutputsAndSteps(t *testing.T) {
	t.Parallel()
	attacks := []outputAttack{
		{name: "the file is a link", script: "for f in out.md a.md b.md events.jsonl said.txt page.html " +
			"junit.xml; do ln -sf $TOP/home/$f d/$f; done"},
		{name: "the temporary file is a link", script: "for f in out.md a.md b.md; do ln -sf $TOP/home/out.md " +
			"d/.tmp-$MARKMILL_RUN_ID-$(printf $f | sha256sum | cut -c1-12); done"},
		{name: "the folder of the pictures is a link", script: "rm -rf d/*_files; ln -s $TOP/home d/out_files; " +
			"ln -s $TOP/home d/a_files; ln -s $TOP/home d/b_files", refused: true},
		{name: "the folder is a link", script: "mv d d.old; ln -s $TOP/home d", replaced: true},
		{name: "the folder is another", script: "mv d d.old; mkdir d", replaced: true},
		{name: "the missing folder is a link", script: "ln -s $TOP/home d", missing: true, replaced: true},
		{name: "a record in the place of a missing folder", script: "ln -s .markmill/runs/OTHER d", missing: true,
			replaced: true},
	}
	writers := []outputWriter{
		{name: "run", words: []string{"run", "n.md", "d/out.md"}},
		{name: "streams", words: []string{"run", "n.md", "--events", "d/events.jsonl", "--stdout-file", "d/said.txt"}},
		{name: "sweep", words: []string{"run", "n.md", "d/{p}.md", "--matrix", "p=a,b"}},
		{name: "test --update", words: []string{"test", "--update", "d/out.md"}, stored: true},
		{name: "test --junit", words: []string{"test", "d/out.md", "--junit", "d/junit.xml"}, stored: true},
		{name: "attempts", words: []string{"run", "agents.md", "d/out.md", "--attempts", "2", "--pick", "first"},
			source: true},
		{name: "watch", words: []string{"run", "--watch", "n.md", "d/out.md"}, source: true},
		{name: "watch {p}", words: []string{"run", "--watch", "n.md", "d/{p}/out.md"}, source: true},
		{name: "run --outdated", words: []string{"run", "--outdated", "n.md", "m.md"}, stored: true, source: true},
		{name: "a schedule", words: []string{"schedule", "run-due"}, source: true},
	}
	attempts := 0
	for _, mode := range []string{"folder", "in place", "worktree"} {
		for _, uid := range users() {
			for i, w := range writers {
				for k, attack := range attacks {
					if !everything() && uid == 0 && len(users()) > 1 && (i+k)%3 > 0 || w.stored && attack.missing ||
						w.source && mode != "worktree" {
						continue
					}
					attempts++
					t.Run(strings.Join([]string{mode, strconv.Itoa(uid), w.name, attack.name}, "/"),
						func(t *testing.T) { t.Parallel(); w.under(attack, newPlace(t, mode, uid)) })
				}
			}
		}
	}
	t.Logf("%d attempts", attempts)
}

// seen is up to when it was decided what is due.
var seen = regexp.MustCompile(`"seen":"[^"]*"`)

// under runs a writer whose step attacks the folder d.
func (w outputWriter) under(attack outputAttack, p *place) {
	p.t.Helper()
	old := "of yesterday\n"
	if w.stored {
		if said, ok := p.run("run", "n.md", "d/out.md"); !ok {
			p.t.Fatal(said)
		}
		p.write("words", "other")
		if w.name == "run --outdated" { // the second notebook runs after the attack of the first
			notebook := p.files("work")["/n.md"]
			p.write("work/m.md", notebook)
			if said, ok := p.run("run", "m.md", "d/b.md"); !ok {
				p.t.Fatal(said)
			}
			p.write("work/n.md", notebook+"\n```bash {#b}\n```\n")
			p.write("work/m.md", notebook+"\n```bash {#b}\n```\n")
		}
	} else if !attack.missing {
		p.write("work/d/out.md", old)
	}
	if w.name == "a schedule" { // it is due from the first call on
		if said, ok := p.run(w.words...); !ok {
			p.t.Fatal(said)
		}
		for name, text := range p.files("work/.markmill/schedules") {
			if filepath.Base(name) == "state.json" {
				p.write("work/.markmill/schedules"+name, seen.ReplaceAllString(text, `"seen":"2001-01-01T00:00:00Z"`))
			}
		}
	}
	p.write("attack.sh", attack.script+"\n")
	p.own()
	words := w.words
	if w.words[0] == "run" {
		words = append(slices.Clip(words), p.mode...)
	}
	said, ok := p.run(words...)
	p.unchanged(said)
	if w.name == "run --outdated" && strings.Count(said, "→ d/") != 2 {
		p.t.Errorf("not both notebooks ran: %s", said)
	}
	if !slices.Contains([]string{"run", "attempts", "a schedule"}, w.name) {
		return
	}
	now, kept := p.files("work/d")["/out.md"], p.files("work/d.old")["/out.md"]
	switch {
	case attack.replaced && ok:
		p.t.Errorf("the folder was replaced, and the run passed: %s", said)
	case attack.replaced && !attack.missing && kept != old:
		p.t.Errorf("the old OUTPUT is %q", kept)
	case !attack.replaced && w.name != "attempts" && (now == old) != attack.refused:
		p.t.Errorf("OUTPUT is %q\n%s", now, said)
	}
}

// TestOutputsRefused: each command that writes is asked to write where outputs may not go.
func TestOutputsRefused(t *testing.T) {
	t.Parallel()
	writers := map[string][]string{
		"run":              {"run", "n.md", "TO"},
		"run --in-place":   {"run", "n.md", "TO", "--in-place"},
		"--events":         {"run", "n.md", "--events", "TO"},
		"--stdout-file":    {"run", "n.md", "--stdout-file", "TO"},
		"--stderr-file":    {"run", "n.md", "--stderr-file", "TO"},
		"--prepare-only":   {"run", "n.md", "TO", "--prepare-only"},
		"a sweep":          {"run", "n.md", "TO", "--matrix", "p=x"},
		"attempts":         {"run", "n.md", "TO", "--attempts", "2"},
		"watch":            {"run", "--watch", "n.md", "TO"},
		"submit":           {"queue", "submit", "n.md", "TO"},
		"resume":           {"resume", "last", "TO", "--at", "a"},
		"convert":          {"convert", "n.md", "TO", "--to", "markmill"},
		"convert of a run": {"convert", "last", "TO", "--to", "markmill"},
		"merge":            {"notebook", "merge", "n.md", "n.md", "n.md", "-o", "TO"},
		"strip":            {"notebook", "strip", "TO"},
		"digest":           {"health", "digest", "-o", "TO"},
		"review":           {"review", "HEAD", "--html", "TO"},
		"list --query":     {"list", "--query", "SELECT 1", "-o", "TO", "--format", "csv"},
		"scraps":           {"notebook", "scraps", "last", "--output", "TO", "--format", "csv"},
		"attest":           {"runs", "attest", "last", "-o", "TO"},
		"test --junit":     {"test", "o.md", "--junit", "TO"},
		"new":              {"new", "TO"},
	}
	if err := buildServer(); err != nil { // no Go is there to build it
		delete(writers, "submit")
	}
	destinations := map[string]string{ // what is said of each
		"committed.md":                      "is a link that Git tracks",
		"committed/out.md":                  "goes through the link",
		"own.md":                            "is a link that leads out of its folder",
		".git/x.md":                         "is inside the Git directory",
		".GIT/hooks/x.md":                   "is inside the Git directory",
		"via/x.md":                          "is inside the Git directory",
		".markmill/runs/OTHER/events.jsonl": "where only Markmill keeps its records",
		"store/events.jsonl":                "where only Markmill keeps its records",
		"markmill.yaml":                     "is a file of settings",
		".gitattributes":                    "is a file of settings",
		".gitmodules":                       "is a file of settings",
		"allowed_signers":                   "is a file of settings",
		".github/workflows/ci.yml":          "is a file that CI or a hook obeys",
		".husky/pre-commit":                 "is a file that CI or a hook obeys",
		"tools/hooks/pre-commit.md":         "is a file that CI or a hook obeys",
		"kept/forbidden.md":                 "is forbidden by the policy",
		"new/":                              "is a folder",
	}
	attempts := 0
	for _, uid := range users() {
		p := newPlace(t, "worktree", uid)
		p.link("../home/out.md", "work/own.md")
		p.link(".git/hooks", "work/via")
		p.link(".markmill/runs/OTHER", "work/store")
		p.own()
		if said, ok := p.run("run", "n.md", "o.md"); !ok {
			t.Fatal(said)
		}
		hooks := len(p.files("work/.git/hooks"))
		for to, want := range destinations {
			folder := filepath.Dir(to) // man names the files
			if folder == "." || want == "is a folder" {
				continue
			}
			attempts++
			if said, ok := p.run("man", folder); ok || !strings.Contains(said, want) {
				t.Errorf("man to %s: %v %q", folder, ok, said)
			}
		}
		p.unchanged("man")
		for name, words := range writers {
			for to, want := range destinations {
				if !everything() && (len(name)+len(to))%3 > 0 && uid != 0 ||
					name == "new" && !strings.HasSuffix(to, ".md") { // which it adds
					continue
				}
				if name == "strip" && want != "is a folder" { // it reads the file first
					if _, err := os.Stat(filepath.Join(p.work, to)); err != nil || !strings.HasSuffix(to, ".md") {
						continue
					}
					p.write("home/out.md", outputNotebook) // has nothing to strip
				}
				attempts++
				asked := strings.Split(strings.ReplaceAll(strings.Join(words, "\x00"), "TO", to), "\x00")
				said, ok := p.run(asked...)
				if name == "strip" {
					p.write("home/out.md", "of the user\n")
				} else if ok {
					t.Errorf("%s wrote %s", name, to)
				} else if !strings.Contains(said, want) {
					t.Errorf("%s of %s says %q", name, to, said)
				}
			}
			p.unchanged(name)
		}
		if now := len(p.files("work/.git/hooks")); now != hooks {
			t.Errorf("there are %d hooks, and were %d", now, hooks)
		}
	}
	t.Logf("%d attempts", attempts)
}

// TestOutputsByValues: the value of a parameter leads a path neither up, nor to the root, nor through a link, and to
// none of the files that outputs may not be.
func TestOutputsByValues(t *testing.T) {
	t.Parallel()
	attempts := 0
	for _, mode := range []string{"folder", "in place", "worktree"} {
		p := newPlace(t, mode, 0)
		p.link("../home", "work/away")
		for value, want := range map[string]string{
			"../home":              "may not bring ..",
			"x/../../home":         "may not bring ..",
			p.home:                 "may not make it absolute",
			"away":                 "is a symbolic link",
			"file://":              "may not make it an address",
			".git/hooks":           "is inside the Git directory",
			".markmill/runs/OTHER": "where only Markmill keeps its records",
		} {
			for name, words := range map[string][]string{
				"run":     {"run", "n.md", "{p}/out.md", "-p", "p=" + value},
				"a sweep": {"run", "n.md", "{p}/out.md", "--matrix", "p=[\"" + value + "\", \"b\"]"},
			} {
				attempts++
				if said, ok := p.run(append(words, p.mode...)...); ok || !strings.Contains(said, want) {
					t.Errorf("%s, %s with the value %s: %v %s", mode, name, value, ok, said)
				}
			}
		}
		for output, value := range map[string]string{"x/{p}/../../y.md": "", "x/{p}/../../z.md": ".",
			"x/{p}/./..//../z.md": "./.", "x/{p}/../../{p}y.md": " "} {
			attempts++
			said, ok := p.run(append([]string{"run", "n.md", output, "-p", "p=" + value}, p.mode...)...)
			if ok || !strings.Contains(said, "a folder before .. may not be empty") {
				t.Errorf("%s, %s with the value %q: %v %s", mode, output, value, ok, said)
			}
		}
		if said, ok := p.run(append([]string{"run", "n.md", "{p}.md", "-p", "p=eu/west"}, p.mode...)...); !ok {
			t.Errorf("%s: %s", mode, said)
		}
		if p.files("work")["/eu/west.md"] == "" {
			t.Errorf("%s: a value with a folder in it wrote nothing", mode)
		}
		p.unchanged(mode)
	}
	t.Logf("%d attempts", attempts)
}

// TestOutputsThatAreFollowed: links of the user's own, devices and pipes are written as before.
func TestOutputsThatAreFollowed(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "worktree", 0)
	p.write("work/o/v1/out.md", "old\n")
	p.link("v1/out.md", "work/o/newest.md")
	p.link("o/v1", "work/latest")
	for _, words := range [][]string{{"run", "n.md", "o/newest.md"}, {"run", "n.md", "latest/out.md"}} {
		p.write("work/o/v1/out.md", "old\n")
		if said, ok := p.run(words...); !ok || !strings.Contains(p.files("work/o/v1")["/out.md"], "said calm") {
			t.Errorf("%v: %s", words, said)
		}
	}
	if to, err := os.Readlink(filepath.Join(p.work, "o/newest.md")); err != nil || to != "v1/out.md" {
		t.Errorf("the link is %q, %v", to, err)
	}
	pipe := filepath.Join(p.work, "pipe.md")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		read <- string(text)
	}()
	if said, ok := p.run("run", "n.md", "pipe.md"); !ok {
		t.Error(said)
	} else if text := <-read; !strings.Contains(text, "said calm") {
		t.Errorf("the pipe had %q", text)
	}
	for _, script := range []string{"run n.md -", "run n.md /dev/stdout", "run n.md /dev/fd/3 3>&1"} {
		for _, to := range []string{" | cat >got.md", " >got.md"} {
			cmd := exec.Command("sh", "-c", "("+p.program+" "+script+")"+to)
			cmd.Dir, cmd.Env = p.work, os.Environ()
			out, err := cmd.CombinedOutput()
			if got := p.files("work")["/got.md"]; err != nil || strings.Count(got, "said calm") != 1 {
				t.Errorf("%s%s: %v\n%s%s", script, to, err, out, got)
			}
		}
	}
}

// TestOutputsOfPairs: the files of a pair of Jupytext are written nowhere that an output may not be.
func TestOutputsOfPairs(t *testing.T) {
	t.Parallel()
	const book = `{"cells":[{"cell_type":"markdown","id":"a","metadata":{},"source":"new"}],` +
		`"metadata":{"jupytext":{"formats":"ipynb,md"}},"nbformat":4,"nbformat_minor":5}`
	attempts := 0
	for _, uid := range users() {
		p := newPlace(t, "worktree", uid)
		p.link("../home/out.md", "work/own.md")
		p.link(".git/hooks", "work/via")
		p.link(".markmill/runs/OTHER", "work/store")
		for base, want := range map[string]string{
			"committed":                 "is a link that Git tracks",
			"committed/out":             "goes through the link",
			"own":                       "is a link that leads out of its folder",
			".git/x":                    "is inside the Git directory",
			"via/x":                     "is inside the Git directory",
			".markmill/runs/OTHER/x":    "where only Markmill keeps its records",
			"store/x":                   "where only Markmill keeps its records",
			"tools/hooks/pre-commit":    "is a file that CI or a hook obeys",
			".github/workflows/release": "is a file that CI or a hook obeys",
			"kept/forbidden":            "is forbidden by the policy",
		} {
			attempts++
			p.write("work/"+base+".ipynb", book)
			p.own()
			said, ok := p.run("convert", "--sync", base+".ipynb", base+".md")
			if ok || !strings.Contains(said, want) {
				t.Errorf("%s as user %d says %q", base, uid, said)
			}
			if err := os.Remove(filepath.Join(p.work, base+".ipynb")); err != nil {
				t.Fatal(err)
			}
			for _, added := range []string{".git/x.md", ".git/hooks/x.md", ".markmill/runs/OTHER/x.md"} {
				if _, err := os.Lstat(filepath.Join(p.work, added)); err == nil {
					t.Errorf("%s: %s is written", base, added)
				}
			}
			p.unchanged(base)
		}
	}
	t.Logf("%d attempts", attempts)
}
