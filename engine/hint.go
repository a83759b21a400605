package engine

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	if words := r.leftOut(s, done); words != "" {
		return words
	}
	if words := r.refusedByOverlay(done); words != "" {
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
	return ""
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

// noSuchFile is a line in which a program says that a file is missing.
var noSuchFile = lazyregexp.New(`(?i)no such file|ENOENT|does not exist|cannot open file`)

// quotedName is a name in quotes of any kind.
var quotedName = lazyregexp.New("'([^']+)'|\"([^\"]+)\"|`([^`]+)`|‘([^’]+)’")

// leftOut says that a file which a failed step missed is in the user's checkout, and how the run gets it; "" if it is
// not there either.
func (r *run) leftOut(s *PlannedStep, done *runs.StepFinishedData) string {
	src := r.plan.source
	if src == nil || r.ws.tree == nil || r.ws.tree.Dir() == src.Root() {
		return ""
	}
	text := r.endOf(done.Stderr.File)
	if done.Error != nil {
		text = done.Error.Value + "\n" + text
	}
	for line := range strings.Lines(text) {
		if !noSuchFile.MatchString(line) {
			continue
		}
		for _, name := range namesIn(line) {
			rel, ok := r.inWorktree(s, name)
			if !ok {
				continue
			}
			if _, err := os.Lstat(filepath.Join(src.Root(), filepath.FromSlash(rel))); err != nil {
				continue
			}
			if _, err := os.Lstat(filepath.Join(r.ws.tree.Dir(), filepath.FromSlash(rel))); err == nil {
				continue
			}
			if slices.ContainsFunc(r.plan.dirtyPaths,
				func(p string) bool { return p == rel || strings.HasPrefix(p, rel+"/") }) {
				return fmt.Sprintf("%s is in the checkout and not committed, so the run does not have it: commit it, "+
					"or run with --dirty include", rel)
			}
			return fmt.Sprintf("%s is in the checkout and Git ignores it, so the run does not have it: --copy %s "+
				"takes it along (or copy: in the front matter)", rel, rel)
		}
	}
	return ""
}

// overlayRefuses is a line in which a program says what a folder of dependencies refuses and another would not.
var overlayRefuses = lazyregexp.New(`(?i)cross-device|EXDEV|resource busy|EBUSY|value too large for defined|EOVERFLOW`)

// refusedByOverlay says that a failed step met the limits of a folder of dependencies.
func (r *run) refusedByOverlay(done *runs.StepFinishedData) string {
	if r.ws.opened == nil {
		return ""
	}
	text := r.endOf(done.Stderr.File)
	if done.Error != nil {
		text = done.Error.Value + "\n" + text
	}
	for line := range strings.Lines(text) {
		if !overlayRefuses.MatchString(line) {
			continue
		}
		for _, d := range r.ws.opened.Dependencies {
			if strings.Contains(line, d.Path) {
				return fmt.Sprintf("%[1]s is mounted over the checkout's: it cannot be removed or renamed, and who is "+
					"not root can neither rename a folder of the checkout in it nor write a file of another group; "+
					"--copy %[1]s gives the run a folder of its own", d.Path)
			}
		}
	}
	return ""
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
