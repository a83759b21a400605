package engine

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/runs"
)

// depsNone is the value of deps: that turns the default off.
const depsNone = "none"

// environments are the folders of Python's virtual environments that steps get without a word.
var environments = []string{".venv", "venv"}

// modules is the folder of Node's packages, beside each manifest of a package.
const (
	modules     = worktree.Modules
	packageFile = "package.json"
)

// dependencies are the folders of the checkout that Git ignores and steps need: those that the notebook and
// markmill.yaml name, and by default virtual environments and Node's packages.
// lacks are those that are named, and that the checkout does not have.
func (w *workspace) dependencies() (list []runs.DependencyData, lacks []runs.LackData, err error) {
	all, named := w.wanted()
	for _, name := range all {
		d, err := w.dependency(name, named[name])
		if err != nil {
			return nil, nil, err
		}
		if d == nil && named[name] != "" {
			lacks = append(lacks, runs.LackData{Path: name, File: named[name]})
		}
		below := func(have runs.DependencyData) bool { return strings.HasPrefix(name, have.Path+"/") }
		if d != nil && !slices.ContainsFunc(list, below) {
			list = append(list, *d)
		}
	}
	return list, lacks, nil
}

// sameDependencies reports whether the checkout has the folders of dependencies that were mounted, as they were then.
func (w *workspace) sameDependencies() bool {
	if w.opened == nil || w.opened.Tree != runs.TreeMounted {
		return true
	}
	all, _ := w.wanted()
	for _, name := range all {
		info, err := os.Lstat(filepath.Join(w.at, filepath.FromSlash(name)))
		at := slices.IndexFunc(w.opened.Dependencies, func(d runs.DependencyData) bool { return d.Path == name })
		if there := err == nil && info.IsDir(); there != (at >= 0) {
			return false
		}
		if at >= 0 {
			now, _ := installed(w.at, name)
			if dependencyOf(now) != dependencyOf(w.opened.Dependencies[at]) {
				return false
			}
		}
	}
	return true
}

