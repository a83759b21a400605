package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// HaveGit reports whether the Git program is installed. It is used only for what this package cannot do itself, and to
// read the state of the user's own checkout.
func HaveGit() bool {
	_, err := exec.LookPath("git")
	return err == nil
}

// gitTaken are the variables of Git that say how it reaches a remote, and those of its settings.
var gitTaken = []string{"GIT_CONFIG_", "GIT_SSH", "GIT_SSL", "GIT_ASKPASS", "GIT_HTTP", "GIT_PROXY", "GIT_PROTOCOL",
	"GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH"}

// RunGit runs the Git program on a repository. It takes no optional lock, starts no monitor, runs no hook and does not
// prompt. With an error it returns what Git printed so far: some commands end with an exit code that is an answer.
func RunGit(ctx context.Context, dir string, env []string, stdin []byte, args ...string) ([]byte, error) {
	args = append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c",
		"core.quotePath=true"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		// GIT_DIR and its like would send it to another repository.
		if !strings.HasPrefix(kv, "GIT_") || slices.ContainsFunc(gitTaken, func(prefix string) bool {
			return strings.HasPrefix(kv, prefix)
		}) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("git %s: %w: %s", strings.Join(args[6:], " "), err,
			strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// MissingFilter is a filter of .gitattributes that files need and whose program is not installed.
type MissingFilter struct{ Name, Program, Path string } // Path is one of the files

// MissingFilters lists the required filters of tracked files that cannot run.
func (s *Repo) MissingFilters(ctx context.Context) ([]MissingFilter, error) {
	var out []MissingFilter
	for _, c := range s.Config {
		if c.Section != "filter" || !slices.Contains([]string{"clean", "smudge", "process"}, c.Key) ||
			slices.ContainsFunc(out, func(f MissingFilter) bool { return f.Name == c.Sub }) {
			continue
		}
		required, _ := s.Config.Get("filter", c.Sub, "required")
		program, _, _ := strings.Cut(c.Value, " ")
		if slices.Contains([]string{"", "false", "no", "off", "0"}, strings.ToLower(required)) ||
			strings.ContainsAny(program, `"'$;&|<>()=\`+"`") || gitHas(program) || !HaveGit() {
			continue
		}
		paths, err := RunGit(ctx, s.root, nil, nil, "ls-files", "-z", ":(attr:filter="+c.Sub+")")
		if err != nil {
			return nil, err
		}
		if first, _, some := bytes.Cut(paths, []byte{0}); some {
			out = append(out, MissingFilter{c.Sub, program, string(first)})
		}
	}
	return out, nil
}

// gitHas reports whether Git finds a program: it looks among its own, too.
func gitHas(program string) bool {
	if _, err := exec.LookPath(program); program == "" || err == nil {
		return true
	}
	own, err := RunGit(context.Background(), "", nil, nil, "--exec-path")
	if err == nil {
		_, err = exec.LookPath(filepath.Join(strings.TrimSpace(string(own)), program))
	}
	return err == nil
}

// Modules is the name of the folder of Node's packages.
const Modules = "node_modules"

// EnvironmentFile is at the top of each virtual environment of Python (PEP 405).
const EnvironmentFile = "pyvenv.cfg"

// markers are the files in which installers of Node's packages say what they installed.
var markers = []string{".package-lock.json", ".modules.yaml", ".yarn-state.yml", ".yarn-integrity"}

// The files that say what is to be installed, the most exact first.
var (
	moduleLocks = []string{"pnpm-lock.yaml", "yarn.lock", "package-lock.json", "npm-shrinkwrap.json", "bun.lock",
		"package.json"}
	environmentLocks = []string{"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "requirements.txt",
		"pyproject.toml", "setup.py"}
)

// Dependency is a folder of dependencies, which Git ignores: what it was installed from, and what its installer says
// that it installed. Either may be unknown.
type Dependency struct {
	Path       string // in the checkout
	Lock       string // the path of the file that says what is to be installed
	LockDigest string // sha256:… of the checkout's; "" if it has none
	Marker     string // sha256:… of what the installer says
}

// Digest identifies what is installed.
func (d Dependency) Digest() string {
	return digest([]byte(d.Lock + "\n" + d.LockDigest + "\n" + d.Marker))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// LookUpDependency identifies a folder of dependencies of the checkout at root; ok is false if there is none of that
// name.
func LookUpDependency(root, name string) (d Dependency, ok bool) {
	at, err := os.OpenRoot(root)
	if err != nil || !filepath.IsLocal(filepath.FromSlash(name)) { // a manifest may name anything
		return d, false
	}
	defer at.Close()
	if info, err := at.Lstat(filepath.FromSlash(name)); err != nil || !info.IsDir() {
		return d, false
	}
	d.Path = name
	if text := installed(at, name); text != nil {
		d.Marker = digest(text)
	}
	for _, lock := range Locks(name) {
		if text, err := at.ReadFile(filepath.FromSlash(lock)); err == nil {
			d.Lock, d.LockDigest = lock, digest(text)
			break
		}
	}
	return d, true
}

// Dependencies returns the folder of dependencies that a path of the checkout is or lies in, as its installer made it;
// "" where nobody says what was installed.
func (s *Repo) Dependencies(name string) (dir string) {
	root, err := os.OpenRoot(s.Root())
	if err != nil {
		return ""
	}
	defer root.Close()
	for part := range strings.SplitSeq(name, "/") {
		if dir = path.Join(dir, part); installed(root, dir) != nil {
			return dir
		}
	}
	return ""
}

// installed is what is installed in a folder: of Node's packages what the markers say, in a workspace those at its top;
// of a virtual environment its Python, and the packages with their versions. nil of another folder.
func installed(root *os.Root, dir string) (text []byte) {
	for at := dir; path.Base(at) == Modules; at = path.Join(path.Dir(path.Dir(at)), Modules) {
		for _, name := range markers {
			if said, err := root.ReadFile(path.Join(at, name)); err == nil {
				text = append(append(text, name+"\n"...), said...)
			}
		}
		if text != nil || at == Modules {
			return text
		}
	}
	text, _ = root.ReadFile(path.Join(dir, EnvironmentFile))
	for _, pattern := range []string{"lib*/python*/site-packages/*.dist-info", "Lib/site-packages/*.dist-info"} {
		found, _ := fs.Glob(root.FS(), path.Join(dir, pattern))
		slices.Sort(found)
		for _, p := range found {
			text = append(text, path.Base(p)+"\n"...)
		}
	}
	return text
}

// Locks are the paths of the files that may say what is to be installed in a folder of dependencies: beside it, and at
// the top.
func Locks(dir string) (paths []string) {
	names := environmentLocks
	if path.Base(dir) == Modules {
		names = moduleLocks
	}
	for _, at := range []string{path.Dir(dir), "."} {
		for _, name := range names {
			paths = append(paths, path.Join(at, name))
		}
	}
	return paths
}
