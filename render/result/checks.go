package result

import (
	"fmt"

	"markmill/notebooks"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

func manifestChecks(run *runs.Run, say func(string) string) []notebooks.ManifestCheck {
	var out []notebooks.ManifestCheck
	for _, c := range run.Checks() {
		if len(out) == notebooks.MaxManifestScraps {
			break
		}
		short := func(text string) string { return say(plain.Cut(text, notebooks.MaxManifestScrap)) }
		out = append(out, notebooks.ManifestCheck{Name: short(c.Name), Step: c.Step, State: string(c.State),
			Value: c.Value,
			Unit:  short(c.Unit), Message: short(c.Message)})
	}
	return out
}

// checksWords count the checks by state, and describe those that warn: the reasons describe the worse ones.
func checksWords(m *notebooks.Manifest) string {
	counts := runs.CheckCounts(m.Checks,
		func(c notebooks.ManifestCheck) runs.CheckState { return runs.CheckState(c.State) })
	if counts == "" {
		return ""
	}
	words, more := "Checks: "+counts, 0
	for _, c := range m.Checks {
		if runs.CheckState(c.State) != runs.CheckWarn {
			continue
		}
		if more++; more > mostReasons {
			continue
		}
		d := runs.CheckData{State: runs.CheckWarn, Value: c.Value, Unit: c.Unit, Message: c.Message}
		words += fmt.Sprintf(" · %s: %s", safe.CodeSpan(oneLine(c.Name, 80)), safe.Inline(oneLine(d.Words(), 200)))
	}
	if more > mostReasons {
		words += fmt.Sprintf(" · %d more warn", more-mostReasons)
	}
	return words
}
