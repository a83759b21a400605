package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/notebooks/params"
	"markmill/runs"
)

// InterruptedRun is a run that ended early, and what a new run reuses of it. It is read without a lock: Run locks it
// and checks that it has not changed.
type InterruptedRun struct {
	Dir    string
	Run    *runs.Run
	Source []byte

	events  []runs.Event
	journal []byte // without a torn last line
	forked  bool   // the new run is a fork
}

// Interrupted reads a run to resume. Its record must be complete (see runs.Reconcile). The error says why a run cannot
// be resumed.
func (e *Engine) Interrupted(dir string) (*InterruptedRun, error) {
	return before(&InterruptedRun{Dir: dir})
}

// Forked reads a run to fork, whether it completed or was interrupted. Its record must be complete (see
// runs.Reconcile). The error says why a run cannot be forked.
func (e *Engine) Forked(dir string) (*InterruptedRun, error) {
	return before(&InterruptedRun{Dir: dir, forked: true})
}

func before(i *InterruptedRun) (*InterruptedRun, error) {
	if err := i.read(); err != nil {
		return nil, err
	}
	return i, i.check()
}

// read reads the journal of the run. The files that it names are not looked at: see check.
func (i *InterruptedRun) read() error {
	dir := i.Dir
	if runs.Working(dir) {
		return i.inUse()
	}
	record := runs.At(dir)
	var err error
	if i.Source, err = record.Source(); err != nil {
		return err
	}
	if i.journal, err = record.ReadFile(runs.JournalFile); err != nil {
		return err
	}
	if i.events, _, err = runs.ReadJournal(bytes.NewReader(i.journal), runs.DigestOf(i.Source)); err != nil {
		return err
	}
	if i.Run, err = runs.Fold(i.events); err != nil {
		return err
	}
	return i.resumable()
}

