package schedule

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/help"
	"markmill/cmd/internal/jobqueue"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/schedules"
	scheduleserver "markmill/cmd/markmill-server/schedule"
	"markmill/cmd/markmill/approve"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/runs"
)

func Command(a *program.App) *cobra.Command {
	return help.GroupOf("schedule", "list, pause and run the notebooks that are scheduled; install a timer; serve",
		`Lists and runs the notebooks of the repository whose front matter has schedule:. docs/schedules.md describes when a
notebook is due, and how it runs.`,
		scheduleList(a), scheduleNext(a), scheduleRunDue(a), schedulePause(a), scheduleUnpause(a),
		scheduleInstall(a), scheduleRemove(a), scheduleserver.Command(a))
}

// scheduleHere is the repository here and its store: without one nothing is scheduled.
func scheduleHere(a *program.App) (runs.Store, *worktree.Source, error) {
	store, src, err := a.Here()
	if err == nil && src == nil {
		err = program.Usagef("schedules need a Git repository, and there is none here; change into one")
	}
	return store, src, err
}

func scheduleList(a *program.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the scheduled notebooks, and when each runs next", Args: program.Args(0, 0),
		Long: `Lists the notebooks of the repository whose front matter has schedule:, with the next due time of each, its
last run, and what keeps it from running.

Exit codes: 0 listed, 2 a schedule has a mistake.`,
		Example: "  markmill schedule list\n  markmill schedule list --json | jq '.notebooks[].next'",
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := List(c.Context(), a)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.PrintJSON("schedule-list", doc)
			} else {
				err = printScheduled(a, doc)
				if doc.Warning != "" && err == nil {
					a.Tell("markmill: %s\n", plain.OneLine(doc.Warning))
				}
			}
			for _, n := range doc.Notebooks {
				if err == nil && n.Error != "" {
					err = program.Exit(program.ExitUsage)
				}
			}
			return err
		},
	}
	program.JSONFlag(c, &asJSON, "schedule-list")
	return c
}

// List lists the scheduled notebooks of the repository here with their states.
func List(ctx context.Context, a *program.App) (*schedules.Listing, error) {
	store, src, err := scheduleHere(a)
	if err != nil {
		return nil, err
	}
	found, err := schedules.Find(ctx, src)
	if err != nil {
		return nil, err
	}
	doc := &schedules.Listing{Notebooks: []schedule.Listed{}, Looked: schedules.LastBeat(store).Time}
	for _, n := range found {
		one := schedule.Listed{Notebook: n.Path, Cron: n.Cron, Timezone: n.Timezone}
		state, err := schedules.Keep(store, n.Path).Load()
		if err != nil {
			return nil, err
		}
		if state.Notebook != "" {
			one.State = &state
		}
		switch {
		case n.Err != nil:
			one.Error = n.Err.Error()
		case state.Paused == nil:
			one.Next = n.Times.Next(a.Now())
		}
		doc.Notebooks = append(doc.Notebooks, one)
	}
	doc.Warning, err = unwatched(a, store, src, found)
	return doc, err
}

