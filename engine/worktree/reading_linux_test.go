package worktree_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"markmill/engine/worktree"
	"markmill/engine/worktree/gittest"
	"markmill/notebooks"
)

// readTree is a worktree of a repository with a few files.
func readTree(t *testing.T, o worktree.Options, extra ...string) *worktree.Tree {
	t.Helper()
	g := gittest.New(t)
	for _, name := range append([]string{"a", "b", "lib/x", "lib/y", "lib/sub/z", "other/o"}, extra...) {
		g.Write(name, "content of "+name+"\n")
	}
	g.Git("update-index", "--add", "--cacheinfo", "120000,"+g.Git("hash-object", "-w", "a")+",unused")
	g.Git("rm", "-q", "--cached", "unused")
	if err := os.Symlink("../lib/x", filepath.Join(g.Dir, "other", "link")); err != nil {
		t.Fatal(err)
	}
	o.Base = g.Commit("one")
	src, err := worktree.Open(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(gittest.OnDisk(t), "w")
	}
	tree, err := worktree.Create(t.Context(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close(false) })
	return tree
}

// shell runs a script in a worktree.
func shell(t *testing.T, tree *worktree.Tree, script string) {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = tree.Dir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// paths says what inputs are of: files by path, folders with what is known of them.
func paths(list []notebooks.Input) []string {
	var out []string
	for _, in := range list {
		switch {
		case in.Tree != "":
			out = append(out, in.Path+"/**")
		case in.Names != "":
			out = append(out, in.Path+"/")
		default:
			out = append(out, in.Path)
		}
	}
	return out
}

func TestReads(t *testing.T) {
	for script, want := range map[string]string{
		"true":                "",
		"cat a":               "a",
		"cat < lib/x":         "lib/x",
		"ls lib >/dev/null":   "lib/",
		"cat lib/[xy]":        "lib/ lib/x lib/y",
		"cat other/link":      "lib/x other/link",
		"readlink other/link": "other/link",
		"ln a /tmp/$$ && cat /tmp/$$; rm /tmp/$$": "a",
		"ln a /tmp/$$ && rm /tmp/$$":              "a", // by its other name it may be read without a trace
		"ln a new && cat new":                     "a",
		"ln -s lib l && cat l/sub/z":              "lib/sub/z",
		"mv lib lib2 && cat lib2/y":               "lib/sub/z lib/x lib/y",
		"echo more >> b":                          "b",
		"echo new > c && cat c":                   "",
		"rm b":                                    "b",
		"mkdir n && mv a n/ && cat n/a":           "a",
		"cp a copy":                               "a",
		"test -e lib/x":                           "",
		"git status >/dev/null":                   "./ .git",
		"git ls-files >/dev/null":                 "./",
		"git rev-parse HEAD >/dev/null":           ".git",
		"git rev-parse --git-dir >/dev/null":      "",
		"rm -rf .git/objects/info":                "./**",
		"rm -rf lib/sub && mkdir lib/sub && echo other > lib/sub/z": "lib/sub/ lib/sub/z",
		"chmod +x a && cat b":        "a b",
		"(sleep 0.01; cat a) & wait": "a",
		"touch b":                    "b",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			tree := readTree(t, worktree.Options{})
			shell(t, tree, script)
			change, err := tree.Capture(t.Context(), "one", "one")
			if err != nil {
				t.Fatal(err)
			}
			got := paths(change.Reads)
			if strings.HasPrefix(script, "git ") { // Git may have read files, too
				got = slices.Compact(slices.DeleteFunc(got, func(p string) bool { return p != "./" && p != ".git" }))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("it read %q, want %q", got, want)
			}
			in, err := tree.Inputs()
			if err != nil || in.Unknown != "" {
				t.Fatal(in, err)
			}
			if want == "./**" || strings.HasPrefix(script, "git ") {
				return
			}
			if all := paths(in.Read); !slices.Equal(all, got) {
				t.Errorf("its inputs are %q, want %q", all, got)
			}
			for _, i := range in.Read {
				if i.Step != "one" {
					t.Errorf("%s was first read by %q", i.Path, i.Step)
				}
			}
		})
	}
}

// TestReadsOfSteps: each step has what it read first, and a file that an earlier step made is no input. What it opened
// has both, in folders that the run made, too.
func TestReadsOfSteps(t *testing.T) {
	tree := readTree(t, worktree.Options{})
	for _, step := range []struct{ script, want, again string }{
		{"cat a; echo made > made", "a", "made"},
		{"cat a b made; mkdir -p new/er; echo 1 > new/er/f", "b", "a made"},
		{"cat a b made lib/x new/er/f", "lib/x", "a b made new/er/f"},
		{"mv new moved", "", ""},
		{"cat moved/er/f; rm -r moved; mkdir moved; echo 1 > moved/g", "", "moved/er/f"},
		{"cat moved/g; ls moved >/dev/null", "", "moved/ moved/g"},
		{"cat a", "", "a"},
		{"true", "", ""},
	} {
		shell(t, tree, step.script)
		change, err := tree.Capture(t.Context(), "s", "s")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(paths(change.Reads), " "); got != step.want {
			t.Errorf("%s: it read %q, want %q", step.script, got, step.want)
		}
		var again []string
		for _, in := range change.Again() {
			again = append(again, in.Path+map[string]string{notebooks.AgainFolder: "/"}[in.Again])
		}
		if got := strings.Join(again, " "); got != step.again {
			t.Errorf("%s: it also opened %q, want %q", step.script, got, step.again)
		}
	}
}

