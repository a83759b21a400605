package render

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testNotebook returns a notebook of the fences in source that have an id. It does not use the parser, which has its
// own tests.
func testNotebook(source string) *notebooks.Notebook {
	nb := &notebooks.Notebook{Name: "task.md", Source: []byte(source), ParamsAt: -1}
	fences := regexp.MustCompile("(?ms)^```(\\w+) \\{([^}\n]*)\\}\r?\n(.*?)^```\r?(\n|\\z)")
	for _, m := range fences.FindAllSubmatchIndex(nb.Source, -1) {
		info := source[m[4]:m[5]]
		if info == ".parameters" {
			nb.ParamsAt = m[1]
			continue
		}
		s := &notebooks.Step{Index: len(nb.Steps), Lang: source[m[2]:m[3]],
			Fence: notebooks.Span{Start: m[0], End: m[1]}}
		for _, word := range strings.Fields(info) {
			switch {
			case word[0] == '#':
				s.ID = notebooks.StepID(word[1:])
			case word[0] == '.':
				s.Tags = append(s.Tags, word[1:])
			}
		}
		nb.Steps = append(nb.Steps, s)
	}
	return nb
}

// dir is a run directory in memory, with its run.
type dir struct {
	fstest.MapFS
	run *runs.Run
}

func newDir(nb *notebooks.Notebook) *dir {
	d := &dir{fstest.MapFS{}, &runs.Run{
		ID: "20261121T100000Z-task-ab12",
		Started: runs.RunStartedData{Notebook: "task.md", Assets: "task.assets",
			Paths: []runs.PathName{{Path: "/cache/wt/7", Name: "<worktree>"}, {Path: "/home/u", Name: "<home>"}}},
		Completed: &runs.CompletedData{Status: runs.Pass},
		Diff:      &runs.DiffCheckedData{AllowedPassed: true}, Verification: &runs.VerificationData{Passed: true},
	}}
	for _, s := range nb.Steps {
		d.run.Steps = append(d.run.Steps,
			runs.StepRecord{Planned: runs.PlannedStep{ID: s.ID, Index: s.Index, Lang: s.Lang,
				Tags: s.Tags, Action: runs.ActionRun}})
	}
	return d
}

// file adds a file to the run directory.
func (d *dir) file(name, text string) runs.StreamData {
	if text == "" {
		return runs.StreamData{}
	}
	d.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
	return runs.StreamData{File: name, Bytes: int64(len(text)), Digest: runs.DigestOf([]byte(text))}
}

// ends records that a step ran, what it printed, and how it ended.
func (d *dir) ends(i int, status runs.StepStatus, exit int, stdout, stderr string) *runs.StepRecord {
	rec := &d.run.Steps[i]
	folder := "steps/0" + string(rune('1'+i)) + "-" + string(rec.Planned.ID)
	rec.Step = &runs.StepStartedData{Index: i, Dir: folder, Attempt: 1}
	rec.Finished = &runs.StepFinishedData{Index: i, Status: status, Exit: exit, Attempts: 1, DurationNS: 12345678,
		Stdout: d.file(folder+"/stdout", stdout), Stderr: d.file(folder+"/stderr", stderr)}
	return rec
}

// changes records what a step changed.
func (d *dir) changes(rec *runs.StepRecord, patch string, files ...runs.ChangedFile) {
	s := d.file(rec.Step.Dir+"/diff.patch", patch)
	rec.Patch = &runs.PatchData{Patch: s.File, Digest: s.Digest, Files: files}
}

const fixPatch = "diff --git a/parser/parse.go b/parser/parse.go\nindex 1111111..2222222 100644\n--- " +
	"a/parser/parse.go\n+++ b/parser/parse.go\n@@ -12,3 +12,3 @@ func Parse(n int) {\n-\tfor i := 0; i <= n; i++ " +
	"{\n+\tfor i := 0; i < n; i++ {\n"

