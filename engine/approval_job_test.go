package engine

import (
	"strings"
	"testing"
	"time"

	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/runs"
)

const jobNotebook = "---\napproval: required\nallow: [\"*.txt\"]\n---\n" +
	"```yaml {.parameters}\nn: {type: int, default: 1}\ntoken: {type: secret, env: TOKEN}\n```\n\n"

// TestApprovalOfAJob: an approval that was given for a job on one machine counts on another one, whose repository,
// store, user, variables and secrets are others; and for nothing but what it was given for.
func TestApprovalOfAJob(t *testing.T) {
	source := jobNotebook + step("#a", "write a.txt new")
	job := func(id string, answers ...runs.Answer) *Job {
		return &Job{ID: id, Requester: runs.Person{User: "ann", Email: "ann@example.org"}, Answers: answers}
	}
	machine := func() *lab {
		l := newLab(t)
		l.repository(map[string]string{"a.txt": "old\n"})
		return l
	}
	first, second := machine(), machine()
	first.env["TOKEN"], second.env["TOKEN"] = "hush-hush-first", "hush-hush-second"
	first.env["LANG"], second.env["TZ"] = "C.UTF-8", "UTC"
	second.User = "mallory"
	if a, b := first.git("rev-parse", "HEAD"), second.git("rev-parse", "HEAD"); a != b {
		t.Fatalf("the machines have the commits %s and %s", a, b)
	}

	first.Job = job("j1")
	asks := first.run(first.request(source))
	first.want(asks, runs.Blocked, "approval_required : |grant it with: markmill approve j1")
	if terms := first.read(asks, runs.RequestFile); strings.Contains(terms, first.dir) ||
		strings.Contains(terms, "hmac") || !strings.Contains(terms, `"user": "ann"`) {
		t.Errorf("the request has what belongs to the machine:\n%s", terms)
	}
	if _, err := first.Answer(asks.Run, asks.Dir, first.Source, Reply{}); err == nil ||
		!strings.Contains(err.Error(), "markmill approve j1") {
		t.Errorf("answered in the store: %v", err)
	}
	got, err := first.AnswerJob(asks.Run, asks.Dir, first.Source, Reply{Comment: "seen"})
	if err != nil {
		t.Fatal(err)
	}
	yes := *got

	second.Job = job("j1", yes)
	passes := second.run(second.request(source))
	second.want(passes, runs.Pass)
	second.verify(passes)
	if g := passes.Run.Granted; g == nil || g.ID != yes.ID || g.Own {
		t.Errorf("the run cites %+v", g)
	}
	// What another worker makes of it when it is cut has the same approval.
	second.want(second.run(second.request(source)), runs.Pass)

	forged := func(change func(*runs.Approval)) runs.Answer {
		a := *yes.Approval
		change(&a)
		if a.Contract, err = a.Terms.Digest(); err != nil {
			t.Fatal(err)
		}
		text, err := codec.Indent(a)
		if err != nil {
			t.Fatal(err)
		}
		return runs.Answer{Approval: &a, Text: text}
	}
	no, err := first.AnswerJob(asks.Run, asks.Dir, first.Source, Reply{Deny: true, Comment: "not on a Friday"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change  func(l *lab, r *Request)
		job     *Job
		blocker string
	}{
		"no answer": {job: job("j1"), blocker: "approval_required"},
		"another notebook": {job: job("j1", yes),
			change:  func(_ *lab, r *Request) { r.Source = append(r.Source, "\nMore.\n"...) },
			blocker: "approval_mismatch : |is of another contract: notebook changed"},
		"another step": {job: job("j1", yes),
			change:  func(_ *lab, r *Request) { r.Source = []byte(jobNotebook + step("#b", "write a.txt new")) },
			blocker: "is of another contract: notebook, steps changed"},
		"another value": {job: job("j1", yes),
			change: func(_ *lab, r *Request) {
				r.Given = []params.Given{{Name: "n", Text: "2", Source: "-p"}}
			}, blocker: "is of another contract: parameters.n changed"},
		"another base": {job: job("j1", yes),
			change: func(l *lab, _ *Request) {
				l.git("commit", "-q", "--allow-empty", "-m", "more")
				l.open()
			}, blocker: "is of another contract: base_commit changed"},
		"another job": {job: job("j2", yes), blocker: "is of another contract: job changed"},
		"another job, forged": {job: job("j2", forged(func(a *runs.Approval) { a.Terms.Job = "j3" })),
			blocker: "is of another contract: job changed"},
		"no job": {job: nil, blocker: "approval_required"},
		"a part of it": {job: job("j1", yes),
			change:  func(_ *lab, r *Request) { r.Only = []string{"a"}; r.Cwd = "." },
			blocker: "is of another contract: cwd changed"},
		"longer steps": {job: job("j1", yes), change: func(_ *lab, r *Request) { r.StepTimeoutNS = int64(time.Hour) },
			blocker: "is of another contract: step_timeout_ns changed"},
		"denied afterwards": {job: job("j1", yes, *no), blocker: "approval_denied : bob denied it"},
		"expired": {job: job("j1", forged(func(a *runs.Approval) {
			a.Time, a.Expires = a.Time.Add(-2*time.Hour), a.Time.Add(-time.Hour)
		})), blocker: "approval_expired : |expired 2026"},
		"given after the start": {job: job("j1", forged(func(a *runs.Approval) {
			a.Time, a.Expires = a.Time.Add(time.Minute), a.Time.Add(time.Hour)
		})), blocker: "approval_required : |after the run had started"},
	} {
		l := machine()
		l.env["TOKEN"] = "hush-hush-third"
		l.Job = c.job
		req := l.request(source)
		if c.change != nil {
			c.change(l, &req)
		}
		result := l.run(req)
		if result.Run.Granted != nil || result.Run.Status() != runs.Blocked {
			t.Errorf("%s: the run is %s, by %+v", name, result.Run.Status(), result.Run.Granted)
			continue
		}
		l.want(result, runs.Blocked, c.blocker)
	}
}

// TestApprovalOfAJobByPolicy: whose approval counts is decided where the run is, by the policy of its base commit, and
// with whoever submitted the job as its requester.
func TestApprovalOfAJobByPolicy(t *testing.T) {
	l := newLab(t)
	l.repository(map[string]string{"a.txt": "old\n",
		ConfigFile: "policy: {approval: {required: true, by-other: true}}\n"})
	l.Job = &Job{ID: "j", Requester: runs.Person{User: "ann"}}
	req := l.request(step("#a", "write a.txt new"))
	asks := l.run(req)
	l.User = "ann"
	if _, err := l.AnswerJob(asks.Run, asks.Dir, l.Source, Reply{}); err == nil ||
		!strings.Contains(err.Error(), "the requester's own") {
		t.Errorf("own approval: %v", err)
	}
	l.User = "bob"
	yes, err := l.AnswerJob(asks.Run, asks.Dir, l.Source, Reply{})
	if err != nil {
		t.Fatal(err)
	}
	l.Job.Answers = []runs.Answer{*yes}
	l.User = "ann" // of the worker, which does not matter
	l.want(l.run(req), runs.Pass)
	l.Job.Requester.User = "bob"
	l.want(l.run(req), runs.Blocked, "approval_required : |it is the requester's own")
}
