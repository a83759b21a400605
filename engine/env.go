package engine

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// MaxDepth is how deep runs may nest (a step that runs Markmill).
const MaxDepth = 5

// passed are the variables of the caller's environment that steps get: places, never preferences. The notebook must
// declare all others (env:).
var passed = []string{
	"HOME", "USER", "LOGNAME", "SHELL",
	"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	// where toolchains and their caches live
	"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOTOOLCHAIN",
	"CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "NODE_PATH",
	"PIP_INDEX_URL", "PIP_CACHE_DIR", "NPM_CONFIG_CACHE", "NPM_CONFIG_REGISTRY",
	// how the network is reached
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	// Windows cannot start programs without these
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
}

// fixed are variables with the same value on all machines, so that outputs do not differ.
var fixed = map[string]string{
	"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1", "CI": "true",
	"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "DEBIAN_FRONTEND": "noninteractive",
	"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg",
}

// environment is the whole environment of a run's steps, as "NAME=value", sorted by name.
func (w *workspace) environment(work *workdir, tree string) []string {
	env := map[string]string{}
	get := w.eng.Getenv
	for _, name := range passed {
		if v, ok := get(name); ok {
			env[name] = v
		}
	}
	maps.Copy(env, fixed)
	path, _ := get("PATH")
	path, _ = w.plan.pathOf(path)
	env["PATH"] = work.Glue + string(filepath.ListSeparator) + path
	env["TMPDIR"] = work.Tmp
	env[runVariable] = string(w.rec.id)
	env["MARKMILL_WORKTREE"] = tree
	env["MARKMILL_SCRAPS"] = work.Scraps
	env[innerVariable] = work.Inner
	if w.plan.mode() == runs.MutationInPlace {
		env["MARKMILL_DIR"] = filepath.Join(work.Inner, innerStore) // steps cannot write the store of the checkout
	}
	env["MARKMILL_DEPTH"] = strconv.Itoa(w.plan.depth + 1)
	if dir := w.pythonEnvironment(env); dir != "" {
		env["VIRTUAL_ENV"] = dir
		env["PATH"] = work.Glue + string(filepath.ListSeparator) + filepath.Join(dir, "bin") +
			string(filepath.ListSeparator) + path
	}
	w.confineEnv(env, work)
	w.placeStore(env)
	for name, v := range w.plan.notebook.Front.Env {
		env[name] = w.expandEnv(v)
	}
	if j := w.plan.request.Judge; j != nil {
		for name, v := range j.Env {
			env[name] = strings.TrimSpace(v + " " + env[name])
		}
	}
	for _, name := range w.plan.notebook.Front.Secrets {
		if v, ok := get(name); ok {
			env[name] = v
		}
	}
	if w.apart() && tree != "" {
		w.lead(env, leadFolder(work), tree)
	}
	var out []string
	for name, v := range env {
		out = append(out, name+"="+v)
	}
	slices.Sort(out)
	return out
}

// sessionEnv is the environment of the interpreter of a step. Python's Jupyter kernels show figures by a backend of
// their own, which they set where no other is asked for.
func (w *workspace) sessionEnv(s *PlannedStep) []string {
	const backend = "MPLBACKEND"
	if _, asked := w.plan.notebook.Front.Env[backend]; asked || !kernel.JupyterPython(s.Kernel) {
		return w.env
	}
	return slices.DeleteFunc(slices.Clone(w.env), func(v string) bool { return v == backend+"="+fixed[backend] })
}

// expandEnv replaces a value that is exactly ${NAME} with that variable of the caller's environment, so that the
// notebook declares which of the user's variables it needs.
func (w *workspace) expandEnv(v string) string {
	if name, is := callersVariable(v); is {
		return w.eng.env(name)
	}
	return v
}

// callersVariable is the name in a value ${NAME}.
func callersVariable(v string) (name string, is bool) {
	if name, is = strings.CutPrefix(v, "${"); is {
		name, is = strings.CutSuffix(name, "}")
	}
	return name, is
}

// names are the names of an environment's variables.
func names(env []string) []string {
	out := make([]string, len(env))
	for i, e := range env {
		out[i], _, _ = strings.Cut(e, "=")
	}
	return out
}

// pathOf is the PATH that steps get, and the entries of the caller's that they do not: folders of the repository, where
// a branch can put a program in the place of another, and relative ones. Folders of dependencies that Git does not
// track stay, and those that the policy names (path:).
func (p *Plan) pathOf(list string) (kept string, dropped []string) {
	if p.source == nil {
		return list, nil
	}
	var keep []string
	roots := sandbox.Real([]string{p.source.Root(), p.root()})
	for _, entry := range filepath.SplitList(list) {
		if entry != "" && (!filepath.IsAbs(entry) || p.inRepository(entry, roots)) {
			dropped = append(dropped, entry)
		} else {
			keep = append(keep, entry)
		}
	}
	if dropped == nil {
		return list, nil
	}
	return strings.Join(keep, string(filepath.ListSeparator)), dropped
}

func (p *Plan) inRepository(entry string, roots []string) bool {
	real, err := filepath.EvalSymlinks(entry)
	if err != nil {
		real = filepath.Clean(entry) // it may come
	}
	for _, root := range roots {
		rel, err := filepath.Rel(root, real)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		name := filepath.ToSlash(rel)
		for _, each := range p.policies {
			if slices.Contains(each.Path, name) {
				return false
			}
		}
		return !isInstalled(root, real) || p.tracks(name)
	}
	return false
}

// isInstalled reports whether a folder is in one of dependencies: Node's packages, or a virtual environment of Python.
func isInstalled(root, dir string) bool {
	for ; dir != root && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "pyvenv.cfg")); err == nil || filepath.Base(dir) == modules {
			return true
		}
	}
	return false
}

// tracks reports whether the commit that the run begins with has a folder.
func (p *Plan) tracks(name string) bool {
	files, err := p.source.CommitFiles(p.base)
	if err != nil {
		return true
	}
	defer files.Close()
	list, err := files.In(name)
	return err != nil || len(list) > 0
}

// warnPath says which entries of PATH the steps do not get.
func (p *Plan) warnPath(e *Engine) {
	list, _ := e.Getenv("PATH")
	if _, dropped := p.pathOf(list); dropped != nil {
		p.notebook.Warnings = append(p.notebook.Warnings, &notebooks.Error{Kind: notebooks.KindOption,
			File: p.request.Path,
			Msg: fmt.Sprintf("steps do not get these entries of PATH, which a branch can fill: %s",
				worktree.ShownPath(firstOf(dropped))),
			Hint: "name the folder in path: of the repository's policy if its programs are to run"})
	}
}
