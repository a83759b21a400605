package jetstream_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"markmill/engine"
	"markmill/engine/queue"
	"markmill/notebooks/codec"
	"markmill/runs"
)

func entries(list ...queue.Entry) []queue.Entry {
	spec := &queue.Spec{ID: "j", Queue: "default", Priority: queue.Normal, Request: engine.Request{Path: "n.md"}}
	return append([]queue.Entry{{Kind: queue.Enqueued, Spec: spec}}, list...)
}

func TestFold(t *testing.T) {
	at := time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		list []queue.Entry
		want queue.Job
	}{
		{"a worker has it", []queue.Entry{{Kind: queue.Claimed, Worker: "a"}},
			queue.Job{State: queue.StateLeased, Worker: "a", Attempts: 1, InVain: 1}},
		{"a step runs", []queue.Entry{{Kind: queue.Claimed, Worker: "a"}, {Kind: queue.Recorded, Run: "r",
			Step: "one"}},
			queue.Job{State: queue.StateRunning, Worker: "a", Run: "r", Step: "one", Attempts: 1, InVain: 1}},
		{"what a resumed run carries is no progress", []queue.Entry{{Kind: queue.Claimed, Worker: "a"},
			{Kind: queue.Recorded, Run: "r", Finished: 2}, {Kind: queue.Claimed, Worker: "b"},
			{Kind: queue.Recorded, Run: "s",
				Finished: 2}},
			queue.Job{State: queue.StateLeased, Worker: "b", Run: "s", Attempts: 2, InVain: 1, Finished: 2}},
		{"given back", []queue.Entry{{Kind: queue.Claimed, Worker: "a"}, {Kind: queue.Released, NotBefore: at,
			Reason: "why"}},
			queue.Job{State: queue.StateEnqueued, Worker: "a", Attempts: 1, InVain: 1, NotBefore: at, Reason: "why"}},
		{"to be tried again", []queue.Entry{{Kind: queue.Claimed, Worker: "a"}, {Kind: queue.Recorded, Run: "r",
			Finished: 1},
			{Kind: queue.Released, Anew: true}},
			queue.Job{State: queue.StateEnqueued, Worker: "a", Run: "r", Attempts: 1, Tried: 1}},
		{"it needs an approval", []queue.Entry{{Kind: queue.Claimed, Worker: "a"}, {Kind: queue.Asked, Run: "r",
			Contract: "c"}},
			queue.Job{State: queue.StateUnapproved, Worker: "a", Run: "r", Contract: "c", Attempts: 1}},
		{"it has been answered", []queue.Entry{{Kind: queue.Claimed, Worker: "a"}, {Kind: queue.Asked, Run: "r",
			Contract: "c"},
			{Kind: queue.Answered, Run: "r", NotBefore: at}},
			queue.Job{State: queue.StateEnqueued, Worker: "a", Run: "r", NotBefore: at, Attempts: 1}},
		{"put back by a person", []queue.Entry{{Kind: queue.Claimed, Worker: "a"}, {Kind: queue.Failed, Run: "r",
			Status: runs.Fail},
			{Kind: queue.Enqueued, By: "p"}},
			queue.Job{State: queue.StateEnqueued, Worker: "a", Run: "r", Attempts: 1}},
	} {
		h, err := queue.Fold(entries(c.list...))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		c.want.ID, c.want.Queue, c.want.Priority, c.want.Notebook = "j", "default", queue.Normal, "n.md"
		if !reflect.DeepEqual(h.Job, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.name, h.Job, c.want)
		}
	}
	for words, list := range map[string][]queue.Entry{
		"does not submit it": {{Kind: queue.Claimed}},
		"completed, and an entry canceled": entries(queue.Entry{Kind: queue.Completed},
			queue.Entry{Kind: queue.Canceled}),
		"completed, and an entry completed": entries(queue.Entry{Kind: queue.Completed},
			queue.Entry{Kind: queue.Completed}),
		"unapproved, and an entry claimed": entries(queue.Entry{Kind: queue.Asked, Run: "r"},
			queue.Entry{Kind: queue.Claimed}),
		"enqueued, and an entry answered": entries(queue.Entry{Kind: queue.Answered, Run: "r"}),
		"to run s, and run r asked": entries(queue.Entry{Kind: queue.Asked, Run: "r"},
			queue.Entry{Kind: queue.Answered, Run: "s"}),
		"unknown kind": entries(queue.Entry{Kind: "else"}),
	} {
		if _, err := queue.Fold(list); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want: %s", err, words)
		}
	}
}

