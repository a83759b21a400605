package result

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/render/safe"
	"markmill/runs"
)

// MaxValue bounds the JSON of a value that is shown, in bytes.
const MaxValue = 4 << 10

// Manifest folds a run into the manifest of its output notebook. nb is the notebook that ran; without it the manifest
// lacks what weakens steps. It holds nothing that varies from run to run.
func Manifest(nb *notebooks.Notebook, run *runs.Run) notebooks.Manifest {
	names := safe.NewNames(run.Started.Paths)
	say := func(words string) string { return plain.Escape(names.Replace(words)) }
	m := notebooks.Manifest{
		Format: notebooks.ManifestFormat, SourcePath: run.Started.SourcePath, Status: string(run.Status()),
		Partial:  partialWords(run),
		Blockers: manifestBlockers(run, say), Steps: manifestSteps(nb, run, say),
		Parameters: Params(run.Contract.Parameters, names),
		Scraps:     manifestScraps(run, names), Checks: manifestChecks(run, say), Contract: manifestContract(run),
		Judges:     manifestJudges(run),
		ReportMode: run.ReportMode(), Inputs: run.Inputs,
	}
	if n := len(m.Scraps) - notebooks.MaxManifestScraps; n > 0 {
		m.Scraps, m.ScrapsOmitted = m.Scraps[:notebooks.MaxManifestScraps], n
	}
	m.Changes, m.ChangesOmitted = manifestChanges(run)
	if run.Verification != nil {
		m.WrittenAfter = run.Verification.WrittenAfter
		m.WrittenAfter = m.WrittenAfter[:min(len(m.WrittenAfter), notebooks.MaxManifestChanges)]
	}
	if run.Diff != nil {
		for _, a := range run.Diff.Artifacts[:min(len(run.Diff.Artifacts), notebooks.MaxManifestChanges)] {
			m.Artifacts = append(m.Artifacts, a.Path)
		}
	}
	m.ChangedIn, m.Unchecked = run.ChangedIn(), run.Tree != nil && run.Tree.Unchecked
	m.Data = Data(run)
	m.Data = m.Data[:min(len(m.Data), notebooks.MaxManifestChanges)]
	return m
}

// SignatureOf returns the recorded signature of an output notebook's manifest.
func SignatureOf(name string, run *runs.Run) string {
	if run.Completed == nil {
		return ""
	}
	return run.Completed.Signatures[name]
}

// partialWords returns the options that left out steps.
func partialWords(run *runs.Run) string {
	if len(run.LeftOut()) == 0 {
		return ""
	}
	o := run.Started.Options
	if o == nil {
		o = &runs.OptionsData{}
	}
	var words []string
	for _, id := range o.Only {
		words = append(words, "--only "+id)
	}
	for _, each := range [][2]string{{"--from", string(o.From)}, {"--until", string(o.Until)}} {
		if each[1] != "" {
			words = append(words, each[0]+" "+each[1])
		}
	}
	for _, tag := range o.SkipTags {
		words = append(words, "--skip-tag "+tag)
	}
	return strings.Join(words, " ")
}

// unstableWords replaces the words of blockers that name a run, an approval or a time.
var unstableWords = map[string]string{
	runs.CodeApprovalRequired: "an approval is required",
	runs.CodeApprovalDenied:   "the approval was denied",
	runs.CodeApprovalExpired:  "the approval had expired",
	runs.CodeApprovalConsumed: "the approval was good for one run, which has used it",
	runs.CodeApprovalMismatch: "the approval is of another contract",
}

func manifestBlockers(run *runs.Run, say func(string) string) []notebooks.ManifestBlocker {
	var out []notebooks.ManifestBlocker
	for _, c := range run.Causes() {
		words, found := unstableWords[c.Code]
		if !found {
			words = say(c.Message)
		}
		out = append(out, notebooks.ManifestBlocker{Code: c.Code, Step: c.Step, Rule: say(c.Rule), Paths: c.Paths,
			Message: words, Fix: c.Fix,
			Consequence: c.Consequence})
	}
	return out
}

func manifestSteps(nb *notebooks.Notebook, run *runs.Run, say func(string) string) []notebooks.ManifestStep {
	var out []notebooks.ManifestStep
	broke := map[notebooks.StepID][]string{}
	for _, b := range run.Blockers() {
		if b.Step != "" && !slices.Contains(broke[b.Step], b.Code) {
			broke[b.Step] = append(broke[b.Step], b.Code)
		}
	}
	for _, rec := range run.Steps {
		s := Of(rec)
		s.Broke = broke[s.ID]
		if step := stepOf(nb, s.ID); step != nil {
			s.Weakened = weakened(nb, step, s.Tags)
		}
		if rec.Step == nil { // it has no process, and so no exit code
			s.Exit = nil
		}
		s.Reason, s.Error, s.EndedBy = say(s.Reason), say(s.Error), say(s.EndedBy)
		if s.Failed != nil {
			s.Failed.Command = say(s.Failed.Command)
		}
		out = append(out, s)
	}
	return out
}

func stepOf(nb *notebooks.Notebook, id notebooks.StepID) *notebooks.Step {
	if nb == nil {
		return nil
	}
	return nb.Step(id)
}

