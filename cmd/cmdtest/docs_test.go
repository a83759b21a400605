package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"markmill/cmd/markmill/notebook/strip"
	"markmill/engine/kernel"
	"markmill/notebooks"
	"markmill/notebooks/region"
	"markmill/render/safe"
	"markmill/runs"
)

const docs = "../../docs/"

// TestFormatIsWhole fails when the program knows a key, an attribute, a tag, … that docs/format.md does not.
func TestFormatIsWhole(t *testing.T) {
	doc := readDoc(t, "format.md")
	keys := "../../notebooks/"
	for _, c := range []struct {
		section string
		row     bool // each has a table row of its own
		names   []string
	}{
		{"Front matter", true, append(tableKeys(t, keys+"markdown/frontkeys.go", "frontKeys"), "params", "output")},
		{"Keys of other tools", false, tableStrings(t, keys+"markdown/front.go", "foreignKeys")},
		{"Attributes", true, tableKeys(t, keys+"markdown/attributes.go", "attributes")},
		{"Tags", true, append(constants(t, keys+"notebook.go", "Tag"), "step")},
		{"Tags of other tools", false, tableKeys(t, keys+"markdown/attributes.go", "tagNames")},
		{"Steps", false, tableStrings(t, keys+"languages.go", "languages")},
		{"Steps", false, tableStrings(t, keys+"markdown/attributes.go", "presentationClasses")},
		{"Options of the other forms", false, tableKeys(t, keys+"markdown/runme.go", "runmeKeys")},
		{"Parameters", false, tableStrings(t, keys+"params/block.go", "longKeys")},
		{"Types", true, without(constants(t, keys+"value.go", "Type"), string(notebooks.TypeNull))},
		{"The environment of a step", false, tableStrings(t, "../../engine/env.go", "passed")},
		{"The environment of a step", false, tableKeys(t, "../../engine/env.go", "fixed")},
		{"Scraps", true, constants(t, "../../runs/scraps.go", "Scrap")},
		{"Normalize rules", true, safe.NormalizeNames()},
		{"Configuration of a repository", false, without(tableStrings(t, "../../engine/config.go", "configKeys"),
			"kernels.*", "agents.*", "alerts.*")},
	} {
		if len(c.names) == 0 {
			t.Errorf("section %q is held against an empty table: has it moved?", c.section)
		}
		text := doc.section(t, c.section)
		for _, name := range c.names {
			if c.row && !text.hasRow(name) {
				t.Errorf("format.md: section %q has no row of `%s`", c.section, name)
			} else if !text.mentions(name) {
				t.Errorf("format.md: section %q does not mention `%s`", c.section, name)
			}
		}
	}
}

