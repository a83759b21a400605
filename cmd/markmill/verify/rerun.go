package verify

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/launch"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/rerun"
	"markmill/cmd/internal/runview"
	"markmill/engine"
	"markmill/notebooks/params"
	"markmill/render/plain"
	"markmill/render/review"
	"markmill/render/terminal"
	"markmill/runs"
)

// rerunOptions are those of verify --rerun.
type rerunOptions struct {
	rerun   bool
	number  int
	base    string
	given   []params.Given
	allowed string
	json    bool
}

// Repeated is what verify --rerun --json prints: of the last repetition.
type Repeated struct {
	*runs.Rerun
	Status runs.Status  `json:"status"` // of the new run
	Proof  review.Level `json:"proof"`  // repeated, or recorded when something differs
	RunDir string       `json:"run_dir"`
	Number int          `json:"number"` // how many repetitions were made
}

// recordNamed is the record that a word names: by a run, a run directory, or the output notebook of a run.
func recordNamed(a *program.App, word, allowed string) (*runs.Record, error) {
	if info, err := os.Stat(word); err == nil && !info.IsDir() {
		v, err := VerifyRecord(a, word, allowed)
		if err == nil && v.Dir == "" {
			return nil, program.Usagef("%s: its run is not kept here, and only a recorded run can be repeated", word)
		}
		return runs.At(v.Dir), err
	} else if err == nil {
		return runs.At(word), nil
	}
	dir, err := a.RecordOf(word)
	return runs.At(dir), err
}

// repeatedBy is the record of the run that a repetition repeats, if it is here; of any other run, its own.
func repeatedBy(a *program.App, store runs.Store, record *runs.Record) (*runs.Record, error) {
	run, _, err := record.Load()
	if err != nil || run.Started.Rerun == nil {
		return record, err
	}
	of := run.Started.Rerun
	first := store.Record(of.Run)
	if sums, err := first.Sums(); err != nil || sums != of.Sums {
		return record, nil
	}
	a.Tell("run %s is itself a repetition, of %s, which is repeated once more\n", run.ID, of.Run)
	return first, nil
}

// verifyAgain is verify --rerun.
func verifyAgain(a *program.App, c *cobra.Command, word string, signed bool, o rerunOptions) error {
	switch dir, err := a.SweepNamed(word); {
	case err != nil:
		return err
	case dir != "":
		return program.Usagef("%s is a sweep; --rerun repeats one run", word)
	case signed:
		return program.Usagef("--signed and --rerun exclude each other: verify first, then repeat")
	case o.number < 1:
		return program.Usagef("-n %d: give how many times the run is repeated", o.number)
	case c.Flags().Changed("base") && o.base == "":
		return program.Usagef("--base names no commit; give a revision, or leave the option out")
	}
	for n := 1; ; n++ {
		result, err := repeat(c.Context(), a, word, o)
		if err != nil || result == nil {
			return err
		}
		last := n == o.number || !result.Agrees
		word = string(result.Run) // last would be the repetition now
		if !o.json {
			if _, err = io.WriteString(a.Stdout, strings.Join(rerunWords(result.Rerun), "\n")+"\n"); err != nil {
				return err
			}
		} else if last {
			proof := review.Recorded
			if result.Agrees {
				proof = review.Repeated
			}
			if err := a.PrintJSON("runs-rerun", Repeated{result.Rerun, result.New.Status(), proof, result.Dir,
				n}); err != nil {
				return err
			}
		}
		switch {
		case !last:
		case result.Agrees:
			return nil
		case result.New.Status() == runs.Blocked:
			return program.Exit(program.ExitBlocked)
		default:
			return program.Exit(program.ExitFail)
		}
	}
}

