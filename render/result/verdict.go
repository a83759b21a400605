package result

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/markdown"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// mostReasons bounds the blockers in the verdict. The manifest has them all.
const mostReasons = 3

// mostPaths bounds the files that are named of a blocker.
const mostPaths = 3

// VerdictMarkdown renders the verdict of a manifest in a few lines: status, reasons, given parameters and scraps.
// headline chooses the scraps; nil takes the first ones.
func VerdictMarkdown(m *notebooks.Manifest, headline []string) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(strings.TrimRight("> "+text, " ") + "\n") }
	words := Verdict(m)
	words[0] = "**" + words[0] + "**"
	for i, fact := range words[1:] {
		if words[i+1] = safe.Inline(fact); strings.HasPrefix(fact, "--") { // the options that left steps out
			words[i+1] = safe.CodeSpan(fact)
		}
	}
	line(strings.Join(words, " · "))
	if words := hiddenWords(m); words != "" {
		line("")
		line(words)
	}
	if reasons := ReasonLines(m); len(reasons) > 0 {
		line("")
		for _, reason := range reasons {
			line("- " + reason)
		}
	}
	for _, words := range append(Notices(m), checksWords(m), dataMarkdown(m), givenWords(m),
		headlineWords(m, headline)) {
		if words != "" {
			line("")
			line(words)
		}
	}
	if m.Lanes != nil {
		line("")
		for _, text := range Lanes(m.Lanes) {
			line(text)
		}
	}
	return b.String()
}

// hiddenWords says which steps printed or changed keys that are not shown; "" if none did.
func hiddenWords(m *notebooks.Manifest) string {
	var list []string
	for _, s := range m.Steps {
		if len(s.Hidden) > 0 {
			list = append(list, fmt.Sprintf("step %s (%s)", safe.CodeSpan(plain.Escape(string(s.ID))),
				safe.Inline(plain.Escape(oneLine(strings.Join(s.Hidden, ", "), 200)))))
		}
	}
	if list == nil {
		return ""
	}
	return "**Keys that are not shown**, though nobody declared them as secrets: " + strings.Join(list, "; ")
}

// StatusWords returns the word for a status.
func StatusWords(status string) string {
	switch runs.Status(status) {
	case runs.Pass:
		return "passed"
	case runs.Fail:
		return "failed"
	default: // blocked, partial, interrupted, prepared, stale
		return plain.OneLine(status)
	}
}

// Verdict says how a run ended, in the words of every view: sign and status, then what is known of its steps, its
// tests, its change and its approval. The words are fit for a terminal.
func Verdict(m *notebooks.Manifest) []string {
	words := []string{RunMark(runs.Status(m.Status)) + " " + StatusWords(m.Status)}
	if m.Lanes != nil && m.Lanes.Picked == 0 { // the verdict is that of the comparison alone
		return words
	}
	approval := ""
	if c := m.Contract; c != nil && c.Approval != "" {
		approval = "approval: " + c.Approval
	}
	for _, fact := range []string{stepWords(m), oneLine(m.Partial, 80), testsWords(m), changedWords(m), approval} {
		if fact != "" {
			words = append(words, plain.OneLine(fact))
		}
	}
	return words
}

// VerdictOf is Verdict for a run.
func VerdictOf(run *runs.Run) []string {
	m := Manifest(nil, run)
	return Verdict(&m)
}