// TestEvidenceIsWhole does the same for docs/evidence.md: events and their fields, the report, codes and files.
func TestEvidenceIsWhole(t *testing.T) {
	doc := readDoc(t, "evidence.md")
	data := map[runs.EventType]any{
		runs.RunStarted: runs.RunStartedData{}, runs.ContractCreated: runs.ContractData{},
		runs.PlanUpdated: runs.PlanData{},
		runs.GateBlocked: runs.Blocker{}, runs.ApprovalRequested: runs.ApprovalRequestedData{},
		runs.ApprovalGranted: runs.ApprovalGrantedData{},
		runs.ApprovalDenied:  runs.ApprovalDeniedData{},
		runs.TreeOpened:      runs.TreeData{},
		runs.StepStarted:     runs.StepStartedData{}, runs.ScrapRecorded: runs.ScrapData{},
		runs.PatchApplied:   runs.PatchData{},
		runs.StepReplayed:   runs.ReplayedData{},
		runs.InputsRecorded: notebooks.Inputs{},
		runs.StepFinished:   runs.StepFinishedData{}, runs.GitDiffChecked: runs.DiffCheckedData{},
		runs.VerificationCompleted: runs.VerificationData{}, runs.RunCompleted: runs.CompletedData{},
		runs.DataKept: runs.DataWritten{},
	}
	for _, name := range typedConstants(t, "../../runs/event.go", "EventType") {
		value, known := data[runs.EventType(name)]
		if !known {
			t.Errorf("the event %s is new: name its data in this test", name)
			continue
		}
		text := doc.section(t, name)
		for _, field := range fields(reflect.TypeOf(value)) {
			if !text.mentions(field) {
				t.Errorf("evidence.md: section %q does not mention the field `%s`", name, field)
			}
		}
	}
	for section, value := range map[string]any{
		"The journal": runs.Event{}, "Changed files": runs.ChangedFile{}, "Parameters": runs.ParamData{},
		"Blockers":    runs.Blocker{},
		"Test counts": runs.TestCounts{}, "report.json": runs.Report{}, "Terms of an approval": runs.Terms{},
		"approval-request.json": runs.ApprovalRequest{}, "approval.json": runs.Approval{},
	} {
		text := doc.section(t, section)
		for _, field := range fields(reflect.TypeOf(value)) {
			if !text.mentions(field) {
				t.Errorf("evidence.md: section %q does not mention the field `%s`", section, field)
			}
		}
	}
	codes := doc.section(t, "Fail closed")
	for _, code := range constants(t, "../../runs/cause.go", "Code") {
		if !codes.mentions(code) {
			t.Errorf("evidence.md: section \"Fail closed\" does not mention `%s`", code)
		}
	}
	files := doc.section(t, "The run directory")
	for _, name := range []string{runs.JournalFile, runs.OutputFile, runs.ReportFile, runs.ReportPageFile,
		runs.PatchFile,
		runs.TestLogFile,
		runs.TraceFile, runs.SumsFile, runs.LockFile, runs.RequestFile, runs.ApprovalFile, runs.SignatureFile,
		runs.SignersFile} {
		if !files.mentions(name) {
			t.Errorf("evidence.md: section \"The run directory\" does not mention `%s`", name)
		}
	}
}

// TestPolicyIsWhole does the same for the keys of a policy and the terms of an approval.
func TestPolicyIsWhole(t *testing.T) {
	doc := readDoc(t, "policy.md")
	keys := doc.section(t, "Keys")
	for _, key := range append(tableStrings(t, "../../engine/policy.go", "policyKeys"), "approval", "allowed_signers") {
		if !keys.hasRow(key) {
			t.Errorf("policy.md: section \"Keys\" has no row of `%s`", key)
		}
	}
	for _, word := range tableStrings(t, "../../engine/narrow.go", "riskScale") {
		if !keys.mentions(word) {
			t.Errorf("policy.md: section \"Keys\" does not mention `%s`", word)
		}
	}
}

// TestEvidenceExample reads the journal of the worked example.
func TestEvidenceExample(t *testing.T) {
	journal := readDoc(t, "evidence.md").section(t, "Worked example").fence(t, "jsonl")
	events, torn, err := runs.ReadJournal(strings.NewReader(journal), runs.DigestOf([]byte("# Empty\n")))
	if err != nil || torn || len(events) != 2 {
		t.Fatalf("%d events, torn %v: %v", len(events), torn, err)
	}
	if _, err := runs.Fold(events); err != nil {
		t.Error(err)
	}
}