// repeat repeats a run once, and compares.
func repeat(ctx context.Context, a *program.App, word string, o rerunOptions) (*rerun.Result, error) {
	eng, err := a.EngineHere("--rerun needs the Git repository that the run worked on")
	if err != nil {
		return nil, err
	}
	src := eng.Source
	store, err := a.Store(src)
	if err != nil {
		return nil, err
	}
	record, err := recordNamed(a, word, o.allowed)
	if err != nil {
		return nil, err
	}
	if record, err = repeatedBy(a, store, record); err != nil {
		return nil, err
	}
	signers, err := a.Signers(o.allowed, src.Root())
	if err != nil {
		return nil, err
	}
	key, err := a.SignKey(eng.Config)
	if err != nil {
		return nil, err
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	var seen *launch.Follower
	defer func() {
		if seen != nil {
			seen.Progress.Done("")
			_ = seen.Close()
		}
	}()
	result, err := rerun.Run(ctx, eng, src, record, rerun.Options{Base: o.base, Given: o.given, Signers: signers,
		Sinks: func(plan *engine.Plan) (engine.Sinks, error) {
			a.Tell("repeating run %s as %s, in a clean clone\n", plan.Request().Rerun.Run, plan.Request().ID)
			options := launch.Defaults()
			options.Progress, options.LogLevel = true, "INFO"
			if seen, err = launch.Follow(a, options, store.Path(plan.Request().ID)); err != nil {
				return engine.Sinks{}, err
			}
			return launch.Sinks(a, "", nil, nil, key, engine.Observer{Event: seen.Event, Output: seen.Output,
				Unfinished: seen.Progress.Unfinished, Files: launch.Written(a, seen)}), nil
		}})
	var damaged *rerun.DamagedError
	switch {
	case errors.Is(err, rerun.ErrInterrupted):
		a.Tell("markmill: %s\n", err)
		return nil, program.Exit(128 + program.InterruptedBy(ctx))
	case errors.As(err, &damaged):
		for _, f := range damaged.Findings {
			if err := program.Say(a.Stdout, "%s: %s\n", f.Where, f.Message); err != nil {
				return nil, err
			}
		}
		a.Tell("markmill: %s\n", err)
		return nil, program.Exit(program.ExitFail)
	case err != nil:
		return nil, err
	}
	runview.TellCauses(a, result.New)
	seen.Progress.Done(terminal.Summary(result.New, "", a.Colour(a.Stderr)))
	launch.Retain(a, eng, src, result.New.ID)
	return result, nil
}

// maxDiffLines bounds each diff of a comparison on a terminal; rerun.json has the whole.
const maxDiffLines = 40

// rerunWords are the lines that say how a repetition compares.
func rerunWords(r *runs.Rerun) (out []string) {
	add := func(line string) { out = append(out, plain.Escape(line)) }
	if r.Agrees {
		add(string(r.Run) + " is repeated: " + string(r.Rerun) + " came to the same, in " +
			plain.Counted(r.Compared, "result"))
	} else {
		add(string(r.Run) + " came to something else when it was repeated, as " + string(r.Rerun) + ": " +
			plain.Counted(len(r.Differences), "difference") + " in " + plain.Counted(r.Compared, "result"))
	}
	for _, d := range r.Differences {
		where := "the run"
		if d.Step != "" {
			where = "step " + d.Step
		}
		line := "  " + where + ": " + d.What
		switch {
		case d.Was != "" && d.Now == "" && d.Diff != "":
			line += ": " + d.Was
		case d.Was != "" || d.Now != "":
			line += ": was " + orNothing(d.Was) + "; now " + orNothing(d.Now)
		}
		if len(d.Paths) > 0 {
			line += ": " + plain.Some(d.Paths, 5)
		}
		add(line)
		text := strings.Split(strings.TrimSuffix(d.Diff, "\n"), "\n")
		for i, l := range text {
			if d.Diff == "" {
				break
			}
			if i == maxDiffLines {
				add("    … " + plain.Counted(len(text)-i, "more line"))
				break
			}
			add("    " + l)
		}
	}
	if r.OtherBase != "" {
		add("  on another commit: " + r.OtherBase + "; changes were compared, not whole trees")
	}
	for _, note := range r.Notes {
		add("  " + note)
	}
	return out
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return plain.Cut(strings.Join(strings.Fields(text), " "), 200)
}
