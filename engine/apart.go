package engine

import (
	"cmp"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"markmill/engine/sandbox"
	"markmill/engine/worktree"
	"markmill/engine/worktree/disk"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// Where the worktree is in another place than the checkout, what people have installed leads back: an editable install,
// a link, the first line of a script. Steps then would test the checkout's code. So their environment and Python's
// imports lead to the worktree, and the sandbox hides from them what Git tracks in the checkout.

// apart reports whether the steps find the worktree in another place than the checkout.
func (w *workspace) apart() bool {
	return w.plan.mountable() && w.at == ""
}

// mostReadable bounds the rules of a session's sandbox: what is deeper in the checkout is hidden, too.
const mostReadable = 2000

// checkouts are the real paths of the checkouts that steps may be led to: the source's, and of a linked worktree the
// main one, in which people install.
func (w *workspace) checkouts() []string {
	list := []string{w.plan.source.Root()}
	if dir := w.plan.source.CommonDir(); dir != w.plan.source.GitDir() && filepath.Base(dir) == ".git" {
		list = append(list, filepath.Dir(dir))
	}
	return sandbox.Real(list)
}

// readable are the paths of the checkouts that steps may read: what Git does not track, and the worktree does not have.
// Determined once.
func (w *workspace) readable(hidden []string) []string {
	src, roots := w.plan.source, w.checkouts()
	if w.untracked == nil {
		w.untracked = []string{}
		for i, root := range roots {
			var names []string
			if at, err := worktree.Open(root); err == nil {
				names, _ = at.Untracked() // without the list everything is hidden
			}
			slices.SortStableFunc(names, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
			left := mostReadable
			for _, name := range names {
				switch {
				case name == ".git": // below, with that of a linked worktree
				case !utf8.ValidString(name): // no rule can name it
				case i == 0:
					w.addLacked(filepath.FromSlash(name), &left)
				default:
					w.untracked = append(w.untracked, sandbox.Except(filepath.Join(root, filepath.FromSlash(name)),
						roots[:1])...)
				}
			}
		}
	}
	var list []string
	for _, p := range append(sandbox.Real([]string{src.GitDir(), src.CommonDir(), w.eng.Tools}), w.untracked...) {
		list = append(list, sandbox.Except(p, hidden)...)
	}
	return list
}

// addLacked adds a path of the checkout to the readable ones without what the worktree has; left is how many more are
// looked at.
func (w *workspace) addLacked(name string, left *int) {
	if *left--; *left < 0 {
		return
	}
	at := filepath.Join(disk.RealPath(w.plan.source.Root()), name)
	if _, err := os.Lstat(filepath.Join(w.tree.Dir(), name)); err != nil {
		w.untracked = append(w.untracked, at)
		return
	}
	entries, _ := os.ReadDir(at) // of a file there are none
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 && utf8.ValidString(e.Name()) {
			w.addLacked(filepath.Join(name, e.Name()), left)
		}
	}
}

//go:embed sitecustomize.py
var sitecustomize string

// leadFolder is the folder of a module that each interpreter of Python loads when it starts.
func leadFolder(work *workdir) string { return filepath.Join(work.Kernels, "python") }

// makeLead writes the module by which Python's imports lead to the worktree where they would lead to the checkout.
func (w *workspace) makeLead() error {
	dir := leadFolder(w.work)
	paths, err := codec.Marshal(slices.Concat([]string{w.plan.source.Root()}, w.checkouts(), []string{w.tree.Dir()}))
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return err
	}
	text := strings.Replace(sitecustomize, "[]", string(paths), 1)
	return os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte(text), 0o600)
}

// lead makes the environment of steps lead to the worktree where it leads to what the checkout has, too.
func (w *workspace) lead(env map[string]string, python, tree string) {
	const sep = string(filepath.ListSeparator)
	for _, name := range []string{"PATH", "VIRTUAL_ENV", "NODE_PATH", "PYTHONPATH"} {
		if env[name] == "" {
			continue
		}
		list := filepath.SplitList(env[name])
		for i := range list {
			rel, ok := w.plan.source.Relative(list[i])
			to := filepath.Join(tree, filepath.FromSlash(rel))
			if _, err := os.Lstat(to); ok && filepath.IsAbs(list[i]) && err == nil {
				list[i] = to
			}
		}
		env[name] = strings.Join(list, sep)
	}
	env["PYTHONPATH"] = strings.TrimSuffix(python+sep+env["PYTHONPATH"], sep)
}

// wrongTree says that a step tried to use a file of the checkout that Git tracks; "" if it did not.
func (w *workspace) wrongTree(name string) string {
	if !w.apart() || w.plan.sandbox.Writes == "" {
		return ""
	}
	if !filepath.IsAbs(name) {
		return ""
	}
	name = disk.RealPath(name) // a link in the worktree may lead there, too
	roots := w.checkouts()
	at := slices.IndexFunc(roots, func(root string) bool {
		return sandbox.Within(name, []string{root}) && name != root
	})
	if at < 0 || sandbox.Within(name, w.readable(w.plan.sandbox.Hidden)) {
		return ""
	}
	rel, _ := filepath.Rel(roots[at], name)
	words := triedWords(rel)
	for _, dir := range w.environments() {
		if by := editable(dir, roots[at]); by != "" {
			return words + editableWords(dir, by)
		}
	}
	return words + ": a link, a script or a build folder names it; make it again in a .setup step"
}