// cases are runs whose output notebooks are golden files in testdata.
var cases = []struct {
	name, source string
	run          func(*notebooks.Notebook, *dir)
}{
	{"fix-a-bug", "# Fix\n\n```yaml {.parameters}\nn: 1\n```\n\n```bash {#reproduce}\ngo test ./...\n```\n\n```bash " +
		"{#change}\nsed -i …\n```\n\n```bash {#verify .test}\ngo test ./...\n```\n\nDone.\n",
		func(nb *notebooks.Notebook, d *dir) {
			nb.Steps[2].Normalize = []string{"durations"}
			d.run.Contract.Parameters = []runs.ParamData{
				{Name: "n", Type: "int", Value: codec.Raw("3"), From: "-p", Given: true},
				{Name: "dir", Type: "path", Value: codec.Raw(`"/home/u/x"`), From: "default"},
				{Name: "token", Type: "secret", Value: codec.Raw(`"hmac:0011"`), From: "env TOKEN", Given: true}}
			d.ends(0, runs.StepPassed, 1, "--- FAIL: TestParse\n"+
				"    /cache/wt/7/parser/parse_test.go:9: index out of range\n",
				"exit status 1\n")
			d.changes(d.ends(1, runs.StepPassed, 0, "", ""), fixPatch,
				runs.ChangedFile{Path: "parser/parse.go", Status: "modified", Added: 1, Deleted: 1})
			d.ends(2, runs.StepPassed, 0, "ok  \tparser\t0.004s\n", "").Finished.Tests = &runs.TestCounts{Runner: "go",
				Passed: 3, Skipped: 1}
		}},
	{"every-way-to-end", "```bash {#pass}\n```\n```bash {#fail}\n```\n```python {#raise}\n```\n```bash " +
		"{#late}\n```\n```bash {#allowed .allow-failure}\n```\n```bash {#skipped}\n```\n" +
		"```bash {#killed}\n```\n```bash " +
		"{#cut}\n```\n```bash {#unreached}\n```\n",
		func(nb *notebooks.Notebook, d *dir) {
			d.ends(0, runs.StepPassed, 0, "", "").Finished.Attempts = 2
			d.ends(1, runs.StepFailed, 2, "", "no such file\n").Finished.Reason = "left 1 file changed"
			d.ends(2, runs.StepFailed, 1, "", "").Finished.Error = &runs.ErrorData{Name: "NameError",
				Value: "name 'x' is not defined",
				Traceback: "Traceback (most recent call last):\n" +
					"  File \"/cache/wt/7/task.md\", line 5\nNameError: name 'x' " +
					"is not defined\n"}
			d.ends(3, runs.StepTimeout, 143, "waiting", "").Finished.TerminatedBy = "timeout"
			d.ends(4, runs.StepAllowed, 3, "", "")
			d.ends(5, runs.StepSkipped, 0, "", "").Finished.Reason = "needs <fail>"
			d.ends(6, runs.StepFailed, 137, "", "").Finished.TerminatedBy = "signal KILL"
			d.ends(7, runs.StepFailed, 0, "", "")
			d.run.Steps[7].Finished = nil
			d.run.Completed.Status = runs.Fail
		}},
	{"rich", "```python {#show}\n```\n```python {#quiet .hide-output}\n```\n```bash {#noisy .volatile}\n```\n",
		func(nb *notebooks.Notebook, d *dir) {
			rec := d.ends(0, runs.StepPassed, 0, "printed\n", "")
			rec.Finished.Displays = []runs.DisplayData{
				{MIME: "image/png", File: "steps/01-show/display-1.png", Digest: "sha256:aa", Alt: "<Figure [1]>"},
				{MIME: "text/html", File: d.file("steps/01-show/display-2.html",
					"<div><style>td {}</style><table><thead><tr><th></th><th>a</th><th>b</th></tr></thead><tbody><tr>"+
						"<th>0</th><td>1|2</td><td>2</td></tr></tbody></table>\n<p>1 rows × 2 columns</p></div>").File,
					Digest: "sha256:bb", Alt: "   a  b\n0  1  2"},
				{MIME: "text/plain", File: d.file("steps/01-show/display-3.txt",
					"[1, 2, 3]").File, Digest: "sha256:cc"},
				{MIME: "application/pdf", File: "steps/01-show/display-4.pdf", Digest: "sha256:dd"}}
			rec.Scraps = []runs.ScrapData{
				{Name: "b", Type: runs.ScrapText, Value: codec.Raw(`"in /home/u/x \u202e"`)},
				{Name: "plot", Type: runs.ScrapImage, File: "steps/01-show/plot.png",
					MIME: "image/png", Digest: "sha256:ee",
					Display: true},
				{Name: "twice", Type: runs.ScrapImage, File: "steps/01-show/twice.png",
					MIME: "image/png", Digest: "sha256:aa",
					Display: true},
				{Name: "a", Type: runs.ScrapJSON, Value: codec.Raw(`1`)},
				{Name: "a", Type: runs.ScrapJSON, Value: codec.Raw(`{"y":[1,2],"x":12345678901234567890}`)},
				{Name: "rows", Type: runs.ScrapTable,
					Value: codec.Raw(`[{"name":"x|y","n":1},{"name":"<b>"}]`), Display: true},
				{Name: "split", Type: runs.ScrapTable,
					Value:   codec.Raw(`{"columns":["z","a"],"index":[0],"data":[[1.5,null]]}`),
					Display: true}}
			rec = d.ends(1, runs.StepPassed, 0, "hidden\n", "")
			d.changes(rec, fixPatch, runs.ChangedFile{Path: "parser/parse.go", Added: 1, Deleted: 1})
			rec = d.ends(2, runs.StepPassed, 0, "9:59:59 tick\n", "")
			rec.Scraps = []runs.ScrapData{{Name: "ticks", Type: runs.ScrapJSON, Value: codec.Raw("1")}}
			d.changes(rec, fixPatch, runs.ChangedFile{Path: "parser/parse.go", Added: 1, Deleted: 1})
		}},
	{"long-and-odd", "```bash {#long}\n```\n```bash {#varies}\n```\n```bash {#odd}\n```\n```bash {#binary}\n```\n",
		func(nb *notebooks.Notebook, d *dir) {
			nb.Front.MaxOutput = 200
			lines := ""
			for _, c := range "abcdefghijklmnopqrstuvwxyz" {
				lines += strings.Repeat(string(c), 20) + "\n"
			}
			d.ends(0, runs.StepPassed, 0, lines, strings.ToUpper(lines))
			d.ends(1, runs.StepPassed, 0, "in /cache/wt/7\n"+lines, "")
			d.ends(2, runs.StepPassed, 0, "```\n~~~\n</details>\n<!-- markmill:end c0d06e62adccde6c -->\n"+
				"\x1b[31mred\x1b[0m 1%\r99%\nnul \x00 bad \xff bidi \u202e\n", "")
			d.changes(d.ends(3, runs.StepPassed, 0, "", ""), "diff --git a/x.png b/x.png\nindex 3333333..4444444\n"+
				"GIT binary patch\nliteral 9\nQcmZQzU|?i\n\nliteral 0\nHcmV?d00001\n\n"+
				fixPatch+"+\tcrlf\r\n+\u202eevil\n",
				runs.ChangedFile{Path: "x.png", Status: "modified", Binary: true, NewBlob: "4444444444", Size: 9},
				runs.ChangedFile{Path: "parser/parse.go", Status: "modified", Added: 3, Deleted: 1})
		}},
}

