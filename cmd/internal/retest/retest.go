package retest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"markmill/cmd/internal/files"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/render/compare"
	"markmill/render/junit"
	"markmill/runs/outfile"
)

// Options say how notebooks are tested.
type Options struct {
	// Request is what every run is asked. Its path, source, repository and id are those of each notebook.
	Request engine.Request
	Marked  bool                  // compare only marked steps; the others must run
	Update  bool                  // replace stored outputs that differ, of runs that passed
	Jobs    int                   // how many notebooks run at once; 0 is one
	Rules   []notebooks.Normalize // mask these, too: see compare.Sanitize
	// Engine gives the engine and the repository (nil without one) of a notebook.
	Engine func(notebook string) (*engine.Engine, *worktree.Source, error)
	Warn   func(message string) // gets warnings, from several goroutines
	Now    func() time.Time
}

// tester holds what the tests of one call share.
type tester struct{ Options }

// Run tests notebooks and returns the results in the order of the files, after those of files that cannot be read.
// Cancelling ctx ends the runs; notebooks whose run has not begun are Interrupted.
func Run(ctx context.Context, found []files.File, o Options) *Report {
	t := &tester{o}
	t.Jobs, t.Request.Dirty = cmp.Or(t.Jobs, 1), cmp.Or(t.Request.Dirty, engine.DirtyIgnore)
	jobs, broken := t.jobs(found)
	for _, j := range jobs {
		if t.Update { // before the first step
			j.opened, j.refused = outfile.Open(j.target(), engine.OutputRules(false))
			defer j.opened.Close()
		}
	}
	all := t.runAll(ctx, jobs)
	if t.Update {
		t.promoteAll(all)
	}
	return newReport(append(broken, all...))
}

// jobs reads the files. A file that cannot be read, or whose output cannot be looked up, is a result already.
func (t *tester) jobs(found []files.File) (jobs []*job, broken []*Notebook) {
	for _, file := range found {
		j, err := t.newJob(file)
		if err == nil && j != nil && !j.hasOutput() {
			err = t.lookUpOutput(j)
		}
		switch {
		case err != nil:
			broken = append(broken, &Notebook{Notebook: slashed(file.Path), Status: Error, Words: lines(err),
				Steps: []Step{},
				err:   err, job: &job{file: file, path: file.Path}, started: t.Now()})
		case j == nil && file.Named:
			t.Warn(slashed(file.Path) + " has no steps: there is nothing to test")
		case j != nil:
			jobs = append(jobs, j)
		}
	}
	return pairJobs(jobs), broken
}

// runAll tests all notebooks, several at once.
func (t *tester) runAll(ctx context.Context, jobs []*job) []*Notebook {
	out := make([]*Notebook, len(jobs))
	slots := make(chan struct{}, t.Jobs)
	var group sync.WaitGroup
	for i, j := range jobs {
		slots <- struct{}{}
		group.Go(func() {
			out[i] = t.notebook(ctx, j)
			<-slots
		})
	}
	group.Wait()
	return out
}

// promoteAll writes the new outputs after all runs have ended: a change of the checkout during a run fails that run.
func (t *tester) promoteAll(all []*Notebook) {
	for _, n := range all {
		if n.fresh == nil {
			continue
		}
		if err := n.promote(); err != nil {
			n.Words = append(n.Words, "not updated: "+err.Error())
			if n.Status == Same {
				n.Status = Different
			}
		}
	}
}

// Status is the result of one notebook.
type Status string

const (
	Same        Status = "same"
	Different   Status = "different"
	Failed      Status = "failed"      // the run did not pass
	Blocked     Status = "blocked"     // a gate was not met: nothing ran
	Interrupted Status = "interrupted" // by a signal
	Missing     Status = "missing"     // a file that was named has no stored output
	Skipped     Status = "skipped"     // a file that was found in a folder has no stored output
	Updated     Status = "updated"     // it was different, and the stored output has been replaced
	Error       Status = "error"       // it could not be tested
)

// severity orders the statuses: the last one decides for several notebooks.
var severity = []Status{Skipped, Same, Updated, Blocked, Missing, Different, Failed, Error, Interrupted}

// Notebook is the result of one notebook.
type Notebook struct {
	Notebook string   `json:"notebook"` // as it was named or found
	Stored   string   `json:"stored,omitzero"`
	Status   Status   `json:"status"`
	Stale    bool     `json:"stale"`              // stored is the output of another source; this alone is no difference
	Words    []string `json:"words,omitempty"`    // what is wrong besides the steps
	Reversed []string `json:"reversed,omitempty"` // files of the stored run's change, which this run began without
	Run      string   `json:"run,omitzero"`       // the run directory
	Seconds  float64  `json:"seconds"`
	Steps    []Step   `json:"steps"`

	job     *job
	results []compare.Result
	err     error
	dirty   []string // uncommitted files that the run did not see
	signal  int
	started time.Time
	fresh   []byte           // the new output notebook, where it may replace the stored one
	view    engine.ViewInput // of the run, for its pictures
}

