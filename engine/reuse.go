package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// reuseOrStep reuses a step of the interrupted run, or runs it.
func (r *run) reuseOrStep(ctx context.Context, s *PlannedStep) error {
	c := r.reuse
	if c == nil || s.Index >= c.until || !whole(c.record[s.ID]) {
		return r.step(ctx, s) // a skipped step, too: the decision is made again
	}
	if c.again[s.ID] {
		err := r.step(ctx, s)
		if err == nil {
			r.sameAgain(s, c.record[s.ID])
		}
		return err
	}
	defer r.rec.trace.start("carry " + string(s.ID))()
	was := c.record[s.ID]
	r.rec.loose = append(r.rec.loose, was.Step.Dir)
	if err := r.reuseFiles(was); err != nil {
		return artifact(fmt.Errorf("taking over step %s of run %s: %w", s.ID, c.from.Run.ID, err))
	}
	if err := r.reuseEvents(s, runs.StepStarted); err != nil {
		return err
	}
	var replayed *runs.ReplayedData
	if c.replay[s.ID] && ctx.Err() == nil {
		var err error
		if replayed, err = r.replay(ctx, s, was); err != nil {
			return r.cutShort(s, runs.StepFinishedData{Attempts: was.Finished.Attempts}, err)
		}
		if err := r.inner.forget(); err != nil {
			return r.cutShort(s, runs.StepFinishedData{Attempts: was.Finished.Attempts}, artifact(err))
		}
	}
	change, err := r.reuseChange(ctx, s, was, replayed)
	if err != nil {
		return r.cutShort(s, runs.StepFinishedData{Attempts: was.Finished.Attempts}, err)
	}
	if replayed != nil {
		if err := r.rec.emit(runs.StepReplayed, s.ID, replayed); err != nil {
			return err
		}
	}
	if err := r.reuseScraps(s, was); err != nil {
		return err
	}
	if err := r.reusePatch(s, change); err != nil {
		return err
	}
	return r.reuseEnd(s, was, change)
}

// reuseFiles copies the files of a step into this record and checks the digests in its events.
func (r *run) reuseFiles(was *runs.StepRecord) error {
	from, to := runs.At(r.reuse.from.Dir).File(was.Step.Dir),
		r.rec.record.File(was.Step.Dir)
	want := map[string]runs.Digest{}
	for _, file := range was.Files() {
		want[file.File] = file.Digest
	}
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		switch {
		// these belong to that run only
		case d.IsDir() && (rel == runs.ReplayDir || rel == runs.JudgedDir):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case rel == runs.ResultFile || !d.Type().IsRegular():
			return nil
		}
		path := was.Step.Dir + "/" + filepath.ToSlash(rel)
		got, err := copyFile(name, filepath.Join(to, rel))
		if known, named := want[path]; err == nil && named && got != known {
			err = fmt.Errorf("%s has changed: its journal says %s, and its bytes give %s", path, known, got)
		}
		delete(want, path)
		return err
	})
	for path := range want {
		if err == nil {
			err = fmt.Errorf("%s is missing", path)
		}
	}
	return err
}

func copyFile(from, to string) (runs.Digest, error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return runs.Writer{}.Copy(in, to)
}

// mark says where an event of the interrupted run is, and in which run it was first recorded.
func (c *reuse) mark(e runs.Event) (*runs.CarriedData, error) {
	mark := &runs.CarriedData{Run: c.from.Run.ID, Seq: e.Seq, Hash: e.Hash, Ran: c.from.Run.ID, Time: e.Time,
		Forked: c.from.forked}
	var earlier struct {
		Carried *runs.CarriedData `json:"carried"`
	}
	if err := codec.Unmarshal(e.Data, &earlier); err != nil {
		return nil, err
	}
	if earlier.Carried != nil {
		mark.Ran, mark.Time = earlier.Carried.Ran, earlier.Carried.Time
		mark.Forked = mark.Forked || earlier.Carried.Forked
	}
	return mark, nil
}

// reuseEvents copies the events of a step and a type into this journal, marked.
func (r *run) reuseEvents(s *PlannedStep, t runs.EventType) error {
	for _, e := range r.reuse.events[s.ID] {
		if e.Type != t {
			continue
		}
		mark, err := r.reuse.mark(e)
		if err != nil {
			return err
		}
		var data map[string]codec.Raw
		if err := codec.Unmarshal(e.Data, &data); err != nil {
			return err
		}
		if data["carried"], err = codec.Marshal(mark); err != nil {
			return err
		}
		if err := r.rec.emit(t, s.ID, data); err != nil {
			return err
		}
	}
	return nil
}

