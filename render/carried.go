package render

import (
	"strings"

	"markmill/runs"
)

// CarriedWords say of a step that ran in an earlier run in which, and how it went when it ran again for its
// state; "" of one that ran in this run. The output notebook does not tell it: it is the same whether a run
// was cut on the way or not.
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
