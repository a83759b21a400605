package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/notebooks"
	"markmill/runs"
)

// SandboxConfig is what a repository says about the sandbox: paths, absolute or with ~/.
type SandboxConfig struct {
	Write []string `yaml:"write"` // that steps may write besides what the sandbox allows
	Hide  []string `yaml:"hide"`  // whose content steps may not read
}

// wish is what the notebook asks of the sandbox.
func (p *Plan) wish(e *Engine) sandbox.Wish {
	f := p.notebook.Front
	w := sandbox.Wish{Mode: f.Sandbox, NetworkOff: f.Network == "off", InPlace: p.mode() == runs.MutationInPlace &&
		(p.source != nil || e.keepsIn(p.request.Folder)),
		Resources: runs.ResourcesData{Memory: f.Resources.Memory, Processes: f.Resources.Processes,
			FileSize: f.Resources.FileSize, OpenFiles: f.Resources.OpenFiles}}
	if w.Mode == "" {
		w.Mode = "on"
	}
	return w
}

// contain decides how the steps are confined, and returns why the run may not start without; "" when it may.
func (p *Plan) contain(ctx context.Context, e *Engine) (refusal string) {
	w := p.wish(e)
	probe := e.ProbeSandbox
	if probe == nil {
		probe = func(ctx context.Context, need sandbox.Need) sandbox.Offer { return sandbox.Probe(ctx, e.Tools, need) }
	}
	need := w.Need()
	for i := range p.steps {
		need.Network = need.Network || p.steps[i].offline()
	}
	offer := probe(ctx, need)
	p.sandbox = sandbox.Decide(w, offer)
	cut := w
	cut.NetworkOff = true
	p.offline = sandbox.Decide(cut, offer)
	if p.sandbox.Writes != "" {
		p.sandbox.Writable = e.Config.Sandbox.Write
		p.sandbox.Hidden = sandbox.Hidden(e.Getenv, e.Config.Sandbox.Hide)
		if w.Mode == "strict" {
			p.sandbox.Hidden = append(p.sandbox.Hidden, sandbox.Credentials(e.Getenv)...)
		}
	}
	refusal = sandbox.Refusal(w, p.sandbox)
	if !e.hasWarden() { // no part of the sandbox, so that nothing is refused for it; but said as what it does not hold
		p.sandbox.NotHeld = append(p.sandbox.NotHeld, noWarden)
	}
	return refusal
}

// keepsIn reports whether the records of runs or the cache are in a folder outside a repository. The sandbox then needs
// finer rules.
func (e *Engine) keepsIn(folder string) bool {
	return folder != "" && slices.ContainsFunc([]string{e.Cache, e.Store("").Dir}, func(own string) bool {
		rel, err := filepath.Rel(folder, own)
		return err == nil && filepath.IsLocal(rel)
	})
}

// kept are the real paths that steps may never write: the source with its Git directory, the records of runs, and the
// cache.
func (w *workspace) kept() []string {
	paths := []string{w.eng.Cache, w.eng.apartFolder(), w.storeDir()}
	if s := w.plan.source; s != nil {
		paths = append(paths, s.GitDir(), s.CommonDir())
		if w.plan.mode() != runs.MutationInPlace {
			paths = append(paths, s.Root())
		}
	}
	return sandbox.Real(paths)
}

// sharesCaches reports whether steps have caches of the user or of other runs.
func (w *workspace) sharesCaches() bool {
	d := w.plan.sandbox
	return d.Writes != "" && d.Home != "own" && len(w.plan.gates) == 0
}

// layersOfCaches are the caches that the user has and the run can have below what its steps write, with their mounts.
func (w *workspace) layersOfCaches() (layers []sandbox.Layer, mounts []process.Mount, err error) {
	if !w.sharesCaches() {
		return nil, nil, nil
	}
	secrets := append(sandbox.Credentials(w.eng.Getenv), w.plan.sandbox.Hidden...)
	layers = sandbox.Layers(w.eng.Getenv, w.kept(), secrets, w.uses())
	var over []string
	for i, l := range layers {
		if l.Unused || sandbox.Within(l.Over, over) { // it is seen through another one
			continue
		}
		upper := filepath.Join(w.work.Deps, fmt.Sprint("cache-", i))
		if err := os.Mkdir(upper, 0o700); err != nil {
			return nil, nil, artifact(err)
		}
		over = append(over, l.Over)
		mounts = append(mounts, process.Mount{From: l.Over, To: l.Over, Upper: upper, Optional: true})
	}
	return layers, mounts, nil
}

