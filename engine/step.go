package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"markmill/engine/kernel"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/expr"
	"markmill/runs"
)

// grace is how long an interrupted step may take to end by itself before the next harder signal.
const grace = 2 * time.Second

// step runs one step, or records why it did not run.
func (r *run) step(ctx context.Context, s *PlannedStep) error {
	why, err := r.skip(ctx, s)
	if err != nil {
		return r.cannotStart(s, runs.CodeStepFailed, err)
	}
	if why != "" {
		return r.skipped(s, why)
	}
	if s.Has(notebooks.TagFinally) {
		var cancel context.CancelFunc
		ctx, cancel = r.finally(ctx)
		defer cancel()
	}
	defer r.rec.trace.start(runs.StepSpan + string(s.ID))()
	if err := r.ws.guarded(); err != nil {
		return err
	}
	session, err := r.sessions.of(ctx, s)
	if err != nil {
		if why := r.cut(ctx); why != "" {
			return r.skipped(s, why)
		}
		var e *notebooks.Error
		if errors.As(err, &e) && e.Kind == notebooks.KindProvider {
			r.verdict.blocked = true
			return r.cannotStart(s, runs.CodeProviderUnavailable, err)
		}
		return err
	}
	if words := r.ws.leadsBack(s, session.Info().Program); words != "" {
		r.verdict.blocked = true
		return r.cannotStart(s, runs.CodeWrongTree, errors.New(words))
	}
	dir := filepath.FromSlash(stepDir(s))
	if err := makeFolder(r.rec.record.File(dir)); err != nil {
		return artifact(err)
	}
	again, err := r.retries(s)
	if err != nil {
		return r.cutShort(s, runs.StepFinishedData{}, err)
	}
	if err := r.takeTurn(s); err != nil {
		return r.cutShort(s, runs.StepFinishedData{}, err)
	}
	var done runs.StepFinishedData
	if !r.ws.left.known {
		r.ws.leavesUnkept(&done)
	}
	for attempt := 1; ; attempt++ {
		if done, err = r.attempt(ctx, s, dir, attempt, again); err != nil {
			return r.cutShort(s, done, err)
		}
		if !bad(done.Status) || attempt > s.Retries || ctx.Err() != nil {
			break
		}
		r.rec.loose = append(r.rec.loose, stepDir(s))
		if err := again.rewind(ctx, done.Reason); err != nil {
			return r.cutShort(s, done, err)
		}
		if err := keepAttempt(r.rec.record.File(dir), attempt); err != nil {
			return r.cutShort(s, runs.StepFinishedData{Attempts: attempt}, artifact(err))
		}
	}
	r.ws.leavesUnkept(&done)
	change, err := r.capture(ctx, s, dir)
	if err != nil {
		return r.cutShort(s, done, err)
	}
	if done.Reads, err = r.recordReads(dir, change); err != nil {
		return r.cutShort(s, done, err)
	}
	if done.InnerRuns, err = r.inner.take(s.ID); err != nil {
		return r.cutShort(s, done, err)
	}
	r.judge(s, &done, change)
	done.Hidden = r.rec.hiddenIn(s.ID)
	if err := r.rec.writeResult(dir, &done); err != nil {
		done.Result, done.ResultDigest = "", ""
		return r.cutShort(s, done, artifact(err))
	}
	r.results[s.ID] = done
	if err := r.rec.emit(runs.StepFinished, s.ID, done); err != nil || !s.byAgent() ||
		done.TerminatedBy == "interrupt" {
		return err // an interrupted turn can go on
	}
	return r.ws.endTurn()
}

// skip says why a step does not run; "" runs it.
func (r *run) skip(ctx context.Context, s *PlannedStep) (string, error) {
	switch {
	case s.Skip != "":
		return s.Skip, nil
	case s.Has(notebooks.TagInjected) && len(r.plan.Given()) > 0:
		return "values were given, and its own are those of an earlier run", nil
	case s.Has(notebooks.TagFinally):
	case ctx.Err() != nil && (r.verdict.failed == "" || r.verdict.late || !isLimit(ctx)):
		return r.cut(ctx), nil
	case r.verdict.failed != "":
		return fmt.Sprintf("step %s did not pass", r.verdict.failed), nil
	}
	for _, need := range s.Needs {
		if got, ok := r.results[need]; !ok || got.Status != runs.StepPassed {
			return fmt.Sprintf("it needs %s, which did not pass", need), nil
		}
	}
	if s.If == "" {
		return "", nil
	}
	e, err := expr.Parse(s.If)
	if err != nil {
		return "", err // the parser has checked it: not reached
	}
	ok, err := e.Eval(r.scope())
	if err != nil {
		return "", fmt.Errorf("if=%q cannot be decided: %w", s.If, err)
	}
	if !ok {
		return "its condition is false: " + s.If, nil
	}
	return "", nil
}