// stepWords says "2 of 3 steps passed, 1 failed".
func stepWords(m *notebooks.Manifest) string {
	counts := map[string]int{}
	for i := range m.Steps {
		s := &m.Steps[i]
		passed := s.Status == string(runs.StepPassed)
		switch {
		case s.Interrupted:
			counts["interrupted"]++
		case asExpected(s):
			counts["expected"]++
		case passed && slices.Equal(s.Broke, []string{runs.CodeCheckCritical}):
			counts["check"]++
		case passed && len(s.Broke) > 0:
			counts["broke"]++
		default:
			counts[s.Status]++
		}
		if passed && s.Carried {
			counts["carried"]++
		}
	}
	if len(m.Steps) == 0 || counts["pending"]+counts["skip"] == len(m.Steps) && m.Status != string(runs.Pass) {
		return "nothing ran"
	}
	words := fmt.Sprintf("%d of %s passed", counts["pass"], plain.Counted(len(m.Steps), "step"))
	words += earlierWords(counts["carried"])
	for _, each := range []struct{ status, words string }{
		{"fail", "failed"}, {"timeout", "timed out"}, {"interrupted", "interrupted"}, {"broke", "broke a rule"},
		{"check", "failed a check"}, {"expected", "failed as expected"},
		{string(runs.StepAllowed), "failed as allowed"},
		{"skip", "skipped"}, {"pending", "not reached"},
	} {
		n := counts[each.status]
		switch tolerated := each.status == "expected" || each.status == string(runs.StepAllowed); {
		case tolerated && n == len(m.Steps):
			return plain.Counted(n, "step") + " " + each.words
		case n > 0:
			words += fmt.Sprintf(", %d %s", n, each.words)
		}
	}
	return words
}

// earlierWords says of how many steps that passed they ran in an earlier run; "" for none.
func earlierWords(carried int) string {
	if carried == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d %s)", carried, Earlier)
}

// testsWords summarizes the test steps, with the counts of their runners if available. A test that failed as
// expected did not pass.
func testsWords(m *notebooks.Manifest) string {
	steps, passed, failed, expected, allowed, not := 0, 0, 0, 0, 0, 0
	var sum notebooks.ManifestTests
	counted, from := false, map[string]bool{}
	for i := range m.Steps {
		s := &m.Steps[i]
		if !slices.Contains(s.Tags, notebooks.TagTest) {
			continue
		}
		steps++
		switch {
		case asExpected(s):
			expected++
			continue
		case s.Tolerated():
			allowed++
			continue
		case s.Status == string(runs.StepPassed):
			passed++
		case s.Status == string(runs.StepFailed) || s.Status == string(runs.StepTimeout):
			failed++
		default:
			not++
		}
		if t := s.Tests; t != nil {
			counted, from[t.From] = true, true
			sum.Passed, sum.Failed, sum.Skipped = sum.Passed+t.Passed, sum.Failed+t.Failed, sum.Skipped+t.Skipped
		}
	}
	if steps == 0 {
		return "no tests"
	}
	var words []string
	add := func(n int, what string) {
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, what))
		}
	}
	if !counted {
		sum.Passed, sum.Failed = passed, failed
	}
	add(sum.Passed, "passed")
	add(sum.Failed, "failed")
	add(sum.Skipped, "skipped")
	if sum.Failed == 0 {
		add(failed, "test step failed")
	}
	add(expected, "failed as expected")
	add(allowed, "failed as allowed")
	add(not, "did not run")
	all := "tests: " + strings.Join(words, ", ")
	switch {
	case from[notebooks.Printed] && len(from) > 1:
		return all + " (some only printed)"
	case from[notebooks.Printed]:
		return all + " (printed)"
	case from[notebooks.Reported] && len(from) == 1:
		return all + " (reported)"
	}
	return all
}

// changedWords returns the size of the change.
func changedWords(m *notebooks.Manifest) string {
	if m.Changes == nil {
		return "change not checked"
	}
	if len(m.Changes) == 0 {
		return "nothing changed"
	}
	added, deleted := 0, 0
	for _, c := range m.Changes {
		added, deleted = added+c.Added, deleted+c.Deleted
	}
	words := fmt.Sprintf("%s +%d −%d", plain.Counted(len(m.Changes)+m.ChangesOmitted, "file"), added, deleted)
	if m.ChangesOmitted > 0 {
		words += " or more"
	}
	return words + InPlaceWords(m.ChangedIn)
}

