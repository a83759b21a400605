package engine

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
