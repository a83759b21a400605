package engine

import (
	"strings"
	"testing"

	"markmill/engine/mask"
)

// TestRemainders: where a secret begins with another, nothing is left of it when control characters stand in the text.
func TestRemainders(t *testing.T) {
	values := []string{"deploy-bot", "deploy-bot:Tr0ub4dor-and-3"}
	set := mask.New(append(values, remainders(values)...))
	for _, text := range []string{
		strings.Join(strings.Split(values[1], ""), "\x00") + "\n",
		values[1][:12] + "\x1b[2K" + values[1][12:] + "\n",
	} {
		if got := set.Text(text); strings.Contains(got, "Tr0ub4") || strings.Contains(got, "dor-and") {
			t.Errorf("%q shows %q", text, got)
		}
	}
}
