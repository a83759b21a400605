package engine

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"markmill/engine/sandbox"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/lazyregexp"
	"markmill/runs"
)

// hint adds to a failed step what its own messages cannot say; "" unless it is certain.
func (r *run) hint(s *PlannedStep, done *runs.StepFinishedData) string {
	if name := r.missingVariable(s, done.Error); name != "" {
		where := "env: {%[1]s: \"${%[1]s}\"} in the front matter"
		if r.plan.notebook.Form == ipynb.Form {
			where = "metadata.markmill.front: {\"env\": {\"%[1]s\": \"${%[1]s}\"}}"
		}
		return fmt.Sprintf("%[1]s is set here, and steps get only the variables that the notebook names: "+where+
			"; or secrets: [%[1]s], which masks it", name)
	}
	if words := r.fileHint(s, done); words != "" {
		return words
	}
	if words := cmp.Or(r.refusedByOverlay(done), pipeHint(done)); words != "" {
		return words
	}
	for _, u := range r.plan.unset() {
		if u.Step.ID == s.ID {
			return fmt.Sprintf("$%s is never set; did you mean $%s?", u.Name, u.Near)
		}
	}
	if lost := r.sessions.lost[s.sessionKey()]; lost.reported && lost.in != s.ID {
		return fmt.Sprintf("the interpreter had ended in step %s: what earlier steps had set in it was lost", lost.in)
	}
	var lacks []string
	for _, dir := range r.lacks(s) {
		lacks = append(lacks, lackWords(dir))
	}
	return strings.Join(lacks, "; ")
}

// lastOfPipeline is a pipeline whose last command does not fail.
var lastOfPipeline = lazyregexp.New(`\|\s*(?:cat|cut|head|less|sort|tail|tee|tr|uniq|wc)\b[^|]*$`)

// pipeHint explains why a pipeline failed whose last command did not.
func pipeHint(done *runs.StepFinishedData) string {
	const sigpipe = 128 + 13
	switch c := done.Failed; {
	case c == nil || !lastOfPipeline.MatchString(c.Command):
		return ""
	case done.Exit == sigpipe:
		return "SIGPIPE: the last command of the pipeline ended before the one that writes to it, and a step has " +
			"pipefail set; allow it with || true, or write strict: false in the front matter"
	}
	return "a step has pipefail set: the pipeline fails with any of its commands; allow it with || true, or write " +
		"strict: false in the front matter"
}

// missingKey is what Python and Julia print for a name that a mapping does not have.
var missingKey = lazyregexp.New(`^(?:.*key )?['"]([A-Za-z_][A-Za-z0-9_]*)['"](?: not found)?$`)

// missingVariable is a variable of the caller's environment that a step asked for and does not get; "" if it did not.
func (r *run) missingVariable(s *PlannedStep, e *runs.ErrorData) string {
	if e == nil || e.Name != "KeyError" {
		return ""
	}
	if code := string(s.Code) + e.Traceback; !strings.Contains(code, "environ") && !strings.Contains(code, "ENV[") {
		return ""
	}
	m := missingKey.FindStringSubmatch(e.Value)
	if m == nil || slices.Contains(names(r.ws.env), m[1]) {
		return ""
	}
	if _, given := s.Env[m[1]]; given {
		return ""
	}
	if _, set := r.eng.Getenv(m[1]); !set {
		return ""
	}
	return m[1]
}

// overlayRefuses is a line in which a program says what a folder of dependencies refuses and another would not.
var overlayRefuses = lazyregexp.New(`(?i)cross-device|EXDEV|resource busy|EBUSY|value too large for defined|EOVERFLOW`)

// refusedByOverlay says that a failed step met the limits of a folder of dependencies.
func (r *run) refusedByOverlay(done *runs.StepFinishedData) string {
	if r.ws.opened == nil {
		return ""
	}
	return r.failed(done, overlayRefuses, func(name string) string {
		for _, d := range r.ws.opened.Dependencies {
			if strings.Contains(name, d.Path) {
				return fmt.Sprintf("%[1]s is mounted over the checkout's: it cannot be removed or renamed, and who is "+
					"not root can neither rename a folder of the checkout in it nor write a file of another group; "+
					"--copy %[1]s gives the run a folder of its own", d.Path)
			}
		}
		return ""
	})
}

// lackWords say how a run gets a folder of dependencies, or Yarn's file that stands for one.
func lackWords(dir string) string {
	words := "the checkout has %[1]s, and the run does not: "
	if slices.Contains(environments, path.Base(dir)) {
		words += "activate it before the run (. %[1]s/bin/activate), or make one in a .setup step"
	} else {
		words += "--copy %[1]s takes it along (or copy: in the front matter), or install in a .setup step"
	}
	return fmt.Sprintf(words, dir)
}

