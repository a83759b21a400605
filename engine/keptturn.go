package engine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/mask"
	"markmill/engine/worktree"
	"markmill/engine/worktree/disk"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/runs"
)

// turnFile marks, in a run's private folder, that an agent's turn is not over. The folder then outlives a run that is
// cut: the backend's session is in the turn's home, and what the agent has changed so far in the worktree. No record
// has either.
const turnFile = "turn.json"

// keptFor is how long the folder of a cut turn waits for the run to be resumed.
const keptFor = 7 * 24 * time.Hour

// keptTurn is a turn that is not over.
type keptTurn struct {
	Run    runs.RunID       `json:"run_id"`
	Record string           `json:"record"` // the run directory
	Step   notebooks.StepID `json:"step"`
	Root   string           `json:"root"` // of the private folder, which every path that the backend knows is below
	Tree   string           `json:"tree"` // the worktree, below Root
	Home   string           `json:"home"` // of the backend, below Root
	Tidied bool             `json:"tidied,omitzero"`

	dir     string           // where the private folder is now
	release func()           // its lock
	before  worktree.OID     // the tree that the step began with; "" is the base's
	events  []runs.Event     // of the turn, without its end
	turn    []runs.AgentData // of events
}

// beginTurn makes the home of an attempt's turn, and marks the private folder.
func (r *run) beginTurn(s *PlannedStep) (home string, err error) {
	w := r.ws
	if from := r.kept; from != nil && from.Step == s.ID {
		home = filepath.Join(w.work.Root, from.Home)
	} else if home, err = os.MkdirTemp(w.work.Agents, string(s.ID)+"-"); err != nil {
		return "", artifact(err)
	}
	if r.plan.source == nil || r.plan.mode() == runs.MutationInPlace {
		return home, nil // such a run cannot be resumed
	}
	k := keptTurn{Run: r.id, Record: r.rec.record.Path(), Step: s.ID, Root: w.work.Root}
	for place, path := range map[*string]string{&k.Tree: w.tree.Dir(), &k.Home: home} {
		if *place, err = filepath.Rel(k.Root, path); err != nil {
			return "", err
		}
	}
	return home, artifact(k.write(w.work.Root))
}

func (k *keptTurn) write(dir string) error {
	text, err := codec.Marshal(k)
	if err != nil {
		return err
	}
	return runs.WriteFile(filepath.Join(dir, turnFile), text)
}

// endTurn says that no turn of the run is to go on: it is over, or a secret has shown in it.
func (w *workspace) endTurn() error {
	if err := os.Remove(filepath.Join(w.work.Root, turnFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return artifact(err)
	}
	return nil
}

// readTurn reads the mark of a private folder; nil where there is none.
func readTurn(dir string) *keptTurn {
	text, err := os.ReadFile(filepath.Join(dir, turnFile))
	k := &keptTurn{dir: dir}
	if err != nil || codec.Unmarshal(text, k) != nil || !filepath.IsLocal(k.Tree) || !filepath.IsLocal(k.Home) {
		return nil
	}
	for _, path := range []string{k.Tree, k.Home} {
		if info, err := os.Lstat(filepath.Join(dir, path)); err != nil || !info.IsDir() {
			return nil
		}
	}
	return k
}

// keepsTurn reports whether a private folder, which is locked, is left for a run that resumes. It removes from the
// folder what such a run does not need, and keeps none in which a credential stands.
func (e *Engine) keepsTurn(dir string) bool {
	k := readTurn(dir)
	if k == nil {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, turnFile))
	_, gone := os.Stat(k.Record)
	if err != nil || gone != nil || e.Now().Sub(info.ModTime()) > keptFor {
		return false
	}
	if k.Tidied {
		return true
	}
	if e.showsCredential(dir, info.ModTime()) {
		return false
	}
	for _, name := range []string{"bin", "display", "home", "kernels", "sandbox", "scraps.jsonl"} {
		_ = disk.RemoveAll(filepath.Join(dir, name)) // it goes with the folder at the latest
	}
	was := info.ModTime()
	k.Tidied = true
	return k.write(dir) == nil && os.Chtimes(filepath.Join(dir, turnFile), was, was) == nil
}

