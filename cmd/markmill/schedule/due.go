package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/files"
	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/records"
	"markmill/cmd/internal/schedules"
	"markmill/engine"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/runs"
)

func scheduleRunDue(a *program.App) *cobra.Command {
	jobs, quiet := 4, false
	c := &cobra.Command{
		Use: "run-due [NOTEBOOK…]", Short: "Run the scheduled notebooks that are due", Args: program.Args(0, -1),
		Long: `Runs every notebook of the repository that is due, as markmill run does, and records the due time in
.markmill/schedules. It needs neither a daemon nor a queue: let cron or a timer call it every minute (see markmill
schedule install). Two calls at the same time run each due time once. While a notebook runs, it checks every 20 s, and
at each full minute, whether others have become due; overlap decides about the notebook itself.

Due times of a notebook that is new, or whose cron expression has changed, count from the first call that sees it.

Exit codes: 0 nothing was due, or all runs passed, 1 a run failed, 2 a schedule has a mistake.`,
		Example: "  markmill schedule run-due\n  markmill schedule run-due reports/daily.md",
		RunE: func(c *cobra.Command, paths []string) error {
			if jobs < 1 || jobs > 256 {
				return program.Usagef("-j %d: give a number from 1 to 256", jobs)
			}
			store, src, err := a.Here()
			if err == nil && src == nil {
				_, _, err = scheduleHere(a)
			}
			if err != nil {
				return err
			}
			for i, path := range paths {
				paths[i] = files.Absolute(path)
			}
			if err := schedules.Beat(store, "markmill schedule run-due", a.Now()); err != nil {
				return err
			}
			d := &dueRuns{App: a, store: store, src: src, quiet: quiet}
			list, err := schedules.Find(c.Context(), src, paths...)
			if err != nil {
				return err
			}
			if len(paths) == 1 && len(list) == 1 {
				return d.runOne(c.Context(), &list[0])
			}
			return d.runAll(c.Context(), jobs, paths)
		},
	}
	c.Flags().IntVarP(&jobs, "jobs", "j", jobs, "run up to `N` notebooks at once")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "print only errors")
	a.RepoFlag(c.Flags())
	return c
}

// dueRuns runs what is due in a repository.
type dueRuns struct {
	*program.App
	store runs.Store
	src   *worktree.Source
	quiet bool
}

// lookAgain is how often it is looked what else is due while a run goes on.
const lookAgain = 20 * time.Second

// runAll has a process of its own run each notebook that is due, until nothing is.
func (d *dueRuns) runAll(ctx context.Context, jobs int, paths []string) error {
	ctx, stop := program.UntilInterrupted(ctx)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		running = map[string]int{} // the processes of each notebook: a second one ends the run of the first
		worst   int
		ended   = make(chan struct{}, 1)
	)
	defer group.Wait()
	for {
		list, err := schedules.Find(ctx, d.src, paths...)
		if err != nil {
			return err
		}
		for _, n := range list {
			mu.Lock()
			here, others := running[n.Path], len(running)
			mu.Unlock()
			if here > 1 || here == 0 && others >= jobs {
				continue
			}
			due, err := d.due(&n)
			if err != nil {
				d.Tell("markmill: %s\n", err)
				worst = max(worst, program.ExitOf(err))
			}
			if !due {
				continue
			}
			args := []string{"schedule", "run-due", filepath.Join(d.src.Root(), filepath.FromSlash(n.Path))}
			if d.quiet {
				args = append(args, "--quiet")
			}
			cmd := exec.Command(self, args...) // a signal reaches it by itself
			cmd.Stdout, cmd.Stderr, cmd.Dir = d.Stdout, d.Stderr, d.src.Root()
			if err := cmd.Start(); err != nil {
				return err
			}
			mu.Lock()
			running[n.Path]++
			mu.Unlock()
			group.Go(func() {
				err := cmd.Wait()
				mu.Lock()
				defer mu.Unlock()
				if running[n.Path]--; running[n.Path] == 0 {
					delete(running, n.Path)
				}
				if err != nil {
					worst = max(worst, program.ExitFail)
				}
				select {
				case ended <- struct{}{}:
				default:
				}
			})
		}
		mu.Lock()
		none := len(running) == 0
		mu.Unlock()
		if none || ctx.Err() != nil {
			return program.EndWith(worst)
		}
		now := d.Now()
		minute := now.Truncate(time.Minute).Add(time.Minute).Sub(now) // until something may be due
		select {
		case <-ctx.Done():
		case <-ended:
		case <-time.After(min(minute, lookAgain)):
			if err := schedules.Beat(d.store, "markmill schedule run-due", d.Now()); err != nil {
				return err
			}
		}
	}
}

