package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"markmill/notebooks/codec"
	"markmill/render"
	"markmill/render/plain"
	"markmill/render/result"
	"markmill/runs"
)

// Ending is what End shows besides the run.
type Ending struct {
	Output string // the output notebook, as the user would find it; "" where there is none
	Apply  bool   // its change can be applied to the checkout
	Accept bool   // somebody must accept the run first; Apply and Branch say what waits for it
	Branch string // that was made; "" without
	Commit string // that it holds
	Repo   string // " --repo FOLDER" where the user does not stand in the run's repository
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
		line("look", "markmill show last"+e.Repo)
	}
	state := func(c runs.Check) runs.CheckState { return c.State }
	if words := runs.CheckCounts(run.Checks(), state); words != "" {
		line("checks", words)
	}
	if words := scalars(run); words != "" {
		line("scraps", words)
	}
	apply := "markmill apply last" + e.Repo
	if e.Accept {
		line("accept", "markmill runs accept last --key FILE"+e.Repo+"; its change is used only after that")
		if e.Branch != "" {
			line("branch", "none yet; "+apply+" --branch NAME makes it then")
		}
	} else if e.Branch != "" {
		line("branch", fmt.Sprintf("%s at %.12s; markmill review HEAD...%s%s", e.Branch, e.Commit, e.Branch,
			e.Repo))
	}
	if e.Apply {
		line("apply", apply)
	}
	if run.Resumable() {
		line("resume", "markmill resume last"+e.Repo)
	}
	for _, words := range result.DataOffer(run, e.Repo) {
		line("data", words)
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

// Events prints the events of a journal, one a line: number, time since the first, type, step and status.
func Events(w io.Writer, events []runs.Event, color bool) error {
	var t table
	t.header("SEQ", "AFTER", "EVENT", "STEP", "STATUS")
	for _, e := range events {
		var d struct {
			Status string `json:"status"`
		}
		if codec.Unmarshal(e.Data, &d) != nil {
			d.Status = "" // an event without a status, or of another shape
		}
		t.add(cell{strconv.Itoa(e.Seq), ""}, cell{render.Duration(e.Time.Sub(events[0].Time)), dim},
			cell{string(e.Type), ""}, cell{shown(string(e.Step)), ""}, cell{shown(d.Status),
				inkOf(d.Status)})
	}
	return t.write(w, "", color)
}

// Summary returns the line that ends a run: its verdict, what else to know of it, and where the evidence is.
func Summary(run *runs.Run, evidence string, color bool) string {
	parts := result.VerdictOf(run)
	parts[0] = paint(parts[0], inkOf(string(run.Status())), color)
	for _, id := range run.Inputs.JudgedNothing() {
		parts = append(parts, "judged nothing: step "+plain.Escape(string(id))+" read no file of the repository")
	}
	if v := run.Verification; v != nil && len(v.WrittenAfter) > 0 {
		parts = append(parts, "written after the tests: "+plain.Some(v.WrittenAfter, 3))
	}
	if d := run.Diff; d != nil && len(d.Artifacts) > 0 {
		parts = append(parts, plain.Counted(len(d.Artifacts), "artifact"))
	}
	if evidence != "" {
		parts = append(parts, "evidence: "+plain.Escape(evidence))
	}
	return strings.Join(parts, " · ")
}
