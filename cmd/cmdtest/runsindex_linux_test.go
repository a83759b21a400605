package cmdtest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"markmill/cmd/internal/commands"
	"markmill/cmd/internal/program"
	"markmill/runs"
)

// indexBed is a store of runs.
type indexBed struct {
	*testing.T
	dir   string
	store runs.Store
	user  *syscall.Credential // whom markmill is run by; nil is this process's
}

func indexBedAt(t *testing.T, dir string) *indexBed {
	return &indexBed{T: t, dir: dir, store: runs.Store{Dir: filepath.Join(dir, "kept")}}
}

// newIndexBed has one run, and an index of it.
func newIndexBed(t *testing.T) *indexBed {
	t.Helper()
	b := indexBedAt(t, t.TempDir())
	b.must(os.Mkdir(filepath.Join(b.dir, "home"), 0o755))
	b.must(os.WriteFile(filepath.Join(b.dir, "n.md"),
		[]byte("---\nparams:\n  n: 0\n---\n```sh {#a}\ntest $n -lt 5\n```\n"), 0o644))
	b.run(1, program.ExitPass)
	b.listed(1)
	if _, err := os.Stat(b.store.IndexFile()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *indexBed) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *indexBed) markmill(args ...string) (stdout, stderr string, code int) {
	b.Helper()
	var out, errs strings.Builder
	cmd := exec.CommandContext(b.Context(), builtProgram(b.T), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dir, &out, &errs
	cmd.Env = append(os.Environ(), "MARKMILL_DIR="+b.store.Dir, "HOME="+filepath.Join(b.dir, "home"),
		"XDG_CACHE_HOME="+filepath.Join(b.dir, "cache"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: b.user}
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		b.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// run makes a run, and wants its exit code and nothing said of the index.
func (b *indexBed) run(n int, want int) {
	b.Helper()
	number := string(rune('0' + n))
	_, said, code := b.markmill("run", "n.md", "-p", "n="+number)
	if code != want || strings.Contains(said, "index") || strings.Contains(said, "not removed") {
		b.Errorf("run %s: exit %d, want %d: %s", number, code, want, said)
	}
}

// listed wants the runs with these values of n, and no error.
func (b *indexBed) listed(want ...int) {
	b.Helper()
	out, said, code := b.markmill("list", "--param", "n>=0", "--sort", "param:n", "--json")
	var doc struct {
		Runs []struct {
			Status runs.Status    `json:"status"`
			Values map[string]any `json:"values"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != program.ExitPass || len(doc.Runs) != len(want) {
		b.Fatalf("exit %d, %v, %d runs, want %v: %s%s", code, err, len(doc.Runs), want, said, out)
	}
	for i, n := range want {
		status := runs.Pass
		if n >= 5 {
			status = runs.Fail
		}
		if doc.Runs[i].Status != status {
			b.Errorf("n=%d is %s: %s", n, doc.Runs[i].Status, out)
		}
	}
	if strings.Count(said, "\n") > 1 {
		b.Errorf("more than one warning: %s", said)
	}
}

// Whatever became of the index, a run ends as it would, and the next question finds it. With MARKMILL_ALL set it tries
// every fault, otherwise half of them.
func TestIndexFailsNoRun(t *testing.T) {
	t.Parallel()
	first := newIndexBed(t)
	for name, spoil := range map[string]func(b *indexBed){
		"damaged": func(b *indexBed) {
			text, err := os.ReadFile(b.store.IndexFile())
			b.must(err)
			for i := 100; i < len(text); i += 7 {
				text[i] ^= 0x5a
			}
			b.must(os.WriteFile(b.store.IndexFile(), text, 0o644))
		},
		"no database": func(b *indexBed) { b.must(os.WriteFile(b.store.IndexFile(), []byte("none"), 0o644)) },
		"a folder": func(b *indexBed) {
			b.must(errors.Join(os.Remove(b.store.IndexFile()), os.MkdirAll(filepath.Join(b.store.IndexFile(), "x"),
				0o755)))
		},
		"a folder for its lock": func(b *indexBed) {
			lock := filepath.Join(b.store.Dir, "index.lock")
			b.must(errors.Join(os.Remove(lock), os.Mkdir(lock, 0o755)))
		},
		"a pipe": func(b *indexBed) {
			b.must(errors.Join(os.Remove(b.store.IndexFile()), syscall.Mkfifo(b.store.IndexFile(), 0o644)))
		},
		"locked": func(b *indexBed) {
			release, err := b.store.LockIndex(0)
			b.must(err)
			b.Cleanup(release)
		},
		"newer": func(b *indexBed) {
			python, err := exec.LookPath("python3")
			if err != nil {
				b.Skip("there is no Python to change the database")
			}
			out, err := exec.Command(python, "-c", `import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.executescript("UPDATE meta SET version=9999; DROP VIEW runs; ALTER TABLE run ADD COLUMN later")
d.close()`, b.store.IndexFile()).CombinedOutput()
			if err != nil {
				b.Skipf("Python cannot change the database: %s", out)
			}
		},
		"no room": func(b *indexBed) {
			full := filepath.Join(b.dir, "full")
			disk(b.T, full, 1<<20)
			text, err := os.ReadFile(b.store.IndexFile())
			b.must(err)
			b.must(os.WriteFile(filepath.Join(full, "index.db"), text, 0o644))
			_ = os.WriteFile(filepath.Join(full, "filler"), make([]byte, 2<<20), 0o644)
			b.must(errors.Join(os.Remove(b.store.IndexFile()), os.Symlink(filepath.Join(full, "index.db"),
				b.store.IndexFile())))
		},
		"read-only": func(b *indexBed) {
			if os.Getuid() == 0 { // who may write everywhere
				b.user = &syscall.Credential{Uid: 65534, Gid: 65534}
				for _, dir := range []string{b.dir, filepath.Join(b.dir, "cache"), filepath.Dir(b.store.Path("x"))} {
					b.must(filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
						return errors.Join(err, os.Lchown(path, 65534, 65534))
					}))
				}
				for _, path := range []string{b.dir, builtProgram(b.T)} {
					for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
						if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 == 0 {
							b.must(os.Chmod(dir, 0o755))
						}
					}
				}
			}
			for _, name := range []string{"index.db", "index.lock"} {
				b.must(os.Chmod(filepath.Join(b.store.Dir, name), 0o444))
			}
			b.must(os.Chmod(b.store.Dir, 0o555))
			b.Cleanup(func() { os.Chmod(b.store.Dir, 0o755) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !everything() && !slices.Contains([]string{"damaged", "a pipe", "locked", "newer", "no room"}, name) {
				t.Skip("MARKMILL_ALL tries every fault")
			}
			b := indexBedAt(t, t.TempDir())
			b.must(os.CopyFS(b.dir, os.DirFS(first.dir)))
			spoil(b)
			b.run(2, program.ExitPass)
			b.run(7, program.ExitFail)
			b.listed(1, 2, 7)
			if everything() { // beside what the question made of it
				b.run(3, program.ExitPass)
				b.listed(1, 2, 3, 7)
			}
		})
	}
}

// An interrupt while the records are read is no error of theirs: one line, and 130.
func TestIndexInterrupted(t *testing.T) {
	b := newIndexBed(t)
	t.Setenv("MARKMILL_DIR", b.store.Dir)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range [][]string{{"runs", "maintain", "reindex"}, {"list"}, {"list", "--stats"},
		{"list", "--query", "SELECT * FROM runs"}} {
		b.must(os.RemoveAll(b.store.IndexFile()))
		said, err := os.CreateTemp(b.dir, "said")
		b.must(err)
		app := program.New()
		app.Stderr = said
		root := commands.Root(app, "")
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
		text, readErr := os.ReadFile(said.Name())
		b.must(errors.Join(readErr, said.Close()))
		if err != program.Exit(130) || string(text) != "markmill: interrupted\n" {
			t.Errorf("%s: %v: %q", args, err, text)
		}
		if left, err := filepath.Glob(filepath.Join(b.store.Dir, runs.TempPrefix+"*")); len(left) > 0 || err != nil {
			t.Errorf("%s: left %v, %v", args, left, err)
		}
	}
}
