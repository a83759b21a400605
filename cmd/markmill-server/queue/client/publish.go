package client

import (
	"context"
	"fmt"
	"os"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/runs"
)

// publisher publishes a run while it runs: the journal with every event, and the other files of the record when a step
// has ended, because they do not change afterwards.
type publisher struct {
	*attempt
	plan   *engine.Plan
	record *runs.Record
	id     runs.RunID

	offset   int64 // in the journal
	finished int
	err      error // nothing is published after the first
}

// event publishes an event. The next step begins only afterwards.
func (p *publisher) event(e runs.Event) {
	if p.err != nil {
		return
	}
	if p.err = p.publish(e); p.err != nil {
		p.interrupted(fmt.Errorf("its events cannot be published: %w", p.err))
	}
}

func (p *publisher) publish(e runs.Event) (err error) {
	out := &queue.Entry{Kind: queue.Recorded, Run: p.id}
	if out.Journal, err = p.journal(); err != nil {
		return err
	}
	switch e.Type {
	case runs.StepStarted:
		out.Step = string(e.Step)
	case runs.StepFinished:
		p.finished++
		fallthrough
	case runs.PlanUpdated, runs.RunCompleted:
		if out.Files, err = p.files(e.Type == runs.RunCompleted); err != nil {
			return err
		}
	}
	out.Finished = p.finished
	return p.lease.Publish(context.Background(), out)
}

// journal returns what was appended to the journal.
func (p *publisher) journal() ([]byte, error) {
	f, err := os.Open(p.record.File(runs.JournalFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, info.Size()-p.offset)
	n, err := f.ReadAt(b, p.offset)
	p.offset += int64(n)
	return b[:n], err
}

// files publishes new and changed files. A file that contains a secret is not published: the end of the run replaces
// it.
func (p *publisher) files(all bool) (list []queue.File, err error) {
	root, err := os.OpenRoot(p.record.Path())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := p.record.List()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == runs.JournalFile || name == runs.TraceFile && !all {
			continue
		}
		shows, err := p.plan.Shows(root, name)
		if err != nil {
			return nil, err
		}
		if shows {
			continue
		}
		file, changed, err := p.put(p.record, name)
		if err != nil {
			return nil, err
		}
		if changed {
			list = append(list, file)
		}
	}
	return list, nil
}