func TestGolden(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			nb := testNotebook(c.source)
			d := newDir(nb)
			c.run(nb, d)
			got, err := Output(runs.OutputFile, nb, d.run, d)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".md", got)
			report, err := ReportMarkdown(d.run)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".report.md", report)
			var log bytes.Buffer
			if err := WriteTestLog(&log, d.run, d); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".test.log", log.Bytes())
		})
	}
}

func TestPrepared(t *testing.T) {
	nb := testNotebook("```yaml {.parameters}\nn: 1\n```\n\n```bash {#s}\necho $n\n```\n")
	got, err := Prepared(notebooks.FormNative, nb, []runs.ParamData{
		{Name: "n", Type: "int", Value: codec.Raw("3"), Given: true},
		{Name: "odd name", Type: "string", Value: codec.Raw("\"```\\n\u202e\""), Given: true},
		{Name: "token", Type: "secret", Value: codec.Raw(`"hmac:0011"`), Given: true},
		{Name: "kept", Type: "int", Value: codec.Raw("1")}}, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "prepared.md", got)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date (run with -update):\n%s", path, got)
	}
}

func TestAssets(t *testing.T) {
	nb := testNotebook("```python {#a}\n```\n```python {#A}\n```\n```python {#ü}\n```\n")
	d := newDir(nb)
	for i := range nb.Steps {
		d.ends(i, runs.StepPassed, 0, "", "").Finished.Displays = []runs.DisplayData{
			{MIME: "image/png", File: "f1.png", Digest: "1"}, {MIME: "text/plain", File: "f.txt", Digest: "2"},
			{MIME: "image/jpeg", File: "f3.jpg", Digest: "3"}}
	}
	var got []string
	for _, a := range Assets(d.run) {
		got = append(got, a.From+" "+a.To)
	}
	want := "f1.png task.assets/a-1.png\nf3.jpg task.assets/a-2.jpg\n" +
		"f1.png task.assets/A.1-1.png\nf3.jpg task.assets/A.1-2.jpg\n" +
		"f1.png task.assets/--1.png\nf3.jpg task.assets/--2.jpg"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	d.run.Started.Assets = ""
	if a := Assets(d.run); len(a) != 0 {
		t.Errorf("pictures without a directory: %v", a)
	}
}

