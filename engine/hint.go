package engine

import (
	"fmt"
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
	if words := r.fileHint(s, done); words != "" {
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
	var lacks []string
	for _, dir := range r.lacks(s) {
		lacks = append(lacks, lackWords(dir))
	}
	return strings.Join(lacks, "; ")
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