// lock keeps others from removing or resuming the run.
func (i *InterruptedRun) lock() (release func(), err error) {
	release, err = runs.Lock(i.Dir)
	if errors.Is(err, runs.ErrLive) && !runs.Working(i.Dir) { // it was about to end
		release, err = runs.LockOwn(i.Dir)
	}
	if errors.Is(err, runs.ErrLive) {
		return nil, i.inUse()
	}
	if err != nil {
		return nil, err
	}
	now, err := runs.At(i.Dir).ReadFile(runs.JournalFile)
	if err == nil && !bytes.Equal(now, i.journal) {
		err = i.refuse("its record has changed meanwhile", "try again")
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (i *InterruptedRun) inUse() error {
	return i.refuse("it is alive, or another run goes on from it at this moment", "wait for its end")
}

// refuse is the error of a run that cannot be resumed, or forked.
func (i *InterruptedRun) refuse(why, hint string) error {
	return &notebooks.Error{Kind: notebooks.KindOption, Msg: fmt.Sprintf("run %s cannot be continued: %s",
		filepath.Base(i.Dir), why), Hint: hint}
}

// resumable returns an error if there is nothing to resume.
func (i *InterruptedRun) resumable() error {
	again := "run the notebook again"
	no := i.refuse
	has := func(code string) bool {
		return slices.ContainsFunc(i.Run.Blockers(), func(b runs.Blocker) bool { return b.Code == code })
	}
	switch status := i.Run.Status(); {
	case len(i.Run.Steps) == 0:
		return no("it was cut before its plan stood, and nothing of it ran", again)
	case i.Run.Completed == nil:
		return no("its record is not complete", "markmill runs maintain reconcile completes it")
	case has(runs.CodeSecretLeaked):
		return no("a secret has shown in it", "let no step print or write it, and "+again)
	case i.forked: // any end will do
	case status == runs.Fail && has(runs.CodeArtifactWriteFailure): // a full disk
	case status.Passed():
		return no("it passed, and there is nothing left to do", again)
	case status != runs.Interrupted:
		return no(fmt.Sprintf("it came to its end, as %s", status), again)
	}
	switch {
	case i.Run.Started.Folder != "":
		return no("it worked in the folder itself, outside a Git repository, and nobody has kept that as it was then",
			again)
	case i.Run.Contract.MutationMode == runs.MutationInPlace:
		return no("it worked in the checkout itself, which nobody has kept as it was then", again)
	case i.Run.Started.Options == nil:
		return no("it was made by a version that does not record the options of a run", again)
	}
	return nil
}

// check compares the files that would be reused with their digests: nothing is reused from a record that fails it.
func (i *InterruptedRun) check() error {
	for n := range i.Run.Steps {
		s := &i.Run.Steps[n]
		if !whole(s) {
			continue
		}
		for _, file := range s.Files() {
			got, err := digestOfFile(filepath.Join(i.Dir, filepath.FromSlash(file.File)))
			if err == nil && got != file.Digest {
				err = fmt.Errorf("the journal says %s, and its bytes give %s", file.Digest, got)
			}
			if err != nil {
				return i.refuse(fmt.Sprintf("its record does not hold: %s: %v", file.File, err),
					"markmill verify shows more")
			}
		}
	}
	return nil
}

// whole reports whether a step ran to its end and its results were recorded. A step that was interrupted, or during
// which Markmill failed, has no tree or a TerminatedBy.
func whole(s *runs.StepRecord) bool {
	f := s.Finished
	return f != nil && s.Step != nil && f.Tree != "" && f.TerminatedBy != "interrupt"
}

func digestOfFile(name string) (runs.Digest, error) {
	b, err := os.ReadFile(name)
	return runs.DigestOf(b), err
}

// Request makes the request of the resumed run. given are the values of the run's secrets, which no record has.
func (i *InterruptedRun) Request(given []params.Given) (Request, error) {
	s, contract, o := i.Run.Started, i.Run.Contract, i.Run.Started.Options
	if len(contract.Reversed) > 0 {
		return Request{}, i.refuse("it is a run of markmill test, on a tree from which its change was taken back",
			"test the notebook again")
	}
	req, err := RequestOf(o)
	if err != nil {
		return req, i.refuse(err.Error(), "run the notebook again")
	}
	req.Path, req.Source, req.MadeOf, req.Output, req.Assets = s.Notebook, i.Source, s.SourcePath, s.Output, s.Assets
	req.Resume, req.Base, req.Dirty = s.RunID, contract.BaseCommit, Dirty(contract.Dirty)
	if i.forked {
		req.Fork, req.Given = true, append(req.Given, given...) // the last one wins
		if i.Run.Status().Passed() {
			req.Branch = "" // the branch already has the change of the earlier run
		}
		return req, nil
	}
	req.Sweep = s.Sweep
	for _, g := range given {
		if slices.ContainsFunc(o.Given, func(own runs.GivenData) bool { return own.Name == g.Name }) ||
			!slices.ContainsFunc(contract.Parameters,
				func(p runs.ParamData) bool { return p.Name == g.Name && p.Given }) {
			return req, &notebooks.Error{Kind: notebooks.KindOption,
				Msg:  fmt.Sprintf("parameter %s: a resumed run has the values of the run that was cut", g.Name),
				Hint: "leave it out: only secrets, which no record holds, are given again"}
		}
		req.Given = append(req.Given, g)
	}
	return req, nil
}

// RequestOf makes a request of the options that a record keeps.
func RequestOf(o *runs.OptionsData) (Request, error) {
	req := Request{Options: o.Options, AllowUnknown: o.AllowUnknown, StartNS: o.StartNS}
	var err error
	req.Given, err = GivenOf(o.Given)
	return req, err
}

// GivenOf reads the values that a record keeps.
func GivenOf(list []runs.GivenData) (out []params.Given, err error) {
	for _, g := range list {
		v, err := notebooks.ParseWire([]byte(g.Wire))
		if err != nil {
			return nil, fmt.Errorf("its parameter %s cannot be read: %w", g.Name, err)
		}
		out = append(out, params.Given{Name: g.Name, Value: &v, Source: g.From})
	}
	return out, nil
}

// same returns an error if a plan differs from the request of the interrupted run. Secrets are not compared: the record
// keeps nothing from which they could be guessed.
func (i *InterruptedRun) same(p *Plan) error {
	var errs errorList
	now := map[string]runs.ParamData{}
	for _, v := range p.Parameters() {
		now[v.Name] = v
	}
	for _, was := range i.Run.Contract.Parameters {
		is, there := now[was.Name]
		switch {
		case was.Given && !is.Given:
			errs.add(lostSecret(p.request.Path, was.Name))
		case was.Type == string(notebooks.TypeSecret) && is.Type == was.Type:
		case !there || is.Type != was.Type || !codec.Same(is.Value, was.Value):
			errs.add(&notebooks.Error{Kind: notebooks.KindParameter, File: p.request.Path,
				Msg:  fmt.Sprintf("parameter %s is not as it was when the run was cut", was.Name),
				Hint: "run the notebook again"})
		}
	}
	if len(p.steps) != len(i.Run.Steps) {
		errs.add(i.refuse("this version finds other steps in the notebook", "run the notebook again"))
	}
	return errs.err()
}

// lostSecret is the error of a parameter that must be given again.
func lostSecret(path, name string) error {
	return &notebooks.Error{Kind: notebooks.KindParameter, File: path,
		Msg:  fmt.Sprintf("parameter %s: it is a secret, or holds one, and no record keeps it", name),
		Hint: fmt.Sprintf("give it again: -p %s=VALUE", name)}
}

// secrets says whether the run had secrets, of which nobody can say whether they are the same now.
func (i *InterruptedRun) Secrets() (names []string) {
	for _, p := range i.Run.Contract.Parameters {
		if p.Type == string(notebooks.TypeSecret) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Options are the options of the request that a resumed run reuses, with the given values that are no secrets.
func (p *Plan) Options() *runs.OptionsData {
	r := p.request
	o := &runs.OptionsData{Options: r.Options, StartNS: r.StartNS, AllowUnknown: r.AllowUnknown}
	for _, b := range p.Given() {
		if wire := b.Value.Wire(); b.Value.Type != notebooks.TypeSecret && !p.mask.In(wire) && !bytes.Contains(wire,
			[]byte(`"$secret"`)) {
			o.Given = append(o.Given, runs.GivenData{Name: b.Param.Name, From: b.From, Wire: string(wire)})
		}
	}
	return o
}

// reuse is what a run reuses of an earlier one.
type reuse struct {
	from   *InterruptedRun
	until  int                                   // index of the first step that is not reused
	replay map[notebooks.StepID]bool             // reused steps that run again for their state
	again  map[notebooks.StepID]bool             // tests before until, which run again for their results
	events map[notebooks.StepID][]runs.Event     // of reused steps
	record map[notebooks.StepID]*runs.StepRecord // of all
}

// interruptedWords say why a step was skipped after a signal.
const interruptedWords = "the run was interrupted"

// newReuse decides which steps are reused and which of them must run again. Records do not hold the state of
// interpreters, which later steps may need, so every step of a session that a remaining step uses runs again. So do
// setup steps, steps that left a process running, and steps that wrote ignored files, which are in no tree.
func newReuse(c *InterruptedRun, steps []PlannedStep, fork *runs.ForkData) *reuse {
	k := &reuse{from: c, replay: map[notebooks.StepID]bool{}, again: map[notebooks.StepID]bool{},
		events: map[notebooks.StepID][]runs.Event{},
		record: map[notebooks.StepID]*runs.StepRecord{}}
	for i := range c.Run.Steps {
		k.record[c.Run.Steps[i].Planned.ID] = &c.Run.Steps[i]
	}
	for k.until = 0; k.until < len(steps); k.until++ {
		was := k.record[steps[k.until].ID]
		if was == nil || !whole(was) && (was.Finished == nil || was.Finished.Status != runs.StepSkipped ||
			was.Finished.Reason == interruptedWords) || fork != nil && steps[k.until].ID == fork.At {
			break
		}
	}
	for _, e := range c.events {
		switch e.Type {
		case runs.StepStarted, runs.ScrapRecorded, runs.PatchApplied, runs.StepFinished:
			k.events[e.Step] = append(k.events[e.Step], e)
		}
	}
	failed := slices.ContainsFunc(steps[:k.until], func(s PlannedStep) bool {
		w := k.record[s.ID]
		return whole(w) &&
			bad(w.Finished.Status)
	})
	used := map[string]bool{} // sessions whose state is needed
	for i := range steps[k.until:] {
		if s := &steps[k.until+i]; s.Skip == "" && (!failed || s.Has(notebooks.TagFinally)) {
			used[s.sessionKey()] = true
		}
	}
	if fork != nil {
		for _, id := range fork.Again {
			k.again[id] = true
		}
	}
	if len(used)+len(k.again) == 0 {
		return k // no remaining step needs state
	}
	for i := range slices.Backward(steps[:k.until]) {
		s := &steps[i]
		was := k.record[s.ID]
		if !whole(was) {
			continue
		}
		if k.again[s.ID] {
			used[s.sessionKey()] = true
			continue
		}
		if len(used) == 0 {
			continue // no step after it runs
		}
		if s.byAgent() {
			continue // a second turn would be another one, not the same again
		}
		hidden := was.Finished.Unkept || was.Patch != nil && was.Patch.Ignored > 0
		started := slices.ContainsFunc(was.Finished.LeftRunning,
			func(p runs.ProcessData) bool { return p.Since == s.ID })
		if s.Has(notebooks.TagSetup) || hidden || started || used[s.sessionKey()] && !s.stateless() {
			k.replay[s.ID] = true
			used[s.sessionKey()] = true // so the earlier steps of its session run again, too
		}
	}
	return k
}

// stateless reports whether a step's session keeps nothing between steps.
func (s *PlannedStep) stateless() bool {
	return strings.HasPrefix(s.Kernel.Name(), "command:") || s.byAgent()
}

// byAgent reports whether an agent does the step.
func (s *PlannedStep) byAgent() bool {
	return s.Kernel != nil && strings.HasPrefix(s.Kernel.Name(), runs.AgentKernelPrefix)
}

// resumedFrom copies the journals of the interrupted run and its ancestors, and returns a reference to the nearest.
func (r *run) resumedFrom() (*runs.ResumedData, error) {
	c := r.plan.interrupted
	if c == nil {
		return nil, nil
	}
	r.reuse = newReuse(c, r.plan.steps, r.plan.fork)
	r.rec.loose = append(r.rec.loose, runs.ResumedDir) // the nearest journal has the digests of the others
	if err := os.Mkdir(r.rec.record.File(runs.ResumedDir), 0o755); err != nil {
		return nil, err
	}
	last := c.events[len(c.events)-1]
	data := &runs.ResumedData{Run: c.Run.ID, Seq: last.Seq, Hash: last.Hash, File: runs.ResumedFile(c.Run.ID),
		Digest: runs.DigestOf(c.journal), Fork: r.plan.fork}
	if data.Fork != nil {
		if err := r.rec.record.Write(data.Fork.File, c.Source); err != nil {
			return nil, err
		}
	}
	if err := r.rec.record.Write(data.File, c.journal); err != nil {
		return nil, err
	}
	copied := func(name string, digest runs.Digest) ([]byte, error) {
		b, err := runs.At(c.Dir).ReadFile(name)
		if err != nil {
			return nil, err
		}
		if got := runs.DigestOf(b); got != digest {
			return nil, fmt.Errorf("%s of run %s has changed", name, c.Run.ID)
		}
		return b, r.rec.record.Write(name, b)
	}
	for from := c.Run.Started.ResumedFrom; from != nil; {
		b, err := copied(from.File, from.Digest)
		if err == nil && from.Fork != nil {
			_, err = copied(from.Fork.File, from.Fork.Digest)
		}
		if err != nil {
			return nil, err
		}
		line, _, _ := bytes.Cut(b, []byte("\n"))
		var first runs.Event
		var started runs.RunStartedData
		if err := codec.Unmarshal(line, &first); err != nil {
			return nil, err
		}
		if err := codec.Unmarshal(first.Data, &started); err != nil {
			return nil, err
		}
		from = started.ResumedFrom
	}
	return data, nil
}

// Fork describes how the run differs from the one that it forks; nil if it is no fork.
func (p *Plan) Fork() *runs.ForkData { return p.fork }

// Reused lists the reused steps, those of them that run again for their state, and the first step that is not reused;
// "" if there is none.
func (p *Plan) Reused() (reused, replayed []notebooks.StepID, next notebooks.StepID) {
	if p.interrupted == nil {
		return nil, nil, ""
	}
	c := newReuse(p.interrupted, p.steps, p.fork)
	for i, s := range p.steps {
		switch {
		case i >= c.until && s.Skip == "":
			return reused, replayed, s.ID
		case i >= c.until || !whole(c.record[s.ID]) || c.again[s.ID]:
			continue
		}
		reused = append(reused, s.ID)
		if c.replay[s.ID] {
			replayed = append(replayed, s.ID)
		}
	}
	return reused, replayed, ""
}