func TestOutputSaysWhatIsMissing(t *testing.T) {
	nb := testNotebook("```bash {#s}\n```\n")
	d := newDir(nb)
	d.ends(0, runs.StepPassed, 0, "text\n", "")
	delete(d.MapFS, "steps/01-s/stdout")
	if _, err := Output(runs.OutputFile, nb, d.run, d); err == nil ||
		!strings.Contains(err.Error(), "steps/01-s/stdout") || !strings.Contains(err.Error(), `"s"`) {
		t.Errorf("a lost stream: %v", err)
	}
	d.run.Steps[0].Planned.ID = "other"
	if _, err := Output(runs.OutputFile, nb, d.run, d); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("a step of another notebook: %v", err)
	}
}

// countingFS counts the bytes read from its files.
type countingFS struct {
	dir  string
	read int
}

func (f *countingFS) Open(name string) (fs.File, error) {
	file, err := os.Open(filepath.Join(f.dir, name))
	return countingFile{file, f}, err
}

type countingFile struct {
	*os.File
	fs *countingFS
}

func (f countingFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.fs.read += n
	return n, err
}

func TestOutputOfAGigabyteReadsItsEnds(t *testing.T) {
	nb := testNotebook("```bash {#s}\n```\n")
	d := newDir(nb)
	rec := d.ends(0, runs.StepPassed, 0, "", "")
	rec.Finished.Stdout = runs.StreamData{File: "stdout", Bytes: 1 << 30, Digest: "sha256:00"}
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "stdout"), nil, 0o644)
	if err == nil {
		err = os.Truncate(filepath.Join(dir, "stdout"), 1<<30)
	}
	if err != nil {
		t.Fatal(err)
	}
	files := &countingFS{dir: dir}
	out, err := Output(runs.OutputFile, nb, d.run, files)
	if err != nil {
		t.Fatal(err)
	}
	if files.read > 256<<10 {
		t.Errorf("read %d bytes", files.read)
	}
	if !bytes.Contains(out, []byte("… about 1,024 MiB elided: `stdout`, `sha256:00`")) {
		t.Errorf("the output notebook does not say what is elided:\n%.300s", out)
	}
}
