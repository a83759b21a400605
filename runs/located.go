package runs

import (
	"cmp"
	"fmt"
	"strings"
)

// Located returns a blocker with the rule, the paths and the step that it is about. Records of older versions do not
// name them: Located takes them from the contract, the change and the patches of the steps.
func (r *Run) Located(b Blocker) Blocker {
	rule := ""
	switch b.Code {
	case CodeDisallowedFileChange:
		rule = r.pathRules()
		if len(b.Paths) == 0 && r.Diff != nil {
			b.Paths = r.Diff.Disallowed
		}
	case CodeChangeTooLarge:
		rule = limitRule(r.Contract.Limits)
	case CodeNoDiff:
		if r.requires(requireDiff) {
			rule = "require: " + requireDiff
		}
	case CodeMissingTestCommand:
		rule = "require: " + requireTests
	}
	b.Rule = cmp.Or(b.Rule, rule)
	for _, path := range b.Paths {
		if b.Step == "" {
			b.Step = r.ChangedBy(path)
		}
	}
	return b
}

// pathRules returns the rules of which a disallowed path broke one.
func (r *Run) pathRules() string {
	var rules []string
	for _, list := range append([][]string{r.Contract.AllowedPaths}, r.Contract.AllowedAlso...) {
		if len(list) > 0 {
			rules = append(rules, "allow: "+strings.Join(list, ", "))
		}
	}
	if len(r.Contract.ForbiddenPaths) > 0 {
		rules = append(rules, "forbid: "+strings.Join(r.Contract.ForbiddenPaths, ", "))
	}
	return strings.Join(rules, "; ")
}

func limitRule(l LimitsData) string {
	var parts []string
	for _, one := range []struct {
		name  string
		limit int64
	}{{"files", int64(l.Files)}, {"lines", int64(l.Lines)}, {"bytes", l.Bytes}} {
		if one.limit > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", one.name, one.limit))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "limits: {" + strings.Join(parts, ", ") + "}"
}
