package index

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"markmill/notebooks/codec"
	"markmill/runs"
)

func insert(c *sqlite.Conn, table string, values ...any) error {
	return exec(c, "INSERT INTO "+table+" VALUES(?"+strings.Repeat(",?", len(values)-1)+")", values, nil)
}

// final reports whether a run does not change any more.
func final(e *runs.Entry) bool {
	return e.Status != runs.Running && e.Status != runs.Interrupted && e.Status != runs.Damaged
}

// add adds a run, which the index must not have.
func add(c *sqlite.Conn, one claimed) error {
	e, r := &one.entry, one.run
	if r == nil {
		r = runs.NewRun()
	}
	var base, code, step string
	if causes := r.Causes(); len(causes) > 0 {
		code, step = causes[0].Code, string(causes[0].Step)
	}
	if base = r.Contract.BaseCommit; base == "" && r.Diff != nil {
		base = r.Diff.BaseCommit
	}
	var result string
	var files, added, deleted any
	if r.Completed != nil {
		result = r.Completed.ResultCommit
	}
	if r.Diff != nil && r.Diff.Skipped == "" {
		plus, minus := 0, 0
		for _, f := range r.Diff.Files {
			plus, minus = plus+f.Added, minus+f.Deleted
		}
		files, added, deleted = len(r.Diff.Files), plus, minus
	}
	var agrees, attempt any
	if s := r.Started.Sweep; s != nil && s.Attempt > 0 {
		attempt = s.Attempt
	}
	if e.Agrees != nil {
		agrees = *e.Agrees
	}
	if err := insert(c, "run", nil, string(e.ID), final(e) && one.run != nil, string(e.Status), e.Notebook,
		r.Started.SourcePath, string(r.Source), inputs(r), nanoseconds(e.StartedAt), nanoseconds(e.FinishedAt),
		stamp(e.StartedAt), stamp(e.FinishedAt), seconds(e.StartedAt, e.FinishedAt), base, result,
		r.Started.Repository, string(e.Parent), string(e.ResumedFrom), string(e.ForkedFrom), string(e.Sweep),
		attempt, e.Reason,
		code, step, files, added, deleted,
		r.Contract.MutationMode, r.Contract.RiskClass, string(r.Approval), r.Started.Markmill, r.Started.Host,
		r.Events, e.Decision, e.DecidedBy, string(e.RerunOf), agrees); err != nil {
		return err
	}
	n := c.LastInsertRowID()
	for i := range r.Steps {
		if err := addStep(c, n, i, &r.Steps[i]); err != nil {
			return err
		}
	}
	for _, p := range r.Contract.Parameters {
		if err := insert(c, "parameter", n, p.Name, p.Type, valueOf(p.Value), numberOf(p.Value), string(p.Value),
			p.Given, p.From); err != nil {
			return err
		}
	}
	if err := addScraps(c, n, r); err != nil {
		return err
	}
	for i, found := range r.Checks() {
		if err := insert(c, "health", n, found.Name, i, string(found.Step), string(found.State), numberOf(found.Value),
			found.Unit, found.Message); err != nil {
			return err
		}
	}
	for i, cause := range r.Causes() {
		if err := insert(c, "blocker", n, i, cause.Code, string(cause.Step), cause.Rule, cause.Message, cause.Hint,
			list(cause.Paths), cause.Consequence); err != nil {
			return err
		}
	}
	if r.Diff == nil {
		return nil
	}
	for i, f := range r.Diff.Files {
		if err := insert(c, "change", n, i, f.Path, f.OldPath, f.Status, f.Added, f.Deleted, f.Binary,
			f.Size); err != nil {
			return err
		}
	}
	return nil
}