// InPlaceWords says that a change is in the user's own files (runs.Run.ChangedIn); "" of a worktree's.
func InPlaceWords(where string) string {
	if where == "checkout" || where == "folder" {
		return " in the " + where + " itself"
	}
	return ""
}

// ReasonLines lists the first reasons why a run did not pass as Markdown, causes before consequences.
func ReasonLines(m *notebooks.Manifest) []string {
	var out []string
	for i := range m.Blockers {
		if left := len(m.Blockers) - i; i == mostReasons && left > 1 {
			out = append(out, fmt.Sprintf("… and %d more, in the manifest", left))
			break
		}
		out = append(out, ReasonMarkdown(&m.Blockers[i]))
	}
	return out
}

// Why is the document of why a run did not pass: at most most blockers, each with what mends it.
func Why(list []notebooks.ManifestBlocker, most int) []byte {
	var b bytes.Buffer
	for i := range list[:min(len(list), most)] {
		fmt.Fprintf(&b, "- ✗ %s\n", ReasonMarkdown(&list[i]))
		if fix := list[i].Fix; fix != "" {
			fmt.Fprintf(&b, "  - %s\n", safe.Inline(plain.OneLine(fix)))
		}
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(&b, "- … and %d more\n", n)
	}
	return b.Bytes()
}

// ReasonMarkdown describes a blocker, with its code.
func ReasonMarkdown(b *notebooks.ManifestBlocker) string {
	words := BlockerMarkdown(b)
	if b.Consequence {
		words = "following from that: " + words
	}
	return words + " (" + safe.CodeSpan(plain.Escape(b.Code)) + ")"
}

// BlockerMarkdown describes a blocker: rule, files and step.
func BlockerMarkdown(b *notebooks.ManifestBlocker) string {
	code := func(s string) string { return safe.CodeSpan(plain.Escape(oneLine(s, 120))) }
	step := "the run"
	if b.Step != "" {
		step = "step " + code(string(b.Step))
	}
	message := safe.Inline(plain.Escape(oneLine(b.Message, 300)))
	var names []string
	for _, p := range b.Paths {
		names = append(names, code(p))
	}
	paths := plain.Some(names, mostPaths)
	switch {
	case b.Code == runs.CodeDisallowedFileChange && b.Rule == notebooks.TagNoChange && paths != "":
		return fmt.Sprintf("%s is tagged `no-change` and changed %s", step, paths)
	case b.Code == runs.CodeDisallowedFileChange && (strings.HasPrefix(b.Rule, "forbid: ") ||
		strings.HasPrefix(b.Rule, "allow: ") || b.Rule == "mode: none"):
		by := ""
		if b.Step != "" {
			by = ", which " + step + " changed"
		}
		return fmt.Sprintf("%s does not allow %s%s", code(b.Rule), paths, by)
	case b.Rule == runs.RuleTestedIsLeft && strings.HasPrefix(b.Message, "changed during "): // of earlier versions
		if b.Step == "" {
			step = "the end of the interpreters"
		}
		return fmt.Sprintf("%s changed %s during the last test or after it, so what was tested is not what is left",
			step, paths)
	case b.Step != "" && (b.Code == runs.CodeStepFailed || b.Code == runs.CodeTestsFailed ||
		b.Code == runs.CodeVerificationFailed && b.Rule == ""):
		return fmt.Sprintf("%s failed: %s", step, message)
	case b.Code == runs.CodeCheckCritical:
		return fmt.Sprintf("%s: %s", code(b.Rule), message)
	case b.Code == runs.CodeReviewerRejected && b.Step != "":
		return fmt.Sprintf("%s rejected: %s", step, message)
	}
	words := message
	if b.Rule != "" && !strings.Contains(b.Message, b.Rule) && b.Code != runs.CodeDirtyEndingTree {
		words = code(b.Rule) + ": " + words
	}
	if b.Step != "" {
		words = step + ": " + words
	}
	return words
}