func printScheduled(a *program.App, doc *schedules.Listing) error {
	if len(doc.Notebooks) == 0 {
		a.Tell("no notebook here is scheduled\n")
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NOTEBOOK\tCRON\tTIMEZONE\tNEXT\tLAST\tSAYS")
	for _, n := range doc.Notebooks {
		next, last, says := "-", "-", n.Error
		if !n.Next.IsZero() {
			next = n.Next.Format(schedules.TimeFormat)
		}
		if s := n.State; s != nil {
			if s.Run != nil {
				last = s.Run.Due.In(n.Next.Location()).Format(schedules.TimeFormat) + " " + dueStatus(s.Run)
			}
			switch {
			case s.Paused != nil:
				says = "paused by " + s.Paused.By + ": " + s.Paused.Reason
			case says == "" && len(s.Waiting) > 0:
				says = plain.Counted(len(s.Waiting), "due time") + " waits"
			case says == "" && s.Run != nil && s.Run.Error != "":
				says = s.Run.Error
			case says == "" && s.Skipped != nil && (s.Run == nil || s.Run.Due.Before(s.Skipped.Due)):
				due := s.Skipped.Due.In(n.Next.Location()).Format(schedules.TimeFormat)
				says = "skipped " + due + ": " + s.Skipped.Why
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", plain.OneLine(n.Notebook), plain.OneLine(n.Cron),
			plain.OneLine(n.Timezone), next, last, plain.Cut(plain.OneLine(says), 200))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(a.Stdout, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func dueStatus(r *schedule.Run) string {
	switch {
	case !r.Ended:
		return "running"
	case r.Status == "":
		return "not begun"
	}
	return string(r.Status)
}

func scheduleNext(a *program.App) *cobra.Command {
	var n int
	c := &cobra.Command{
		Use: "next NOTEBOOK", Short: "Print when a notebook is due next", Args: program.Args(1, 1),
		Long: `Prints the next due times of a notebook in its time zone, with their offsets from UTC. The notebook need not be in
a repository.

Exit codes: 0 printed, 2 the notebook is not scheduled, or its schedule has a mistake.`,
		Example: "  markmill schedule next report.md -n 5",
		RunE: func(_ *cobra.Command, words []string) error {
			if n < 1 || n > 10000 {
				return program.Usagef("-n %d is not from 1 to 10000", n)
			}
			nb, err := schedules.Read(words[0], program.Name(words[0]))
			switch {
			case err != nil:
				return err
			case nb == nil:
				return program.Usagef("%s is not scheduled: its front matter has no schedule:", words[0])
			case nb.Err != nil:
				return nb.Err
			}
			at := a.Now()
			for range n {
				if at = nb.Times.Next(at); at.IsZero() {
					break
				}
				if err := program.Say(a.Stdout, "%s\n", at.Format(schedules.TimeFormat)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().IntVarP(&n, "number", "n", 1, "print `N` due times")
	return c
}

func schedulePause(a *program.App) *cobra.Command {
	var reason string
	var o jobqueue.Options
	c := &cobra.Command{
		Use: "pause NOTEBOOK", Short: "Pause the schedule of a notebook", Args: program.Args(1, 1),
		Long: `Pauses the schedule of a notebook. Due times during the pause are skipped and never made up for. A run in progress
continues. If there is a queue (--nats, MARKMILL_NATS, or .markmill/queue), its schedulers pause the notebook too.

Exit codes: 0 it is paused, 2 it is not scheduled, 3 the queue cannot be reached.`,
		Example: "  markmill schedule pause report.md --reason 'the source is down'",
		RunE: func(c *cobra.Command, words []string) error {
			if err := program.CheckReason(reason); err != nil {
				return err
			}
			return changeSchedule(c.Context(), a, words[0], true, reason, &o)
		},
	}
	program.ReasonFlag(c, &reason)
	o.Flags(c.Flags())
	return c
}

func scheduleUnpause(a *program.App) *cobra.Command {
	var reason string
	var o jobqueue.Options
	c := &cobra.Command{
		Use: "unpause NOTEBOOK", Short: "Let a paused notebook run again when it is due", Args: program.Args(1, 1),
		Long: `Ends the pause of a notebook. It runs at its next due time.

Exit codes: 0 it runs again, 2 it is not scheduled, or not paused, 3 the queue cannot be reached.`,
		Example: "  markmill schedule unpause report.md",
		RunE: func(c *cobra.Command, words []string) error {
			return changeSchedule(c.Context(), a, words[0], false, reason, &o)
		},
	}
	program.ReasonFlag(c, &reason)
	o.Flags(c.Flags())
	return c
}

// changeSchedule pauses a notebook or resumes it, in the store and in the queue.
func changeSchedule(ctx context.Context, a *program.App, path string, pause bool, reason string,
	o *jobqueue.Options) error {
	store, src, err := scheduleHere(a)
	if err != nil {
		return err
	}
	list, err := schedules.Find(ctx, src, path)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return program.Usagef("no notebook in %s is scheduled", path)
	}
	for _, n := range list {
		err = schedules.Keep(store, n.Path).Update(func(s *schedule.State) error {
			s.Notebook = n.Path
			switch {
			case pause:
				s.Pause(a.UserName(), reason, a.Now().UTC())
			case s.Paused == nil:
				return program.Usagef("%s is not paused", n.Path)
			default:
				s.Resume(a.UserName(), reason, a.Now().UTC())
			}
			return nil
		})
		if err != nil {
			return err
		}
		if approve.HasQueue(a, store, o) {
			if err := changeInQueue(a, n.Path, pause, reason, o); err != nil {
				return err
			}
		}
		words := "due again"
		if pause {
			words = "paused"
		}
		a.Tell("%s is %s\n", n.Path, words)
	}
	return nil
}

// changeInQueue pauses a notebook or resumes it for the schedulers of the queue.
func changeInQueue(a *program.App, notebook string, pause bool, reason string, o *jobqueue.Options) error {
	do := "resume-schedule"
	if pause {
		do = "pause-schedule"
	}
	cmd, err := jobqueue.ServerWith(a, o, "queue", do, "--reason="+reason, "--", notebook)
	if err != nil {
		return err
	}
	err = cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return program.Exit(max(ended.ExitCode(), program.ExitFail))
	}
	return err
}
