package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/maintenance"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/schedules"
	"markmill/engine/worktree"
	"markmill/render/plain"
	"markmill/runs"
)

// runDueUnits have the system call run-due every minute, in the environment of this process as far as runs need it.
func runDueUnits(a *program.App, store runs.Store, src *worktree.Source) (*maintenance.Schedule, error) {
	program, _, err := program.OwnPath()
	if err != nil {
		return nil, err
	}
	s := &maintenance.Schedule{Job: maintenance.RunDue, Store: store.Dir,
		Config:  a.UserDir("XDG_CONFIG_HOME", ".config"),
		Command: []string{program, "schedule", "run-due", "--quiet", "--repo", src.Root()}}
	for _, name := range []string{"PATH", "XDG_CACHE_HOME", "MARKMILL_DIR"} {
		value := a.Env(name)
		if name == "MARKMILL_DIR" && value != "" {
			value = store.Dir
		}
		if value != "" {
			s.Env = append(s.Env, name+"="+value)
		}
	}
	return s, nil
}

func scheduleInstall(a *program.App) *cobra.Command {
	var systemd, cron, write bool
	c := &cobra.Command{
		Use: "install", Short: "Install a timer or a crontab line that runs what is due", Args: program.Args(0, 0),
		Long: `Prints a service and a timer for the user's systemd, or a line for the user's crontab, that call markmill schedule list
run-due for this repository every minute. With --write it installs them; other units and lines are not touched, and
installing again is harmless. Without --systemd and --crontab it uses systemd where that runs. A user's systemd timers
run while the user is logged in, or always after loginctl enable-linger.

Exit codes: 0 printed or installed, 1 systemctl or crontab failed, 2 there is neither.`,
		Example: "  markmill schedule install --systemd\n  markmill schedule install --write",
		RunE: func(*cobra.Command, []string) error {
			s, err := unitsHere(a)
			if err != nil {
				return err
			}
			kind := maintenance.Crontab
			switch {
			case systemd && cron:
				return program.Usagef("give one of --systemd and --crontab")
			case systemd:
				kind = maintenance.Systemd
			case !cron:
				if kind, err = s.Choose(); err != nil {
					return err
				}
			}
			if !write {
				return maintenance.PrintUnits(a, s, kind)
			}
			if err := s.Install(kind); err != nil {
				return err
			}
			a.Tell("%s runs what is due in %s (%s)\n", kind, s.Command[len(s.Command)-1], s.Name())
			return nil
		},
	}
	c.Flags().BoolVar(&systemd, "systemd", false, "a service and a timer of the user's systemd")
	c.Flags().BoolVar(&cron, "crontab", false, "a line of the user's crontab")
	c.Flags().BoolVar(&write, "write", false, "install it, instead of printing it")
	return c
}

func scheduleRemove(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove", Short: "Remove the timer or the line that install made", Args: program.Args(0, 0),
		Long: `Removes the units or the line of the crontab that install made for this repository, and nothing else.

Exit codes: 0 removed, or there was none, 1 systemctl or crontab failed.`,
		Example: "  markmill schedule remove",
		RunE: func(*cobra.Command, []string) error {
			s, err := unitsHere(a)
			if err != nil {
				return err
			}
			kind, err := s.Remove()
			switch {
			case err != nil:
			case kind == "":
				a.Tell("nothing is installed for the schedules of %s\n", s.Command[len(s.Command)-1])
			default:
				a.Tell("removed %s from %s\n", s.Name(), kind)
			}
			return err
		},
	}
}

func unitsHere(a *program.App) (*maintenance.Schedule, error) {
	store, src, err := scheduleHere(a)
	if err != nil {
		return nil, err
	}
	return runDueUnits(a, store, src)
}

// overdue is how long after a due time somebody must have looked.
const overdue = 5 * time.Minute

// Unwatched says that notebooks are scheduled and nobody looks what is due: neither run-due nor a scheduler has looked
// since one of them was due. "" where all is well.
func Unwatched(ctx context.Context, a *program.App, store runs.Store, src *worktree.Source) (string, error) {
	list, err := schedules.Find(ctx, src)
	if err != nil {
		return "", err
	}
	return unwatched(a, store, src, list)
}

func unwatched(a *program.App, store runs.Store, src *worktree.Source, list []schedules.Notebook) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	s, err := runDueUnits(a, store, src)
	if err != nil {
		return "", err
	}
	kind, err := s.Installed()
	if err != nil {
		a.Tell("markmill: it is not known whether the system runs what is due: %s\n", plain.OneLine(err.Error()))
	}
	looked, now := schedules.LastBeat(store), a.Now()
	since, last := looked.Time, "the last was "+looked.By+" at "+looked.Time.Local().Format(schedules.TimeFormat)
	switch {
	case looked.Time.IsZero() && kind == "":
		return fmt.Sprintf("%s scheduled, and nothing runs what is due: let markmill schedule install --write have "+
			"the system do it, or run markmill schedule serve (one on another machine is not seen from here)",
			is(plain.Counted(len(list), "notebook"), len(list))), nil
	case looked.Time.IsZero(): // it was installed a moment ago, or it does not work
		since, last = now.Add(-time.Hour), kind+" never did"
	}
	for _, n := range list {
		keep := schedules.Keep(store, n.Path)
		state, err := keep.Load()
		if n.Err != nil || err != nil || state.Paused != nil {
			continue // markmill schedule shows that
		}
		if due := n.Times.Newest(since, now.Add(-overdue), n.Times.Zone); !due.IsZero() {
			return fmt.Sprintf("%s was due at %s, and nobody has looked since (%s): see whether the timer, cron or "+
				"scheduler runs", n.Path, due.Format(schedules.TimeFormat), last), nil
		}
	}
	return "", nil
}

func is(count string, n int) string {
	if n == 1 {
		return count + " is"
	}
	return count + " are"
}