// TestDocumentedChecks runs the Python of the documents, which verify without Markmill, on files that this program
// made.
func TestDocumentedChecks(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	run := func(program string, args ...string) (string, error) {
		out, err := exec.Command(python, append([]string{"-c", program}, args...)...).CombinedOutput()
		return string(out), err
	}
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}

	regions := readDoc(t, "format.md").section(t, "Markers and digest").fence(t, "python")
	for _, source := range []string{"```sh {#a}\ntrue\n```\n", "```sh {#a}\r\ntrue\r\n```\r\n",
		"```sh {#a}\ntrue\n```"} {
		output := region.Splice([]byte(source), []region.Region{{ID: "a", At: len(source),
			Body: []byte("é and more")}}, notebooks.Manifest{Status: "pass"})
		if out, err := run(regions, write("out.md", string(output))); err != nil || out != "out a ok\nmanifest ok\n" {
			t.Errorf("the check of regions says of %q: %q, %v", source, out, err)
		}
		edited := strings.Replace(string(output), "and more", "and less", 1)
		if out, _ := run(regions, write("out.md", edited)); out != "out a EDITED\nmanifest ok\n" {
			t.Errorf("the check of regions says of an edited one: %q", out)
		}
	}

	evidence := readDoc(t, "evidence.md")
	chain := evidence.section(t, "Verifying").fence(t, "python")
	journal := evidence.section(t, "Worked example").fence(t, "jsonl")
	write("notebook.md", "# Empty\n")
	write(runs.JournalFile, journal)
	if out, err := run(chain, dir); err != nil || !strings.HasPrefix(out,
		"the chain holds: 2 events, run.completed interrupted sha256:") {
		t.Errorf("the check of the chain says %q, %v", out, err)
	}
	write(runs.JournalFile, strings.Replace(journal, `"pid":4242`, `"pid":4243`, 1))
	if out, err := run(chain, dir); err == nil || !strings.Contains(out, "event 0: changed") {
		t.Errorf("the check of the chain says of a changed event: %q, %v", out, err)
	}
}

// TestKernelTable holds the table of docs/adding-a-kernel.md against the program's.
func TestKernelTable(t *testing.T) {
	table := readDoc(t, "adding-a-kernel.md").section(t, "The table")
	for _, k := range kernel.Table() {
		for _, word := range append(k.Languages(), k.Name()) {
			if !table.mentions(word) {
				t.Errorf("adding-a-kernel.md: section \"The table\" does not mention `%s`", word)
			}
		}
	}
}

// TestKernelExample runs the kernel that docs/adding-a-kernel.md adds, on the notebook that it shows.
func TestKernelExample(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"awk", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on this machine", program)
		}
	}
	section := readDoc(t, "adding-a-kernel.md").section(t, "A command")
	notebook := regexp.MustCompile("(?s)`````markdown\n(.*?\n)`````\n").FindStringSubmatch(string(section))
	if notebook == nil {
		t.Fatal("the section shows no notebook")
	}
	yaml := regexp.MustCompile("(?s)```yaml\n(kernels:.*?\n)```\n").FindStringSubmatch(string(section))
	if yaml == nil {
		t.Fatal("the section shows no settings")
	}
	script := filepath.Join(t.TempDir(), "kernel.txtar")
	text := "[!git] skip 'no git on this machine'\ncd project\nexec git init -q\nexec git add .\nexec git commit -qm " +
		"base\n" +
		"exec markmill run task.md out.md\ngrep '^3$' out.md\n-- project/markmill.yaml --\n" + yaml[1] +
		"-- project/task.md --\n" + notebook[1]
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	runScripts(t, filepath.Dir(script))
}

// TestReviewIsWhole fails when an option of strip or a line of Git's attributes is not in docs/review.md.
func TestReviewIsWhole(t *testing.T) {
	doc := readDoc(t, "review.md")
	flags := pflag.NewFlagSet("strip", pflag.ContinueOnError)
	strip.StripFlags(flags)
	strip := doc.section(t, "Strip")
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(strip), "`--"+f.Name) {
			t.Errorf("review.md: section Strip does not mention --%s", f.Name)
		}
	})
	for _, key := range tableStrings(t, "../../notebooks/ipynb/strip.go", "volatileKeys") {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if name == "orig_nbformat" || name == "orig_nbformat_minor" || name == "trusted" {
			continue // nobody writes them any more
		}
		if !strip.mentions(name) {
			t.Errorf("review.md: section Strip does not mention %s", name)
		}
	}
}
