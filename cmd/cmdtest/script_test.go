package cmdtest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"markmill/engine/sandbox"
)

var update = flag.Bool("update", false, "rewrite the files that scripts compare with cmp")

// TestScript runs every command as a user would, by the scripts that lie beside it.
func TestScript(t *testing.T) {
	t.Parallel()
	runScripts(t, "../markmill/*/testdata")
}

// No script lies where neither TestScript nor TestQueue looks.
func TestScriptsAreRun(t *testing.T) {
	looked := map[string]bool{}
	for _, pattern := range []string{"../markmill/*/testdata/*.txtar", "../markmill-server/*/testdata/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			looked[filepath.ToSlash(file)] = true
		}
	}
	for _, dir := range []string{"../markmill", "../markmill-server"} {
		err := filepath.WalkDir(dir, func(file string, _ os.DirEntry, err error) error {
			if path.Ext(file) == ".txtar" && !looked[filepath.ToSlash(file)] {
				t.Errorf("%s is run by no test", file)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// runScripts runs the scripts of a folder, each in a home of its own, with variables NAME=VALUE.
func runScripts(t *testing.T, dir string, variables ...string) {
	t.Helper()
	builtProgram(t)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	params := testscript.Params{
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"schema": schemaCommand,
			"hides": hides, "attack": attack},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			// Otherwise each commit starts a program that finds nothing to tidy.
			settings := []byte("[maintenance]\n\tauto = false\n")
			if err := os.WriteFile(filepath.Join(home, ".gitconfig"), settings, 0o644); err != nil {
				return err
			}
			for name, value := range map[string]string{
				"HOME": home, "XDG_CACHE_HOME": filepath.Join(home, "cache"),
				"XDG_STATE_HOME":      filepath.Join(home, "state"),
				"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@localhost",
				"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@localhost", "EXAMPLES": examples,
				"GOGC": rareGC, "GOMEMLIMIT": memoryLimit,
			} {
				env.Setenv(name, value)
			}
			env.Vars = append(env.Vars, variables...)
			for _, name := range []string{"GORACE", "MARKMILL_TREE"} { // the scripts hold with either tree
				if value := os.Getenv(name); value != "" {
					env.Setenv(name, value)
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "all":
				return everything(), nil
			case "server": // markmill-server can be built
				_, err := exec.LookPath("go")
				if err == nil {
					err = buildServer()
				}
				return err == nil, nil
			case "landlock":
				return sandbox.Probe(t.Context(), "", sandbox.Need{}).Landlock >= 6, nil
			case "namespaces":
				self, err := os.Executable()
				offer := sandbox.Probe(t.Context(), self, sandbox.Need{Network: true, Mounts: true})
				return offer.Network && offer.Mounts, err
			}
			_, err := exec.LookPath(cond)
			return err == nil, nil
		},
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no scripts: %v", dir, err)
	}
	for _, file := range files {
		if os.Getenv("MARKMILL_ALL") == "rest" && !hasMore(t, file) {
			continue
		}
		if name := filepath.Base(file); name == "sandbox.txtar" || name == "caches.txtar" {
			// steps may write to what is in memory
			onDisk := params
			onDisk.Files, onDisk.WorkdirRoot = []string{file}, testSetup.disk
			testscript.Run(t, onDisk)
		} else {
			params.Files = append(params.Files, file)
		}
	}
	if len(params.Files) > 0 {
		testscript.Run(t, params)
	}
}

// attacks counts the attempts of each script that runs.
var attacks sync.Map

// attack is exec, in scripts, for what somebody attempts. The script prints how many attempts it has made.
func attack(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: attack PROGRAM [ARGUMENT…]")
	}
	count, counted := attacks.LoadOrStore(ts, new(int))
	if !counted {
		ts.Defer(func() {
			attacks.Delete(ts)
			ts.Logf("%d attempts", *count.(*int))
		})
	}
	*count.(*int)++
	if err := ts.Exec(args[0], args[1:]...); neg == (err == nil) {
		ts.Fatalf("%q: %v", args, err)
	}
}

// hasMore reports whether a script does more under MARKMILL_ALL.
func hasMore(t *testing.T, file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte("all] "))
}
