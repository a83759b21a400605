package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"markmill/runs"
)

// A program that looks on while a run goes, in the process of the run or in another.
func ExampleRecord_Follow() {
	record, done := start()
	defer done()

	follower := record.Follow(0)
	defer follower.Close()
	run := runs.NewRun()
	for {
		event, err := follower.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if err := run.Add(event); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d steps, %s\n", event.Type, len(run.Steps), run.Status())
	}
	// Output:
	// run.started: 0 steps, running
	// task.contract.created: 0 steps, running
	// plan.updated: 1 steps, running
	// run.completed: 1 steps, blocked
}

// The run so far is there after every event.
func ExampleRun_Add() {
	record, done := start()
	defer done()
	follower := record.Follow(0)
	defer follower.Close()

	run := runs.NewRun()
	for range 3 {
		event, err := follower.Next(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		if err := run.Add(event); err != nil {
			log.Fatal(err)
		}
	}
	for _, step := range run.Steps {
		fmt.Println(step.Planned.ID, step.Status())
	}
	// Output: build pending
}

// A record is read from a tar archive as from its folder.
func ExampleRecord_WriteTar() {
	record, done := start()
	done()

	archive, err := os.CreateTemp("", "*.tar")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(archive.Name())
	if err := record.WriteTar(archive); err != nil {
		log.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		log.Fatal(err)
	}
	kept, err := runs.OpenRecord(archive.Name())
	if err != nil {
		log.Fatal(err)
	}
	run, source, err := kept.Load()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s %q\n", run.Started.Notebook, run.Status(), source)
	// Output: build.md blocked "# Build\n"
}

// Where the time of a run went: each span stands before those that it holds.
func ExampleRecord_Trace() {
	record, done := start()
	done()
	writeTrace(record)

	trace, err := record.Trace()
	if err != nil {
		log.Fatal(err)
	}
	depth := make([]int, len(trace.Spans))
	for i, s := range trace.Spans {
		if s.Parent >= 0 {
			depth[i] = depth[s.Parent] + 1
		}
		fmt.Printf("%s%s %s\n", strings.Repeat("- ", depth[i]), s.Name, s.Took())
	}
	// Output:
	// run 3s
	// - planning 1s
	// - step build 2s
	// - - code 1.5s
}

// writeTrace writes a trace as the engine does; json.Marshal of it is what a collector of OpenTelemetry takes.
func writeTrace(record *runs.Record) {
	at := func(s float64) time.Time {
		return time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
	}
	text, err := json.Marshal(&runs.Trace{Spans: []runs.Span{{Name: "run", Parent: -1, Begin: at(0), End: at(3)},
		{Name: "planning", Begin: at(0), End: at(1)}, {Name: "step build", Begin: at(1), End: at(3)},
		{Name: "code", Parent: 2, Begin: at(1), End: at(2.5)}}})
	if err != nil {
		log.Fatal(err)
	}
	if err := record.Write(runs.TraceFile, text); err != nil {
		log.Fatal(err)
	}
}

// start makes a run that a gate blocks: its events come while the example reads them. done waits for its end.
func start() (record *runs.Record, done func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	id := runs.NewRunID(at, "build.md", []byte{1})
	store := runs.Store{Dir: filepath.Join(dir, ".markmill")}
	record, release, err := store.Create(id)
	if err != nil {
		log.Fatal(err)
	}
	source := []byte("# Build\n")
	journal, err := record.Begin("notebook.md", source, func() time.Time { return at })
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		var err error
		add := func(t runs.EventType, data any) {
			_, failed := journal.Append(t, "", data)
			err = errors.Join(err, failed)
		}
		add(runs.RunStarted, runs.RunStartedData{RunID: id, Notebook: "build.md", SourceFile: "notebook.md"})
		add(runs.ContractCreated, runs.ContractData{ContractRules: runs.ContractRules{TaskID: "build"}})
		add(runs.PlanUpdated, runs.PlanData{Steps: []runs.PlannedStep{{ID: "build", Lang: "bash",
			Action: runs.ActionRun}}})
		add(runs.RunCompleted, runs.CompletedData{Status: runs.Blocked})
		err = errors.Join(err, journal.Close())
		release()
		ended <- err
	}()
	return record, func() {
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
	}
}