// uses finds what the steps and the files of the worktree say about the caches that the run uses.
func (w *workspace) uses() sandbox.Use {
	use := sandbox.NewUse()
	for i := range w.plan.steps {
		s := &w.plan.steps[i]
		use.Code(string(s.Code))
		if s.byAgent() {
			use.All()
		}
	}
	for _, k := range w.eng.Config.Kernels {
		use.Code(strings.Join(k.Command, " "))
	}
	for name := range w.tree.Files() {
		use.File(name)
	}
	return use
}

// layerCaches takes the layers that the system did not refuse. The others are used as without mounts.
func (w *workspace) layerCaches(layers []sandbox.Layer, refused map[string]string) {
	for _, l := range layers {
		if l.Unused {
			w.layers = append(w.layers, l)
			continue
		}
		why := refused[l.Over]
		for _, dir := range l.Make {
			if why != "" {
				break
			}
			if err := os.MkdirAll(w.place.Outside(dir), 0o755); err != nil {
				why = err.Error()
			}
		}
		if why == "" {
			w.layers = append(w.layers, l)
		}
		w.opened.Caches = append(w.opened.Caches, runs.CacheData{Name: l.Name, Why: why})
	}
	w.caches, w.granted = nil, nil // determined without the layers where interpreters were looked for
}

// shared are the caches that steps share with the user and other runs, determined once. There are none in a strict
// sandbox; without a sandbox tools use their own.
func (w *workspace) shared() sandbox.Shared {
	if w.work == nil && w.plan.needsApproval() {
		return sandbox.Shared{} // the contract is written down, and nothing is made before somebody approves it
	}
	if w.caches == nil {
		w.caches = &sandbox.Shared{}
		if w.sharesCaches() {
			root := ""
			if w.plan.source != nil {
				root = w.plan.source.Root()
			}
			// Without a folder for them steps have the user's caches, as far as these are there.
			*w.caches, _ = sandbox.Caches(w.eng.Getenv, filepath.Join(w.eng.Cache, "caches"), root,
				append(w.kept(), w.plan.sandbox.Hidden...), w.layers)
			// A cache folder that the repository grants whole is the steps' as it is.
			if top := sandbox.Base(w.eng.Getenv, "XDG_CACHE_HOME", ".cache"); sandbox.Within(top,
				sandbox.Granted(w.eng.Getenv, w.eng.Config.Sandbox.Write, nil)) {
				delete(w.caches.Env, "XDG_CACHE_HOME")
			}
		}
	}
	return *w.caches
}

// grants are the paths that every session of the run may write, determined once.
func (w *workspace) grants() []string {
	if w.granted != nil {
		return w.granted
	}
	kept := w.kept()
	own := sandbox.Real([]string{w.tree.Dir(), w.work.Tmp, w.work.Home, w.work.Display, w.work.Scraps, w.work.Inner})
	own = append(own, w.shared().Write...)
	w.granted = append(own, sandbox.Granted(w.eng.Getenv, w.eng.Config.Sandbox.Write, kept)...)
	return w.granted
}

// confine puts a session's interpreter into the sandbox: through the thread that starts it, or through the helper if
// that needs a process of its own.
// An agent has the network, or has none, for itself alone, whatever the other steps have, and reads no credentials of
// the user.
func (w *workspace) confine(o *kernel.Options, s *PlannedStep) error {
	d, agent := w.plan.sandbox, s.byAgent()
	if agent {
		d.Network = sandbox.NetworkOpen
		if s.offline() {
			d.Network, d.Landlock = w.plan.offline.Network, w.plan.offline.Landlock
		}
		d.Hidden = append(slices.Clone(d.Hidden), sandbox.Credentials(w.eng.Getenv)...)
	}
	spec := sandbox.Spec{Network: d.Network}
	if d.Resources != nil {
		spec.Resources = *d.Resources
	}
	if d.Writes != "" {
		spec.Landlock, spec.Files = d.Landlock, true
		own := []string{o.Private}
		if agent {
			own = append(own, w.work.Agents)
		}
		spec.Write = append(sandbox.Real(own), w.grants()...)
		switch {
		case w.apart():
			elsewhere := sandbox.Except("/", append(w.checkouts(), d.Hidden...))
			spec.Read = slices.Concat(elsewhere, w.readable(d.Hidden), spec.Write)
		case len(d.Hidden) > 0:
			spec.Read = append(sandbox.Except("/", d.Hidden), spec.Write...)
		}
	} else if d.Network == sandbox.NetworkTCP {
		spec.Landlock = d.Landlock
	}
	if d.Git != "" {
		spec.ReadOnly = w.kept()
	}
	spec.Filter, spec.IPC = d.Filter != "", d.IPC == "namespace"
	if !spec.Needed() {
		return nil
	}
	text, err := spec.JSON()
	if err != nil {
		return err
	}
	o.Order = string(text)
	if spec.OnThread() {
		o.Confine = spec.Confine
		return nil
	}
	file := filepath.Join(w.work.Sandbox, filepath.Base(o.Private)+".json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return artifact(err)
	}
	o.Wrap = []string{filepath.Join(w.work.Sandbox, sandbox.HelperName), file}
	o.Attributes = spec.Attributes
	return nil
}

