package render

import (
	"strings"

	"markmill/runs"
)

// CarriedWords names the earlier run that ran a step, and says whether the step was replayed for its state. It
// returns "" for a step of this run. The output notebook omits this: it must not depend on whether a run was
// interrupted.
func CarriedWords(s runs.StepRecord) string {
	from := s.CarriedFrom()
	if from == "" {
		return ""
	}
	words := ", in run " + string(from)
	if s.Replayed != nil {
		words += "; run again for its state only"
		if len(s.Replayed.Differs) > 0 {
			words += ", and was another then: " + strings.Join(s.Replayed.Differs, ", ")
		}
	}
	return words
}
