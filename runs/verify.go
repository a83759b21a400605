package runs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"markmill/notebooks"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/runs/sshsig"
)

// Verification is the result of checking a record. The record holds when there are no findings; of several findings,
// look at the first: the others may follow from it.
type Verification struct {
	Dir      string    `json:"dir"` // of the run, "" when no run was found
	Run      *Run      `json:"-"`   // what could be read of it, or nil
	RunID    RunID     `json:"run_id"`
	Status   Status    `json:"status"` // of the run, recomputed; not of the check
	Findings []Finding `json:"findings"`
	// Signed says who signed SHA256SUMS, or the manifest of an output notebook without a record; nil without a
	// signature.
	Signed *SignedBy `json:"signed,omitempty"`
	// Made says that this user made the record on this machine.
	Made bool `json:"-"`
	// Decisions are those of operators on the run, the oldest first.
	Decisions []DecisionSummary `json:"decisions,omitempty"`
	// Notes say what was not checked, and why. They are no findings.
	Notes []string `json:"notes,omitempty"`
}

// OK reports whether everything holds.
func (v *Verification) OK() bool { return len(v.Findings) == 0 }

func (v *Verification) note(words string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(words, args...))
}

func (v *Verification) find(where, words string, args ...any) {
	v.Findings = append(v.Findings, Finding{where, fmt.Sprintf(words, args...)})
}

// RenderFunc writes a view of a run, by its name in the record: an output notebook, report.md or test.log. Callers hand
// it in, because views import this package.
type RenderFunc func(w io.Writer, record *Record, run *Run, source []byte, file string) error

// Verify recomputes everything that a record says, from its bytes: the journal's chain from the source notebook on, the
// order of its events, its verdict, every file that an event gives a digest of, the steps that it reuses from earlier
// runs, its approval and who signed it, SHA256SUMS, the report, and the output notebook. An output notebook that the
// record does not keep is made again and compared with its digest in the journal. render may be nil: then the output
// notebook is only checked against its own digests and the source.
//
// Findings come in that order. An error means that there is nothing to check.
func (r *Record) Verify(render RenderFunc, signers Signers) (*Verification, error) {
	if r.archive == nil {
		if _, err := os.Stat(r.path); err != nil {
			return nil, cannotRead(r.path, err)
		}
	}
	held, done, err := r.held()
	if err != nil {
		return nil, err
	}
	defer done()
	v := &Verification{Dir: r.path, Made: r.Made()}
	c := check{v: v, record: held}
	c.journal()
	if v.Run != nil {
		c.order()
		for _, f := range v.Run.eventFiles() {
			c.file(f.File, f.Digest, f.Bytes)
		}
		c.carried()
		c.inner()
		c.approval()
		c.accounted()
		c.data()
	}
	sums, err := held.CheckSums()
	if err != nil {
		return nil, cannotRead(r.path, err)
	}
	v.Findings = append(v.Findings, sums...)
	c.sumsSignature(signers.Allowed, signers.Now)
	c.decisions(signers)
	if v.Run != nil {
		c.required()
		c.report()
		if run := v.Run; render != nil && c.source != nil && run.Completed != nil && !run.OtherViews() {
			c.view(ReportPageFile, render)
			c.view(TestLogFile, render)
		}
		for i, name := range v.Run.OutputFiles() {
			source := c.source
			if ext := path.Ext(v.Run.Started.SourceFile); i > 0 || ext != path.Ext(name) {
				source = nil // it is of another form: what it strips to follows from the bytes that render gives
			}
			c.output(name, source, render)
		}
	}
	return v, nil
}

// Signers says whose signatures count. With the zero value, nobody's do.
type Signers struct {
	Allowed *sshsig.AllowedSigners
	Now     time.Time // when the keys must be valid
}

// check is a verification in progress.
type check struct {
	v      *Verification
	record *Record
	events []Event
	source []byte
}

// journal reads the chain. A source notebook that is not the one that the chain starts from is a finding of its own;
// the chain is then checked from the digest that it claims to start from.
func (c *check) journal() {
	first, err := c.record.firstEvent()
	if err != nil {
		c.v.find(JournalFile, "%s", words(err))
		return
	}
	start := first.Prev
	source, err := c.record.Source()
	switch got := DigestOf(source); {
	case err != nil:
		c.v.find("source notebook", "%s", words(err))
	case got != start:
		c.v.find("source notebook", "has changed: the journal starts from %s and its bytes give %s", start, got)
	default:
		c.source = source
	}
	events, torn, err := c.record.events(JournalFile, start)
	if torn {
		c.v.find(JournalFile, "the last line is torn")
	}
	var run *Run
	if err == nil {
		run, err = Fold(events)
	}
	if err != nil {
		c.v.find(JournalFile, "%s", words(err))
		return
	}
	c.events, c.v.Run, c.v.RunID, c.v.Status = events, run, run.ID, run.Status()
}