func triedWords(what string) string {
	return fmt.Sprintf("it tried %s of your checkout, and the run tests its worktree", what)
}

func editableWords(dir, by string) string {
	return fmt.Sprintf(": %s has an editable install of it (%s); install it again in a .setup step", filepath.Base(dir),
		by)
}

// wrongModule is wrongTree for a module that was not found because it is hidden: an editable install, or a link in
// node_modules of the checkout, leads to it.
func (w *workspace) wrongModule(name string) string {
	if !w.apart() || w.plan.sandbox.Writes == "" {
		return ""
	}
	for _, dir := range w.environments() {
		top, _, _ := strings.Cut(name, ".")
		if by := editable(dir, filepath.Join(w.plan.source.Root(), "src", top)); by != "" {
			return triedWords("the module "+name) + editableWords(dir, by)
		}
	}
	link := filepath.Join(w.plan.source.Root(), "node_modules", filepath.FromSlash(name))
	if real := disk.RealPath(link); real != link && filepath.IsLocal(filepath.FromSlash(name)) {
		return w.wrongTree(real)
	}
	return ""
}

// environments are the virtual environments to which the environment of steps leads.
func (w *workspace) environments() (list []string) {
	for _, v := range w.env {
		name, value, _ := strings.Cut(v, "=")
		if name != "PATH" {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			if up := filepath.Dir(dir); filepath.Base(dir) == "bin" && !slices.Contains(list, up) {
				list = append(list, up)
			}
		}
	}
	return list
}

// editable is the file by which an environment of Python has an editable install that leads below a folder; "" if it
// has none.
func editable(dir, root string) string {
	for _, pattern := range []string{filepath.Join("*.dist-info", "direct_url.json"), "*.pth", "__editable__*.py"} {
		found, _ := filepath.Glob(filepath.Join(dir, "lib", "python*", "*-packages", pattern))
		for _, file := range found {
			text, err := os.ReadFile(file)
			var of struct {
				URL  string `json:"url"`
				Info struct {
					Editable bool `json:"editable"`
				} `json:"dir_info"`
			}
			if filepath.Ext(file) == ".json" { // PEP 610
				at, parsed := &url.URL{}, codec.Unmarshal(text, &of)
				if parsed == nil && of.Info.Editable {
					at, err = url.Parse(of.URL)
				}
				text = nil
				if err == nil {
					text = []byte(at.Path)
				}
			}
			if err == nil && namesBelow(string(text), root) {
				return filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
			}
		}
	}
	return ""
}

// namesBelow reports whether a text names a folder, or what is below it.
func namesBelow(text, root string) bool {
	for _, rest := range strings.Split(text, root)[1:] {
		if rest == "" || strings.ContainsRune("/\\\"'\r\n;:,)", rune(rest[0])) {
			return true
		}
	}
	return false
}

// leadsBack returns why a test step may not run: nothing keeps steps from the checkout's code (the sandbox does not
// confine what they read), and what is installed leads there. program is that of its interpreter.
func (w *workspace) leadsBack(s *PlannedStep, program string) string {
	if w.opened == nil || !w.opened.Unchecked || !s.Has(notebooks.TagTest) || w.plan.permitsUnchecked(w.eng) {
		return ""
	}
	found := ""
	for _, root := range append(w.checkouts(), w.plan.source.Root()) {
		if s.Lang != "python" {
			found = cmp.Or(found, w.linkedModule(root))
		}
		if home, ok := w.eng.Getenv("HOME"); !isNode(s.Lang) {
			list := append(w.environments(), filepath.Dir(filepath.Dir(program)))
			if ok {
				list = append(list, filepath.Join(home, ".local"))
			}
			for _, dir := range list {
				if by := editable(dir, root); by != "" {
					found = cmp.Or(found, filepath.Join(dir, "…", by))
				}
			}
		}
	}
	if found == "" {
		return ""
	}
	return found + " leads to your checkout, whose code the test would run, and no sandbox keeps it from that: " +
		"install it again in a .setup step, or run with the sandbox; --tree separate with tree: separate in the " +
		"policy permits it"
}

// permitsUnchecked reports whether who runs and the policy both say that test steps may find the checkout's code.
func (p *Plan) permitsUnchecked(e *Engine) bool {
	return p.treeWish(e) == runs.TreeSeparate && slices.ContainsFunc(p.policies, func(of placedPolicy) bool {
		return of.Rules.Tree == runs.TreeSeparate
	})
}

// linkedModule is a link among Node's packages that leads below a folder, to what is not installed there; "" if there
// is none.
func (w *workspace) linkedModule(root string) string {
	var folders []string
	for _, dir := range w.tree.FoldersWith(packageFile) {
		folders = append(folders, filepath.Join(w.tree.Dir(), filepath.FromSlash(dir), modules))
	}
	for _, v := range w.env {
		if list, ok := strings.CutPrefix(v, "NODE_PATH="); ok {
			folders = append(folders, filepath.SplitList(list)...)
		}
	}
	for _, dir := range folders {
		for _, pattern := range []string{"*", filepath.Join("@*", "*")} {
			found, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, name := range found {
				rel, err := filepath.Rel(root, disk.RealPath(name))
				if err == nil && filepath.IsLocal(rel) && !installedFile(filepath.ToSlash(rel)+"/") {
					return name
				}
			}
		}
	}
	return ""
}

// isNode reports whether a language is Node's.
func isNode(lang string) bool { return slices.Contains([]string{"node", "javascript", "js"}, lang) }