// due reports whether a process has to be started for a notebook: to run it, or to end the run that goes on. It notes
// what is due, but does not run: a notebook that is seen for the first time, and due times during a run.
func (d *dueRuns) due(n *schedules.Notebook) (start bool, err error) {
	if n.Err != nil {
		return false, n.Err
	}
	keep := schedules.Keep(d.store, n.Path)
	return start, keep.Update(func(s *schedule.State) error {
		alive, noted := keep.Alive(), s.Run != nil && !s.Run.Ended
		if alive != noted {
			start = noted // its process was killed; else one is about to note its run, or has just done so
			return nil
		}
		next := *s
		next.Notebook, next.Waiting = n.Path, slices.Clone(s.Waiting)
		due, cancel := next.Look(n.Schedule, n.Times, d.Now().UTC())
		if start = cancel || !due.IsZero(); due.IsZero() {
			*s = next
		}
		return nil
	})
}

// runOne runs a notebook if it is due. Another process may have the notebook, or take it: then there is nothing to do,
// or its run is ended first.
func (d *dueRuns) runOne(ctx context.Context, n *schedules.Notebook) error {
	if n.Err != nil {
		return n.Err
	}
	keep := schedules.Keep(d.store, n.Path)
	for {
		release, err := keep.Begin()
		busy := errors.Is(err, runs.ErrLive)
		if err != nil && !busy {
			return err
		}
		var due time.Time
		if err = nil; !busy {
			due, err = d.settle(ctx, n, keep)
		}
		var ended *schedule.Run // the run to be ended
		if err == nil {
			err = keep.Update(func(s *schedule.State) error {
				s.Notebook = n.Path
				if busy && (s.Run == nil || s.Run.Ended) {
					return nil // that process is about to note its run, or has just done so
				}
				cancel := false
				if due.IsZero() {
					due, cancel = s.Look(n.Schedule, n.Times, d.Now().UTC())
				}
				if !due.IsZero() {
					s.Run = &schedule.Run{Due: due}
				}
				if cancel {
					ended = s.Run
				}
				return nil
			})
		}
		switch {
		case err != nil || busy && ended == nil:
		case busy:
			if err = d.end(ctx, n, keep, ended.Due); err == nil {
				continue
			}
		case !due.IsZero():
			err = d.run(ctx, n, keep, due)
		}
		if !busy {
			release()
		}
		return err
	}
}

// settle notes how the run of a process that was killed has ended. A run that never began is due again.
func (d *dueRuns) settle(ctx context.Context, n *schedules.Notebook, keep *schedules.Keeper) (again time.Time,
	err error) {
	s, err := keep.Load()
	if err != nil || s.Run == nil || s.Run.Ended {
		return again, err
	}
	record := d.store.Record(runs.RunID(s.Run.ID))
	if s.Run.ID == "" || !record.Has("") {
		return s.Run.Due.In(n.Times.Zone), nil
	}
	if _, err := record.Reconcile(d.Now, records.Rebuild); err != nil {
		return again, err
	}
	return again, d.ended(ctx, n, keep, s.Run)
}

// ended commits the output of a run, and notes how the run has ended.
func (d *dueRuns) ended(ctx context.Context, n *schedules.Notebook, keep *schedules.Keeper, r *schedule.Run) error {
	run, _, err := d.store.Record(runs.RunID(r.ID)).Load()
	if err == nil && n.Commit != "" && run.Status().Passed() {
		var program string
		if program, err = os.Executable(); err == nil {
			r.Commit, err = schedules.Commit(ctx, program, d.src, d.store, n, r, func(oid string) error {
				return keep.Note(func(r *schedule.Run) { r.Commit = oid })
			})
		}
	}
	return errors.Join(err, keep.Note(func(now *schedule.Run) {
		now.Ended = true
		if run != nil {
			now.Status = run.Status()
		}
		if err != nil {
			now.Error = err.Error()
		}
	}))
}