// words returns the message of an error without the name of the file, which the finding has.
func words(err error) string {
	if known, ok := errors.AsType[*notebooks.Error](err); ok {
		if known.Line > 0 {
			return fmt.Sprintf("line %d: %s", known.Line, known.Msg)
		}
		return known.Msg
	}
	return cause(err).Error()
}

// order checks the order of the events, and that the verdict follows from them. A run that itself reports a missing
// event is an honest record of a failure.
func (c *check) order() {
	run := c.v.Run
	err := CheckOrder(c.events)
	if err != nil && !reports(run, CodeMissingRequiredEvent) {
		c.v.find(JournalFile, "%s", err)
	}
	id := c.record.folder() // a copy may have any name but that of another run
	if _, named := startOf(id); named && id != c.v.RunID {
		c.v.find(JournalFile, "is of run %s, and its folder has the name of %s", c.v.RunID, id)
	}
	if run.Completed != nil && run.Status() != run.Completed.Status {
		c.v.find(JournalFile, "%s says %s and the record contradicts it: %s",
			RunCompleted, run.Completed.Status, run.contradiction())
	}
}

func reports(run *Run, code string) bool {
	return slices.ContainsFunc(run.Blockers(), func(b Blocker) bool { return b.Code == code })
}

// file checks one file by the digest and the size (-1: not known) that an event has of it.
func (c *check) file(path string, digest Digest, size int64) {
	if path == "" {
		return // a stream that was empty, a check that was skipped
	}
	got, bytes, err := c.record.Digest(path)
	switch {
	case err != nil:
		c.v.find(path, "the journal names it, and it cannot be read: %s", cause(err))
	case got != digest:
		c.v.find(path, "has changed: the journal says %s and its bytes give %s", digest, got)
	case size >= 0 && bytes != size:
		c.v.find(path, "has %d bytes and the journal says %d", bytes, size)
	}
}

// required checks that the files are there that every run leaves, and no output notebook that the run did not keep.
func (c *check) required() {
	run := c.v.Run
	for _, path := range append(run.OutputFiles(), ReportFile, ReportPageFile, PatchFile, TestLogFile) {
		_, err := c.record.Stat(path)
		switch left := run.Left(path); {
		case errors.Is(err, fs.ErrNotExist) && left == nil:
			c.v.find(path, "is missing")
		case err == nil && left != nil:
			c.v.find(path, "is there, and the journal says that it is not kept")
		}
	}
	if run.Completed == nil || len(run.Completed.Outputs) == 0 {
		return
	}
	if !run.CanLeave() || len(run.Completed.Outputs) != len(run.OutputFiles()) {
		c.v.find(JournalFile, "%s says that output notebooks are not kept, and such a run keeps them", RunCompleted)
	}
}

// output checks an output notebook: the digests in it, that it strips to source unless that is nil, and that it is what
// the journal folds to. One that the record does not keep is made again, and compared with its digest in the journal.
func (c *check) output(name string, source []byte, render RenderFunc) {
	run := c.v.Run
	version := run.Started.Markmill
	left := run.Left(name)
	var text []byte
	if left == nil {
		var err error
		text, err = c.record.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return // required has found it
		}
		if err != nil {
			c.v.find(name, "cannot be read: %s", cause(err))
			return
		}
		c.v.regions(name, text, source)
	}
	switch {
	case run.OtherViews() && left != nil:
		c.v.note("%s is not kept, and was not made again, for it is of another version of Markmill (%s): "+
			"give the file itself to have it checked", name, version)
	case run.OtherViews():
		c.v.note("%s is of another version of Markmill (%s), and was not made again: it is checked by its own "+
			"digests, its source and %s", name, version, SumsFile)
	}
	if render == nil || c.source == nil || run.OtherViews() {
		return
	}
	var made bytes.Buffer // an output notebook is bounded
	if err := render(&made, c.record, run, c.source, name); err != nil {
		c.v.find(name, "cannot be made from the journal: %s", err)
		return
	}
	switch want := made.Bytes(); {
	case left != nil:
		c.v.regions(name, want, source)
		if got := DigestOf(want); got != left.Digest || int64(len(want)) != left.Bytes {
			c.v.find(name, "is not what the journal gives: the run left %s, %d bytes, and made again it is %s, %d "+
				"bytes; Markmill %s made the run", left.Digest, left.Bytes, got, len(want), version)
		}
	case reports(run, CodeSecretLeaked): // its text lacks what showed the secret
	case !bytes.Equal(text, want):
		c.v.find(name, "line %d is not what the journal gives", firstDifference(text, want))
	}
}