// TestFurthest: a run that was killed while it carried the steps of another is not what the next one goes on from.
func TestFurthest(t *testing.T) {
	part := func(run, journal string, finished int, files ...string) queue.Entry {
		e := queue.Entry{Kind: queue.Recorded, Run: runs.RunID(run), Journal: []byte(journal), Finished: finished}
		for _, f := range files {
			e.Files = append(e.Files, queue.File{Path: f, Bytes: int64(finished)})
		}
		return e
	}
	first := []queue.Entry{{Kind: queue.Claimed}, part("r", "a\n", 0, "notebook.md"), part("r", "b\n", 1, "x"),
		part("r", "c\n", 2, "x")}
	for _, c := range []struct {
		name      string
		list      []queue.Entry
		run       runs.RunID
		journal   string
		fileBytes int64 // of x
	}{
		{"nothing has finished", first[:2], "", "", 0},
		{"one run", first, "r", "a\nb\nc\n", 2},
		{"cut while it carried", append(first[:4:4], queue.Entry{Kind: queue.Claimed}, part("s", "d\n", 1, "x")),
			"r", "a\nb\nc\n",
			2},
		{"the newer of two", append(first[:4:4], queue.Entry{Kind: queue.Claimed}, part("s", "d\n", 2, "x")), "s",
			"d\n", 2},
		{"given up and put back", append(first[:4:4], queue.Entry{Kind: queue.Dead},
			queue.Entry{Kind: queue.Enqueued}), "r", "a\nb\nc\n", 2},
		{"failed and put back", append(first[:4:4], queue.Entry{Kind: queue.Failed, Status: runs.Fail},
			queue.Entry{Kind: queue.Enqueued}),
			"", "", 0},
		{"begun anew", append(first[:4:4], queue.Entry{Kind: queue.Released, Anew: true}), "", "", 0},
	} {
		h, err := queue.Fold(entries(c.list...))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := h.Furthest()
		if c.run == "" {
			if got != nil {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if got == nil || got.Run != c.run || string(got.Journal) != c.journal || got.Files["x"].Bytes != c.fileBytes {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestIDOf(t *testing.T) {
	for run, want := range map[string]string{"20261125T064508Z-n-de41": "20261125T064508Z-n-de41",
		"a.b ü*>c": "a-b----c"} {
		got := queue.IDOf(run)
		if got != want {
			t.Errorf("%q: %q, want %q", run, got, want)
		}
		if err := queue.CheckName("--key", got); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "a.b", "*", ">", "a b", strings.Repeat("x", 101), "-a"} {
		if queue.CheckName("--key", bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestAnswers: those since a run came to its end count, and each is to the run that asked.
func TestAnswers(t *testing.T) {
	answer := func(id string, run runs.RunID) queue.Entry {
		a := runs.Approval{ID: id, Answer: runs.AnswerDenied, Run: run, Time: time.Unix(1, 0)}
		var err error
		if a.Contract, err = a.Terms.Digest(); err != nil {
			t.Fatal(err)
		}
		text, err := codec.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return queue.Entry{Kind: queue.Answered, Run: "r", Answer: text, Signature: []byte(id)}
	}
	asked, claimed := queue.Entry{Kind: queue.Asked, Run: "r"}, queue.Entry{Kind: queue.Claimed}
	for name, c := range map[string]struct {
		list []queue.Entry
		want string
	}{
		"one": {entries(claimed, asked, answer("a", "r")), "a"},
		"two": {entries(claimed, asked, answer("a", "r"), claimed, asked, answer("b", "r")), "ab"},
		"of an earlier try": {entries(claimed, asked, answer("a", "r"), claimed,
			queue.Entry{Kind: queue.Released, Anew: true}), ""},
		"put back": {entries(claimed, asked, answer("a", "r"), claimed, queue.Entry{Kind: queue.Failed},
			queue.Entry{Kind: queue.Enqueued}),
			""},
		"resumed": {entries(claimed, asked, answer("a", "r"), claimed, queue.Entry{Kind: queue.Released},
			claimed), "a"},
		"to another run": {entries(claimed, asked, answer("a", "s")), "it is to run s, and run r asked"},
		"no answer": {entries(claimed, asked, queue.Entry{Kind: queue.Answered, Run: "r", Answer: []byte("{}")}),
			"cannot be read"},
	} {
		h, err := queue.Fold(c.list)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list, err := h.Answers()
		got := ""
		for _, a := range list {
			if got += a.ID; string(a.Signature) != a.ID {
				t.Errorf("%s: signature %q", name, a.Signature)
			}
		}
		if err != nil && strings.Contains(err.Error(), c.want) {
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %s", name, got, err, c.want)
		}
	}
}