// TestReadsOfCarriedSteps: a carried step has what its run recorded. What it reads when it runs again counts for the
// next step that runs. The whole tree is that of the step that read it, whoever listed the root before.
func TestReadsOfCarriedSteps(t *testing.T) {
	tree := readTree(t, worktree.Options{}, ".hidden/h")
	for _, step := range []struct {
		name, script, want string
		carried            worktree.Reads
	}{
		{"one", "cat a b", ".hidden/ lib/x", worktree.Reads{{Path: "lib/x", Blob: "1"}, {Path: ".hidden", Names: "1"}}},
		{"two", "true", "", worktree.Reads{}}, // and lib/y, without a trace in its access time
		{"three", "cat a lib/sub/z; ls . >/dev/null", "./ a b lib/sub/z lib/y", nil},
		{"four", "rm -rf .git/objects/info", "./**", nil},
	} {
		shell(t, tree, step.script)
		if step.name == "two" {
			fd, err := unix.Open(filepath.Join(tree.Dir(), "lib/y"), unix.O_RDONLY|unix.O_NOATIME, 0)
			gittest.Must(t, err)
			_, err = unix.Read(fd, make([]byte, 10))
			gittest.Must(t, errors.Join(err, unix.Close(fd)))
		}
		if step.carried != nil {
			tree.CarryReads(step.carried, false)
		}
		change, err := tree.Capture(t.Context(), step.name, step.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(paths(change.Reads), " "); got != step.want {
			t.Errorf("%s: it read %q, want %q", step.name, got, step.want)
		}
	}
	if in, err := tree.Inputs(); err != nil || len(in.Read) != 1 || in.Read[0].Step != "four" {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestReadsIgnored: a copied file that Git ignores is an input. To look at it is to open the folders above it, which no
// step has listed because of that.
func TestReadsIgnored(t *testing.T) {
	g := gittest.New(t)
	g.Write(".gitignore", "data/\n")
	g.Write("a", "1\n")
	o := worktree.Options{Base: g.Commit("one"), Copy: []string{"data/**"}, Dir: filepath.Join(gittest.OnDisk(t), "w")}
	g.Write("data/in", "2\n")
	src, err := worktree.Open(g.Dir)
	gittest.Must(t, err)
	tree, err := worktree.Create(t.Context(), src, o)
	gittest.Must(t, err)
	t.Cleanup(func() { tree.Close(false) })
	for _, step := range []struct{ script, want string }{{"cat data/in", "data/in"}, {"cat a", "a"}} {
		shell(t, tree, step.script)
		change, err := tree.Capture(t.Context(), "s", "s")
		gittest.Must(t, err)
		if got := strings.Join(paths(change.Reads), " "); got != step.want {
			t.Errorf("%s: it read %q, want %q", step.script, got, step.want)
		}
	}
}

// TestReadsOwnOutput: the output notebook of the run is no input, however it is reached.
func TestReadsOwnOutput(t *testing.T) {
	inputs := func(own []string, extra ...string) *notebooks.Inputs {
		tree := readTree(t, worktree.Options{Own: own}, extra...)
		shell(t, tree, "ls -R . >/dev/null; cat lib/[xy] 2>/dev/null; true")
		if _, err := tree.Capture(t.Context(), "s", "s"); err != nil {
			t.Fatal(err)
		}
		in, err := tree.Inputs()
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	own := []string{"out/report.md", "out/report_files"}
	before := inputs(own)
	after := inputs(own, "out/report.md", "out/report_files/a.png")
	if a, b := fmt.Sprint(before), fmt.Sprint(after); a != b || len(before.Read) < 5 {
		t.Errorf("the inputs are\n%s\nand with the output\n%s", a, b)
	}
}

// TestReadsCollapse: many files are told as the folders that hold them.
func TestReadsCollapse(t *testing.T) {
	var extra []string
	for i := range 200 {
		extra = append(extra, fmt.Sprintf("many/d%d/f%03d", i%3, i))
	}
	tree := readTree(t, worktree.Options{}, extra...)
	shell(t, tree, "cat many/d0/* many/d1/* many/d2/f002 a lib/x")
	change, err := tree.Capture(t.Context(), "s", "s")
	if err != nil {
		t.Fatal(err)
	}
	if len(change.Reads) < 130 {
		t.Errorf("the step lists %d", len(change.Reads))
	}
	in, err := tree.Inputs()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(paths(in.Read), " ")
	if want := "a lib/x many/d0/** "; !strings.HasPrefix(got, want) || len(in.Read) > notebooks.MaxInputs {
		t.Errorf("the inputs are %q (%d), want %q first", got, len(in.Read), want)
	}
	if strings.Contains(got, "many/d2/**") {
		t.Errorf("a folder of which one file was read stands for it: %q", got)
	}
}

// TestReadsUnknown: where they are not watched, no read set is told.
func TestReadsUnknown(t *testing.T) {
	tree := readTree(t, worktree.Options{ReadsOff: "reads: off"})
	shell(t, tree, "cat a")
	if _, err := tree.Capture(t.Context(), "s", "s"); err != nil {
		t.Fatal(err)
	}
	if in, err := tree.Inputs(); err != nil || in.Unknown != "reads: off" || in.Read != nil {
		t.Error(in, err)
	}
}

// TestReadsOnMounts: a file system without access times is noticed, and its read set is unknown. On an overlay both
// sources work, for the worktree lies in its upper layer.
func TestReadsOnMounts(t *testing.T) {
	for _, c := range []struct {
		name, unknown string
		mount         func(at, work string) error
	}{
		{"noatime", "what steps read is not seen here: the file system keeps no access times (noatime)",
			func(at, _ string) error { return unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOATIME, "size=64m") }},
		{"overlay", "", func(at, work string) error {
			for _, dir := range []string{"lower", "upper", "work"} {
				if err := os.Mkdir(filepath.Join(work, dir), 0o755); err != nil {
					return err
				}
			}
			return unix.Mount("overlay", at, "overlay", 0,
				fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work",
					work))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, work := t.TempDir(), t.TempDir()
			if err := unix.Mount("tmpfs", work, "tmpfs", 0, "size=64m"); err != nil {
				t.Skip("nothing can be mounted here: ", err)
			}
			t.Cleanup(func() { gittest.Must(t, unix.Unmount(work, 0)) })
			if err := c.mount(at, work); err != nil {
				t.Skip("this cannot be mounted here: ", err)
			}
			t.Cleanup(func() { gittest.Must(t, unix.Unmount(at, 0)) })
			tree := readTree(t, worktree.Options{Dir: filepath.Join(at, "w")})
			shell(t, tree, "cat a; cp b /dev/null; ls lib")
			if _, err := tree.Capture(t.Context(), "s", "s"); err != nil {
				t.Fatal(err)
			}
			in, err := tree.Inputs()
			if err != nil || in.Unknown != c.unknown {
				t.Fatalf("%+v, %v", in, err)
			}
			if got := strings.Join(paths(in.Read), " "); c.unknown == "" && got != "a b lib/" {
				t.Errorf("it read %q", got)
			}
		})
	}
}

// TestReadsOfDependencies: what was read in a folder of dependencies is one input, with the lock file.
func TestReadsOfDependencies(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string // that Git ignores
		script string
		want   string
	}{
		"npm": {[]string{"node_modules/.package-lock.json"}, "cat node_modules/pkg/*",
			"node_modules package-lock.json"},
		"workspace": {[]string{"node_modules/.modules.yaml", "lib/node_modules/x"}, "cat lib/node_modules/x",
			"lib/node_modules package-lock.json"},
		"environment": {[]string{"venv/pyvenv.cfg"}, "cat venv/pyvenv.cfg", "requirements.txt venv"},
		"nobody says": {[]string{"node_modules/x"}, "cat node_modules/x", "node_modules/x"},
		"not read":    {[]string{"node_modules/.yarn-state.yml"}, "cat a", "a"},
		"made by the run": {[]string{"node_modules/.yarn-state.yml"}, "echo 1 > node_modules/n; cat node_modules/n",
			""},
		"beside other files": {[]string{"node_modules/.yarn-integrity", "x.env"}, "cat node_modules/.yarn* x.env",
			"node_modules package-lock.json x.env"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gittest.New(t)
			for _, f := range []string{"a", "package-lock.json", "requirements.txt", "lib/a"} {
				g.Write(f, f)
			}
			g.Write(".gitignore", "node_modules\nvenv\n*.env\n")
			base := g.Commit("one")
			if strings.Contains(name, "npm") {
				for n := range 100 {
					g.Write(fmt.Sprintf("node_modules/pkg/%d", n), "x")
				}
			}
			for _, f := range c.files {
				g.Write(f, f)
			}
			src, err := worktree.Open(g.Dir)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := worktree.Create(t.Context(), src, worktree.Options{Base: base,
				Dir: filepath.Join(gittest.OnDisk(t), "w"), Copy: []string{"node_modules", "venv", "*.env"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { tree.Close(false) })
			shell(t, tree, c.script)
			if _, err := tree.Capture(t.Context(), "one", "one"); err != nil {
				t.Fatal(err)
			}
			in, err := tree.Inputs()
			if err != nil || in.Unknown != "" {
				t.Fatal(in, err)
			}
			in.Read = slices.DeleteFunc(in.Read, func(i notebooks.Input) bool { return i.Names != "" })
			got := paths(in.Read)
			for _, d := range in.Dependencies {
				got = append(got, d.Path)
			}
			slices.Sort(got)
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("its inputs are %q, want %q", got, c.want)
			}
		})
	}
}