// showsCredential reports whether a value of an admitted agent's credentials stands in a file that was written since,
// as far as the environment has them.
func (e *Engine) showsCredential(dir string, since time.Time) bool {
	var values []string
	for _, c := range e.Config.Agents {
		for _, name := range c.Credentials {
			if v, ok := e.Getenv(name); ok && v != "" {
				values = append(values, v)
			}
		}
	}
	if len(values) == 0 {
		return false
	}
	set, found := mask.New(values), false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err != nil || info.ModTime().Before(since.Add(-coarsest)) {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		finder := set.Find()
		if _, err = io.Copy(finder, f); err == nil && finder.Found() {
			found, err = true, fs.SkipAll
		}
		return err
	})
	return found || err != nil
}

// cutTurn finds the turn that a run goes on with; nil if there is none. It is of the run that was cut or, where that
// one had not begun the step yet, of the run which that one resumed. Of a fork there is none: it begins anew.
func (e *Engine) cutTurn(p *Plan) *keptTurn {
	c := p.interrupted
	if c == nil || c.forked || !e.hasWarden() { // without it the agent may still be at work
		return nil
	}
	marks, _ := filepath.Glob(filepath.Join(e.Cache, "work", "*", turnFile))
	apart, _ := filepath.Glob(filepath.Join(e.apartFolder(), "*", turnFile))
	kept := map[runs.RunID]*keptTurn{}
	for _, file := range append(marks, apart...) {
		if k := readTurn(filepath.Dir(file)); k != nil {
			kept[k.Run] = k
		}
	}
	began := map[notebooks.StepID]bool{}
	for run, events := c.Run, c.events; len(kept) > 0; {
		if k := kept[run.ID]; k != nil && !began[k.Step] {
			at := slices.IndexFunc(p.steps, func(s PlannedStep) bool { return s.ID == k.Step })
			if at >= 0 && p.steps[at].byAgent() && k.takes(run, events, &p.steps[at]) {
				return k
			}
			return nil
		}
		for i := range run.Steps {
			began[run.Steps[i].Planned.ID] = began[run.Steps[i].Planned.ID] || run.Steps[i].Step != nil
		}
		from := run.Started.ResumedFrom
		if from == nil || from.Fork != nil {
			return nil
		}
		text, err := runs.At(c.Dir).ReadFile(from.File)
		if err != nil {
			return nil
		}
		if events, _, err = runs.ReadJournal(bytes.NewReader(text), runs.DigestOf(c.Source)); err != nil {
			return nil
		}
		if run, err = runs.Fold(events); err != nil {
			return nil
		}
	}
	return nil
}

// takes takes the events of the turn from the journal of its run, and reports whether there is a session to go on with.
func (k *keptTurn) takes(run *runs.Run, events []runs.Event, s *PlannedStep) bool {
	at := slices.IndexFunc(run.Steps, func(r runs.StepRecord) bool { return r.Planned.ID == s.ID })
	if at < 0 || run.Steps[at].Step == nil || run.Steps[at].Step.Kernel != s.Kernel.Name() {
		return false
	}
	for _, before := range run.Steps[:at] {
		if f := before.Finished; f != nil && f.Tree != "" {
			k.before = worktree.OID(f.Tree)
		}
	}
	for _, e := range events {
		switch {
		case e.Step != s.ID:
		case e.Type == runs.StepStarted: // of the last attempt
			k.events, k.turn = nil, nil
		case runs.IsTurn(e.Type):
			var told runs.AgentData
			if codec.Unmarshal(e.Data, &told) != nil {
				return false
			}
			k.events, k.turn = append(k.events, e), append(k.turn, told)
		}
	}
	return k.session() != "" && slices.ContainsFunc(k.turn, func(e runs.AgentData) bool {
		return e.Kind != runs.AgentSession // before the agent did anything, a new turn does nothing twice
	})
}

// session is the backend's.
func (k *keptTurn) session() (id string) {
	for _, e := range k.turn {
		if e.Kind == runs.AgentSession {
			id = e.Session
		}
	}
	return id
}

// Continues is the agent's step whose turn a plan goes on with, in the backend's own session; "" if there is none.
func (e *Engine) Continues(p *Plan) notebooks.StepID {
	if k := e.cutTurn(p); k != nil {
		return k.Step
	}
	return ""
}

