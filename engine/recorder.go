package engine

import (
	"errors"
	"io/fs"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// recorder writes the record of a run: its journal and the files of the run directory. Everything that it writes is
// masked; a secret that cannot be masked goes into the verdict.
type recorder struct {
	eng     *Engine
	plan    *Plan
	verdict *verdict
	sinks   Sinks

	id       runs.RunID
	dir      string // the run directory
	journal  *runs.Journal
	reserve  *runs.Reserve // room for the verdict on a full disk
	events   []runs.Event
	trace    *trace
	traceErr error    // why the trace could not be written
	loose    []string // folders of the record, slash-separated, with files that no event names; see unnamed
}

// create makes and locks the run directory. The caller calls release when the record is closed.
func (c *recorder) create() (release func(), err error) {
	dir, unlock, err := c.eng.Store(c.plan.root()).Create(c.id)
	if err != nil {
		return nil, artifact(err)
	}
	c.dir = dir
	return func() {
		if c.journal != nil {
			c.journal.Close()
		}
		c.reserve.Release()
		unlock()
	}, nil
}

// open copies the notebook into the run directory and begins the journal.
func (c *recorder) open() (err error) {
	source := c.plan.notebook.Source
	if c.reserve, err = runs.NewReserve(c.dir); err != nil {
		return err
	}
	if err := runs.WriteFile(filepath.Join(c.dir, c.plan.sourceFile()), source); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(c.dir, runs.StepsDir), 0o755); err != nil {
		return err
	}
	c.journal, err = runs.CreateJournal(filepath.Join(c.dir, runs.JournalFile), runs.DigestOf(source), c.eng.Now)
	if err == nil {
		c.journal.StepSync = c.plan.notebook.Front.Durability == "step"
	}
	return err
}

// emit appends an event to the journal and passes it to the observers. When the disk is full, the event is written
// into the reserve and emit still returns the error, which ends the run.
func (c *recorder) emit(t runs.EventType, step notebooks.StepID, data any) error {
	raw, err := c.clean(data)
	if err != nil {
		return err
	}
	event, full := c.journal.Append(t, step, raw)
	if full != nil {
		if !c.reserve.Release() {
			return artifact(full)
		}
		if event, err = c.journal.Append(t, step, raw); err != nil {
			return artifact(err)
		}
		full = artifact(full)
	}
	c.events = append(c.events, event)
	c.sinks.event(event)
	return full
}

// commit appends the last event, which prepare made, and syncs the journal.
func (c *recorder) commit(event runs.Event) error {
	err := c.journal.Commit(event)
	if err != nil && c.reserve.Release() {
		err = c.journal.Commit(event)
	}
	if err != nil {
		return artifact(err)
	}
	c.sinks.event(event)
	if err := c.journal.Sync(); err != nil {
		return artifact(err)
	}
	return nil
}

// fold derives the run from the journal, as if next had been appended to it.
func (c *recorder) fold(next ...runs.Event) (*runs.Run, error) {
	return runs.Fold(append(slices.Clip(c.events), next...))
}

// has reports whether the journal has an event of a type.
func (c *recorder) has(t runs.EventType) bool {
	return slices.ContainsFunc(c.events, func(e runs.Event) bool { return e.Type == t })
}

// leak records in the verdict that the value of a secret would have been written.
func (c *recorder) leak(step notebooks.StepID, where string) { c.verdict.leak(step, c.conceal(where)) }

// clean is the JSON of v, masked.
func (c *recorder) clean(v any) (codec.Raw, error) {
	raw, err := codec.Marshal(v)
	if err != nil || c.plan.mask == nil {
		return raw, err
	}
	return c.plan.mask.JSON(raw, false)
}

// conceal masks secrets in a text.
func (c *recorder) conceal(s string) string { return c.plan.mask.Text(s) }

// keep writes a file of the run directory and returns its name and digest.
func (c *recorder) keep(name string, data []byte) (runs.SealedFile, error) {
	if err := runs.WriteFile(filepath.Join(c.dir, name), data); err != nil {
		return runs.SealedFile{}, artifact(err)
	}
	return runs.SealedFile{File: name, Digest: runs.DigestOf(data)}, nil
}

// writeResult writes a step's result.json and sets its digest in done.
func (c *recorder) writeResult(dir string, done *runs.StepFinishedData) error {
	raw, err := c.clean(done)
	if err != nil {
		return err
	}
	b, err := codec.Indent(raw)
	if err != nil {
		return err
	}
	done.Result = filepath.ToSlash(filepath.Join(dir, "result.json"))
	done.ResultDigest = runs.DigestOf(b)
	return runs.WriteNewFile(filepath.Join(c.dir, dir, "result.json"), b)
}

func (c *recorder) prepare(data *runs.CompletedData) (runs.Event, error) {
	raw, err := c.clean(data)
	if err != nil {
		return runs.Event{}, err
	}
	event, err := c.journal.Prepare(runs.RunCompleted, "", raw)
	if err != nil {
		return event, artifact(err)
	}
	return event, nil
}

// unnamed writes the trace, and returns the digests of the files of the record that no event names.
func (c *recorder) unnamed() ([]runs.SealedFile, error) {
	c.traceErr = c.trace.write(c.dir, c.id, c.eng.Version, c.clean) // told with the views, as theirs are
	record, err := runs.Fold(c.events)
	if err != nil {
		return nil, err
	}
	known := record.Digests()
	var files []runs.SealedFile
	add := func(name string) error {
		name = filepath.ToSlash(name)
		if _, named := known[name]; named {
			return nil
		}
		digest, err := digestOfFile(filepath.Join(c.dir, filepath.FromSlash(name)))
		known[name] = digest
		files = append(files, runs.SealedFile{File: name, Digest: digest})
		return err
	}
	// of a run that broke off before its event, also the patch
	for _, name := range []string{runs.TraceFile, runs.PatchFile} {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err != nil {
			continue
		}
		if err := add(name); err != nil {
			return nil, artifact(err)
		}
	}
	for _, dir := range c.loose {
		err := filepath.WalkDir(filepath.Join(c.dir, filepath.FromSlash(dir)),
			func(name string, d fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) || err == nil && (d.IsDir() || strings.HasPrefix(d.Name(), runs.TempPrefix)) {
					return nil
				}
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(c.dir, name)
				if err != nil {
					return err
				}
				return add(rel)
			})
		if err != nil {
			return nil, artifact(err)
		}
	}
	return files, nil
}

// removeSums removes what says that the record is complete.
func (c *recorder) removeSums() error {
	if err := os.Remove(filepath.Join(c.dir, runs.SumsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
