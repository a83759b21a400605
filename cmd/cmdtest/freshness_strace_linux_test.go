package cmdtest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"markmill/notebooks"
	"markmill/runs"
)

// TestReadsAsStrace: whatever strace saw the processes of a step open for reading, execute or list is in the read set
// of the run, and in those of its steps. docs/freshness.md says what it compares.
func TestReadsAsStrace(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("there is no strace")
	}
	if out, err := exec.Command("strace", "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may trace nothing here: %s", out)
	}
	all := os.Getenv("MARKMILL_ALL") != ""
	files, err := filepath.Glob("testdata/fresh/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for place, cacheOn := range fileSystems {
		t.Run(place, func(t *testing.T) {
			if !all && place != "disk" {
				t.Skip("MARKMILL_ALL tries every file system")
			}
			top := cacheOn(t)
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".txtar")
				t.Run(name, func(t *testing.T) {
					if !all && !slices.Contains([]string{"background", "links", "steps"}, name) {
						t.Skip("MARKMILL_ALL tries every tool")
					}
					testStrace(t, file, filepath.Join(top, name))
				})
			}
		})
	}
}

// fileSystems are folders on several file systems.
var fileSystems = map[string]func(t *testing.T) string{
	"disk": func(t *testing.T) string {
		dir, err := os.MkdirTemp("/var/tmp", "markmill-test-")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	},
	"tmpfs": func(t *testing.T) string { return mounted(t, "tmpfs", "") },
	"overlay": func(t *testing.T) string {
		on := mounted(t, "tmpfs", "")
		for _, dir := range []string{"lower", "upper", "work"} {
			if err := os.Mkdir(filepath.Join(on, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return mounted(t, "overlay", fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", on))
	},
}

func mounted(t *testing.T, kind, options string) string {
	t.Helper()
	at := t.TempDir()
	if err := unix.Mount(kind, at, kind, 0, options); err != nil {
		t.Skipf("%s cannot be mounted here: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return at
}

func testStrace(t *testing.T, file, cache string) {
	u := readTool(t, file, cache)
	p := u.proofs(t)
	own := cache + "-markmill"
	// By their paths strace tells what is in the worktree.
	p.env = append(p.env, "XDG_CACHE_HOME="+own, "MARKMILL_TREE=separate")
	into := filepath.Join(t.TempDir(), "trace")
	calls := "open,openat,openat2,execve,execveat,getdents,getdents64,chdir,fchdir," +
		"clone,clone3,fork,vfork,readlink,readlinkat"
	out, err := p.try("strace", "-ff", "-y", "-s", "4096", "-e", "signal=none", "-e", "trace="+calls, "-o", into,
		p.program, "run", "n.md", "out/n.md")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	traced := &trace{t: t, files: into, by: map[string]map[string]bool{},
		below: filepath.Join(own, "markmill", "work") + "/"}
	traced.process(traced.first(), p.dir, "")
	base := p.baseTree()
	all, upTo := p.readSets()
	seen := 0
	for program, paths := range traced.by {
		step := u.steps[program]
		for _, at := range base.inside(paths) {
			seen++
			if !covered(all, at) {
				t.Errorf("%s, of %s, is not in the read set of the run: %v", at, program, all)
			}
			if step != "" && !covered(upTo[step], at) {
				t.Errorf("%s is not in the read set of step %s: %v", at, step, upTo[step])
			}
		}
	}
	if seen == 0 {
		t.Errorf("strace saw no file that was read: %v", traced.by)
	}
	t.Logf("strace saw %d paths of %d, the read set has %d entries", seen, len(base), len(all))
}

// trace reads what strace -ff -y wrote, a file for each process.
type trace struct {
	t     *testing.T
	files string
	below string                     // the folder of worktrees
	by    map[string]map[string]bool // paths in the worktree that were read, by the program that interprets the step
}

// first is the file of the process that strace started: that which no other has started.
func (tr *trace) first() string {
	files, err := filepath.Glob(tr.files + ".*")
	if err != nil {
		tr.t.Fatal(err)
	}
	started := map[string]bool{}
	for _, file := range files {
		for _, line := range tr.lines(file) {
			started[tr.child(line)] = true
		}
	}
	files = slices.DeleteFunc(files, func(file string) bool {
		// Of a thread whose process ends while it begins, strace does not see who started it.
		return started[file] || !slices.ContainsFunc(tr.lines(file), traceCall.MatchString)
	})
	if len(files) != 1 {
		tr.t.Fatalf("nobody started %q", files)
	}
	return files[0]
}

func (tr *trace) lines(file string) []string {
	data, err := os.ReadFile(file)
	if err != nil {
		tr.t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

var (
	traceCall   = regexp.MustCompile(`^([a-z0-9]+)\((.*)\) += ([^ ]+)`)
	traceFolder = regexp.MustCompile(`^(?:AT_FDCWD|\d+)<(.*?)>, `)
	traceName   = regexp.MustCompile(`^"((?:[^"\\]|\\.)*)"`)
	traceNoRead = regexp.MustCompile(`O_WRONLY|O_PATH|O_DIRECTORY`)
	traceFile   = regexp.MustCompile(`^\d+<(.*)>$`)
)

// child is the file of the process or thread that a line starts.
func (tr *trace) child(line string) string {
	call := traceCall.FindStringSubmatch(line)
	if call == nil || !slices.Contains([]string{"clone", "clone3", "fork", "vfork"}, call[1]) {
		return ""
	}
	if n, err := strconv.Atoi(call[3]); err != nil || n <= 0 {
		return ""
	}
	return tr.files + "." + call[3]
}

// process follows a process and what it starts. of is the interpreter of the step that it belongs to, "" while it is of
// the engine. A process of the engine that starts a program that is neither Markmill nor Git is one of a step.
func (tr *trace) process(file, cwd, of string) {
	for _, line := range tr.lines(file) {
		if child := tr.child(line); child != "" {
			if _, err := os.Stat(child); err != nil {
				tr.t.Fatalf("strace lost a process: %v", err)
			}
			tr.process(child, cwd, of)
			continue
		}
		call := traceCall.FindStringSubmatch(line)
		if call == nil || strings.HasPrefix(call[3], "-") {
			continue
		}
		rest, dir := call[2], cwd
		if m := traceFolder.FindStringSubmatch(rest); m != nil {
			rest, dir = rest[len(m[0]):], m[1]
		}
		name := ""
		if m := traceName.FindStringSubmatch(rest); m != nil {
			if name = m[1]; !path.IsAbs(name) {
				name = path.Join(dir, name)
			}
		}
		switch call[1] {
		case "chdir":
			cwd = name
		case "fchdir":
			cwd = strings.TrimSuffix(call[2][strings.IndexByte(call[2], '<')+1:], ">")
		case "execve", "execveat":
			if base := path.Base(name); of == "" && base != "git" && !strings.HasPrefix(base, "markmill") {
				of = base
			}
			tr.read(of, name)
		case "getdents", "getdents64":
			at := call[2][strings.IndexByte(call[2], '<')+1:]
			tr.read(of, at[:strings.IndexByte(at, '>')])
		case "readlink", "readlinkat":
			tr.read(of, name)
		default: // opens
			if m := traceFile.FindStringSubmatch(call[3]); m != nil && !traceNoRead.MatchString(rest) {
				tr.read(of, m[1])
				tr.read(of, name) // may be a link
			}
		}
	}
}

// read notes a path if it is in the worktree.
func (tr *trace) read(of, name string) {
	rest, ok := strings.CutPrefix(name, tr.below)
	parts := strings.SplitN(rest, "/", 4) // run, tree, name of the repository
	if !ok || of == "" || len(parts) < 3 || parts[1] != "tree" {
		return
	}
	if tr.by[of] == nil {
		tr.by[of] = map[string]bool{}
	}
	tr.by[of][path.Join(append([]string{"."}, parts[3:]...)...)] = true
}

// baseTree are the paths that runs begin with, the root as ".", and where links among them lead.
type baseTree map[string]string

func (p *proofs) baseTree() baseTree {
	p.t.Helper()
	out := baseTree{".": ""}
	names := strings.TrimSuffix(p.shell("git ls-tree -r -t -z --name-only HEAD"), "\x00")
	for name := range strings.SplitSeq(names, "\x00") {
		out[name] = ""
		if to, err := os.Readlink(filepath.Join(p.dir, name)); err == nil {
			out[name] = path.Join(path.Dir(name), to)
		}
	}
	return out
}

// inside are those of some paths that the tree has, and the links that they lead through.
func (b baseTree) inside(paths map[string]bool) []string {
	found := map[string]bool{}
	if paths[".git/index"] { // it lists every tracked name
		found["."] = true
	}
	var follow func(at string)
	follow = func(at string) {
		if _, ok := b[at]; ok {
			found[at] = true
		}
		for dir := at; dir != "."; dir = path.Dir(dir) {
			if to := b[dir]; to != "" {
				found[dir] = true
				follow(to + strings.TrimPrefix(at, dir))
			}
		}
	}
	for at := range paths {
		follow(at)
	}
	return slices.Sorted(maps.Keys(found))
}

// readSets are what the only run read: as its manifest has it, and by step, with what the steps before it read.
func (p *proofs) readSets() (all []notebooks.Input, upTo map[notebooks.StepID][]notebooks.Input) {
	p.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(p.dir, ".markmill", "runs", "*"))
	if err != nil || len(dirs) != 1 {
		p.t.Fatal(dirs, err)
	}
	record, err := runs.OpenRecord(dirs[0])
	if err != nil {
		p.t.Fatal(err)
	}
	run, _, err := record.Load()
	if err != nil || run.Inputs == nil || run.Inputs.Unknown != "" {
		p.t.Fatalf("%+v, %v", run.Inputs, err)
	}
	var list []notebooks.Input
	upTo = map[notebooks.StepID][]notebooks.Input{}
	for i := range run.Steps {
		if read := run.Steps[i].Finished.Reads; read.File != "" {
			more, err := record.Reads(read)
			if err != nil {
				p.t.Fatal(err)
			}
			list = append(list, more...)
		}
		upTo[run.Steps[i].Planned.ID] = slices.Clone(list)
	}
	return run.Inputs.Read, upTo
}

// covered reports whether a path is among inputs, or below a folder that counts as read as a whole.
func covered(list []notebooks.Input, at string) bool {
	return slices.ContainsFunc(list, func(in notebooks.Input) bool {
		return in.Path == at || in.Tree != "" && (in.Path == "." || strings.HasPrefix(at, in.Path+"/"))
	})
}
