package cmdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"markmill/engine/worktree/pool"
	"markmill/notebooks"
)

// tool is a program whose caches spare it a read: a file of testdata/fresh holds the programs that it needs, a notebook
// that uses it, other files, and, below edit/, what must make its output outdated. {cache} stands for a folder outside
// of the worktree, which lives from one run to the next.
type tool struct {
	needs      []string
	everything bool                        // every file counts as read
	outside    bool                        // it uses the folder outside
	setup      string                      // a script that makes what an archive cannot hold
	steps      map[string]notebooks.StepID // by their interpreters, where those are known
	files      map[string]string
	edits      [][2]string // a path, and its new content; the run still passes after the first
}

// readTool skips the test if a program is missing.
func readTool(t *testing.T, file, cache string) (u tool) {
	t.Helper()
	if err := os.Mkdir(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	u.steps = map[string]notebooks.StepID{}
	for line := range strings.Lines(string(archive.Comment)) {
		if steps, ok := strings.CutPrefix(line, "steps: "); ok {
			for _, step := range strings.Fields(steps) {
				program, id, _ := strings.Cut(step, "=")
				u.steps[program] = notebooks.StepID(id)
			}
		}
		if programs, ok := strings.CutPrefix(line, "needs: "); ok {
			u.needs = strings.Fields(programs)
		}
		if script, ok := strings.CutPrefix(line, "setup: "); ok {
			u.setup = script
		}
		u.everything = u.everything || line == "reads everything\n"
	}
	u.files = map[string]string{"unrelated": "1\n",
		"markmill.yaml": fmt.Sprintf("sandbox:\n  write: [%q]\n", cache)}
	for _, f := range archive.Files {
		text := strings.ReplaceAll(string(f.Data), "{cache}", cache)
		u.outside = u.outside || text != string(f.Data)
		if path, ok := strings.CutPrefix(f.Name, "edit/"); ok {
			u.edits = append(u.edits, [2]string{path, text})
		} else {
			u.files[f.Name] = text
		}
	}
	for _, program := range u.needs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	return u
}

// proofs is a repository of the tool's files.
func (u *tool) proofs(t *testing.T) *proofs {
	t.Helper()
	p := newProofs(t, u.files)
	if slices.Contains(u.needs, "go") { // the standard library takes half a minute to compile
		p.env = append(p.env, "GOCACHE="+strings.TrimSpace(p.shell("unset XDG_CACHE_HOME; go env GOCACHE")))
	}
	p.shell(u.setup)
	p.commit()
	return p
}

// TestOutdatedByEveryTool: a change of anything that a tool used makes the output outdated: with cold caches, with warm
// ones, and with those of a run on other files; in new worktrees and in those of the pool. Without such a change it is
// current. Notebooks that build something try in a later step that it is not built again.
func TestOutdatedByEveryTool(t *testing.T) {
	t.Parallel()
	all := os.Getenv("MARKMILL_ALL") != ""
	files, err := filepath.Glob("testdata/fresh/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, pooled := range []bool{false, true} {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			quick := !pooled && slices.Contains([]string{"background", "git", "python"}, name)
			if pooled {
				name += "_pooled"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if !all && !quick {
					t.Skip("MARKMILL_ALL tries every tool")
				}
				testOutdated(t, file, pooled)
			})
		}
	}
}

func testOutdated(t *testing.T, file string, pooled bool) {
	cache := filepath.Join(t.TempDir(), "cache")
	u := readTool(t, file, cache)
	if pooled {
		for i := range pool.MinFiles {
			u.files[fmt.Sprintf("more/%02d/%04d", i%20, i)] = ""
		}
	}
	p := u.proofs(t)
	for _, state := range []string{"cold", "warm", "edited"} {
		if state == "edited" {
			before := p.edit(u.edits[0])
			u.edits[0][1] = before
			p.commit()
		}
		nextSecond()
		p.run("run", "n.md", "out/n.md")
		if kept := p.pooled(); pooled && kept != 1 || !pooled && kept != 0 {
			t.Errorf("%s: %d worktrees are in the pool", state, kept)
		}
		if entries, err := os.ReadDir(cache); err != nil || u.outside && len(entries) == 0 {
			t.Errorf("%s: the tool's cache is not used: %v", state, err)
		}
		p.commit()
		if got := p.status(); got != "current" {
			t.Fatalf("%s: after the run its output is %s: %s", state, got, p.shell(p.program+" status || true"))
		}
		for _, edit := range u.edits {
			before := p.edit(edit)
			if got := p.status(); got != "outdated" {
				t.Errorf("%s: %s changed, and the output is %s", state, edit[0], got)
			}
			p.edit([2]string{edit[0], before})
		}
		p.edit([2]string{"unrelated", "2\n"})
		if got := p.status(); !u.everything && got != "current" {
			t.Errorf("%s: a file that nobody read makes the output %s", state, got)
		}
		p.edit([2]string{"unrelated", "1\n"})
	}
}

// removed is the content of a file that is not there.
const removed = "\x00"

// edit writes or removes a file, and returns what it was.
func (p *proofs) edit(e [2]string) (before string) {
	p.t.Helper()
	full := filepath.Join(p.dir, e[0])
	old, err := os.ReadFile(full)
	if before = string(old); err != nil {
		before = removed
	}
	if e[1] != removed {
		p.write(e[0], e[1])
	} else if err := os.Remove(full); err != nil {
		p.t.Fatal(err)
	}
	return before
}

// pooled is the number of worktrees that are kept for later runs.
func (p *proofs) pooled() int {
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(p.dir), "cache", "markmill", "pool", "*", "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(kept)
}

// nextSecond waits until the clock shows another second: programs that compare whole seconds cannot tell two runs of
// one second apart (docs/freshness.md), and the pool waits for it, too.
func nextSecond() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
}
