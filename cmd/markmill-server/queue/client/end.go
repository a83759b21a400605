package client

import (
	"context"
	"fmt"
	"slices"
	"time"

	"markmill/cmd/internal/records"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/render/plain"
	"markmill/runs"
)

// What the end of a run means for its job. The functions return a message for the log; an error is one of the queue,
// whose calls outlast a stopped run.

const (
	firstBackoff = 2 * time.Second
	mostBackoff  = 5 * time.Minute
)

// backoff is how long a job waits after its nth failure in a row, from 1.
func backoff(n int) time.Duration {
	return min(firstBackoff<<min(max(n-1, 0), 16), mostBackoff)
}

// giveBack releases the job to its queue, to be resumed after a time.
func (a *attempt) giveBack(why string, after time.Duration) (string, error) {
	why = plain.Cut(plain.OneLine(why), 500)
	e := &queue.Entry{Kind: queue.Released, Reason: why, NotBefore: time.Now().Add(after).UTC()}
	return "given back: " + why, a.lease.Release(context.Background(), e)
}

// refuse ends a job that no worker can run.
func (a *attempt) refuse(why error) (string, error) {
	words := plain.Cut(plain.OneLine(why.Error()), 500)
	if err := a.Queue.TellFailed(context.Background(), a.spec, &a.lease.Job.Job, words, time.Now()); err != nil {
		return "", err
	}
	return "refused: " + words, a.lease.End(context.Background(), &queue.Entry{Kind: queue.Failed, Reason: words})
}

// cut handles a run that was stopped, by a cancellation or with its worker. result is nil if it had not begun.
func (a *attempt) cut(ctx context.Context, result *engine.Result) (string, error) {
	if !isCanceled(a.reason()) {
		if caught, ok := context.Cause(ctx).(engine.Interrupt); ok && caught.Abort == nil {
			return a.giveBack(fmt.Sprintf("the worker was stopped by signal %d", caught.Signal), 0)
		}
		return a.giveBack("the run was stopped", backoff(a.lease.Job.InVain))
	}
	e := &queue.Entry{Kind: queue.Canceled, Reason: a.reason().Error()}
	if result != nil {
		if err := a.attach(e, result.Dir, result.Run); err != nil {
			return "", err
		}
	}
	return a.reason().Error(), a.lease.End(context.Background(), e)
}

// asks reports whether a run was blocked only by an approval that somebody may still give.
func asks(run *runs.Run) bool {
	list := run.Blockers()
	return run.Status() == runs.Blocked && len(list) > 0 && !slices.ContainsFunc(list, func(b runs.Blocker) bool {
		return !slices.Contains([]string{runs.CodeApprovalRequired, runs.CodeApprovalExpired,
			runs.CodeApprovalMismatch}, b.Code)
	})
}

// ask makes the job wait for the approval that its run requests.
func (a *attempt) ask(dir string, run *runs.Run) (string, error) {
	words := plain.Cut(plain.OneLine(run.Blockers()[0].Message), 500)
	e := &queue.Entry{Kind: queue.Asked, Reason: words, Contract: run.Requested.Contract}
	if err := a.attach(e, dir, run); err != nil {
		return "", err
	}
	return words, a.lease.Ask(context.Background(), e)
}

// denied reports whether a person denied the approval; a retry would not change that.
func denied(run *runs.Run) bool {
	return slices.ContainsFunc(run.Blockers(), func(b runs.Blocker) bool { return b.Code == runs.CodeApprovalDenied })
}

// ended ends the job with a run that has ended, or retries it.
func (a *attempt) ended(dir string, run *runs.Run) (string, error) {
	e := &queue.Entry{Kind: queue.Completed}
	if !run.Status().Passed() {
		e.Kind, e.Reason = queue.Failed, string(run.Status())
		if list := run.Blockers(); len(list) > 0 {
			e.Reason += ": " + plain.Cut(plain.OneLine(list[0].Message), 300)
		}
		if tried := a.lease.Job.Tried + 1; tried <= a.spec.Retries && !denied(run) {
			wait := backoff(tried)
			words := fmt.Sprintf("%s; retry %d of %d", e.Reason, tried, a.spec.Retries)
			e = &queue.Entry{Kind: queue.Released, Anew: true, Reason: words, NotBefore: time.Now().Add(wait).UTC()}
			return words, a.lease.Release(context.Background(), e)
		}
		if a.spec.Retries > 0 && !denied(run) {
			e.Kind = queue.Dead
		}
	}
	if err := a.attach(e, dir, run); err != nil {
		return "", err
	}
	if err := a.alert(run); err != nil {
		return "", err
	}
	return string(e.Kind), a.lease.End(context.Background(), e)
}

// attach publishes the whole record of a run, and adds it to the last entry of its job, if the record verifies.
func (a *attempt) attach(e *queue.Entry, dir string, run *runs.Run) (err error) {
	record := runs.At(dir)
	if err := a.key.Record(dir); err != nil {
		return err
	}
	v, err := records.VerifyRecord(record, nil, runs.Signers{})
	if err == nil && len(v.Findings) > 0 {
		err = fmt.Errorf("its record does not hold: %s", v.Findings[0])
	}
	if err != nil {
		return err
	}
	e.Run, e.Status = run.ID, run.Status()
	names, err := record.List()
	for _, name := range names {
		var file queue.File
		if file, _, err = a.put(record, name); err != nil {
			return err
		}
		e.Files = append(e.Files, file)
	}
	return err
}

// sentFile is a file of a record as it was when it was published.
type sentFile struct {
	queue.File
	time time.Time
}

// put publishes a file of a record, unless this attempt has published the same bytes.
func (a *attempt) put(record *runs.Record, name string) (_ queue.File, changed bool, err error) {
	f, err := record.Open(name)
	if err != nil {
		return queue.File{}, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return queue.File{}, false, err
	}
	key := record.File(name)
	if was, ok := a.sent[key]; ok && was.Bytes == info.Size() && was.time.Equal(info.ModTime()) {
		return was.File, false, nil
	}
	file, err := a.Queue.Put(context.Background(), name, f)
	if err == nil {
		a.sent[key] = sentFile{file, info.ModTime()}
	}
	return file, true, err
}