// view compares a view with what the journal gives. test.log may be of any size: both are streamed.
func (c *check) view(name string, render RenderFunc) {
	got, size, err := c.record.Digest(name)
	if errors.Is(err, fs.ErrNotExist) {
		return // required has found it
	}
	if err != nil {
		c.v.find(name, "cannot be read: %s", cause(err))
		return
	}
	want := NewHasher()
	err = render(want, c.record, c.v.Run, c.source, name)
	switch {
	case err != nil:
		c.v.find(name, "cannot be made from the journal: %s", err)
	case got == DigestOf([]byte(LeakNote)) && reports(c.v.Run, CodeSecretLeaked):
	case got != want.Digest():
		c.v.find(name, "is not what the journal gives: it has %d bytes, and made again it has %d", size, want.Bytes())
	}
}

// OtherViews reports whether another version of the views made the output notebook and the report of a run: this
// version would not make the same bytes.
func (r *Run) OtherViews() bool { return r.Started.Views != ViewsVersion }

// regions checks what an output notebook says of itself, and that it strips to source unless that is nil.
func (v *Verification) regions(where string, text, source []byte) {
	if forms.IsJupyter(where, text) {
		v.cells(where, text, source)
		return
	}
	stripped := region.Strip(where, text)
	for _, problem := range stripped.Problems {
		v.find(where, "%s", words(problem))
	}
	if len(stripped.Problems) > 0 {
		return
	}
	if stripped.Manifest == nil {
		v.find(where, "has no manifest")
		return
	}
	if got := DigestOf(stripped.Source); Digest(stripped.Manifest.Source) != got {
		v.find(where, "its manifest names the source %s, and without its regions it is %s", stripped.Manifest.Source,
			got)
	}
	if source != nil && !bytes.Equal(stripped.Source, source) {
		v.find(where, "line %d without the regions is not the source's", firstDifference(stripped.Source, source))
	}
	if v.Run != nil && stripped.Manifest.Status != string(v.Run.Status()) {
		v.find(where, "its manifest says %s and the run is %s", stripped.Manifest.Status, v.Run.Status())
	}
}

// cells is regions of a Jupyter notebook.
func (v *Verification) cells(where string, text, source []byte) {
	nb, err := ipynb.Parse(where, text)
	if err != nil {
		v.find(where, "%s", err)
		return
	}
	m := nb.Manifest()
	if m == nil {
		v.find(where, "has no manifest")
		return
	}
	for _, problem := range nb.Damage() {
		v.find(where, "%s", words(problem))
	}
	if bare := ipynb.Source(nb, false); source != nil && !bytes.Equal(bare, source) {
		v.find(where, "line %d without the outputs is not the source's", firstDifference(bare, source))
	}
	if v.Run != nil && m.Status != string(v.Run.Status()) {
		v.find(where, "its manifest says %s and the run is %s", m.Status, v.Run.Status())
	}
}

// firstDifference returns the line, from 1, in which two texts begin to differ.
func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + bytes.Count(a[:n], []byte("\n"))
}

// VerifyOutput verifies the run that made an output notebook. It finds the run in the store by the digest of the
// notebook: the newest, when several made the same bytes.
func VerifyOutput(path string, store Store, render RenderFunc, signers Signers) (*Verification, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, cannotRead(path, err)
	}
	made, err := store.Outputs()
	if err != nil {
		return nil, err
	}
	if dirs := made[DigestOf(text)]; len(dirs) > 0 {
		v, err := At(dirs[0]).Verify(render, signers)
		if err == nil && v.Run != nil && v.Run.OtherViews() { // the record has the digest of these bytes
			v.Notes = nil
			v.regions(path, text, nil)
		}
		return v, err
	}
	v := &Verification{}
	v.regions(path, text, nil)
	if v.Signed, err = SignedOutput(path, text, signers); err != nil {
		v.find(path, "the signature of its manifest does not hold: %s", err)
	}
	if v.Signed.Counts() && v.OK() {
		return v, nil
	}
	v.find(path, "no run in %s wrote these bytes: the file was edited, or its run is not kept here", store.runs())
	return v, nil
}

// Outputs returns the run directories by the digest of the output notebook that the run wrote, in its record or at
// OUTPUT, the newest first.
func (s Store) Outputs() (map[Digest][]string, error) {
	entries, err := s.List()
	if err != nil {
		return nil, err
	}
	made := map[Digest][]string{}
	for _, entry := range entries {
		record := At(entry.Dir)
		text, err := record.ReadFile(SumsFile)
		if err != nil {
			continue // the run is alive, or its record is damaged
		}
		var outputs []Digest
		if sums, err := parseSums(string(text)); err == nil {
			outputs = append(outputs, sums[OutputFile], sums[jupyterOutput])
		}
		if _, last, err := record.ends(); err == nil && last.Type == RunCompleted {
			if done, err := decode[CompletedData](last); err == nil {
				for _, left := range done.Outputs {
					outputs = append(outputs, left.Digest)
				}
			}
		}
		for _, output := range outputs {
			if dirs := made[output]; output != "" && !slices.Contains(dirs, entry.Dir) {
				made[output] = append(dirs, entry.Dir)
			}
		}
	}
	return made, nil
}