// weakened lists the attributes and tags that let a step pass, or not run, where it would otherwise fail.
func weakened(nb *notebooks.Notebook, s *notebooks.Step, tags []string) []string {
	var out []string
	if s.ExpectExit != nil && *s.ExpectExit != 0 {
		out = append(out, fmt.Sprintf("expect-exit=%d", *s.ExpectExit))
	}
	for _, tag := range []string{notebooks.TagAllowFailure, notebooks.TagInterrupt, notebooks.TagRaises,
		notebooks.TagSkip} {
		if slices.Contains(tags, tag) { // the record's: the command line may have added some
			out = append(out, tag)
		}
	}
	if s.If != "" {
		out = append(out, "if="+s.If)
	}
	if s.Retries > 0 {
		out = append(out, fmt.Sprintf("retries=%d", s.Retries))
	}
	if strict := nb.Front.Strict; strict != nil && !*strict {
		out = append(out, "strict: false")
	}
	return out
}

// manifestScraps returns the scalar scraps of a run.
func manifestScraps(run *runs.Run, names safe.Names) []notebooks.ManifestScrap {
	var out []notebooks.ManifestScrap
	for _, s := range run.Scraps() {
		value := codec.Raw(names.Replace(string(s.Value)))
		if s.File != "" || len(value) > notebooks.MaxManifestScrap || !scalar(value) {
			continue
		}
		out = append(out, notebooks.ManifestScrap{Name: s.Name, Value: value})
	}
	return out
}

// scalar reports whether a value is a string, number, boolean or null.
func scalar(v codec.Raw) bool {
	return v.IsValid() && v[0] != '{' && v[0] != '['
}

// manifestChanges returns the change of the whole run, nil if it was not checked. It leaves out the blob of a file
// last written by a volatile step, because the content varies.
func manifestChanges(run *runs.Run) ([]notebooks.ManifestChange, int) {
	d := run.Diff
	if d == nil || d.Skipped != "" {
		return nil, 0
	}
	varies := map[notebooks.StepID]bool{}
	for _, s := range run.Steps {
		varies[s.Planned.ID] = slices.Contains(s.Planned.Tags, notebooks.TagVolatile)
	}
	list := []notebooks.ManifestChange{}
	for _, f := range d.Files {
		c := notebooks.ManifestChange{Path: f.Path, OldPath: f.OldPath, Status: f.Status, OldBlob: f.OldBlob,
			NewBlob: f.NewBlob, OldMode: f.OldMode, NewMode: f.NewMode,
			Added: f.Added, Deleted: f.Deleted}
		if varies[run.ChangedBy(f.Path)] {
			c.NewBlob, c.Added, c.Deleted = "", 0, 0
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b notebooks.ManifestChange) int { return strings.Compare(a.Path, b.Path) })
	if n := len(list) - notebooks.MaxManifestChanges; n > 0 {
		return list[:notebooks.MaxManifestChanges], n
	}
	return list, 0
}

func manifestContract(run *runs.Run) *notebooks.ManifestContract {
	c := &run.Contract
	var limits []string
	for _, l := range []struct {
		what  string
		limit int64
	}{{"files", int64(c.Limits.Files)}, {"lines", int64(c.Limits.Lines)}, {"bytes", c.Limits.Bytes}} {
		if l.limit > 0 {
			limits = append(limits, fmt.Sprintf("%s %d", l.what, l.limit))
		}
	}
	return &notebooks.ManifestContract{
		Allow: c.AllowedPaths, AllowAlso: c.AllowedAlso, Forbid: c.ForbiddenPaths, Protect: c.ProtectedPaths,
		Report: c.ProtectMode == "report", Artifacts: c.Artifacts, Require: c.EvidenceExpectations,
		Limits: strings.Join(limits, ", "),
		Mode:   c.MutationMode, Sandbox: c.Sandbox, Network: c.Network, Tree: c.Tree,
		Approval: approvedBy(run),
	}
}

func manifestJudges(run *runs.Run) *notebooks.ManifestJudges {
	if run.Verification == nil || run.Verification.Judges == nil {
		return nil
	}
	j := run.Verification.Judges
	m := &notebooks.ManifestJudges{Changed: j.Changed, Passed: len(j.Steps) > 0 && !j.Failed()}
	for _, s := range j.Steps {
		m.Steps = append(m.Steps, s.Step)
	}
	return m
}

// approvedBy names who approved a run, and whether that was the requester; "" if no approval was needed.
func approvedBy(run *runs.Run) string {
	g := run.Granted
	switch {
	case g == nil && run.Approval == runs.ApprovalNotRequired:
		return ""
	case g == nil:
		return string(run.Approval)
	}
	words := "granted by " + g.Actor
	if g.Principals != "" {
		words += " (signed, " + g.Principals + ")"
	}
	if g.Own {
		return words + ", who also asked for the run"
	}
	return words + ", who is not the requester"
}

// ShownValue formats a value as JSON for people: secrets masked, long values bounded, paths by name.
func ShownValue(p runs.ParamData, names safe.Names) codec.Raw {
	switch {
	case p.Type == string(notebooks.TypeSecret):
		return codec.Raw(`"***"`)
	case len(p.Value) == 0:
		return codec.Raw("null")
	case len(p.Value) > MaxValue:
		return codec.Raw(fmt.Sprintf(`"… %s"`, plain.Counted(len(p.Value), "byte")))
	}
	return codec.Raw(names.Replace(string(p.Value)))
}

// Params returns the parameters of a run for its manifest.
func Params(params []runs.ParamData, names safe.Names) []notebooks.ManifestParam {
	out := make([]notebooks.ManifestParam, len(params))
	for i, p := range params {
		out[i] = notebooks.ManifestParam{Name: p.Name, Value: ShownValue(p, names), Given: p.Given}
	}
	return out
}

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
