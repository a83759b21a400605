package render

import (
	"fmt"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/plain"
	"markmill/runs"
)

// Manifest is the result of a run as its output notebook has it. nb is the notebook that ran. What varies from one run
// to the next is not in it.
func Manifest(nb *notebooks.Notebook, run *runs.Run) notebooks.Manifest {
	names := newPathNames(run.Started.Paths)
	say := func(words string) string { return plain.Escape(names.replace(words)) }
	m := notebooks.Manifest{
		Format: notebooks.ManifestFormat, SourcePath: run.Started.SourcePath, Status: string(run.Status()), Partial: partialWords(run),
		Blockers: manifestBlockers(run, say), Steps: manifestSteps(nb, run, say), Parameters: manifestParams(run.Contract.Parameters, names),
		Scraps: manifestScraps(run, names), Contract: manifestContract(run), Judges: manifestJudges(run), ReportMode: run.ReportMode(),
	}
	if n := len(m.Scraps) - notebooks.MaxManifestScraps; n > 0 {
		m.Scraps, m.ScrapsOmitted = m.Scraps[:notebooks.MaxManifestScraps], n
	}
	m.Changes, m.ChangesOmitted = manifestChanges(run)
	return m
}

// signatureOf is the signature that a run's record has of the manifest of an output notebook.
func signatureOf(name string, run *runs.Run) string {
	if run.Completed == nil {
		return ""
	}
	return run.Completed.Signatures[name]
}

// partialWords are the options that left steps out of a run.
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
	for _, each := range [][2]string{{"--from", o.From}, {"--until", o.Until}} {
		if each[1] != "" {
			words = append(words, each[0]+" "+each[1])
		}
	}
	for _, tag := range o.SkipTags {
		words = append(words, "--skip-tag "+tag)
	}
	return strings.Join(words, " ")
}

// unstableWords are the codes of blockers whose words name a run, an approval or a time.
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
		out = append(out, notebooks.ManifestBlocker{Code: c.Code, Step: c.Step, Rule: say(c.Rule), Paths: c.Paths, Message: words, Fix: c.Fix,
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
	for i := range run.Steps {
		rec := &run.Steps[i]
		s := notebooks.ManifestStep{ID: rec.Planned.ID, Status: string(rec.Status()), Tags: rec.Planned.Tags, Reason: say(rec.Planned.Reason),
			Broke: broke[rec.Planned.ID]}
		if step := nb.Step(rec.Planned.ID); step != nil {
			s.Weakened = weakened(nb, step, rec.Planned.Tags)
		}
		if f := rec.Finished; f != nil {
			if f.Reason != "" {
				s.Reason = say(f.Reason)
			}
			if rec.Step != nil {
				s.Exit = &f.Exit
			}
			if t := f.Tests; t != nil && !hasTag(rec.Planned, notebooks.TagVolatile) {
				s.Tests = &notebooks.ManifestTests{Runner: t.Runner, Passed: t.Passed, Failed: t.Failed, Skipped: t.Skipped}
			}
		}
		if rec.Finished != nil {
			s.Running = left(*rec)
		}
		if rec.Patch != nil && !hasTag(rec.Planned, notebooks.TagVolatile) {
			s.Files = len(rec.Patch.Files)
			for _, f := range rec.Patch.Files {
				s.Added, s.Deleted = s.Added+f.Added, s.Deleted+f.Deleted
			}
		}
		out = append(out, s)
	}
	return out
}

// weakened lists what lets a step pass, or not run, where it otherwise would fail.
func weakened(nb *notebooks.Notebook, s *notebooks.Step, tags []string) []string {
	var out []string
	if s.ExpectExit != nil && *s.ExpectExit != 0 {
		out = append(out, fmt.Sprintf("expect-exit=%d", *s.ExpectExit))
	}
	for _, tag := range []string{notebooks.TagAllowFailure, notebooks.TagRaises, notebooks.TagSkip} {
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

// manifestScraps are the scalars among the scraps of a run.
func manifestScraps(run *runs.Run, names pathNames) []notebooks.ManifestScrap {
	var out []notebooks.ManifestScrap
	for _, s := range run.Scraps() {
		value := codec.Raw(names.replace(string(s.Value)))
		if s.File != "" || len(value) > notebooks.MaxManifestScrap || !scalar(value) {
			continue
		}
		out = append(out, notebooks.ManifestScrap{Name: s.Name, Value: value})
	}
	return out
}

// scalar says that a value is a text, a number, true, false or null.
func scalar(v codec.Raw) bool {
	return v.IsValid() && v[0] != '{' && v[0] != '['
}

// manifestChanges is the change of the whole run, nil when it was not checked. Of a file that a volatile step has
// written last, the content is another in every run: it is named without its blob.
func manifestChanges(run *runs.Run) ([]notebooks.ManifestChange, int) {
	d := run.Diff
	if d == nil || d.Skipped != "" {
		return nil, 0
	}
	varies := map[notebooks.StepID]bool{}
	for _, s := range run.Steps {
		varies[s.Planned.ID] = hasTag(s.Planned, notebooks.TagVolatile)
	}
	list := []notebooks.ManifestChange{}
	for _, f := range d.Files {
		c := notebooks.ManifestChange{Path: f.Path, OldPath: f.OldPath, Status: f.Status, OldBlob: f.OldBlob, NewBlob: f.NewBlob, OldMode: f.OldMode, NewMode: f.NewMode,
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
		Allow: c.AllowedPaths, AllowAlso: c.AllowedAlso, Forbid: c.ForbiddenPaths, Protect: c.ProtectedPaths, Report: c.ProtectMode == "report", Require: c.EvidenceExpectations, Limits: strings.Join(limits, ", "),
		Mode: c.MutationMode, Sandbox: c.Sandbox, Network: c.Network, Approval: approvedBy(run),
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

// approvedBy says who approved a run, and whether that is who asked for it; "" of a run that needed no approval.
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
	if run.Started.Views < 2 { // it does not say
		return words
	}
	if g.Own {
		return words + ", who also asked for the run"
	}
	return words + ", who is not the requester"
}