// skipped records a step that did not run.
func (r *run) skipped(s *PlannedStep, why string) error {
	done := runs.StepFinishedData{Index: s.Index, Status: runs.StepSkipped, Reason: why}
	r.results[s.ID] = done
	return r.rec.emit(runs.StepFinished, s.ID, done)
}

// cannotStart records a step that should have run and could not start.
func (r *run) cannotStart(s *PlannedStep, code string, err error) error {
	r.verdict.fail(s.ID, code, err.Error())
	done := runs.StepFinishedData{Index: s.Index, Status: runs.StepPending, Reason: err.Error()}
	r.results[s.ID] = done
	return r.rec.emit(runs.StepFinished, s.ID, done)
}

// cutShort records a step during which the engine failed, and returns the engine's error.
func (r *run) cutShort(s *PlannedStep, done runs.StepFinishedData, cause error) error {
	r.verdict.failed = s.ID
	r.rec.loose = append(r.rec.loose, stepDir(s))
	done.Index, done.Status, done.Reason = s.Index, runs.StepFailed, "Markmill failed: "+cause.Error()
	done.Commit, done.Tree = "", "" // of a step that has finished: a resumed run would carry this one
	r.results[s.ID] = done
	if err := r.rec.emit(runs.StepFinished, s.ID, done); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// attempt runs a step once.
func (r *run) attempt(ctx context.Context, s *PlannedStep, dir string, n int,
	again *retries) (runs.StepFinishedData, error) {
	done := runs.StepFinishedData{Index: s.Index, Attempts: n}
	session, err := r.sessions.of(ctx, s)
	if err != nil {
		return done, err
	}
	r.countProgram(s)
	if strings.HasPrefix(s.Kernel.Name(), kernel.RemotePrefix) {
		r.ws.tree.LoseReads(fmt.Sprintf("step %s ran on a server, where nobody sees what it reads", s.ID))
	}
	info := session.Info()
	digest, inside := r.programOf(info.Program)
	if err := r.rec.emit(runs.StepStarted, s.ID, runs.StepStartedData{Index: s.Index, Dir: filepath.ToSlash(dir),
		Kernel:  s.Kernel.Name(),
		Program: info.Program, Version: info.Version, ProgramDigest: digest, Inside: inside, Attempt: n,
		Settings: r.eng.Config.KernelSettings(s.Kernel.Name()),
		LostIn:   r.sessions.lostIn(s),
		Retry:    again.data}); err != nil {
		return done, err
	}
	delete(r.scraps, runs.CheckPrefix+string(s.ID)) // of the attempt before
	display := r.ws.displayDir(s, n)
	if done, err = r.execute(ctx, s, session, again.dir, done, dir, display, r.sinks.live()); err != nil {
		return done, err
	}
	if err := r.readScraps(s, dir, display); err != nil {
		var bad *notebooks.Error
		if !errors.As(err, &bad) || bad.Kind == notebooks.KindArtifact {
			return done, err
		}
		done.Status, done.Error = runs.StepFailed, &runs.ErrorData{Name: "scrap", Value: bad.Msg}
	}
	return done, r.recordCheck(s, &done)
}

// displayDir is where a step's interpreter leaves rich results, and files of scraps.
func (w *workspace) displayDir(s *PlannedStep, attempt int) string {
	return filepath.Join(w.work.Display, fmt.Sprintf("%02d-%d", s.Index+1, attempt))
}

// execute runs a step's code in its session, in the folder cwd, and returns the result. The streams go to dir.
func (r *run) execute(ctx context.Context, s *PlannedStep, session kernel.Session, cwd string,
	done runs.StepFinishedData, dir, display string, live liveOutput,
) (runs.StepFinishedData, error) {
	outs := [2]*stream{}
	for i, name := range streamNames {
		outs[i] = &stream{dir: r.rec.record.File(dir), name: name, rel: filepath.ToSlash(filepath.Join(dir, name)),
			step: s.ID, live: live, mask: r.plan.mask.Stream(), keys: r.rec.hidden.shown.Stream()}
	}
	if s.Has(notebooks.TagTest) { // a runner may leave its report there
		if err := os.MkdirAll(display, 0o777); err != nil {
			return done, artifact(err)
		}
	}
	limit, cancel := r.limit(ctx, s)
	defer cancel()
	turn, err := r.turn(s, done.Attempts)
	if err != nil {
		return done, err
	}
	r.turns[s.ID] = turn
	if err := r.continueTurn(s, turn, outs[0]); err != nil {
		return done, err
	}
	begin, ran := r.eng.Now(), r.rec.trace.start("code")
	out, err := session.Run(limit, kernel.Request{Code: s.Code, File: r.plan.fileName(),
		Line: s.CodeLine, Dir: cwd, Env: r.ws.stepEnv(s, display), Stdout: outs[0], Stderr: outs[1],
		DisplayDir: display, Ordered: r.plan.ordered(), Turn: turn.takes()})
	ran()
	timedOut := isLimit(limit)
	done.DurationNS = int64(r.eng.Now().Sub(begin))
	for i, data := range []*runs.StreamData{&done.Stdout, &done.Stderr} {
		var ferr error
		if *data, ferr = outs[i].finish(); ferr != nil && err == nil {
			err = artifact(ferr)
		}
		r.rec.noteHidden(s.ID, streamNames[i], outs[i].keys.Found)
	}
	if terr := turn.finish(out.End); err == nil {
		err = terr
	}
	if err != nil {
		return done, err
	}
	if s.Parameters && len(r.plan.Given()) > 0 && session.Alive() && out.Exit == 0 {
		if err := session.Bind(limit, r.plan.Given()); err != nil {
			out.Exit, out.Err = 1, &kernel.ExecError{Name: "parameters", Value: err.Error()}
		}
	}
	done.Exit, done.TerminatedBy = out.Exit, out.TerminatedBy
	if out.Err != nil {
		done.Error = &runs.ErrorData{Name: r.rec.hide(s.ID, "error", out.Err.Name),
			Value:     r.rec.hide(s.ID, "error", out.Err.Value),
			Traceback: r.rec.hide(s.ID, "error", out.Err.Traceback), Line: out.Err.Line}
	}
	if f := out.Failed; f != nil {
		done.Failed = &runs.CommandData{Line: f.Line, Command: r.rec.hide(s.ID, "error", f.Command)}
	}
	if done.Displays, err = r.moveDisplays(s.ID, display, dir, out); err != nil {
		return done, artifact(err)
	}
	if err := r.writeOutputs(s.ID, dir, out, outs, &done); err != nil {
		return done, artifact(err)
	}
	done.Reason = outcomeWords(out)
	runLate := context.Cause(limit) == errRunTimeout
	if timedOut && !runLate && !out.Died && s.Has(notebooks.TagInterrupt) { // as nbclient's interrupt_on_timeout
		done.Status = s.interrupted(out)
	} else if done.Status = s.status(out, timedOut); done.Status == runs.StepTimeout {
		done.Reason = r.limitWords(limit)
		r.verdict.late = r.verdict.late || runLate
	}
	if s.Has(notebooks.TagTest) {
		if done.Tests, err = r.countTests(s.ID, dir, display, outs); err != nil {
			return done, artifact(err)
		}
		s.believe(&done)
	}
	if !session.Alive() {
		if err := r.sessions.ended(s); err != nil {
			return done, err
		}
	}
	done.LeftRunning = r.sessions.leftRunning(s, out.Left)
	return done, nil
}

// status is the result of an outcome for this step.
func (s *PlannedStep) status(out kernel.Outcome, timedOut bool) runs.StepStatus {
	failed := out.Exit != 0
	switch {
	case timedOut && out.TerminatedBy != "":
		return runs.StepTimeout
	case out.TerminatedBy == "interrupt":
		return runs.StepFailed
	case out.Died: // as nbclient does where errors are allowed: the next step would begin without the state
		return runs.StepFailed
	case s.ExpectExit != nil && out.TerminatedBy == "":
		if out.Exit == *s.ExpectExit {
			return runs.StepPassed
		}
		return runs.StepFailed
	case !failed:
		return runs.StepPassed
	case s.Has(notebooks.TagAllowFailure) || s.Has(notebooks.TagRaises):
		return runs.StepAllowed
	}
	return runs.StepFailed
}

// believe makes a test step that passed by its exit code, and whose runner counted failed tests, a failed one.
func (s *PlannedStep) believe(done *runs.StepFinishedData) {
	if !done.HidesFailures() { // where another exit code was expected, so were the failures
		return
	}
	if done.Status = runs.StepFailed; s.Has(notebooks.TagAllowFailure) {
		done.Status = runs.StepAllowed
	}
	done.Reason = fmt.Sprintf("exit 0, although the test runner counted failed tests: %d", done.Tests.Failed)
}

// interrupted is the result of a step whose time limit interrupts it and no more: as if its code had raised the
// interrupt, and allowed if it caught it.
func (s *PlannedStep) interrupted(out kernel.Outcome) runs.StepStatus {
	if out.Caught {
		return runs.StepAllowed
	}
	out.TerminatedBy = ""
	return s.status(out, false)
}

// outcomeWords add to an outcome what its numbers do not say.
func outcomeWords(out kernel.Outcome) string {
	switch {
	case out.Died && out.TerminatedBy != "":
		return "the interpreter was ended by " + out.TerminatedBy
	case out.Died:
		return "the interpreter ended"
	case out.Lost != "":
		return "the shell was ended by the step and stands again, without " + out.Lost
	case out.Leftover > 0:
		return fmt.Sprintf("processes that it left were ended: %d", out.Leftover)
	}
	return ""
}

func bad(s runs.StepStatus) bool { return s == runs.StepFailed || s == runs.StepTimeout }

// capture commits what the step changed, and records it.
func (r *run) capture(ctx context.Context, s *PlannedStep, dir string) (*worktree.Change, error) {
	change, err := r.ws.capture(r.hurried, s.ID, fmt.Sprintf("%s: step %s", r.plan.TaskID(), s.ID))
	if err != nil {
		return nil, err
	}
	if err := r.withholdChange(s.ID, change); err != nil {
		return nil, err
	}
	if len(change.Files) == 0 && change.IgnoredWritten == 0 {
		return change, nil
	}
	r.rec.noteInChange(s.ID, change)
	data := runs.PatchData{Commit: string(change.Commit), Tree: string(change.Tree), Files: change.Files,
		Ignored: change.IgnoredWritten}
	if len(change.Files) > 0 {
		kept, err := r.rec.keep(path.Join(filepath.ToSlash(dir), "diff.patch"), change.Patch)
		if err != nil {
			return nil, err
		}
		data.Patch, data.Digest = kept.File, kept.Digest
	}
	return change, r.rec.emit(runs.PatchApplied, s.ID, data)
}

// judge decides what a finished step means for the run.
func (r *run) judge(s *PlannedStep, done *runs.StepFinishedData, change *worktree.Change) {
	done.Commit, done.Tree = string(change.Commit), string(change.Tree)
	changed := len(change.Files) > 0
	if words := r.verdict.leaked(s.ID); words != "" {
		done.Status, done.Reason = runs.StepFailed, words
		if r.verdict.failed == "" {
			r.verdict.failed = s.ID
		}
		return
	}
	r.verdict.tested.step(s.ID, change, s.Has(notebooks.TagTest) && !bad(done.Status))
	r.verdict.tested.list(s, change)
	if changed && s.Has(notebooks.TagNoChange) && !bad(done.Status) {
		done.Status, done.Reason = runs.StepFailed, "it is tagged no-change and changed "+
			firstOf(changedNames(change.Files))
		r.verdict.fail(s.ID, runs.CodeDisallowedFileChange, done.Reason)
		b := r.verdict.last(s.ID)
		b.Rule, b.Paths = "no-change", firstPaths(changedNames(change.Files))
		return
	}
	if s.mustChange() && done.Status == runs.StepPassed && !changed && done.Exit == 0 {
		done.Status = runs.StepFailed
		done.Reason = "the agent ended its turn and changed nothing"
		r.verdict.fail(s.ID, runs.CodeNoDiff, done.Reason)
		r.verdict.last(s.ID).Hint = "tag the step no-change if it is not to change anything"
		return
	}
	words := endWords(s, done)
	done.Reason = cmp.Or(done.Reason, exitWords(s, done.Exit))
	code, provider := r.providerCode(s)
	switch {
	case !bad(done.Status):
		if words == "exit 0" || s.ExpectExit != nil || done.Status == runs.StepAllowed {
			done.Reason = ""
		}
	case done.TerminatedBy == "interrupt":
		r.verdict.failed = s.ID // the run's own end says why
	case s.Has(notebooks.TagHealth) && !r.verdict.late: // its check says so, and the next check is made
	case done.Status == runs.StepFailed && code != "":
		r.verdict.blocked = true
		done.Reason = provider
		r.verdict.fail(s.ID, code, provider)
	case done.Status == runs.StepTimeout:
		r.verdict.blocked = true
		r.verdict.fail(s.ID, runs.CodeTimeout, words)
	case s.Has(notebooks.TagReview):
		r.verdict.blocked = true
		r.verdict.fail(s.ID, runs.CodeReviewerRejected, words)
	case s.Has(notebooks.TagTest):
		code := runs.CodeVerificationFailed
		if done.Exit == 0 && done.Tests != nil && done.Tests.Failed > 0 {
			code = runs.CodeTestsFailed
		}
		r.verdict.fail(s.ID, code, words)
	case r.plan.request.KeepGoing && r.sessions.get(s) != nil:
		r.verdict.block(runs.Blocker{Code: runs.CodeStepFailed, Step: s.ID, Message: words})
	default:
		r.verdict.fail(s.ID, runs.CodeStepFailed, words)
	}
	if b := r.verdict.last(s.ID); b != nil && bad(done.Status) {
		if words := cmp.Or(r.failed(done, noPermission, r.ws.wrongTree),
			r.failed(done, noModule, r.ws.wrongModule)); words != "" {
			b.Code, b.Message = runs.CodeWrongTree, words
			return
		}
		b.Hint = r.hint(s, done)
	}
}

// endWords describe how a step ended, in as many words as there are.
func endWords(s *PlannedStep, done *runs.StepFinishedData) string {
	words := cmp.Or(done.Reason, exitWords(s, done.Exit))
	switch e, f := done.Error, done.Failed; {
	case done.Reason != "":
	case e != nil:
		return strings.TrimSuffix(e.Name+": "+e.Value, ": ") // a bare assert says no more
	case f != nil:
		return words + fmt.Sprintf(" at line %d: %s", f.Line, f.Command)
	}
	return words
}

// exitWords describe an exit code if nothing else says how a step ended.
func exitWords(s *PlannedStep, exit int) string {
	if s.ExpectExit != nil {
		return fmt.Sprintf("exit %d, %d was expected", exit, *s.ExpectExit)
	}
	return fmt.Sprintf("exit %d", exit)
}

// makeFolder is os.MkdirAll with only one system call if the parent exists.
func makeFolder(path string) error {
	if os.Mkdir(path, 0o755) == nil {
		return nil
	}
	return os.MkdirAll(path, 0o755)
}

// keepAttempt moves the files of a failed attempt aside, so that the next attempt does not overwrite them.
func keepAttempt(dir string, n int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	aside := filepath.Join(dir, fmt.Sprintf("attempt-%d", n))
	if err := os.Mkdir(aside, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(aside, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// changedNames are the paths of a change, sorted.
func changedNames(files []runs.ChangedFile) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	slices.Sort(out)
	return out
}

func safeName(s string) string {
	out := []byte(s)
	for i, c := range out {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			out[i] = '_'
		}
	}
	return string(out)
}

// stepDir is the folder of a step's files, slash-separated from the run directory.
func stepDir(s *PlannedStep) string {
	return path.Join(runs.StepsDir, fmt.Sprintf("%02d-%s", s.Index+1, s.ID))
}
