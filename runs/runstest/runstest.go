// Package runstest makes records of runs that never ran, for tests and benchmarks. They verify once their views are
// written. It imports runs and notebooks.
package runstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// Notebooks are the paths that runs are of.
var Notebooks = []string{"report.md", "jobs/load.md", "jobs/nightly/train.md"}

// Bases are the base commits.
var Bases = []string{
	"1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222",
	"22aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
}

const source = "# Fix\n\n```bash {#prepare}\ntrue\n```\n\n```bash {#train}\ntrue\n```\n\n" +
	"```bash {#check .test}\ntrue\n```\n"

// Make makes the record of the run number i, which began so many minutes after start. The same numbers make the same
// record. Some runs fail; every 16th has no end if open is true.
func Make(store runs.Store, start time.Time, i int, open bool) (runs.RunID, error) {
	return makeRun(store, start, i, open, nil)
}

// MakeScrap is Make of a run that ends, with one more scrap, which may have any value.
func MakeScrap(store runs.Store, start time.Time, i int, name string, value codec.Raw) (runs.RunID, error) {
	kind := runs.ScrapJSON
	if strings.HasPrefix(name, runs.CheckPrefix) {
		kind = runs.ScrapCheck
	}
	return makeRun(store, start, i, false, &runs.ScrapData{Name: name, Type: kind, Value: value})
}

func makeRun(store runs.Store, start time.Time, i int, open bool, more *runs.ScrapData) (runs.RunID, error) {
	m := &maker{more: more, random: rand.New(rand.NewPCG(1, uint64(i))), now: start.Add(time.Duration(i) * time.Minute)}
	notebook := Notebooks[m.random.IntN(len(Notebooks))]
	id := runs.NewRunID(m.now, notebook, []byte{byte(i >> 16), byte(i >> 8), byte(i)})
	record, release, err := store.Create(id)
	if err != nil {
		return "", err
	}
	defer release()
	text := fmt.Sprintf("<!-- %d -->\n", m.random.IntN(3)) + source
	if m.journal, err = record.Begin("notebook.md", []byte(text), m.clock); err != nil {
		return "", err
	}
	m.record = record
	m.add(runs.RunStarted, "", runs.RunStartedData{RunID: id, Markmill: "0.0", Notebook: notebook, SourcePath: notebook,
		Form: "markdown", SourceFile: "notebook.md", Host: "linux/amd64", Views: runs.ViewsVersion})
	m.contract()
	if !open || i%16 != 0 {
		m.finish(m.steps())
	}
	return id, errors.Join(m.err, m.journal.Close())
}

type maker struct {
	more    *runs.ScrapData // nil for none
	random  *rand.Rand
	now     time.Time
	record  *runs.Record
	journal *runs.Journal
	err     error
}

func (m *maker) clock() time.Time {
	m.now = m.now.Add(time.Duration(1+m.random.IntN(4000)) * time.Millisecond)
	return m.now
}

func (m *maker) add(kind runs.EventType, step notebooks.StepID, data any) {
	if m.err == nil {
		_, m.err = m.journal.Append(kind, step, data)
	}
}

// one is one of some values, as JSON.
func (m *maker) one(values ...string) codec.Raw { return codec.Raw(values[m.random.IntN(len(values))]) }

func (m *maker) contract() {
	m.add(runs.ContractCreated, "", runs.ContractData{
		ContractRules: runs.ContractRules{TaskID: "fix", BaseCommit: Bases[m.random.IntN(len(Bases))],
			MutationMode: runs.MutationWorktree, RiskClass: "low", VerificationCommands: []string{"check"}},
		Parameters: []runs.ParamData{
			{Name: "flag", Type: "bool", Value: m.one("true", "false"), From: "-p", Given: true},
			{Name: "month", Type: "int", Value: codec.Raw(fmt.Sprint(1 + m.random.IntN(12))), From: "-p", Given: true},
			{Name: "region", Type: "string", Value: m.one(`"eu"`, `"us"`, `"1"`, `""`), From: "front matter"},
		}})
	m.add(runs.PlanUpdated, "", runs.PlanData{Steps: []runs.PlannedStep{
		{ID: "prepare", Index: 0, Lang: "bash", Kernel: "bash", Action: runs.ActionRun},
		{ID: "train", Index: 1, Lang: "bash", Kernel: "bash", Action: runs.ActionRun},
		{ID: "check", Index: 2, Lang: "bash", Kernel: "bash", Tags: []string{"test"}, Action: runs.ActionRun},
	}})
}

// steps returns the status of the last step.
func (m *maker) steps() runs.StepStatus {
	status := runs.StepPassed
	for i, id := range []notebooks.StepID{"prepare", "train", "check"} {
		m.add(runs.StepStarted, id, runs.StepStartedData{Index: i, Dir: fmt.Sprintf("steps/%02d-%s", i, id),
			Kernel:  "bash",
			Program: "/bin/bash", Attempt: 1})
		if id == "train" && m.random.IntN(8) > 0 {
			loss := codec.Raw(fmt.Sprintf("%.3f", m.random.Float64()))
			m.add(runs.ScrapRecorded, id, runs.ScrapData{Name: "loss", Type: runs.ScrapJSON, Value: loss})
			m.add(runs.ScrapRecorded, id, runs.ScrapData{Name: "model", Type: runs.ScrapText,
				Value: m.one(`"linear"`, `"tree"`)})
		}
		if id == "prepare" && m.more != nil {
			m.add(runs.ScrapRecorded, id, *m.more)
		}
		end := runs.StepFinishedData{Index: i, Attempts: 1, DurationNS: m.random.Int64N(9e9)}
		if id == "check" {
			end.Tests = &runs.TestCounts{Runner: "plain", Passed: m.random.IntN(9)}
			if m.random.IntN(4) == 0 {
				status, end.Exit, end.Tests.Failed = runs.StepFailed, 1, 1
			}
		}
		end.Status = status
		m.add(runs.StepFinished, id, end)
	}
	return status
}

func (m *maker) finish(status runs.StepStatus) {
	m.add(runs.GitDiffChecked, "", runs.DiffCheckedData{AllowedPassed: true, Patch: runs.PatchFile,
		PatchDigest: runs.DigestOf(nil)})
	end := runs.CompletedData{Status: runs.Pass}
	check := runs.VerificationData{Passed: status == runs.StepPassed,
		Steps: []runs.VerificationStep{{Step: "check", Status: status}}}
	if status != runs.StepPassed {
		end = runs.CompletedData{Status: runs.Fail, Blockers: []runs.Blocker{
			{Code: runs.CodeVerificationFailed, Step: "check", Message: "exit 1"}}}
		check.Blockers = end.Blockers
	}
	m.add(runs.VerificationCompleted, "", check)
	m.add(runs.RunCompleted, "", end)
	if m.err == nil {
		m.err = m.record.Write(runs.PatchFile, nil)
	}
}
