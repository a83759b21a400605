package engine

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"markmill/engine/kernel"
	"markmill/engine/mask"
	"markmill/notebooks"
	"markmill/runs"
)

// turn records one turn of an agent: its events in the journal, its raw output in backend/.
type turn struct {
	run     *run
	step    *PlannedStep
	raw     [2]*stream // the program's own standard output and standard error
	err     error      // of the journal
	home    string     // of the program
	session string     // of the backend, to go on with; "" begins one
	prompt  string     // for a session that goes on
	end     runs.AgentData
}

// journalText is how much of a text the journal keeps; the raw log has all of it.
const journalText = 32 << 10

// turn prepares to record an attempt of an agent's step; nil for other steps.
func (r *run) turn(s *PlannedStep, attempt int) (*turn, error) {
	if _, ok := s.Kernel.(*kernel.Agent); !ok {
		return nil, nil
	}
	if err := makeFolder(r.rec.record.File(runs.BackendDir)); err != nil {
		return nil, artifact(err)
	}
	home, err := r.beginTurn(s)
	if err != nil {
		return nil, err
	}
	t := &turn{run: r, step: s, home: home}
	for i, ext := range []string{"out", "err"} {
		name := fmt.Sprintf("%02d-%s-%d.%s.log", s.Index+1, s.ID, attempt, ext)
		t.raw[i] = &stream{dir: r.rec.record.File(runs.BackendDir), name: name, rel: path.Join(runs.BackendDir, name),
			step: s.ID, mask: r.plan.mask.Stream(), keys: r.rec.hidden.shown.Stream()}
	}
	return t, nil
}

// takes is where the kernel hands on the turn.
func (t *turn) takes() kernel.Turn {
	if t == nil {
		return kernel.Turn{}
	}
	return kernel.Turn{Home: t.home, Session: t.session, Prompt: t.prompt, Event: t.event,
		Steer: t.run.rec.record.TakeSteered, Raw: t.raw[0], Log: t.raw[1]}
}

// event appends an event to the journal. Texts are bounded, and what may hold a secret is digested as it is masked.
func (t *turn) event(e runs.AgentData) {
	mask := t.run.plan.mask
	if shows(mask, e) { // the backend's session has it: nothing of the turn stays, should Markmill be killed
		t.err = errors.Join(t.err, t.run.ws.endTurn())
	}
	switch e.Kind {
	case runs.AgentTool:
		e.Digest = runs.DigestOf(mask.Bytes([]byte(e.Args)))
	case runs.AgentCommand:
		e.Digest = runs.DigestOf(mask.Bytes([]byte(e.Output)))
		e.Output = ""
	}
	for _, text := range []*string{&e.Text, &e.Command, &e.Why} {
		var cut int
		*text, cut = bounded(t.run.rec.hide(t.step.ID, "agent", *text))
		e.Cut += int64(cut)
	}
	if err := t.run.rec.emit(runs.AgentEventPrefix+runs.EventType(e.Kind), t.step.ID, e); err != nil && t.err == nil {
		t.err = err
	}
}

// shows reports whether an event has a secret.
func shows(m *mask.Set, e runs.AgentData) bool {
	return m.In([]byte(e.Args)) || m.In([]byte(e.Output)) || m.In([]byte(e.Text)) || m.In([]byte(e.Command)) ||
		m.In([]byte(e.Why))
}

// bounded is as much of a masked text as the journal keeps, and how many bytes it leaves out.
func bounded(text string) (kept string, cut int) {
	if len(text) <= journalText {
		return text, 0
	}
	kept = strings.ToValidUTF8(text[:journalText], "")
	return kept, len(text) - len(kept)
}

// finish records the end of the turn, with the digests of its raw logs.
func (t *turn) finish(events []runs.AgentData) error {
	if t == nil {
		return nil
	}
	var files []runs.SealedFile
	for _, raw := range t.raw {
		data, err := raw.finish()
		if err != nil {
			return artifact(err)
		}
		if data.File != "" {
			files = append(files, runs.SealedFile{File: data.File, Digest: data.Digest})
		}
	}
	for _, s := range t.run.rec.record.TakeSteered() {
		t.event(runs.AgentData{Kind: runs.AgentSteer, Text: s.Text, Actor: s.Actor, Why: runs.SteerTooLate})
	}
	for _, e := range events {
		if e.Kind == runs.AgentEnd {
			e.Files = files
			if marker, err := t.run.mark(e.Code, t.step.ID, e.Why, runs.Fix(e.Code)); err != nil {
				return err
			} else if marker != nil {
				e.Files = append(e.Files, *marker)
			}
			t.end = e
		}
		t.event(e)
	}
	return t.err
}

// providerCode is why an agent's turn was no success, as a blocker; "" if it was, or for other steps.
func (r *run) providerCode(s *PlannedStep) (code, words string) {
	t := r.turns[s.ID]
	if t == nil || t.end.Code == "" {
		return "", ""
	}
	return t.end.Code, strings.TrimSuffix(fmt.Sprintf("the agent %s: %s", s.Kernel.Name()[len(runs.AgentKernelPrefix):],
		r.rec.conceal(t.end.Why)), ": ")
}

// mustChange reports whether a step is an agent's that is there to change something: what only says that it is done has
// done nothing.
func (s *PlannedStep) mustChange() bool {
	_, isAgent := s.Kernel.(*kernel.Agent)
	for _, tag := range []string{notebooks.TagNoChange, notebooks.TagTest, notebooks.TagReview,
		notebooks.TagAllowFailure} {
		isAgent = isAgent && !s.Has(tag)
	}
	return isAgent
}

// confineAgent changes what a session of an agent gets from that of other steps: only the credentials that are named
// for it, and none of the run's secrets.
func (r *sessions) confineAgent(o *kernel.Options) {
	secret := map[string]bool{}
	for _, name := range r.plan.notebook.Front.Secrets {
		secret[name] = true
	}
	var env []string
	for _, v := range o.Env {
		name, _, _ := strings.Cut(v, "=")
		if !secret[name] {
			env = append(env, v)
		}
	}
	o.Env, o.Params = env, nil
}
