package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"markmill/cmd/api/schedules"
	"markmill/engine/schedule"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/runs"
)

func (a *app) scheduleCommand() *cobra.Command {
	return groupOf("schedule", "list, pause and run the notebooks that are scheduled; install a timer; serve",
		`Lists and runs the notebooks of the repository whose front matter has schedule:. docs/schedules.md describes when a
notebook is due, and how it runs.`,
		a.scheduleList(), a.scheduleNext(), a.scheduleRunDue(), a.schedulePause(), a.scheduleUnpause(),
		a.scheduleInstall(), a.scheduleRemove(), a.scheduleServe())
}

// scheduleHere is the repository here and its store: without one nothing is scheduled.
func (a *app) scheduleHere() (runs.Store, *worktree.Source, error) {
	store, src, err := a.here()
	if err == nil && src == nil {
		err = usagef("schedules need a Git repository, and there is none here; change into one")
	}
	return store, src, err
}

func (a *app) scheduleList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the scheduled notebooks, and when each runs next", Args: args(0, 0),
		Long: `Lists the notebooks of the repository whose front matter has schedule:, with the next due time of each, its
last run, and what keeps it from running.

Exit codes: 0 listed, 2 a schedule has a mistake.`,
		Example: "  markmill schedule list\n  markmill schedule list --json | jq '.notebooks[].next'",
		RunE: func(c *cobra.Command, _ []string) error {
			store, src, err := a.scheduleHere()
			if err != nil {
				return err
			}
			doc, err := a.scheduled(c.Context(), store, src)
			if err != nil {
				return err
			}
			if doc.Warning, err = a.unwatched(c.Context(), store, src); err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON("schedule-list", doc)
			} else {
				err = a.printScheduled(doc)
				if doc.Warning != "" && err == nil {
					a.tell("markmill: %s\n", plain.OneLine(doc.Warning))
				}
			}
			for _, n := range doc.Notebooks {
				if err == nil && n.Error != "" {
					err = exit(exitUsage)
				}
			}
			return err
		},
	}
	jsonFlag(c, &asJSON, "schedule-list")
	return c
}

// scheduled lists the scheduled notebooks with their states.
func (a *app) scheduled(ctx context.Context, store runs.Store, src *worktree.Source) (*schedules.Listing, error) {
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
			one.Next = n.Times.Next(a.now())
		}
		doc.Notebooks = append(doc.Notebooks, one)
	}
	return doc, nil
}

func (a *app) printScheduled(doc *schedules.Listing) error {
	if len(doc.Notebooks) == 0 {
		a.tell("no notebook here is scheduled\n")
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
		if _, err := fmt.Fprintln(a.stdout, strings.TrimRight(line, " \n")); err != nil {
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

func (a *app) scheduleNext() *cobra.Command {
	var n int
	c := &cobra.Command{
		Use: "next NOTEBOOK", Short: "Print when a notebook is due next", Args: args(1, 1),
		Long: `Prints the next due times of a notebook in its time zone, with their offsets from UTC. The notebook need not be in
a repository.

Exit codes: 0 printed, 2 the notebook is not scheduled, or its schedule has a mistake.`,
		Example: "  markmill schedule next report.md -n 5",
		RunE: func(_ *cobra.Command, words []string) error {
			if n < 1 || n > 10000 {
				return usagef("-n %d is not from 1 to 10000", n)
			}
			nb, err := schedules.Read(words[0], name(words[0]))
			switch {
			case err != nil:
				return err
			case nb == nil:
				return usagef("%s is not scheduled: its front matter has no schedule:", words[0])
			case nb.Err != nil:
				return nb.Err
			}
			at := a.now()
			for range n {
				if at = nb.Times.Next(at); at.IsZero() {
					break
				}
				if err := say(a.stdout, "%s\n", at.Format(schedules.TimeFormat)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().IntVarP(&n, "number", "n", 1, "print `N` due times")
	return c
}

func (a *app) schedulePause() *cobra.Command {
	var reason string
	var o queueOptions
	c := &cobra.Command{
		Use: "pause NOTEBOOK", Short: "Pause the schedule of a notebook", Args: args(1, 1),
		Long: `Pauses the schedule of a notebook. Due times during the pause are skipped and never made up for. A run in progress
continues. If there is a queue (--nats, MARKMILL_NATS, or .markmill/queue), its schedulers pause the notebook too.

Exit codes: 0 it is paused, 2 it is not scheduled, 3 the queue cannot be reached.`,
		Example: "  markmill schedule pause report.md --reason 'the source is down'",
		RunE: func(c *cobra.Command, words []string) error {
			if err := checkReason(reason); err != nil {
				return err
			}
			return a.changeSchedule(c.Context(), words[0], true, reason, &o)
		},
	}
	reasonFlag(c, &reason)
	o.flags(c.Flags())
	return c
}

func (a *app) scheduleUnpause() *cobra.Command {
	var reason string
	var o queueOptions
	c := &cobra.Command{
		Use: "unpause NOTEBOOK", Short: "Let a paused notebook run again when it is due", Args: args(1, 1),
		Long: `Ends the pause of a notebook. It runs at its next due time.

Exit codes: 0 it runs again, 2 it is not scheduled, or not paused, 3 the queue cannot be reached.`,
		Example: "  markmill schedule unpause report.md",
		RunE: func(c *cobra.Command, words []string) error {
			return a.changeSchedule(c.Context(), words[0], false, reason, &o)
		},
	}
	reasonFlag(c, &reason)
	o.flags(c.Flags())
	return c
}

// changeSchedule pauses a notebook or resumes it, in the store and in the queue.
func (a *app) changeSchedule(ctx context.Context, path string, pause bool, reason string, o *queueOptions) error {
	store, src, err := a.scheduleHere()
	if err != nil {
		return err
	}
	list, err := schedules.Find(ctx, src, path)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return usagef("no notebook in %s is scheduled", path)
	}
	for _, n := range list {
		err = schedules.Keep(store, n.Path).Update(func(s *schedule.State) error {
			s.Notebook = n.Path
			switch {
			case pause:
				s.Pause(a.userName(), reason, a.now().UTC())
			case s.Paused == nil:
				return usagef("%s is not paused", n.Path)
			default:
				s.Resume(a.userName(), reason, a.now().UTC())
			}
			return nil
		})
		if err != nil {
			return err
		}
		if a.hasQueue(store, o) {
			if err := a.changeInQueue(n.Path, pause, reason, o); err != nil {
				return err
			}
		}
		words := "due again"
		if pause {
			words = "paused"
		}
		a.tell("%s is %s\n", n.Path, words)
	}
	return nil
}

// changeInQueue pauses a notebook or resumes it for the schedulers of the queue.
func (a *app) changeInQueue(notebook string, pause bool, reason string, o *queueOptions) error {
	do := "resume-schedule"
	if pause {
		do = "pause-schedule"
	}
	cmd, err := a.serverWith(o, "queue", do, "--reason="+reason, "--", notebook)
	if err != nil {
		return err
	}
	err = cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return exit(max(ended.ExitCode(), exitFail))
	}
	return err
}