// checkReadable returns an error for a file that a step names but may not read itself: the engine can read it and would
// copy it to where the step can.
func (w *workspace) checkReadable(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if sandbox.Within(real, w.plan.sandbox.Hidden) {
		return &notebooks.Error{Kind: notebooks.KindOption, File: path,
			Msg: "the sandbox hides this file from steps, so that none can glue it", Hint: "see sandbox: hide in " +
				ConfigFile}
	}
	return nil
}

// toolchains are the default places of tools in a home. With another home the tools would not be found.
var toolchains = map[string]string{"RUSTUP_HOME": "~/.rustup", "PYENV_ROOT": "~/.pyenv", "NVM_DIR": "~/.nvm",
	"RBENV_ROOT": "~/.rbenv"}

// confineEnv adapts the environment to the sandbox: in a strict one only toolchains point to the user's home.
func (w *workspace) confineEnv(env map[string]string, work *workdir) {
	maps.Copy(env, w.shared().Env)
	if w.plan.sandbox.Writes != "" && w.plan.sandbox.Home != "own" {
		// matplotlib would warn of settings that it cannot write, on every import.
		cache := sandbox.Base(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "XDG_CACHE_HOME",
			".cache")
		env["MPLCONFIGDIR"] = filepath.Join(cache, "matplotlib")
	}
	if w.plan.sandbox.Home != "own" {
		return
	}
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE", "PIP_CACHE_DIR", "NPM_CONFIG_CACHE",
		"CARGO_HOME"} {
		delete(env, name)
	}
	for _, name := range slices.Sorted(maps.Keys(toolchains)) {
		dir := sandbox.Home(w.eng.Getenv, toolchains[name])
		if _, err := os.Stat(dir); env[name] == "" && err == nil {
			env[name] = dir
		}
	}
	env["HOME"] = work.Home
	for name, below := range map[string]string{"XDG_CACHE_HOME": ".cache", "XDG_DATA_HOME": ".local/share",
		"XDG_STATE_HOME": ".local/state", "XDG_RUNTIME_DIR": ".run"} {
		env[name] = filepath.Join(work.Home, filepath.FromSlash(below))
	}
}

// placeStore tells pnpm where its store is. It would make one in the worktree, because no hard link leads from there to
// another mount. Only where the repository uses pnpm: npm warns of the variable.
func (w *workspace) placeStore(env map[string]string) {
	if w.place == nil {
		return
	}
	if _, err := os.Stat(filepath.Join(w.tree.Dir(), "pnpm-lock.yaml")); err != nil {
		return
	}
	data := sandbox.Base(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "XDG_DATA_HOME",
		".local/share")
	store := filepath.Join(cmp.Or(env["PNPM_HOME"], filepath.Join(data, "pnpm")), "store")
	env["npm_config_store_dir"], env["pnpm_config_store_dir"] = store, store // before pnpm 11, and since
}

// badPlace finds a path of markmill.yaml that is not below the root or the home.
func badPlace(paths []string) string {
	for _, p := range paths {
		rest, home := strings.CutPrefix(p, "~/")
		if clean := filepath.Clean(rest); !home && (!filepath.IsAbs(p) || clean == "/") || home &&
			(clean == "." || strings.HasPrefix(clean, "..")) {
			return p
		}
	}
	return ""
}

// check returns an error for paths that mean nothing, or everything.
func (c SandboxConfig) check(file string) error {
	for key, list := range map[string][]string{"write": c.Write, "hide": c.Hide} {
		if p := badPlace(list); p != "" {
			return &notebooks.Error{Kind: notebooks.KindOption, File: file, Msg: "sandbox." + key + ": \"" + p +
				"\" is not a path below / or ~/",
				Hint: "write it in full, as /srv/data or ~/.m2"}
		}
	}
	return nil
}
