package terminal

import (
	"fmt"
	"strings"
	"time"

	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// Answer lists what was approved or denied. Text from the notebook is escaped for the terminal.
func Answer(got *runs.Approval, notebook string) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", plain.Escape(name), plain.Escape(strings.Join(strings.Fields(value), " ")))
		}
	}
	t := &got.Terms
	notebook = plain.Escape(notebook)
	if got.Answer == runs.AnswerGranted {
		fmt.Fprintf(&b, "approved as %s: good for one run of %s\n", got.ID, notebook)
	} else {
		fmt.Fprintf(&b, "denied as %s: %s does not run\n", got.ID, notebook)
	}
	line("notebook", string(t.Notebook))
	line("base", t.BaseCommit)
	for _, p := range t.Parameters {
		line("-p "+p.Name, string(p.Value))
	}
	line("mode", t.MutationMode)
	for _, list := range append([][]string{t.AllowedPaths}, t.AllowedAlso...) {
		line("allow", strings.Join(list, ", "))
	}
	line("forbid", strings.Join(t.ForbiddenPaths, ", "))
	if t.Limits != (runs.LimitsData{}) {
		if text, err := codec.Marshal(t.Limits); err == nil {
			line("limits", string(text))
		}
	}
	if got.Answer == runs.AnswerGranted {
		line("until", got.Expires.UTC().Format(time.RFC3339))
	}
	line("contract", string(got.Contract))
	return b.String()
}