// Step is the result of one step.
type Step struct {
	Step    string          `json:"step"`
	Line    int             `json:"line,omitzero"` // in notebook
	Verdict compare.Verdict `json:"verdict"`
	Words   string          `json:"words,omitzero"`
	Diff    string          `json:"diff,omitzero"`
	Seconds float64         `json:"seconds"`
	// Normalize are the built-in rules that would mask the whole difference.
	Normalize []string `json:"normalize,omitempty"`
}

// Err is the error that prevented the test; nil unless the status is Error.
func (n *Notebook) Err() error { return n.err }

// Signal is the number of the signal that interrupted the run; 0 without one.
func (n *Notebook) Signal() int { return n.signal }

// Report holds the results of a call of Run.
type Report struct {
	Status    Status      `json:"status"` // the worst of the notebooks'
	Notebooks []*Notebook `json:"notebooks"`
}

func newReport(all []*Notebook) *Report {
	worst := 0
	for _, n := range all {
		worst = max(worst, slices.Index(severity, n.Status))
	}
	return &Report{Status: severity[worst], Notebooks: append([]*Notebook{}, all...)}
}

// Compared is the number of notebooks that were not skipped.
func (r *Report) Compared() int {
	compared := 0
	for _, n := range r.Notebooks {
		if n.Status != Skipped {
			compared++
		}
	}
	return compared
}

func slashed(path string) string { return filepath.ToSlash(path) }

func lines(err error) []string { return strings.Split(err.Error(), "\n") }

// JUnit is the report in JUnit's XML: a suite for each notebook, a case for each step.
func (r *Report) JUnit() ([]byte, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	var suites []junit.Suite
	for _, n := range r.Notebooks {
		suites = append(suites, n.suite(host))
	}
	return junit.Report("markmill test", suites)
}

func (n *Notebook) suite(host string) junit.Suite {
	s := junit.Suite{Name: n.Notebook, Host: host, Start: n.started, Time: duration(n.Seconds)}
	var out strings.Builder
	for i, step := range n.Steps {
		c := junit.Case{Name: step.Step, Class: n.Notebook, Time: duration(step.Seconds)}
		where := place(n.Notebook, step.Line)
		switch step.Verdict {
		case compare.Different, compare.Failed:
			if n.Status == Updated {
				break
			}
			c.Failure = &junit.Words{Message: where + ": " + step.Words, Type: string(step.Verdict),
				Text: where + "\n" + step.Words + "\n" + step.Diff}
			fmt.Fprintf(&out, "%s (%s)\n%s\n", where, step.Step, strings.Join(n.results[i].Now, "\n"))
		case compare.Skipped:
			c.Skipped = true
		}
		s.Cases = append(s.Cases, c)
	}
	if whole, ok := n.wholeCase(); ok {
		s.Cases = append(s.Cases, whole)
	}
	s.Out = out.String()
	return s
}

// wholeCase is the case of what concerns the whole run; false without one.
func (n *Notebook) wholeCase() (junit.Case, bool) {
	words := strings.Join(n.Words, "\n")
	first, _, _ := strings.Cut(words, "\n")
	why := &junit.Words{Message: first, Type: string(n.Status), Text: n.Notebook + "\n" + words}
	whole := junit.Case{Name: "(run)", Class: n.Notebook, Time: duration(n.Seconds)}
	switch n.Status {
	case Missing, Failed, Different:
		whole.Failure = why
		return whole, words != ""
	case Blocked, Interrupted, Error:
		whole.Error = why
		return whole, true
	case Skipped:
		whole.Skipped = true
		return whole, true
	}
	return whole, false
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// maxAnnotation limits the text of an annotation, in bytes; GitHub truncates longer ones at 64 KiB with the log.
const maxAnnotation = 4 << 10

// Annotations is the report as workflow commands of GitHub Actions, which shows them at the lines of the files.
// workspace is the root of the checkout, GITHUB_WORKSPACE; "" is not known.
func (r *Report) Annotations(workspace string) string {
	var b strings.Builder
	for _, n := range r.Notebooks {
		if n.Status == Updated || n.Status == Skipped {
			continue
		}
		file := slashed(n.job.file.Path)
		if rel, err := filepath.Rel(workspace, files.Absolute(file)); workspace != "" && err == nil &&
			filepath.IsLocal(rel) {
			file = slashed(rel)
		}
		for _, words := range n.Words {
			b.WriteString(annotation(file, 0, "markmill test", words) + "\n")
		}
		for _, s := range n.Steps {
			if s.Verdict == compare.Different || s.Verdict == compare.Failed {
				b.WriteString(annotation(file, s.Line, fmt.Sprintf("step %s: %s", s.Step, s.Verdict),
					s.Words+"\n"+s.Diff) + "\n")
			}
		}
	}
	return b.String()
}

// annotation is one workflow command. Its values are escaped as GitHub's own toolkit does.
func annotation(file string, line int, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	at := "file=" + property.Replace(file)
	if line > 0 {
		at += fmt.Sprintf(",line=%d", line)
	}
	text = strings.TrimSuffix(text, "\n")
	if len(text) > maxAnnotation {
		text = strings.ToValidUTF8(text[:maxAnnotation], "") + "\n…"
	}
	return "::error " + at + ",title=" + property.Replace(title) + "::" + data.Replace(text)
}