// plugAndPlay is the file that Yarn writes instead of node_modules: it says where packages are.
const plugAndPlay = ".pnp.cjs"

// lacks are the folders of dependencies that the checkout has and a step may miss.
func (r *run) lacks(s *PlannedStep) (list []string) {
	src := r.plan.source
	if src == nil || r.ws.tree == nil || r.ws.tree.Dir() == src.Root() || s.byAgent() {
		return nil
	}
	var folders []string
	if !isNode(s.Lang) {
		folders = slices.Clone(environments)
	}
	if s.Lang != "python" {
		for dir := path.Clean(filepath.ToSlash(cmp.Or(s.Cwd, r.plan.request.Cwd, "."))); ; dir = path.Dir(dir) {
			folders = append(folders, path.Join(dir, modules))
			if dir == "." {
				break
			}
		}
		folders = append(folders, plugAndPlay)
	}
	for _, dir := range folders {
		at := filepath.Join(src.Root(), filepath.FromSlash(dir))
		has := r.ws.leadsTo(at) || r.ws.isDependency(filepath.Join(r.ws.at, filepath.FromSlash(dir), "x"))
		if _, err := os.Stat(at); err != nil || has {
			continue
		}
		own := filepath.Join(r.ws.tree.Dir(), filepath.FromSlash(dir))
		installed, _ := filepath.Glob(filepath.Join(own, "lib", "python*", "site-packages", "*.dist-info"))
		_, err := os.Lstat(own)
		// poetry makes an empty environment where there is none
		if err != nil || slices.Contains(environments, dir) && len(installed) == 0 {
			list = append(list, dir)
		}
	}
	return list
}

// leadsTo reports whether the environment of steps leads into a folder, as that of an active virtual environment does.
func (w *workspace) leadsTo(dir string) bool {
	return slices.ContainsFunc(w.env, func(v string) bool {
		_, list, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(filepath.SplitList(list), func(p string) bool {
			return p == dir || strings.HasPrefix(p, dir+string(filepath.Separator))
		})
	})
}

// fileHint says of a file which a failed step missed, or could not write, why it has not; "" if that is not known.
func (r *run) fileHint(s *PlannedStep, done *runs.StepFinishedData) string {
	if src := r.plan.source; src == nil || r.ws.tree == nil || r.ws.tree.Dir() == src.Root() {
		return ""
	}
	return cmp.Or(r.failed(done, noPermission, r.refused),
		r.failed(done, noSuchFile, func(name string) string { return r.leftOut(s, name) }))
}

// failed are the first words of why for the names in the lines of a failed step that say something.
func (r *run) failed(done *runs.StepFinishedData, says *lazyregexp.Regexp, why func(name string) string) string {
	text := r.endOf(done.Stderr.File) + "\n" + r.endOf(done.Stdout.File)
	if done.Error != nil {
		text = done.Error.Value + "\n" + text
	}
	for line := range strings.Lines(text) {
		if !says.MatchString(line) {
			continue
		}
		for _, name := range namesIn(line) {
			if words := why(name); words != "" {
				return words
			}
		}
	}
	return ""
}

// noPermission is a line in which a program says that it may not do something.
var noPermission = lazyregexp.New(`(?i)permission denied|EACCES|read-only file system|EROFS`)

// noModule is a line in which an interpreter says that it does not find a module.
var noModule = lazyregexp.New(`Cannot find (?:module|package) '|No module named '`)