// wanted lists the folders of dependencies that steps get if the checkout has them, and the file in which some of them
// are named.
func (w *workspace) wanted() (all []string, named map[string]string) {
	named = map[string]string{}
	for file, names := range map[string][]string{cmp.Or(w.plan.request.Path, "-"): w.plan.notebook.Front.Deps,
		ConfigFile: w.eng.Config.Deps} {
		for _, name := range names {
			named[path.Clean(name)] = file
		}
	}
	if _, none := named[depsNone]; !none {
		all = slices.Clone(environments)
		for _, dir := range w.tree.FoldersWith(packageFile) {
			all = append(all, path.Join(dir, modules))
		}
	}
	delete(named, depsNone)
	for name := range named {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, named
}

// builds reports whether the run is given folders other than environments and packages: with what tools built before.
func (w *workspace) builds() bool {
	return slices.ContainsFunc(slices.Concat(w.eng.Config.Deps, w.plan.notebook.Front.Deps), func(name string) bool {
		return name != depsNone && !slices.Contains(append(environments, modules), path.Base(path.Clean(name)))
	})
}

// dependency describes a folder of dependencies; nil if the checkout has none of that name or the worktree has it. The
// error is for one that cannot be used and is named in file; "" if it is not.
func (w *workspace) dependency(name, file string) (*runs.DependencyData, error) {
	bad := func(why string) (*runs.DependencyData, error) {
		if file == "" {
			return nil, nil
		}
		return nil, &notebooks.Error{Kind: notebooks.KindProvider, File: file, Msg: fmt.Sprintf("deps: %s %s", name,
			why), Hint: "name a folder of the checkout that Git ignores, or leave it out"}
	}
	from, to := filepath.Join(w.at, filepath.FromSlash(name)), filepath.Join(w.tree.Dir(), filepath.FromSlash(name))
	real, err := filepath.EvalSymlinks(from)
	if _, there := os.Lstat(from); err != nil && there == nil {
		return bad("is a link that leads nowhere")
	}
	if err != nil {
		return nil, nil // nothing is installed yet
	}
	switch info, err := os.Stat(real); {
	case !sandbox.Within(real, []string{w.at}):
		return bad("leads out of the checkout")
	case real != from:
		return bad("is a link, or below one")
	case err != nil || !info.IsDir():
		return bad("is not a folder")
	}
	if _, err := os.Lstat(to); err == nil {
		return bad("is in the worktree already: Git tracks it, or copy: names it")
	}
	for dir := filepath.Dir(to); ; dir = filepath.Dir(dir) {
		if parent, err := filepath.EvalSymlinks(dir); err == nil {
			if !sandbox.Within(parent, sandbox.Real([]string{w.tree.Dir()})) {
				return bad("is below a link in the worktree")
			}
			break
		}
	}
	d, _ := installed(w.at, name)
	if d.Lock != "" {
		if d.Differs, err = w.otherLock(&d); err != nil {
			return nil, err
		}
	}
	return &d, nil
}

// otherLock reports whether the lock file of the base is another than that of the checkout. It opens the worktree's
// only where the base's bytes differ, as those of a filter do: whoever opens it counts as having read it.
func (w *workspace) otherLock(d *runs.DependencyData) (bool, error) {
	base, err := w.tree.BaseView()
	if err != nil {
		return false, err
	}
	if text, _, err := base.Read(d.Lock); err == nil && runs.DigestOf(text) == d.LockDigest {
		return false, nil
	}
	here, _ := digestOfFile(filepath.Join(w.tree.Dir(), filepath.FromSlash(d.Lock)))
	return here != d.LockDigest, nil
}

// installed identifies a folder of dependencies below root.
func installed(root, name string) (data runs.DependencyData, ok bool) {
	d, ok := worktree.LookUpDependency(root, name)
	return runs.DependencyData{Path: name, Lock: d.Lock, LockDigest: runs.Digest(d.LockDigest),
		Marker: runs.Digest(d.Marker)}, ok
}

func dependencyOf(d runs.DependencyData) worktree.Dependency {
	return worktree.Dependency{Path: d.Path, Lock: d.Lock, LockDigest: string(d.LockDigest), Marker: string(d.Marker)}
}

// dependOnPath counts as read the folder of dependencies in which a path of the checkout lies, and reports whether it
// lies in one.
func (w *workspace) dependOnPath(name string) bool {
	d, ok := worktree.LookUpDependency(w.plan.source.Root(), w.plan.source.Dependencies(name))
	if ok {
		w.tree.DependOn(d)
	}
	return ok
}

// otherDependency names a folder of dependencies that is not as it was; "" if all are.
func otherDependency(root string, was []notebooks.Dependency) string {
	for _, d := range was {
		if now, ok := worktree.LookUpDependency(root, worktree.RawPath(d.Path)); !ok || now.Digest() != d.Digest {
			return d.Path
		}
	}
	return ""
}

// pythonEnvironment is the virtual environment that Python's steps use without its being active: that of the checkout
// if nothing else is active or configured; "" if there is none.
func (w *workspace) pythonEnvironment(env map[string]string) string {
	if w.opened == nil || env["VIRTUAL_ENV"] != "" || env["CONDA_PREFIX"] != "" ||
		w.eng.Config.Kernels["python"].Program != "" {
		return ""
	}
	for _, d := range w.opened.Dependencies {
		dir := filepath.Join(w.at, filepath.FromSlash(d.Path))
		if _, err := os.Stat(filepath.Join(dir, "bin", "python")); err == nil && slices.Contains(environments, d.Path) {
			return dir
		}
	}
	return ""
}

// installedFile reports whether a path lies in a folder that dependencies are installed in by default.
func installedFile(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(part string) bool {
		return part == modules || slices.Contains(environments, part)
	})
}

// isDependency reports whether a path that a step names lies in a folder of dependencies.
func (w *workspace) isDependency(name string) bool {
	rel, err := filepath.Rel(w.at, name)
	return w.opened != nil && err == nil && slices.ContainsFunc(w.opened.Dependencies,
		func(d runs.DependencyData) bool { return strings.HasPrefix(filepath.ToSlash(rel), d.Path+"/") })
}

// byproducts are the folders, by their names, in which tools keep what they can make again: dependencies, caches and
// builds. What a run writes there is not kept, and data: does not name it.
var byproducts = slices.Concat(environments, []string{modules,
	"__pycache__", "__pypackages__", ".ipynb_checkpoints", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs",
	".cache", ".parcel-cache", ".next", ".nuxt", ".turbo", ".svelte-kit", ".nyc_output", ".yarn", ".pnpm-store",
	".gradle", ".mvn", ".m2", ".cargo", ".npm", ".uv", ".bundle", ".dart_tool", ".terraform", ".clangd",
	".git", ".hg", ".svn", ".markmill", ".direnv", ".pixi", ".venvs", ".build",
	"target", "build", "dist", "htmlcov", "CMakeFiles", "Debug", "Release", "_build", "bower_components"})

// byproductEnds are the ends of names of files of that kind.
var byproductEnds = []string{".pyc", ".pyo", ".o", ".obj", ".lo", ".la", ".d", ".class", ".gcda", ".gcno",
	".tsbuildinfo", ".egg-link", ".swp", "~", ".coverage", ".eslintcache", ".DS_Store", ".pid"}

// isByproduct reports whether a tool can make a file again.
func isByproduct(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(byproducts, part) || strings.HasSuffix(part, ".egg-info") ||
			strings.HasSuffix(part, "_cache") || strings.HasPrefix(part, "cmake-build-") {
			return true
		}
	}
	base := path.Base(name)
	return slices.ContainsFunc(byproductEnds, func(end string) bool { return strings.HasSuffix(base, end) })
}
