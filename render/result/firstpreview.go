package result

import (
	"html"
	"slices"
	"strconv"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
	"markmill/notebooks/region"
	"markmill/runs"
)

// The words of a summary line of the first preview: "✓ <code>id</code> · exit 0 · 3 passed · 1 file +1 −1".
var (
	previewSummary = lazyregexp.New(`^<details(?: open)?><summary>(\S+) <code>[^<]*</code>(?: · (.*?))?</summary>`)
	previewExit    = lazyregexp.New(`^exit (-?\d{1,9})(, allowed|, as expected)?(?:, ended by (.*))?$`)
	previewTests   = lazyregexp.New(`^(\d{1,9}) passed(?:, (\d{1,9}) failed)?(?:, (\d{1,9}) skipped)?$`)
	previewChange  = lazyregexp.New(`^([\d,]{1,12}) files? \+(\d{1,9}) −(\d{1,9})$`)
	previewRaised  = lazyregexp.New(`^[\pL_][\pL\pN_.]*$`)
	previewTries   = lazyregexp.New(`^([\d,]{1,12}) attempts$`)
)

const previewLost = "new interpreter: the one before ended in "

// firstPreview reads the results of an output notebook of the first preview (commit 1db085a), whose manifest has none,
// from the summary lines of its regions.
func firstPreview(regions []region.FoundRegion) map[notebooks.StepID]*notebooks.ManifestStep {
	steps := map[notebooks.StepID]*notebooks.ManifestStep{}
	for _, r := range regions {
		if m := previewSummary.FindStringSubmatch(string(r.Body)); m != nil {
			id := notebooks.StepID(r.ID)
			steps[id] = previewStep(id, m[1], html.UnescapeString(m[2]))
		}
	}
	return steps
}

// firstPreviewParameters marks the parameters that were given, which the manifest of the first preview does not.
func firstPreviewParameters(out region.Stripped) []notebooks.ManifestParam {
	given, _ := out.Given()
	params := slices.Clone(out.Manifest.Parameters)
	for i := range params {
		params[i].Given = slices.Contains(given, params[i].Name)
	}
	return params
}

func previewStep(id notebooks.StepID, mark, words string) *notebooks.ManifestStep {
	status := map[string]runs.StepStatus{"✓": runs.StepPassed, "✗": runs.StepFailed, "⏱": runs.StepTimeout,
		"○": runs.StepSkipped}[mark]
	s := &notebooks.ManifestStep{ID: id}
	var reasons []string
	for _, word := range strings.Split(words, " · ") {
		lost, isLost := strings.CutPrefix(word, previewLost)
		switch {
		case word == "not reached", word == "interrupted":
			s.Interrupted = word == "interrupted"
			status = runs.StepPending
		case isLost:
			s.LostIn = notebooks.StepID(lost)
		case word == "timed out", word == "skipped":
		default:
			if !previewCounts(s, &status, word) {
				reasons = append(reasons, strings.TrimPrefix(word, "skipped: "))
			}
		}
	}
	s.Status, s.Reason = string(status), strings.Join(reasons, " · ")
	if status == runs.StepFailed && previewRaised.MatchString(s.Reason) {
		s.Error, s.Reason = s.Reason, ""
	}
	return s
}

// previewCounts reads a word that holds a number; false for any other.
func previewCounts(s *notebooks.ManifestStep, status *runs.StepStatus, word string) bool {
	if m := previewExit.FindStringSubmatch(word); m != nil {
		exit := number(m[1])
		s.Exit, s.EndedBy = &exit, m[3]
		if m[2] != "" {
			*status = runs.StepAllowed
		}
		if m[2] == ", allowed" {
			s.Tags = []string{notebooks.TagAllowFailure}
		}
	} else if m := previewTests.FindStringSubmatch(word); m != nil {
		s.Tests = &notebooks.ManifestTests{Passed: number(m[1]), Failed: number(m[2]), Skipped: number(m[3])}
	} else if m := previewChange.FindStringSubmatch(word); m != nil {
		s.Files, s.Added, s.Deleted = number(m[1]), number(m[2]), number(m[3])
	} else if m := previewTries.FindStringSubmatch(word); m != nil {
		s.Attempts = number(m[1])
	} else {
		return false
	}
	return true
}

// number returns a count as the summary lines write it, "" as 0. The expressions above bound its digits.
func number(digits string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(digits, ",", ""))
	return n
}