// end ends the run for a due time, which another process has, and waits until that has let go.
func (d *dueRuns) end(ctx context.Context, n *schedules.Notebook, keep *schedules.Keeper, due time.Time) error {
	for asked := false; keep.Alive(); {
		if s, err := keep.Load(); err != nil || s.Run == nil || !s.Run.Due.Equal(due) {
			return err
		} else if !asked && s.Run.ID != "" {
			dir := d.store.Path(runs.RunID(s.Run.ID))
			_, err := records.Abort(ctx, dir, runs.AbortData{Reason: "due again (overlap: cancel)",
				Actor: "markmill schedule run-due", Time: d.Now().UTC()}, d.Now)
			run, _, lerr := runs.At(dir).Load()
			begun := lerr == nil && run != nil // else it is about to begin
			if asked = err == nil || begun && run.Completed != nil; begun && !asked {
				return fmt.Errorf("%s: the run before is not ended: %w", n.Path, err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// run runs a notebook for a due time, which has been noted.
func (d *dueRuns) run(ctx context.Context, n *schedules.Notebook, keep *schedules.Keeper, due time.Time) error {
	if err := os.Chdir(d.src.Root()); err != nil {
		return err
	}
	if !d.quiet {
		d.Tell("markmill: %s is due: %s\n", n.Path, due.Format(schedules.TimeFormat))
	}
	o := launch.Defaults()
	o.Progress = !d.quiet
	r := &schedule.Run{Due: due}
	eng, plan, output, err := d.plan(ctx, n, r, o)
	if err == nil {
		r.ID = string(plan.Request().ID)
		r.Output, err = schedules.OutputOf(n, r, eng, plan.Request())
	}
	if err != nil {
		return errors.Join(err, keep.Note(func(r *schedule.Run) { r.Ended, r.Error = true, err.Error() }))
	}
	if err := keep.Note(func(now *schedule.Run) { *now = *r }); err != nil {
		return err
	}
	err = launch.RunPlan(ctx, d.App, eng, plan, output, o)
	if err != nil && !d.store.Record(runs.RunID(r.ID)).Has("") { // it did not begin
		return errors.Join(err, keep.Note(func(r *schedule.Run) { r.Ended, r.Error = true, err.Error() }))
	}
	return errors.Join(err, d.ended(ctx, n, keep, r))
}

// plan plans the run of a notebook that is due.
func (d *dueRuns) plan(ctx context.Context, n *schedules.Notebook, r *schedule.Run, o *launch.Options) (
	*engine.Engine, *engine.Plan, string, error) {
	fail := func(err error) (*engine.Engine, *engine.Plan, string, error) { return nil, nil, "", err }
	var err error
	o.LogLevel = "INFO"
	if d.quiet {
		o.LogLevel = "ERROR"
	}
	due, output := r.Due.In(n.Times.Zone), ""
	if o.Req.Given, err = schedule.Given(n.Schedule, due); err != nil {
		return fail(err)
	}
	if n.Commit == "" { // else it goes into the branch alone
		output = schedule.Output(n.Schedule, due)
	}
	if err := o.Check(d.World, output); err != nil {
		return fail(err)
	}
	given := len(o.Req.Given) > 0
	file := filepath.FromSlash(n.Path)
	src, madeOf, err := d.ReadRun(file, false, given)
	if err != nil {
		return fail(err)
	}
	eng, err := d.Engine(d.src.Root())
	if err != nil {
		return fail(err)
	}
	eng.Source = d.src
	o.Req.MadeOf, o.Req.Path, o.Req.Repository = madeOf, n.Path, d.src.Root()
	if o.Req.Source, err = d.Runnable(file, src, given); err != nil {
		return fail(err)
	}
	if several, err := o.Attempts(eng); err != nil || several {
		return fail(errors.Join(err, program.Usagef("%s asks for several attempts, which a schedule does not compare",
			n.Path)))
	}
	plan, output, err := launch.Plan(ctx, d.App, eng, file, output, o)
	return eng, plan, output, err
}
