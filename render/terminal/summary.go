package terminal

import (
	"slices"
	"strings"

	"markmill/render"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// Summary returns the line that ends a run: status, steps passed, size of the change, blockers, and where the
// evidence is.
func Summary(run *runs.Run, evidence string, color bool) string {
	status := run.Status()
	parts := []string{
		paint(result.RunMark(status)+" "+string(status), statusColor(status), color),
		render.Outcome(run),
	}
	if causes := run.Causes(); len(causes) > 0 {
		var codes []string
		for _, b := range causes {
			if code := plain.Escape(b.Code); !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
		parts = append(parts, strings.Join(codes, ", "))
	}
	if evidence != "" {
		parts = append(parts, "evidence: "+plain.Escape(evidence))
	}
	return strings.Join(parts, " · ")
}