// Notices are what a reader of a run should know besides its status and counts, as lines of Markdown.
func Notices(m *notebooks.Manifest) []string {
	return slices.DeleteFunc([]string{judgedNothingWords(m.Inputs), judgesWords(m.Judges),
		writtenAfterWords(m.WrittenAfter), artifactsWords(m.Artifacts)}, func(words string) bool { return words == "" })
}

// judgedNothingWords names the test steps that read no file of the repository; "" without any.
func judgedNothingWords(in *notebooks.Inputs) string {
	var steps []string
	for _, id := range in.JudgedNothing() {
		steps = append(steps, string(id))
	}
	if steps == nil {
		return ""
	}
	return "**Judged nothing**, as it read no file of the repository: " + firstNames(steps)
}

// judgesWords names the protected files that changed, and says how the tests went without the change.
func judgesWords(j *notebooks.ManifestJudges) string {
	if j == nil {
		return ""
	}
	words := "Protected files changed: " + firstNames(j.Changed)
	switch {
	case j.Passed:
		return words + "; with the base's version the tests pass, too"
	case len(j.Steps) > 0:
		return words + "; with the base's version the tests do not pass"
	}
	return words + "; nothing was judged without the change"
}

// writtenAfterWords names what was written during the last test or after it; "" if that is nothing.
func writtenAfterWords(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return "Written after the tests, which did not read it: " + firstNames(paths)
}

// artifactsWords names the results that belong to no change; "" without any.
func artifactsWords(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return "Artifacts, kept in the record: " + firstNames(paths)
}

// firstNames lists the first paths as Markdown, and how many more there are.
func firstNames(paths []string) string {
	const most = 3
	var out []string
	for _, path := range paths[:min(most, len(paths))] {
		out = append(out, safe.CodeSpan(plain.Escape(path)))
	}
	if n := len(paths) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

// mostGiven bounds the given parameters in the verdict.
const mostGiven = 8

func givenWords(m *notebooks.Manifest) string {
	var words []string
	for _, p := range m.Parameters {
		if !p.Given {
			continue
		}
		words = append(words, fmt.Sprintf("%s = %s", safe.CodeSpan(plain.Escape(p.Name)),
			safe.CodeSpan(plain.EscapeJSON(oneLine(string(p.Value), 60)))))
	}
	if n := len(words) - mostGiven; n > 0 {
		words = append(words[:mostGiven], fmt.Sprintf("%d more", n))
	}
	if words == nil {
		return ""
	}
	return "Given: " + strings.Join(words, ", ")
}

func headlineWords(m *notebooks.Manifest, headline []string) string {
	at := map[string]codec.Raw{}
	var names []string
	for _, s := range m.Scraps {
		at[s.Name] = s.Value
		names = append(names, s.Name)
	}
	more := 0
	if headline != nil {
		names = headline
	} else if more = len(names) - markdown.MaxHeadline; more > 0 {
		names = names[:markdown.MaxHeadline]
		more += m.ScrapsOmitted
	}
	var words []string
	for _, name := range names {
		value, found := at[name]
		text := "–" // what was asked for and not recorded
		if found {
			text = cmp.Or(oneLine(safe.CellText(value), 80), `""`)
		}
		words = append(words, fmt.Sprintf("%s: **%s**", safe.Inline(plain.Escape(name)),
			safe.Inline(plain.Escape(text))))
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, " · ")
}

// oneLine puts text on one line of bounded length.
func oneLine(s string, most int) string { return plain.Cut(strings.Join(strings.Fields(s), " "), most) }

// BrokeWords names the rule that a step broke, and the files.
func BrokeWords(b *notebooks.ManifestBlocker) string {
	words := "broke " + b.Rule
	if b.Code == runs.CodeCheckCritical {
		words = "failed " + b.Rule
	}
	if len(b.Paths) > 0 {
		words += ": " + plain.Some(b.Paths, mostPaths)
	}
	return words
}