// aside moves the private folder of a cut turn out of the way of the run that goes on with it: that one's has the same
// path, because the backend's session knows files by their paths.
func (k *keptTurn) aside() error {
	if k == nil {
		return nil
	}
	to := filepath.Join(filepath.Dir(k.Root), "turn-"+filepath.Base(k.Root))
	var err error
	if k.release, err = runs.Lock(k.dir); err != nil || k.dir == to {
		return err
	}
	if err := os.Rename(k.dir, to); err != nil {
		return err
	}
	k.dir = to
	return nil
}

// free lets go of the folder.
func (k *keptTurn) free() {
	if k != nil && k.release != nil {
		k.release()
	}
}

// takeTurn makes the worktree, the home and the temporary files those that the cut turn left.
func (r *run) takeTurn(s *PlannedStep) error {
	k := r.kept
	if k == nil || k.Step != s.ID {
		return nil
	}
	if k.before != "" && k.before != r.ws.tree.Last() { // a step before it ran again, and did something else
		k.free()
		r.kept = nil
		return nil
	}
	r.ws.tree.LoseReads("step " + string(s.ID) + " was cut, and what it had read by then is not known")
	for _, name := range []string{k.Tree, filepath.Dir(k.Home), "tmp", "inner"} {
		from, to := filepath.Join(k.dir, name), filepath.Join(r.ws.work.Root, name)
		if err := moveAll(from, to, name == k.Tree); err != nil {
			return artifact(err)
		}
	}
	for _, lock := range []string{"index.lock", "HEAD.lock"} { // of a Git that was killed
		_ = os.Remove(filepath.Join(r.ws.tree.GitDir(), lock))
	}
	return nil
}

// moveAll moves everything in a folder into another one, which is emptied before if it is to be the same.
func moveAll(from, to string, same bool) error {
	if same {
		entries, err := os.ReadDir(to)
		if err != nil {
			return err
		}
		for _, d := range entries {
			if err := disk.RemoveAll(filepath.Join(to, d.Name())); err != nil {
				return err
			}
		}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, d := range entries {
		path := filepath.Join(to, d.Name())
		if err := disk.RemoveAll(path); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, d.Name()), path); err != nil {
			return err
		}
	}
	return nil
}

// continueTurn records what the turn was until it was cut, marked as carried, and that it goes on.
func (r *run) continueTurn(s *PlannedStep, t *turn, out *stream) error {
	k := r.kept
	if k == nil || k.Step != s.ID || t == nil {
		return nil
	}
	defer func() { k.free(); r.kept = nil }() // a further attempt begins anew
	for i, e := range k.events {
		mark, err := (&reuse{from: &InterruptedRun{Run: &runs.Run{ID: k.Run}}}).mark(e)
		if err != nil {
			return err
		}
		told := k.turn[i]
		if told.Kind == runs.AgentEnd {
			continue
		}
		told.Carried = mark
		_, _ = out.Write([]byte(runs.Transcript(told)))
		if err := r.rec.emit(e.Type, s.ID, told); err != nil {
			return err
		}
	}
	resumed := runs.AgentData{Kind: runs.AgentResume, Session: k.session(), Text: continuePrompt(k.turn)}
	_, _ = out.Write([]byte(runs.Transcript(resumed)))
	t.session, t.prompt = resumed.Session, resumed.Text
	if err := r.rec.emit(runs.AgentEventPrefix+runs.EventType(runs.AgentResume), s.ID, resumed); err != nil {
		return err
	}
	_ = disk.RemoveAll(k.dir) // all that counts was moved; the next run tries again
	return nil
}

// continuePrompt is what an agent is told whose turn was cut. It names the last commands that the journal has the end
// of: a backend that was killed may not have written them into its session yet.
func continuePrompt(turn []runs.AgentData) string {
	const most = 20
	var done []string
	for _, e := range turn {
		if e.Kind == runs.AgentCommand {
			done = append(done, "\n$ "+e.Command)
		}
	}
	prompt := "Your turn was interrupted. Go on from there: every file is as you left it. Do nothing again that is " +
		"done; what the last command did before it was ended, you have to look at first."
	if len(done) == 0 {
		return prompt
	}
	return prompt + "\n\nThese commands of yours had ended:" + strings.Join(done[max(0, len(done)-most):], "")
}