// replay runs a reused step once more to rebuild the state of its interpreter and its ignored files. Its results are
// already recorded: its output goes to a separate folder, and its scraps are only compared.
func (r *run) replay(ctx context.Context, s *PlannedStep, was *runs.StepRecord) (*runs.ReplayedData, error) {
	defer r.rec.trace.start("replay " + string(s.ID))()
	data := &runs.ReplayedData{Index: s.Index, Kernel: s.Kernel.Name()}
	dir := filepath.FromSlash(path.Join(was.Step.Dir, runs.ReplayDir))
	var done runs.StepFinishedData
	if err := r.ws.guarded(); err != nil {
		return nil, err
	}
	again, err := r.retries(s)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ { // at most as often as before, until it ends the same way
		session, err := r.sessions.of(ctx, s)
		var e *notebooks.Error
		if errors.As(err, &e) && e.Kind == notebooks.KindProvider {
			data.Status, data.Error = runs.StepPending, &runs.ErrorData{Name: "kernel", Value: err.Error()}
			r.notRebuilt(ctx, s, was, data)
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		info := session.Info()
		data.Program, data.Version = info.Program, info.Version
		full := r.rec.record.File(dir)
		if err := errors.Join(os.RemoveAll(full), os.Mkdir(full, 0o755)); err != nil {
			return nil, artifact(err)
		}
		done = runs.StepFinishedData{Index: s.Index}
		if done, err = r.execute(ctx, s, session, again.dir, done, dir, r.ws.displayDir(s, attempt),
			liveOutput{}); err != nil {
			return nil, err
		}
		if done.Status == was.Finished.Status || attempt >= was.Finished.Attempts || ctx.Err() != nil {
			break
		}
		if err := again.rewind(ctx, done.Reason); err != nil {
			return nil, err
		}
	}
	data.Status, data.Exit, data.TerminatedBy, data.Error = done.Status, done.Exit, done.TerminatedBy, done.Error
	data.DurationNS, data.Stdout, data.Stderr = done.DurationNS, done.Stdout, done.Stderr
	names, err := r.replayedScraps(was)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data.Differs = append(data.Differs, "scrap "+name)
	}
	r.notRebuilt(ctx, s, was, data)
	return data, nil
}

// notRebuilt fails the run if a step ended differently than before: the next steps would find another state, and their
// results would prove nothing.
func (r *run) notRebuilt(ctx context.Context, s *PlannedStep, was *runs.StepRecord, data *runs.ReplayedData) {
	if data.Status == was.Finished.Status {
		return
	}
	data.Differs = append(data.Differs, fmt.Sprintf("status: %s, it was %s", data.Status, was.Finished.Status))
	if ctx.Err() != nil {
		if r.verdict.late = false; isLimit(ctx) {
			r.cut(ctx) // no step of this run records it
		}
		return // the run's end records the reason
	}
	if s.Has(notebooks.TagHealth) { // what it looks at has changed, which is what it is for
		return
	}
	words := fmt.Sprintf(
		"it ran again for the state that the next steps need, and ended as %s (exit %d); it was %s then", data.Status,
		data.Exit, was.Finished.Status)
	if e := data.Error; e != nil {
		words += "; " + e.Name + ": " + e.Value
	}
	r.verdict.fail(s.ID, runs.CodeStateNotRebuilt, words)
}