func addStep(c *sqlite.Conn, n int64, position int, s *runs.StepRecord) error {
	var reason, failure, ended string
	var exit, took, out, errs any
	carried := false
	if s.Planned.Action == runs.ActionSkip {
		reason = s.Planned.Reason
	}
	if f := s.Finished; f != nil {
		reason, ended, carried = f.Reason, f.TerminatedBy, f.Carried != nil
		exit, took, out, errs = f.Exit, float64(f.DurationNS)/1e9, f.Stdout.Bytes, f.Stderr.Bytes
		if f.Error != nil {
			failure = f.Error.Name + ": " + f.Error.Value
		}
		if t := f.Tests; t != nil {
			if err := insert(c, "test", n, position, string(s.Planned.ID), t.Runner, t.Passed, t.Failed,
				t.Skipped); err != nil {
				return err
			}
		}
	}
	if err := addAgent(c, n, position, s, carried); err != nil {
		return err
	}
	return insert(c, "step", n, position, string(s.Planned.ID), s.Planned.Lang, s.Planned.Kernel, list(s.Planned.Tags),
		string(s.Status()), reason, exit, s.Attempts, took, stamp(s.StartedAt), stamp(s.FinishedAt), out, errs, failure,
		ended, carried)
}

// addAgent adds who did an agent's step, or was to do it.
func addAgent(c *sqlite.Conn, n int64, position int, s *runs.StepRecord, carried bool) error {
	if s.Eligibility == nil {
		return nil
	}
	var model, version, code string
	if b := s.Eligibility.Backend; b != nil {
		model, version = b.Model, b.Version
	}
	if denied := s.Eligibility.Denied; s.Eligibility.SelectedBackend == "" && len(denied) > 0 {
		code = denied[len(denied)-1].Code
	}
	for _, e := range s.Turn {
		if e.Kind == runs.AgentEnd {
			code = e.Code
		}
	}
	var input, cached, output, cost any
	if t := s.Tokens(); t != nil {
		input, cached, output = t.Input, t.Cached, t.Output
		if t.CostUSD > 0 {
			cost = t.CostUSD
		}
	}
	return insert(c, "agent", n, position, string(s.Planned.ID), s.Backend(), model, version, code, carried, input,
		cached, output, cost)
}

// addScraps adds each scrap of a run with its last value.
func addScraps(c *sqlite.Conn, n int64, r *runs.Run) error {
	at := map[string]string{}
	for i := range r.Steps {
		for _, s := range r.Steps[i].Scraps {
			at[s.Name] = string(r.Steps[i].Planned.ID)
		}
	}
	for _, s := range r.Scraps() {
		value, number, json := valueOf(s.Value), numberOf(s.Value), string(s.Value)
		if len(json) > valueMax {
			value, json = nil, ""
		}
		if err := insert(c, "scrap", n, s.Name, at[s.Name], s.Type, value, number, json, s.MIME, s.File,
			string(s.Digest)); err != nil {
			return err
		}
	}
	return nil
}

// inputs is a digest of what a run was given: its source, its base commit, its parameters and the agents that did its
// steps. Two runs with the same
// that end differently are flaky, or depend on what no record has.
func inputs(r *runs.Run) string {
	if r.Events == 0 {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", r.Source, r.Contract.BaseCommit)
	for _, p := range r.Contract.Parameters {
		fmt.Fprintf(h, "%q %s\n", p.Name, p.Value)
	}
	for _, s := range r.Plan.Steps {
		if s.LeftOut != "" {
			fmt.Fprintf(h, "- %s\n", s.ID)
		}
	}
	for _, backend := range r.Backends() {
		fmt.Fprintf(h, "@ %s\n", backend)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// valueOf is a JSON value as SQL has it: a number, a text, 1 or 0 for true and false, NULL; a list or an object is the
// text of its JSON.
func valueOf(json codec.Raw) any {
	if len(json) == 0 {
		return nil
	}
	switch json.Kind() {
	case 'n':
		return nil
	case 't':
		return 1
	case 'f':
		return 0
	case '"':
		var text string
		if codec.Unmarshal(json, &text) == nil {
			return whole(text)
		}
	case '0':
		if n, err := strconv.ParseInt(string(json), 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(string(json), 64); err == nil {
			return f
		}
	}
	return string(json)
}

// numberOf is a JSON number, or a text that is one, as shells record numbers; else NULL.
func numberOf(json codec.Raw) any {
	text := Text(json)
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" {
		return nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return nil
}

// list is a list as the text of its JSON, NULL if it is empty.
func list(words []string) any {
	if len(words) == 0 {
		return nil
	}
	text, err := codec.Marshal(words)
	if err != nil {
		return nil // strings that are not UTF-8: a record has none
	}
	return string(text)
}
