package terminal

import (
	"fmt"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// Ending is what End shows besides the run.
type Ending struct {
	Output string // the output notebook, as the user would find it; "" where there is none
	Apply  bool   // its change can be applied to the checkout
	Accept bool   // somebody must accept the run first; Apply and Branch say what waits for it
	Branch string // that was made; "" without
	Commit string // that it holds
}

// Bounds of the scraps that End shows.
const (
	endScraps = 6
	endScrap  = 40 // characters of a value
)

// End returns the lines below the Summary: where the output is, the recorded scalars, and what to do with the
// change.
func End(run *runs.Run, e Ending, color bool) string {
	var t table
	line := func(name, value string) { t.add(cell{name, dim}, cell{shown(value), ""}) }
	if e.Output != "" {
		line("output", e.Output)
	} else {
		line("look", "markmill show last")
	}
	if words := scalars(run); words != "" {
		line("scraps", words)
	}
	apply := "markmill runs apply last"
	if e.Accept {
		line("accept", "markmill runs accept last --key FILE; its change is used only after that")
		if e.Branch != "" {
			line("branch", "none yet; "+apply+" --branch NAME makes it then")
		}
	} else if e.Branch != "" {
		line("branch", fmt.Sprintf("%s at %.12s; git show %s", e.Branch, e.Commit, e.Branch))
	}
	if e.Apply {
		line("apply", apply)
	}
	var b strings.Builder
	if err := t.write(&b, "  ", color); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// scalars lists the first scalar scraps.
func scalars(run *runs.Run) string {
	var words []string
	more := 0
	for _, s := range run.Scraps() {
		value, ok := scalar(s)
		switch {
		case !ok:
		case len(words) == endScraps:
			more++
		default:
			words = append(words, s.Name+" = "+plain.Cut(value, endScrap))
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, " · ")
}

// scalar returns the value of a string, number or boolean scrap, a string without quotes.
func scalar(s runs.ScrapData) (string, bool) {
	if s.File != "" || len(s.Value) == 0 || s.Type != "text" && s.Type != "json" {
		return "", false
	}
	switch s.Value[0] {
	case '{', '[', 'n':
		return "", false
	case '"':
		var text string
		if codec.Unmarshal(s.Value, &text) != nil {
			return "", false
		}
		return text, true
	}
	return string(s.Value), true
}