// replayedScraps reads what a replayed step glued, and names the scraps that differ.
func (r *run) replayedScraps(was *runs.StepRecord) ([]string, error) {
	list, err := r.newScraps()
	if err != nil && !errors.As(err, new(notebooks.ErrorList)) {
		return nil, err
	}
	now, then := map[string]codec.Raw{}, map[string]codec.Raw{}
	for _, scrap := range list {
		raw, err := r.plan.mask.JSON(scrap.Value, true)
		if err != nil {
			return nil, err
		}
		now[r.rec.conceal(scrap.Name)] = raw
	}
	for _, scrap := range was.Scraps {
		then[scrap.Name] = scrap.Value
	}
	var names []string
	for name, value := range then {
		if got, there := now[name]; !there || !codec.Same(got, value) {
			names = append(names, name)
		}
		delete(now, name)
	}
	for name := range now {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// reuseChange restores the worktree that the step left in the interrupted run, whatever its replay did, and commits it.
func (r *run) reuseChange(ctx context.Context, s *PlannedStep, was *runs.StepRecord,
	replayed *runs.ReplayedData) (*worktree.Change, error) {
	ctx = context.WithoutCancel(ctx)
	var patch []byte
	if was.Patch != nil && was.Patch.Patch != "" {
		var err error
		if patch, err = r.rec.record.ReadFile(was.Patch.Patch); err != nil {
			return nil, artifact(err)
		}
	}
	held, err := r.ws.tree.Restore(ctx, patch, worktree.OID(was.Finished.Tree))
	elsewhere := false // the run started from another tree
	if errors.Is(err, worktree.ErrNotRestored) && r.plan.fork != nil {
		unread, readErr := r.unread(ctx, was)
		if readErr != nil {
			return nil, readErr
		}
		if elsewhere = unread; unread {
			held, err = r.ws.tree.Restore(ctx, patch, "")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("step %s: %w", s.ID, err)
	}
	if replayed != nil && !held {
		replayed.Differs = append(replayed.Differs, "what it changed")
	}
	if err := r.reuseReads(was); err != nil {
		return nil, err
	}
	change, err := r.ws.capture(ctx, s.ID, fmt.Sprintf("%s: step %s, carried from %s", r.plan.TaskID(), s.ID,
		r.reuse.from.Run.ID))
	if err != nil {
		return nil, err
	}
	if elsewhere && !sameChange(change.Files, was.Patch) {
		return nil, fmt.Errorf("step %s: %w: it changes other files than then", s.ID, worktree.ErrNotRestored)
	}
	return change, r.withholdChange(s.ID, change)
}

// reuseScraps records the scraps of a step and makes them available to the next steps.
func (r *run) reuseScraps(s *PlannedStep, was *runs.StepRecord) error {
	if len(was.Scraps) == 0 {
		return nil
	}
	f, err := os.OpenFile(r.ws.work.Scraps, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return artifact(err)
	}
	defer f.Close()
	for _, scrap := range was.Scraps {
		r.scraps[scrap.Name] = scrap
		line := scrap
		line.Carried, line.Digest = nil, ""
		if scrap.File != "" { // steps look for it where the step would have left it
			dir := r.ws.displayDir(s, was.Finished.Attempts)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return artifact(err)
			}
			line.File = filepath.Join(dir, filepath.Base(filepath.FromSlash(scrap.File)))
			if err := os.RemoveAll(line.File); err != nil {
				return artifact(err)
			}
			if _, err := copyFile(r.rec.record.File(scrap.File), line.File); err != nil {
				return artifact(err)
			}
		}
		text, err := codec.Marshal(line)
		if err != nil {
			return err
		}
		n, err := f.Write(append(text, '\n'))
		r.scrapsRead += int64(n)
		if err != nil {
			return artifact(err)
		}
	}
	return r.reuseEvents(s, runs.ScrapRecorded)
}

// reusePatch records the change of a step, with its commit in this run.
func (r *run) reusePatch(s *PlannedStep, change *worktree.Change) error {
	for _, e := range r.reuse.events[s.ID] {
		if e.Type != runs.PatchApplied {
			continue
		}
		mark, err := r.reuse.mark(e)
		if err != nil {
			return err
		}
		var data runs.PatchData
		if err := codec.Unmarshal(e.Data, &data); err != nil {
			return err
		}
		if data.Tree != string(change.Tree) {
			mark.Tree = data.Tree
		}
		data.Commit, data.Tree, data.Carried = string(change.Commit), string(change.Tree), mark
		if err := r.rec.emit(runs.PatchApplied, s.ID, data); err != nil {
			return err
		}
	}
	return nil
}

// reuseEnd judges a reused step as if it had just run, and records its end.
func (r *run) reuseEnd(s *PlannedStep, was *runs.StepRecord, change *worktree.Change) error {
	events := r.reuse.events[s.ID]
	mark, err := r.reuse.mark(events[len(events)-1])
	if err != nil {
		return err
	}
	done := *was.Finished
	judged := done
	if judged.Reason == exitWords(s, judged.Exit) {
		judged.Reason = "" // judge sets it again
	}
	if len(change.Files) > 0 && s.Has(notebooks.TagNoChange) && bad(judged.Status) && judged.Exit == 0 &&
		judged.Error == nil {
		judged.Status = runs.StepPassed // it failed because of its changes, which judge detects again
	}
	r.judge(s, &judged, change)
	if done.Tree != string(change.Tree) {
		mark.Tree = done.Tree
	}
	done.Commit, done.Tree, done.Carried = string(change.Commit), string(change.Tree), mark
	done.Result, done.ResultDigest = "", ""
	if err := r.rec.writeResult(filepath.FromSlash(was.Step.Dir), &done); err != nil {
		return artifact(err)
	}
	r.results[s.ID] = done
	return r.rec.emit(runs.StepFinished, s.ID, done)
}