// refused says that the sandbox keeps steps from writing a file; "" if it does not, or something else does.
func (r *run) refused(name string) string {
	if r.plan.sandbox.Writes == "" || !filepath.IsAbs(name) {
		return ""
	}
	dir := name
	if _, err := os.Stat(dir); err != nil { // it was to be made
		dir = filepath.Dir(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || sandbox.Within(real, r.ws.grants()) || !sandbox.Writable(real) {
		return ""
	}
	if rel, ok := r.plan.source.Relative(name); ok {
		return fmt.Sprintf("the sandbox lets no step write the checkout, where %s is: make what steps write in a "+
			".setup step, or in $TMPDIR", rel)
	}
	return fmt.Sprintf("the sandbox refused to write %s: steps write in the worktree and $TMPDIR; "+
		"sandbox: {write: [%s]} in %s allows it", name, filepath.Dir(name), ConfigFile)
}

// noSuchFile is a line in which a program says that a file is missing.
var noSuchFile = lazyregexp.New(`(?i)no such file|ENOENT|does not exist|cannot open file|file or directory not found`)

// quotedName is a name in quotes of any kind.
var quotedName = lazyregexp.New("'([^']+)'|\"([^\"]+)\"|`([^`]+)`|‘([^’]+)’")

// leftOut says that a file which a failed step missed is in the user's checkout, and how the run gets it, or that it is
// where the notebook is, and steps are elsewhere; "" if it is not there either.
func (r *run) leftOut(s *PlannedStep, name string) string {
	there := func(root, rel string) bool {
		_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(rel)))
		return err == nil
	}
	root, tree := r.plan.source.Root(), r.ws.tree.Dir()
	if book, ok := r.plan.source.Relative(r.plan.request.Path); ok && s.Cwd == "" && r.plan.request.Cwd == "" {
		dir, at := path.Dir(book), name
		if rel, err := filepath.Rel(tree, name); err == nil && filepath.IsAbs(name) {
			at = rel
		}
		rel := path.Join(dir, filepath.ToSlash(at))
		if dir != "." && filepath.IsLocal(rel) && rel != dir && (there(tree, rel) || there(root, rel)) {
			return fmt.Sprintf("steps run at the top of the repository, and %s is there: --cwd %s runs them where the "+
				"notebook is", rel, dir)
		}
	}
	rel, ok := r.inWorktree(s, name)
	empty, err := r.plan.Submodules()
	for _, sub := range empty {
		if err == nil && ok && (rel == sub.Path || strings.HasPrefix(rel, sub.Path+"/")) {
			return fmt.Sprintf("the submodule %s %s", sub.Path, sub.Lack)
		}
	}
	if dir := path.Dir(rel); !there(root, rel) && dir != "." {
		rel = dir // a file that was to be written
	}
	if !ok || !there(root, rel) || there(tree, rel) {
		return ""
	}
	if dir := r.plan.source.Dependencies(rel); dir != "" {
		return lackWords(dir)
	}
	if slices.ContainsFunc(r.plan.dirtyPaths,
		func(p string) bool { return p == rel || strings.HasPrefix(p, rel+"/") }) {
		return fmt.Sprintf("%s is in the checkout and not committed, so the run does not have it: commit it, "+
			"or run with --dirty include", rel)
	}
	words := fmt.Sprintf("%s is in the checkout and Git ignores it, so the run does not have it: ", rel)
	copied := fmt.Sprintf("--copy %s takes it along (or copy: in the front matter)", rel)
	if isByproduct(rel) || strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.") {
		return words + copied
	}
	pattern := rel
	if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(rel))); err == nil && info.IsDir() {
		pattern += "/**"
	} else if dir := path.Dir(rel); dir != "." {
		pattern = dir + "/**"
	}
	return fmt.Sprintf("%sdata: [%s] in the front matter gives it to the run and keeps what the run writes there; %s",
		words, pattern, copied)
}

// endOf is the end of a stream, where a program's last messages are.
func (r *run) endOf(file string) string {
	const most = 4 << 10
	if file == "" {
		return ""
	}
	f, err := os.Open(r.rec.record.File(file))
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	} else {
		_, _ = f.Seek(0, io.SeekStart)
	}
	text, _ := io.ReadAll(f) // what cannot be read gives no hint
	return string(text)
}

// namesIn are the parts of a message that may be a file name: quoted parts, and parts between colons.
func namesIn(line string) (names []string) {
	for _, m := range quotedName.FindAllStringSubmatch(line, -1) {
		names = append(names, strings.Join(m[1:], ""))
	}
	for part := range strings.SplitSeq(line, ": ") {
		names = append(names, strings.TrimSpace(part))
	}
	for _, word := range strings.Fields(line) {
		if word = strings.Trim(word, ".,;:()"); strings.HasPrefix(word, "/") {
			names = append(names, word)
		}
	}
	return names
}

// inWorktree makes a path that a step names relative to the root of the worktree.
func (r *run) inWorktree(s *PlannedStep, name string) (rel string, ok bool) {
	if filepath.IsAbs(name) {
		below, err := filepath.Rel(r.ws.tree.Dir(), r.ws.real(name))
		return filepath.ToSlash(below), err == nil && filepath.IsLocal(below) && below != "."
	}
	dir := s.Cwd
	if dir == "" {
		dir = r.plan.request.Cwd
	}
	rel = path.Join(filepath.ToSlash(dir), filepath.ToSlash(name))
	return rel, name != "" && filepath.IsLocal(rel) && rel != "."
}
